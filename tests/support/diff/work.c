/* Two functions of known cost: the second argument says how much longer `slow` takes. */
#include <stdlib.h>

static inline __attribute__((always_inline)) unsigned mix(unsigned x) {
  x ^= x >> 16;
  x *= 0x7feb352d;
  return x ^ x >> 15;
}

__attribute__((noinline)) unsigned even(unsigned n) {
  volatile unsigned h = 0;
  for (unsigned i = 0; i < n; i++) h = mix(h + i);
  return h;
}

__attribute__((noinline)) unsigned slow(unsigned n) {
  volatile unsigned h = 0;
  for (unsigned i = 0; i < n; i++) h = mix(h + i);
  return h;
}

int main(int argc, char **argv) {
  unsigned rounds = atoi(argv[1]), percent = atoi(argv[2]), sum = argc;
  for (unsigned i = 0; i < rounds; i++) sum += even(10000) + slow(100 * percent);
  return sum == 0;
}
