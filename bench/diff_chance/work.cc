// Shop orders: parsed, kept in maps, sorted, summed and written, by functions of very different weight.
// usage: work ROUNDS [FUNCTION PERCENT]: the function does PERCENT of its work.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#define APART __attribute__((noinline))

static const char *slowed = "";
static int slowed_percent = 100;

/** Returns the number of steps of a function: the usual number, or its percentage if the function is slowed. */
static int steps(const char *name, int usual) {
  return std::strcmp(name, slowed) == 0 ? usual * slowed_percent / 100 : usual;
}

struct Order {
  int id;
  double price;
  std::string name;
};

APART static unsigned hash_name(const std::string &name, int times) {
  unsigned h = 2166136261u;
  for (int i = 0; i < times; i++)
    for (char c : name) h = (h ^ (unsigned char)c) * 16777619u;
  return h;
}

APART static std::vector<Order> parse_orders(unsigned seed, int count) {
  std::vector<Order> orders;
  for (int i = 0; i < count; i++) {
    char line[64];
    std::snprintf(line, sizeof line, "%u;%u;article %u", seed + i, seed % 997 + i, seed % 97 + i);
    char *end;
    int id = std::strtol(line, &end, 10);
    double price = std::strtod(end + 1, &end);
    orders.push_back({id, price, end + 1});
  }
  return orders;
}

APART static double price_model(const std::vector<Order> &orders, int count) {
  double sum = 0;
  for (int i = 0; i < count; i++) {
    const Order &order = orders[i % orders.size()];
    sum += std::sqrt(order.price + i) / (1 + order.id % 7);
  }
  return sum;
}

APART static double multiply(const std::vector<double> &a, std::vector<double> &b, int rows) {
  double sum = 0;
  for (int i = 0; i < rows; i++)
    for (int j = 0; j < 64; j++) {
      double cell = 0;
      for (int k = 0; k < 64; k++) cell += a[i % 64 * 64 + k] * b[k * 64 + j];
      sum += cell;
    }
  return sum;
}

APART static bool by_price(const Order &a, const Order &b) { return a.price < b.price; }

APART static void sort_orders(std::vector<Order> &orders, int times) {
  for (int i = 0; i < times; i++) {
    std::reverse(orders.begin(), orders.end());
    std::sort(orders.begin(), orders.end(), by_price);
  }
}

APART static int index_orders(const std::vector<Order> &orders, int times) {
  std::map<std::string, int> index;
  for (int i = 0; i < times; i++) index[orders[i % orders.size()].name] += i;
  return index.size();
}

APART static int count_ids(const std::vector<Order> &orders, int times) {
  std::unordered_map<int, int> counts;
  for (int i = 0; i < times; i++) counts[orders[i % orders.size()].id * 31 + i]++;
  return counts.size();
}

APART static int find_words(const std::vector<Order> &orders, int times) {
  int found = 0;
  for (int i = 0; i < times; i++)
    found += orders[i % orders.size()].name.find("cle 9") != std::string::npos;
  return found;
}

APART static unsigned checksum(const std::vector<unsigned char> &memory, int count) {
  unsigned a = 1, b = 0;
  for (int i = 0; i < count; i++) {
    a = (a + memory[i * 67 & (memory.size() - 1)]) % 65521;
    b = (b + a) % 65521;
  }
  return b << 16 | a;
}

APART static std::string write_report(const std::vector<Order> &orders, int count) {
  std::string text;
  for (int i = 0; i < count; i++) {
    text += orders[i % orders.size()].name;
    text += std::to_string(i);
    text += '\n';
  }
  return text;
}

APART static int split_words(const std::string &text, int times) {
  int words = 0;
  for (int i = 0; i < times; i++) {
    std::unique_ptr<std::string> copy(new std::string(text, 0, 200));
    for (char c : *copy) words += c == ' ';
  }
  return words;
}

APART static double average(const std::vector<double> &values, int times) {
  double sum = 0;
  for (int i = 0; i < times; i++) sum += values[i * 7 % values.size()];
  return sum / times;
}

APART static int levenshtein(const std::string &a, const std::string &b) {
  std::vector<int> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); j++) row[j] = j;
  for (size_t i = 1; i <= a.size(); i++) {
    int corner = row[0]++;
    for (size_t j = 1; j <= b.size(); j++) {
      int up = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, corner + (a[i - 1] != b[j - 1])});
      corner = up;
    }
  }
  return row.back();
}

APART static int compare_names(const std::vector<Order> &orders, int times) {
  int sum = 0;
  for (int i = 0; i < times; i++)
    sum += levenshtein(orders[i % orders.size()].name, orders[(i + 7) % orders.size()].name);
  return sum;
}

int main(int argc, char **argv) {
  int rounds = argc > 1 ? std::atoi(argv[1]) : 100;
  if (argc > 3) slowed = argv[2], slowed_percent = std::atoi(argv[3]);
  std::vector<double> a(4096, 1.5), b(4096, 0.5);
  std::vector<unsigned char> memory(1 << 22, 3);
  double sum = 0;
  for (int round = 0; round < rounds; round++) {
    std::vector<Order> orders = parse_orders(round, steps("parse_orders", 500));
    sum += price_model(orders, steps("price_model", 200000));
    sum += multiply(a, b, steps("multiply", 64));
    sort_orders(orders, steps("sort_orders", 4));
    sum += index_orders(orders, steps("index_orders", 3000));
    sum += count_ids(orders, steps("count_ids", 4000));
    sum += find_words(orders, steps("find_words", 4000));
    sum += checksum(memory, steps("checksum", 120000));
    std::string report = write_report(orders, steps("write_report", 3000));
    sum += split_words(report, steps("split_words", 1000));
    sum += average(a, steps("average", 40000));
    sum += compare_names(orders, steps("compare_names", 300));
    sum += hash_name(report, steps("hash_name", 4));
  }
  return sum == 42;
}
