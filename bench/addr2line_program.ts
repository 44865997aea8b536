// Builds the large C++ program for `addr2line.ts`: UNITS
// translation units, each with its own instantiations of the standard library's
// containers, algorithms and regular expressions, `-O2 -g`. 8 units make about 140 MB.
//
//   deno run -A bench/addr2line_program.ts OUTPUT [UNITS] [COMPILER FLAGS…]

const [output, unitCount = "8", ...flags] = Deno.args;
if (output === undefined) {
  console.error("addr2line_program: where should the program be written?");
  Deno.exit(2);
}
const units = Number(unitCount);
const folder = Deno.makeTempDirSync();

function source(n: number): string {
  const parts = [`#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <numeric>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>
namespace unit${n} {
`];
  for (let t = 0; t < 24; t++) {
    parts.push(`
struct Key${t} {
  int a; long b; std::string c;
  bool operator<(const Key${t} &o) const { return a != o.a ? a < o.a : b != o.b ? b < o.b : c < o.c; }
  bool operator==(const Key${t} &o) const { return a == o.a && b == o.b && c == o.c; }
};
struct Hash${t} {
  std::size_t operator()(const Key${t} &k) const { return std::hash<std::string>()(k.c) ^ k.a * ${
      t + 31
    }u; }
};
std::size_t work${t}(const std::vector<std::string> &words) {
  std::map<Key${t}, std::vector<std::string>> ordered;
  std::unordered_map<Key${t}, std::set<Key${t}>, Hash${t}> hashed;
  std::vector<std::variant<Key${t}, double, std::string>> mixed;
  int i = ${t};
  for (const auto &word : words) {
    Key${t} key{i % 7, i * 3L, word};
    ordered[key].push_back(word);
    hashed[key].insert(key);
    mixed.emplace_back(key);
    mixed.emplace_back(word);
    mixed.emplace_back(i++ * 0.5);
  }
  std::vector<Key${t}> keys;
  for (auto &[key, list] : ordered) keys.push_back(key);
  std::stable_sort(keys.begin(), keys.end(), [](const Key${t} &x, const Key${t} &y) { return y < x; });
  std::sort(keys.begin(), keys.end());
  keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
  std::function<std::size_t(const Key${t} &)> measure = [&](const Key${t} &k) {
    auto found = hashed.find(k);
    return found == hashed.end() ? 0 : found->second.size() + k.c.size();
  };
  std::size_t sum = 0;
  for (const auto &key : keys) sum += measure(key);
  for (const auto &value : mixed)
    sum += std::visit([](const auto &v) { return sizeof v; }, value);
  return sum;
}
`);
  }
  parts.push(`
std::size_t all(const std::vector<std::string> &words) {
  std::size_t sum = 0;
  std::regex pattern("unit([0-9]+)${n}?");
  for (const auto &word : words) sum += std::regex_search(word, pattern);
`);
  for (let t = 0; t < 24; t++) parts.push(`  sum += work${t}(words);\n`);
  parts.push("  return sum;\n}\n}\n");
  return parts.join("");
}

const main = ["#include <cstdio>\n#include <string>\n#include <vector>\n"];
for (let n = 0; n < units; n++) {
  main.push(`namespace unit${n} { std::size_t all(const std::vector<std::string> &); }\n`);
}
main.push("int main(int argc, char **argv) {\n");
main.push("  std::vector<std::string> words(argv, argv + argc);\n  std::size_t sum = 0;\n");
for (let n = 0; n < units; n++) main.push(`  sum += unit${n}::all(words);\n`);
main.push('  std::printf("%zu\\n", sum);\n}\n');

try {
  Deno.writeTextFileSync(`${folder}/main.cpp`, main.join(""));
  const names = ["main"];
  for (let n = 0; n < units; n++) {
    Deno.writeTextFileSync(`${folder}/unit${n}.cpp`, source(n));
    names.push(`unit${n}`);
  }
  const queue = [...names];
  const compile = async () => {
    for (let name = queue.shift(); name !== undefined; name = queue.shift()) {
      await run(["-std=c++17", "-O2", "-g", ...flags, "-c", `${name}.cpp`, "-o", `${name}.o`]);
    }
  };
  await Promise.all(Array.from({ length: navigator.hardwareConcurrency }, compile));
  await run([...names.map((name) => `${name}.o`), "-o", "program"]);
  Deno.copyFileSync(`${folder}/program`, output);
} finally {
  Deno.removeSync(folder, { recursive: true });
}

async function run(args: string[]): Promise<void> {
  const compiler = Deno.env.get("CXX") ?? "g++";
  const { success } = await new Deno.Command(compiler, { args, cwd: folder }).output();
  if (!success) throw new Error(`${compiler} ${args.join(" ")} failed`);
}
