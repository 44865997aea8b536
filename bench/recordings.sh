#!/bin/sh
# Makes recordings of real work, for the benchmarks beside this script and the table in the README.
#
#   bench/recordings.sh FOLDER [NAME…]
#
# Without names: all of them. What is missing on this machine is skipped with a line that says so.
#
#   compile    six parallel g++ -O2 -g of templates, all CPUs, with call chains: many addresses
#   compile-s, compile-l   the same shorter and longer, to show how cost grows
#   forks      thousands of short processes
#   server     a server under load: many threads, switches between them, the network
#   node       JavaScript, with names of compiled code in a perf map
#   dwarf      one compile with --call-graph dwarf: copies of stacks
#   database   a database that sorts and joins
#   faults     page faults of one program: small samples, few addresses
#   pt         Intel PT, synthesised, since few machines record it
#   program    no recording: a large C++ program, for addr2line
set -eu

folder=${1:?usage: bench/recordings.sh FOLDER [NAME…]}
shift
here=$(cd "$(dirname "$0")/.." && pwd)
mkdir -p "$folder"
cd "$folder"
export LC_ALL=C

have() {
  command -v "$1" > /dev/null && return
  echo "skipped: $1 is not installed"
  return 1
}

record() {
  out=$1
  shift
  perf record -q -o "$out.data" "$@" > /dev/null
  ls -l "$out.data" | awk '{ printf "%6.1f MB  %s\n", $5 / 1e6, $9 }'
}

source_of() {
  cat > compile.cpp << 'CPP'
#include <algorithm>
#include <functional>
#include <map>
#include <regex>
#include <sstream>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>
template <int N> struct Tree {
  std::map<std::string, std::vector<std::variant<int, double, std::string>>> values;
  Tree<N - 1> below;
  void add(const std::string &key) { values[key].push_back(N); below.add(key + "."); }
};
template <> struct Tree<0> { void add(const std::string &) {} };
int main(int argc, char **argv) {
  Tree<60> tree;
  std::unordered_map<std::string, std::function<int(int)>> table;
  std::regex words("([a-z]+)=([0-9]+)");
  std::smatch match;
  std::string text = argv[0];
  if (std::regex_search(text, match, words)) tree.add(match[1]);
  table["twice"] = [](int x) { return 2 * x; };
  std::ostringstream out;
  for (auto &[name, f] : table) out << name << f(argc);
  return out.str().size();
}
CPP
}

compile() { # name, rounds
  have g++ || return 0
  source_of
  record "$1" -F 12000 -e cpu-clock -a -g -- sh -c '
    for round in $(seq "$0"); do
      for i in 1 2 3 4 5 6; do g++ -std=c++17 -O2 -g -c compile.cpp -o /dev/null & done
      wait
    done' "$2"
}

server() {
  have python3 || return 0
  cat > server.py << 'PY'
import http.client, http.server, json, socketserver, threading
class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_GET(self):
        body = json.dumps({str(i): i * i for i in range(200)}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def log_message(self, *args): pass
class Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
    daemon_threads = True
server = Server(("127.0.0.1", 0), Handler)
threading.Thread(target=server.serve_forever, daemon=True).start()
def load():
    client = http.client.HTTPConnection(*server.server_address)
    for i in range(150):
        client.request("GET", "/")
        json.loads(client.getresponse().read())
clients = [threading.Thread(target=load) for i in range(8)]
for client in clients: client.start()
for client in clients: client.join()
PY
  record server -F 5000 -e cpu-clock -a -g --switch-events -- python3 server.py
}

node_names() {
  have node || return 0
  cat > work.js << 'JS'
class Node { constructor(key) { this.key = key; this.left = this.right = null; } }
function insert(node, key) {
  if (node === null) return new Node(key);
  if (key < node.key) node.left = insert(node.left, key);
  else node.right = insert(node.right, key);
  return node;
}
function sum(node) { return node === null ? 0 : node.key.length + sum(node.left) + sum(node.right); }
let total = 0;
for (let round = 0; round < 100; round++) {
  let root = null;
  for (let i = 0; i < 40000; i++) root = insert(root, String((i * 2654435761) % 1000003));
  total += sum(root) + JSON.stringify([...Array(20000).keys()].map((i) => ({ i, text: `${i}` }))).length;
}
console.log(total);
JS
  record node -F 15000 -e cpu-clock -g -- node --perf-basic-prof --interpreted-frames-native-stack work.js
}

database() {
  have sqlite3 || return 0
  record database -F 15000 -e cpu-clock -g -- sqlite3 :memory: "
    create table a as with recursive n(i) as (select 1 union all select i + 1 from n where i < 3000000)
      select i, (i * 48271) % 1000003 as k, hex(i * 7919) as t from n;
    create index ak on a(k);
    select count(*) from a x join a y on x.k = y.i where x.t < y.t;
    select k % 1000, group_concat(t) from a group by k % 1000 order by max(t);
  "
}

faults() {
  have gcc || return 0
  cat > faults.c << 'C'
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
static void touch(char *at, size_t size) { for (size_t i = 0; i < size; i += 4096) at[i] = 1; }
int main(void) {
  for (int i = 0; i < 60; i++) {
    size_t size = 64 << 20;
    char *at = mmap(0, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    madvise(at, size, MADV_NOHUGEPAGE);
    touch(at, size);
    munmap(at, size);
  }
}
C
  gcc -O1 -fno-inline faults.c -o faults
  record faults -m 1024 -e page-faults -c 1 -g -- ./faults
}

make() {
  case $1 in
    compile-s) compile compile-s 1 ;;
    compile) compile compile 4 ;;
    compile-l) compile compile-l 6 ;;
    forks) record forks -F 10000 -e cpu-clock -- sh -c 'i=0; while [ $i -lt 20000 ]; do /bin/true; i=$((i + 1)); done' ;;
    server) server ;;
    node) node_names ;;
    dwarf)
      have g++ || return 0
      source_of
      record dwarf -F 1500 -e cpu-clock:u --call-graph dwarf,8192 -- g++ -std=c++17 -O2 -g -c compile.cpp -o /dev/null
      ;;
    database) database ;;
    faults) faults ;;
    program)
      have g++ || return 0
      deno run -A --config "$here/deno.json" "$here/bench/addr2line_program.ts" program
      ;;
    pt) deno run -A --config "$here/deno.json" "$here/bench/make_pt.ts" 100 pt.data ;;
    *)
      echo "unknown recording $1" >&2
      exit 2
      ;;
  esac
}

[ $# -gt 0 ] || set -- compile-s compile compile-l forks server node dwarf database faults pt program
for name in "$@"; do make "$name"; done
