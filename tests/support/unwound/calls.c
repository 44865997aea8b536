#include <alloca.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
volatile long sink;
static jmp_buf place;
__attribute__((noinline)) long spin(long n) {
  long s = 0;
  for (long i = 0; i < n; i++) s += i * i ^ (s >> 3);
  sink = s;
  return s;
}
__attribute__((noinline)) long deep(int d) { return d == 0 ? spin(4000) : deep(d - 1) + sink; }
__attribute__((noinline)) long with_alloca(int n) {
  char *p = alloca(n);
  memset(p, n, n);
  return spin(4000) + p[n / 2];
}
int compare(const void *a, const void *b) { spin(100); return *(const int *)a - *(const int *)b; }
void handler(int number) { spin(8000); }
void *work(void *rounds) {
  for (long i = 0; i < (long)rounds; i++) {
    int v[20];
    for (int k = 0; k < 20; k++) v[k] = k * 7919 % 101;
    qsort(v, 20, sizeof(int), compare);
    char text[64];
    for (int k = 0; k < 60; k++) snprintf(text, sizeof text, "%g %d", k * 1.5, k);
    sink += deep(i % 60) + with_alloca(100 + i % 1000);
  }
  return 0;
}
int main(int argc, char **argv) {
  long rounds = atol(argv[1]);
  signal(SIGALRM, handler);
  struct itimerval it = {{0, 1000}, {0, 1000}};
  setitimer(ITIMER_REAL, &it, 0);
  pthread_t one;
  pthread_create(&one, 0, work, (void *)rounds);
  work((void *)rounds);
  pthread_join(one, 0);
  printf("%ld\n", (long)sink);
}
