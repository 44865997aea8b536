// Templates, lambdas, virtual calls, exceptions, anonymous namespaces, local classes.
#include <algorithm>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <vector>

int tally(const std::vector<std::string> &words);

namespace {

struct Shape {
  virtual ~Shape() = default;
  virtual double area() const = 0;
};

template <int Sides>
struct Polygon : Shape {
  explicit Polygon(double side) : side(side) {}
  double area() const override {
    if (side < 0) throw std::domain_error("side " + std::to_string(side));
    return Sides * side * side / 4;
  }
  double side;
};

template <int N>
std::unique_ptr<Shape> make(int kind, double side) {
  if (kind == N) return std::make_unique<Polygon<N>>(side);
  if constexpr (N > 3) return make<N - 1>(kind, side);
  return nullptr;
}

template <typename Iterator, typename Visit>
int visit_all(Iterator from, Iterator to, Visit visit) {
  int sum = 0;
  for (; from != to; ++from) sum += visit(*from);
  return sum;
}

}  // namespace

namespace outer {
namespace inner {

template <typename T>
class Counter {
 public:
  void add(const T &value) { ++counts_[value]; }
  std::vector<std::pair<T, int>> sorted() const {
    std::vector<std::pair<T, int>> result(counts_.begin(), counts_.end());
    std::sort(result.begin(), result.end(), [](const auto &a, const auto &b) {
      return a.second != b.second ? a.second > b.second : a.first < b.first;
    });
    return result;
  }

 private:
  std::unordered_map<T, int> counts_;
};

}  // namespace inner
}  // namespace outer

int main(int argc, char **argv) {
  struct Local {
    int scale;
    int operator()(const std::string &s) const { return scale * static_cast<int>(s.size()); }
  };
  std::vector<std::string> words(argv, argv + argc);
  for (int i = 0; i < 50; i++) words.push_back("word" + std::to_string(i * i % 17));
  outer::inner::Counter<std::string> strings;
  outer::inner::Counter<int> lengths;
  for (const auto &word : words) {
    strings.add(word);
    lengths.add(static_cast<int>(word.size()));
  }
  std::map<int, std::function<double()>> todo;
  for (int kind = 3; kind < 9; kind++) {
    todo[kind] = [kind] {
      auto shape = make<8>(kind, kind * 0.5);
      return shape ? shape->area() : 0.0;
    };
  }
  double area = 0;
  try {
    for (auto &[kind, f] : todo) area += f();
    area += Polygon<4>(argc > 9 ? -1 : 1).area();
  } catch (const std::domain_error &error) {
    std::cerr << error.what() << '\n';
  }
  std::cout << area << ' ' << visit_all(words.begin(), words.end(), Local{argc}) << ' '
            << strings.sorted().size() << ' ' << lengths.sorted().size() << ' ' << tally(words)
            << '\n';
}
