/* Static inline functions from a header, nested inlining, a cold path, a recursive function. */
#include "calls.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int depth;

static int collatz(int n) {
  int steps = 0;
  while (n != 1 && steps < 1000) {
    n = n % 2 ? 3 * n + 1 : n / 2;
    steps++;
  }
  return steps;
}

static inline int twice(int n) { return collatz(n) + collatz(n + 1); }

static inline int four_times(int n) {
  int a = twice(n);
  int b = twice(n + 2);
  return clamp(a + b, 0, 5000);
}

__attribute__((noinline)) static void report(const char *what, int value) {
  if (value < 0) {
    fprintf(stderr, "%s: %d\n", what, value);
    exit(3);
  }
  printf("%s: %d\n", what, value);
}

__attribute__((noinline)) static int fibonacci(int n) {
  depth++;
  if (n < 2) return n;
  return fibonacci(n - 1) + fibonacci(n - 2);
}

static const char *name_of(int kind) {
  switch (kind) {
    case 0: return "zero";
    case 1: return "one";
    case 2: return "two";
    case 3: return "three";
    case 7: return "seven";
    default: return "many";
  }
}

int main(int argc, char **argv) {
  unsigned h = 0;
  for (int i = 0; i < argc; i++) h = mix(h, digest(argv[i], i));
  report("digest", (int)(h & 0xffff));
  report("collatz", four_times(argc + 26));
  report("fibonacci", fibonacci(10 + argc));
  report("applied", apply(collatz, argc + 6) + depth);
  report(name_of(argc), (int)strlen(name_of(argc)));
  return 0;
}
