#ifndef CALLS_H
#define CALLS_H

static inline int clamp(int x, int low, int high) {
  if (x < low) return low;
  return x > high ? high : x;
}

static inline __attribute__((always_inline)) unsigned mix(unsigned h, unsigned x) {
  h ^= x + 0x9e3779b9u + (h << 6) + (h >> 2);
  h = clamp((int)h, -1000000, 1000000);
  return h;
}

unsigned digest(const char *text, unsigned seed);
int apply(int (*f)(int), int n);

#endif
