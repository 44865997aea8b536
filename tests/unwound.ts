/** Programs whose stacks are worth unwinding, recorded on the spot, and the stacks as perf sees them. */

import { PerfDataReader } from "@perfdata/format";
import { openSource } from "@perfdata/format/file-source";
import { type Engine, type EngineOptions, runEngine } from "@perfdata/session/engine";
import { localResolver } from "@perfdata/symbols/local-resolver";

/** Exceptions, signals, `alloca`, recursion through `std::function`, the vdso, threads, callbacks. */
export const PROGRAM = `
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
  std::printf("%ld\\n", (long)sink);
}
`;

/** Runs a program, and returns what it printed to standard error if it failed. */
export function runs(...[program = "", ...args]: string[]): string | undefined {
  try {
    const { success, stderr } = new Deno.Command(program, { args, stdout: "null" }).outputSync();
    return success ? undefined : new TextDecoder().decode(stderr).trim().split("\n")[0];
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return `no ${program} here`;
    throw error;
  }
}

/** A stack, innermost frame first: `1a2b /path` by offset in the file, `kernel` for its frames. */
export type PlainStack = readonly string[];

/** Stacks of a recording, by thread and time of the sample. */
export interface RecordedStacks {
  /** The stacks; those with an equal key follow one another. */
  readonly stacks: readonly { readonly key: string; readonly frames: PlainStack }[];
  /** How unwinding went. */
  readonly engine: Engine;
}

/** The stacks of a recording as the engine unwinds them. */
export async function ourStacks(
  path: string,
  buildIdCache: string,
  options: Pick<EngineOptions, "stitchLbr"> = {},
): Promise<RecordedStacks> {
  const resolver = localResolver({ places: { buildIdCache, debugRoot: "/usr/lib/debug" } });
  const reader = await PerfDataReader.open(openSource(path));
  const leaves: { key: string; node: number }[] = [];
  const engine = await runEngine(reader, [{
    needs: { stacks: true },
    rows(run) {
      for (let i = 0; i < run.count; i++) {
        if (run.type[i] !== 9) continue;
        leaves.push({ key: `${run.tid[i]} ${run.time(i)}`, node: run.stack[i] as number });
      }
    },
  }], { ...options, unwind: () => resolver });
  const { places, stacks: { parent, place } } = engine;
  const stacks = leaves.map(({ key, node }) => {
    const frames: string[] = [];
    for (let at = node; at >= 0; at = parent[at] as number) {
      const number = place[at] as number;
      const object = places.object(number);
      const where = object < 0 ? "[unknown]" : places.objects[object]?.path;
      const address = BigInt.asUintN(64, BigInt(places.address(number))).toString(16);
      frames.push(places.cpumode(number) === 1 ? "kernel" : `${address} ${where}`);
    }
    return { key, frames };
  });
  return { stacks, engine };
}

/** The stacks of the text of `perf script --no-inline --ns -F tid,time,ip,dso`. */
export function perfStacks(text: string): { key: string; frames: PlainStack }[] {
  return text.split("\n\n").filter((block) => block.trim() !== "").map((block) => {
    const [head = "", ...lines] = block.split("\n").filter((line) => line.trim() !== "");
    const [, tid, seconds, fraction] = /^\s*(\d+)\s+(\d+)\.(\d{9}):/.exec(head) ?? [];
    const frames = lines.map((line) => {
      const [, address = "", where] = /^\s*([0-9a-f]+) \((.*)\)/.exec(line) ?? [];
      return address.length === 16 && address.startsWith("ffff") && address !== END
        ? "kernel"
        : `${address} ${where}`;
    });
    // A return address of 0, which perf shows as the byte before it, is no frame.
    if (frames.at(-1)?.startsWith(END)) frames.pop();
    return { key: `${tid} ${BigInt(seconds ?? 0) * 1000000000n + BigInt(fraction ?? 0)}`, frames };
  });
}

const END = "ffffffffffffffff";
