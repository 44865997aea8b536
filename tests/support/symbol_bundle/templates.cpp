// Templates, lambdas and algorithms of the library, inlined into each other.
#include <algorithm>
#include <cstdio>
#include <functional>
#include <map>
#include <numeric>
#include <string>
#include <vector>

namespace shapes {
struct Shape {
  virtual ~Shape() = default;
  virtual double area(int n) const = 0;
};
template <int Sides>
struct Polygon : Shape {
  double area(int n) const override {
    double sum = 0;
    for (int i = 1; i < n; i++) sum += Sides / static_cast<double>(i);
    return sum;
  }
};
}  // namespace shapes

template <class T>
__attribute__((noinline)) T sorted_sum(std::vector<T> values) {
  std::sort(values.begin(), values.end(), [](const T &a, const T &b) { return b < a; });
  return std::accumulate(values.begin(), values.begin() + values.size() / 2, T{});
}

__attribute__((noinline)) static std::size_t count_words(int n) {
  std::map<std::string, int> counts;
  for (int i = 0; i < n; i++) counts["word " + std::to_string(i * i % 101)]++;
  return counts.size();
}

int main(int argc, char **) {
  const shapes::Polygon<3> triangle;
  const shapes::Polygon<4> square;
  const shapes::Shape *shape = argc > 1 ? static_cast<const shapes::Shape *>(&triangle) : &square;
  double sum = 0;
  for (int round = 0; round < 40; round++) {
    std::vector<int> values(20000);
    unsigned state = round + 1;
    for (int &value : values) value = static_cast<int>(state = state * 1664525u + 1013904223u);
    sum += sorted_sum(values) + shape->area(300000) + count_words(3000);
  }
  std::printf("%f\n", sum);
}
