#include <stdlib.h>
volatile unsigned long sum;
static inline __attribute__((always_inline)) void small(unsigned long n) { for (unsigned long i = 0; i < n; i++) sum += i * i; }
__attribute__((noinline)) void inner(unsigned long n) { small(n); sum++; }
__attribute__((noinline)) void middle(unsigned long n) { inner(n); sum++; }
__attribute__((noinline)) void outer(unsigned long n) { middle(n); sum++; }
__attribute__((noinline)) void steady(unsigned long n) { for (unsigned long i = 0; i < n; i++) sum += i * i; }
int main(int argc, char **argv) {
  unsigned long percent = argc > 1 ? strtoul(argv[1], 0, 10) : 100;
  for (int i = 0; i < 90; i++) { outer(20000 * percent); steady(2000000); }
  return 0;
}
