// Functions in scopes of every kind, most of which a compiler leaves out the linkage name of.
#include <algorithm>
#include <vector>
#include <cstdio>
volatile int sink = 1;
namespace shop {
static inline int mix(int a) { for (int i = 0; i < 3; i++) sink = sink * 31 + a; return sink; }
namespace {
struct Till {
  int total = 0;
  template <class T> int add(T v) { total += mix(int(v)); sink = total; return total; }
  struct Drawer { int open(int a) { sink = sink + a * 7; return mix(sink); } };
};
inline int hidden(int a) { sink = sink ^ (a * 3); return mix(a + sink); }
}
inline namespace v2 { static int newer(int a) { sink = sink + a * 11; return sink * a; } }
class Box { public: int run(int); struct Lid; private: int w = 3; };
struct Box::Lid { static int turn(int a) { struct Local { int spin(int b) { sink = sink + b * 13; return sink; } } l; return l.spin(a) + mix(a); } };
int Box::run(int n) {
  std::vector<int> v(n, int(sink));
  auto f = [&](int a) { sink = sink + a * 5; return hidden(a) + w; };
  int s = 0;
  for (auto x : v) s += f(x);
  std::for_each(v.begin(), v.end(), [&](int y) { sink = sink - y; s += Lid::turn(y); });
  return s;
}
extern "C" { inline int cfun(int a) { sink = sink + 17 * a; return sink; } }
}
extern "C" int main(int argc, char**) {
  shop::Box b; shop::Till t; shop::Till::Drawer d;
  return b.run(argc) + t.add(argc) + t.add(2.5 * argc) + d.open(argc) + shop::newer(argc) + shop::cfun(argc);
}
