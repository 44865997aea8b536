/* Two functions with a given number of page faults: `even` and `slow` touch that many pages each. */
#include <stdlib.h>
#include <sys/mman.h>

enum { PAGE = 4096 };

static char *pages(long count) {
  char *at = mmap(0, count * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (at == MAP_FAILED) exit(1);
  madvise(at, count * PAGE, MADV_NOHUGEPAGE);
  return at;
}

__attribute__((noinline)) void even(volatile char *at, long count) {
  for (long i = 0; i < count; i++) at[i * PAGE] = 1;
}

__attribute__((noinline)) void slow(volatile char *at, long count) {
  for (long i = 0; i < count; i++) at[i * PAGE] = 1;
}

int main(int argc, char **argv) {
  long evens = atol(argv[1]), slows = atol(argv[2]);
  even(pages(evens), evens);
  slow(pages(slows), slows);
  return argc == 0;
}
