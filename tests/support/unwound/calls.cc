#include <alloca.h>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <functional>
#include <stdexcept>
#include <string>
#include <sys/time.h>
#include <thread>
#include <vector>
volatile long sink;
__attribute__((noinline)) long spin(long n) {
  long s = 0;
  for (long i = 0; i < n; i++) s += i * i ^ (s >> 3);
  sink = s;
  return s;
}
__attribute__((noinline)) long with_alloca(int n) {
  char *p = (char *)alloca(n);
  memset(p, n, n);
  return spin(4000) + p[n / 2];
}
__attribute__((noinline)) void thrower(int d) {
  if (d == 0) { spin(2000); throw std::runtime_error("x"); }
  thrower(d - 1);
  sink++;
}
__attribute__((noinline)) long catcher() {
  try { thrower(10); } catch (std::exception &e) { return strlen(e.what()); }
  return 0;
}
std::function<long(int)> again = [](int d) -> long { return d == 0 ? spin(4000) : again(d - 1) + 1; };
__attribute__((noinline)) long deep(int d) { return d == 0 ? spin(4000) : deep(d - 1) + sink; }
struct Base { virtual long go(int) = 0; virtual ~Base() {} };
struct Strings : Base {
  long go(int n) override {
    std::vector<std::string> v;
    for (int i = 0; i < 60; i++) v.push_back(std::to_string(i * n));
    return v[3].size();
  }
};
int compare(const void *, const void *) { spin(500); return 0; }
void handler(int) { spin(8000); }
void work(int rounds) {
  Strings s;
  Base *b = &s;
  int pair[] = {2, 1};
  for (int i = 0; i < rounds; i++) {
    sink += b->go(i) + with_alloca(100 + i % 1000) + catcher() + again(20) + deep(i % 90);
    timespec ts;
    for (int k = 0; k < 100; k++) clock_gettime(CLOCK_MONOTONIC, &ts);
    qsort(pair, 2, sizeof(int), compare);
  }
}
int main(int argc, char **argv) {
  int rounds = atoi(argv[1]);
  signal(SIGALRM, handler);
  itimerval it = {{0, 1000}, {0, 1000}};
  setitimer(ITIMER_REAL, &it, nullptr);
  std::thread one(work, rounds), two(work, rounds);
  work(rounds);
  one.join();
  two.join();
  std::printf("%ld\n", (long)sink);
}
