/* A program with something to see: reads numbers, sorts them, counts words, and writes a report. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KEEP __attribute__((noinline))

static inline __attribute__((always_inline)) unsigned mix(unsigned x) {
  x ^= x >> 16;
  x *= 0x7feb352d;
  return x ^ x >> 15;
}

KEEP int compare(const void *a, const void *b) {
  return *(const int *)a < *(const int *)b ? -1 : *(const int *)a > *(const int *)b;
}

KEEP void sort_numbers(int *numbers, int n) { qsort(numbers, n, sizeof *numbers, compare); }

KEEP int parse_number(const char **text) { return (int)strtol(*text, (char **)text, 10); }

KEEP void parse(const char *text, int *numbers, int n) {
  for (int i = 0; i < n; i++) numbers[i] = parse_number(&text);
}

KEEP unsigned hash_word(const char *word, int n) {
  unsigned h = 1;
  for (int i = 0; i < n; i++) h = mix(h + word[i]);
  return h;
}

KEEP void count_words(const char *text, unsigned *counts, int n) {
  const char *word = text;
  for (const char *at = text; *at; at++) {
    if (*at != ' ') continue;
    counts[hash_word(word, at - word) % n]++;
    word = at + 1;
  }
}

KEEP int format(char *out, int left, const int *numbers) {
  return left == 0 ? 0 : sprintf(out, "%d;", *numbers) + format(out, left - 1, numbers + 1);
}

KEEP void report(char *out, const int *numbers, int n) {
  for (int i = 0; i + 32 <= n; i += 32) format(out, 1 + i / 32 % 16, numbers + i);
}

int main(void) {
  enum { N = 300 };
  char *text = malloc(N * 12 + 1), *at = text, out[1024];
  int *numbers = malloc(N * sizeof *numbers);
  unsigned counts[256] = {0}, seed = 7;
  for (int i = 0; i < N; i++) at += sprintf(at, "%u ", mix(seed += i) >> 2);
  for (int round = 0; round < 4000; round++) {
    parse(text, numbers, N);
    sort_numbers(numbers, N);
    count_words(text, counts, 256);
    report(out, numbers, N);
  }
  return counts[0] == 1;
}
