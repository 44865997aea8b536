#include <csignal>
#include <cstdio>
#include <functional>
#include <stdexcept>
#include <thread>
#include <unistd.h>
volatile long sink;
volatile bool forever = true;
__attribute__((noinline)) void stay() { while (forever) sink++; }
std::function<void(int)> again = [](int d) { if (d == 0) stay(); else again(d - 1); sink++; };
struct Guard { __attribute__((noinline)) ~Guard() { stay(); } };
__attribute__((noinline)) void thrower(int d) {
  Guard guard;
  if (d == 0) throw std::runtime_error("x");
  thrower(d - 1);
}
void in_flight() { try { thrower(5); } catch (std::exception &) {} }
void handler(int) { stay(); }
void in_signal() { signal(SIGUSR1, handler); pthread_kill(pthread_self(), SIGUSR1); }
int compare(const void *, const void *) { stay(); return 0; }
void in_callback() { int pair[] = {2, 1}; qsort(pair, 2, sizeof(int), compare); }
int main() {
  std::thread one(in_flight), two(in_signal), three(in_callback);
  std::puts("ready");
  std::fflush(stdout);
  again(12);
  one.join(); two.join(); three.join();
}
