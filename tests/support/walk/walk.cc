#include <cstdlib>
namespace shop {
volatile unsigned long sum;
template <typename T> struct Till {
  [[gnu::always_inline]] void small(T n) { for (T i = 0; i < n; i++) sum = sum + i * i; }
  [[gnu::noinline]] void inner(T n) { small(n); sum = sum + 1; }
};
[[gnu::noinline]] void middle(unsigned long n) { Till<unsigned long>().inner(n); sum = sum + 1; }
[[gnu::noinline]] void outer(unsigned long n) { middle(n); sum = sum + 1; }
[[gnu::noinline]] void steady(unsigned long n) { for (unsigned long i = 0; i < n; i++) sum = sum + i * i; }
}
int main(int argc, char **argv) {
  unsigned long percent = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 100;
  for (int i = 0; i < 90; i++) { shop::outer(20000 * percent); shop::steady(2000000); }
}
