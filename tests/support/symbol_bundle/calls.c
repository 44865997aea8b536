/* Inlined calls from functions that take a while. */
#include <stdio.h>
#include <stdlib.h>

static inline unsigned mix(unsigned h, unsigned n) {
  h ^= n * 0x9e3779b1u;
  h = (h << 13) | (h >> 19);
  return h * 5 + 0xe6546b64u;
}

static inline unsigned digest(const unsigned *words, int n) {
  unsigned h = 1;
  for (int i = 0; i < n; i++) h = mix(h, words[i]);
  return h;
}

__attribute__((noinline)) static unsigned rounds(unsigned *words, int n) {
  unsigned h = 0;
  for (int round = 0; round < 2000; round++) {
    h = mix(h, digest(words, n));
    words[h % n] = h;
  }
  return h;
}

__attribute__((noinline)) static int fibonacci(int n) {
  return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}

int main(int argc, char **argv) {
  static unsigned words[4096];
  unsigned h = argc;
  for (int i = 0; i < 10; i++) h += rounds(words, 4096) + fibonacci(28 + argc);
  printf("%u\n", h);
  return 0;
}
