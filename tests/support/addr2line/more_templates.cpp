#include <algorithm>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace {
bool vowel(char c) { return std::string("aeiou").find(c) != std::string::npos; }
}  // namespace

int tally(const std::vector<std::string> &words) {
  std::set<std::string> seen;
  std::ostringstream out;
  for (const auto &word : words) {
    if (!seen.insert(word).second) continue;
    out << word.size() << std::count_if(word.begin(), word.end(), vowel) << ' ';
  }
  std::vector<int> sizes;
  std::transform(seen.begin(), seen.end(), std::back_inserter(sizes),
                 [](const std::string &s) { return static_cast<int>(s.size()); });
  std::stable_sort(sizes.begin(), sizes.end());
  return static_cast<int>(out.str().size()) + (sizes.empty() ? 0 : sizes.back());
}
