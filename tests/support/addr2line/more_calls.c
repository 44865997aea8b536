#include "calls.h"

static inline unsigned step(unsigned h, char c) {
  h = mix(h, (unsigned char)c);
  if (c == 'x') h = mix(h, 17);
  return h;
}

unsigned digest(const char *text, unsigned seed) {
  unsigned h = seed;
  for (; *text; text++) {
    h = step(h, *text);
    if (h % 5 == 0) h = step(h, 'x');
  }
  return h;
}

int apply(int (*f)(int), int n) {
  int sum = 0;
  for (int i = 1; i <= n; i++) sum += clamp(f(i), 1, 90);
  return sum;
}
