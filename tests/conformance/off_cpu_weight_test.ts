/** `--weight off-cpu` and `wall`, compared with times computed from the lines of `perf script`. */
import { assert, assertEquals } from "@std/assert";
import { perfRecords, perfText, perfVersion, scriptSwitch } from "../support/perf.ts";
import { inFolder, tool } from "../support/tool.ts";

/**
 * Threads that wait for sleeps, a lock and a pipe; then only the first one is busy. A thread gets
 * the lock and the pipe only once the kernel says that it sleeps.
 */
const PROGRAM = `
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
struct phase { const char *name; void (*run)(void); volatile int tid; };
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int ends[2];
static void sleeps(void) { for (int i = 0; i < 20; i++) usleep(2000); }
static void locks(void) { pthread_mutex_lock(&lock); pthread_mutex_unlock(&lock); }
static void reads(void) { char c; if (read(ends[0], &c, 1) != 1) abort(); }
static void spins(void) {
  struct timespec t;
  do clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t); while (t.tv_sec == 0 && t.tv_nsec < 100000000);
}
static struct phase phases[] = {
  { "sleeper", sleeps }, { "locker", locks }, { "reader", reads }, { "serial", spins },
};
static void *named(void *p) {
  struct phase *phase = p;
  pthread_setname_np(pthread_self(), phase->name);
  phase->tid = gettid();
  phase->run();
  pthread_setname_np(pthread_self(), "done");
  return p;
}
static void until_sleeps(struct phase *phase) {
  char path[64], stat[256] = "";
  do {
    usleep(1000);
    sprintf(path, "/proc/self/task/%d/stat", phase->tid);
    FILE *file = fopen(path, "r");
    if (!file) continue;
    if (!fgets(stat, sizeof stat, file)) abort();
    fclose(file);
  } while (!strstr(stat, ") S "));
}
int main(void) {
  pthread_t t[3];
  if (pipe(ends)) return 1;
  pthread_mutex_lock(&lock);
  for (int i = 0; i < 3; i++) pthread_create(&t[i], 0, named, &phases[i]);
  until_sleeps(&phases[1]);
  until_sleeps(&phases[2]);
  pthread_mutex_unlock(&lock);
  if (write(ends[1], "x", 1) != 1) return 1;
  for (int i = 0; i < 3; i++) pthread_join(t[i], 0);
  named(&phases[3]);
  printf("%d\\n", getpid());
}
`;
const NAMES = ["sleeper", "locker", "reader", "serial"];

/** Records the program in `folder`. Returns its process; `undefined` if that is not possible. */
function record(folder: string, how: readonly string[]): string | undefined {
  const compiled = new Deno.Command("cc", {
    args: ["-O1", "-x", "c", "-o", `${folder}/waits`, `${folder}/waits.c`, "-lpthread"],
  });
  Deno.writeTextFileSync(`${folder}/waits.c`, PROGRAM);
  if (!compiled.outputSync().success) return undefined;
  const { success, stdout } = new Deno.Command("perf", {
    args: ["record", "-q", "-B", "-m", "2048", "-o", `${folder}/data`, ...how, "--", "./waits"],
    cwd: folder,
    stdin: "null",
  }).outputSync();
  return success ? new TextDecoder().decode(stdout).trim() : undefined;
}

/** Times of the threads with one name, in ns. */
interface Times {
  /** On a CPU, up to a sample or a switch under this name. */
  on: number;
  /** Off the CPU, since a switch under this name. */
  off: number;
  /** Unknown: between two lines with a missing switch in between. */
  unsure: number;
}

interface ScriptThread {
  state: "on" | "off" | "unsure";
  name: string;
  since: number;
  cpu: string;
  /**
   * Kinds of lines that reported the last switch: a tracepoint and a record may report the same
   * one.
   */
  said: string[];
}

/**
 * Computes times by thread name from the lines of `perf script`: clock samples and context
 * switches.
 */
class ScriptTimes {
  readonly #threads = new Map<string, ScriptThread>();
  readonly #running = new Map<string, string>();
  readonly #times = new Map<string, Times>();

  constructor(lines: readonly string[]) {
    let last = 0;
    for (const line of lines) {
      const [, name = "", tid = "", cpu = "", s, ns, what = ""] =
        /^ *(.+?) +(-?\d+) (?:\[(\d+)\])? *(\d+)\.(\d{9}): +(.*)$/.exec(line) ?? [];
      const time = Number(s) * 1e9 + Number(ns);
      if (what === "" || time === 0) continue;
      last = time;
      if (what.startsWith("PERF_RECORD_LOST")) this.#lost();
      else if (what.startsWith("PERF_RECORD_SWITCH IN")) this.#enters(tid, time, cpu, "record");
      else if (what.startsWith("PERF_RECORD_SWITCH OUT")) this.#leaves(tid, name, time, "record");
      else if (what.startsWith("PERF_RECORD_EXIT")) this.#ends(tid, time);
      else if (what.startsWith("cpu-clock")) this.#sampled(tid, name, time, cpu);
      else if (what.startsWith("sched:sched_switch:")) {
        const { from, to } = scriptSwitch(what);
        const before = this.#running.get(cpu);
        const gone = this.#threads.get(before ?? "");
        if (before !== from && gone?.state === "on" && gone.cpu === cpu) gone.state = "unsure";
        this.#leaves(from, name, time, "tracepoint");
        if (cpu !== "") this.#running.set(cpu, to);
        this.#enters(to, time, cpu, "tracepoint");
      }
    }
    for (const thread of this.#threads.values()) {
      if (thread.state === "unsure") this.#add("unsure", thread.name, last - thread.since);
    }
  }

  /** The times of a name. */
  of(name: string): Times {
    let times = this.#times.get(name);
    if (times === undefined) this.#times.set(name, times = { on: 0, off: 0, unsure: 0 });
    return times;
  }

  #add(what: keyof Times, name: string, ns: number): void {
    this.of(name)[what] += ns;
  }

  /** Adds a time that may be either, for both names that the thread had in it. */
  #addUnsure({ name, since }: ScriptThread, other: string, time: number): void {
    this.#add("unsure", name, time - since);
    if (other !== name && other !== "") this.#add("unsure", other, time - since);
  }

  #leaves(tid: string, name: string, time: number, by: string): void {
    const thread = this.#threads.get(tid);
    if (thread?.state === "off" && !thread.said.includes(by)) {
      thread.said.push(by);
      return;
    }
    if (thread?.state === "on") this.#add("on", name, time - thread.since);
    else if (thread !== undefined) this.#addUnsure(thread, name, time);
    this.#threads.set(tid, { state: "off", name, since: time, cpu: "", said: [by] });
  }

  #enters(tid: string, time: number, cpu: string, by: string): void {
    const thread = this.#threads.get(tid);
    if (thread?.state === "on" && !thread.said.includes(by)) {
      thread.said.push(by);
      return;
    }
    if (thread?.state === "off") this.#add("off", thread.name, time - thread.since);
    else if (thread !== undefined) this.#addUnsure(thread, "", time);
    const name = thread?.name ?? "";
    this.#threads.set(tid, { state: "on", name, since: time, cpu, said: [by] });
  }

  #sampled(tid: string, name: string, time: number, cpu: string): void {
    const thread = this.#threads.get(tid);
    if (thread?.state === "on") this.#add("on", name, time - thread.since);
    else if (thread !== undefined) this.#addUnsure(thread, name, time);
    const said = ["tracepoint", "record"];
    this.#threads.set(tid, { state: "on", name, since: time, cpu, said });
  }

  /**
   * The last time on a CPU has the name at the switch before it: no sample or switch has another.
   */
  #ends(tid: string, time: number): void {
    const thread = this.#threads.get(tid);
    if (thread?.state !== "on") return;
    this.#add("on", thread.name, time - thread.since);
    thread.since = time;
  }

  #lost(): void {
    for (const thread of this.#threads.values()) thread.state = "unsure";
  }
}

const SWITCHES = [
  "-g",
  "-e",
  "cpu-clock/period=5000000/,sched:sched_switch,sched:sched_waking",
  "--switch-events",
];

const canRecord = ((): boolean => {
  if (perfVersion() === undefined || !perfRecords()) return false;
  const folder = Deno.makeTempDirSync({ prefix: "perfdata-weight-" });
  try {
    const { success } = new Deno.Command("perf", {
      args: ["record", "-q", "-B", "-o", `${folder}/data`, ...SWITCHES, "--", "true"],
      stdin: "null",
      stdout: "null",
      stderr: "null",
    }).outputSync();
    if (!success) console.log("ignored: perf cannot record tracepoints of the scheduler here");
    return success;
  } finally {
    Deno.removeSync(folder, { recursive: true });
  }
})();

/** Sums of folded stacks by their first frame. */
function sums(folded: string): Map<string, number> {
  const found = new Map<string, number>();
  for (const line of folded.trim().split("\n")) {
    const [, comm = "", ns] = /^([^;]+)(?:;.*)? (\d+)$/.exec(line) ?? [];
    found.set(comm, (found.get(comm) ?? 0) + Number(ns));
  }
  return found;
}

Deno.test({
  name:
    "--weight off-cpu and wall: times equal those in perf script's lines, for each kind of recording",
  ignore: !canRecord,
  async fn() {
    await inFolder(async (folder) => {
      const path = `${folder}/data`;
      const kinds: readonly (readonly string[])[] = [
        SWITCHES,
        ["-a", "-g", "-e", "cpu-clock/period=5000000/,sched:sched_switch,sched:sched_waking"],
        ["-g", "-e", "cpu-clock/period=5000000/", "--switch-events"],
      ];
      let compared = 0;
      let exact = 0;
      for (const how of kinds) {
        const pid = record(folder, how);
        assert(pid !== undefined && /^\d+$/.test(pid), `perf record ${how.join(" ")}`);
        const fields = how[0] === "-a"
          ? "comm,tid,cpu,time,event,trace"
          : "comm,tid,time,event,trace";
        const shown = [
          "--ns",
          "--show-switch-events",
          "--show-task-events",
          "--show-lost-events",
          "-F",
          fields,
        ];
        const script = await perfText(["script", ...shown], path);
        const times = new ScriptTimes(script?.stdout.split("\n") ?? []);
        const folded = async (weight: string) => {
          const args = ["folded", "--pid", pid, "--weight", weight, path];
          const { code, out, err } = await tool("export", args);
          assertEquals(code, 0, err);
          return { out, err, sums: sums(out) };
        };
        const off = await folded("off-cpu");
        const wall = await folded("wall");
        for (const name of NAMES) {
          const expected = times.of(name);
          // The kernel drops some events of all processors without a record.
          const compare = (found: number, least: number): void => {
            const most = least + expected.unsure;
            assert(
              found >= least && found <= most,
              `${how.join(" ")}: ${name}: ${found}, expected ${least} to ${most}; ${off.err}`,
            );
            compared++;
            if (least > 0 && least === most) exact++;
          };
          compare(off.sums.get(name) ?? 0, expected.off);
          compare(wall.sums.get(name) ?? 0, expected.off + expected.on);
        }
        // Functions by command have the same sums.
        for (const weight of ["off-cpu", "wall"] as const) {
          const how = ["--pid", pid, "--weight", weight, "--sort", "comm", "--json"];
          const { out } = await tool("funcs", [...how, path]);
          const rows = out.trim().split("\n").map((line) => JSON.parse(line));
          const found = new Map(rows.map(({ comm, period }) => [comm, period]));
          for (const name of NAMES) {
            assertEquals(found.get(name), (weight === "wall" ? wall : off).sums.get(name), name);
          }
          assert(rows.every(({ event }) => event === weight));
        }
        const hasChains = how.join().includes("sched_switch");
        if (times.of("locker").unsure === 0) {
          const ofLock = off.out.split("\n").filter((line) => line.startsWith("locker;"));
          const isSeen = ofLock.some((line) => line.includes("futex"));
          assertEquals(isSeen, hasChains, ofLock.join("\n"));
        }
        assertEquals(
          /call chains of context switches were not recorded: perf record/.test(off.err),
          !hasChains,
        );
        if (times.of("reader").unsure === 0) {
          assert(wall.out.split("\n").some((line) => /^reader;.*\[waiting\] \d+$/.test(line)));
        }
      }
      console.log(
        `${compared} times of threads compared, ${exact} of them without a missing switch`,
      );
      assertEquals(compared, kinds.length * 2 * NAMES.length);
      assert(exact > 0, "each thread misses a switch in each recording");
    });
  },
});

const HANDLERS = ["irq:irq_handler", "irq:softirq", "irq_vectors:local_timer"]
  .flatMap((name) => [`${name}_entry`, `${name}_exit`]);

/** Sums of the times of interrupt handlers by name, without handlers inside of them, in ns. */
function handlerTimes(lines: readonly string[]): Map<string, number> {
  const times = new Map<string, number>();
  const open = new Map<string, { key: string; name: string; since: number; inner: number }[]>();
  for (const line of lines) {
    const [, tid = "", cpu = "", s, ns, kind = "", end = "", rest = ""] =
      /^.* (\d+) \[(\d+)\] +(\d+)\.(\d{9}): +irq\w*:(\w+)_(entry|exit): +(.*)$/.exec(line) ?? [];
    if (kind === "") continue;
    const time = Number(s) * 1e9 + Number(ns);
    const [, key = kind] = /\b(?:irq|vec)=(\d+)/.exec(rest) ?? [];
    const [, called = kind] = /\b(?:name|action)=([^\]]+)/.exec(rest) ?? [];
    const handlers = open.get(cpu) ?? [];
    open.set(cpu, handlers);
    if (end === "entry") {
      const name = kind === "softirq" ? `[softirq ${called}]` : `[irq ${called}]`;
      handlers.push({ key: kind + key, name, since: time, inner: 0 });
      continue;
    }
    const last = handlers.at(-1);
    if (last?.key !== kind + key) continue;
    handlers.pop();
    const outer = handlers.at(-1);
    if (outer !== undefined) outer.inner += time - last.since;
    if (tid === "0") continue;
    times.set(last.name, (times.get(last.name) ?? 0) + time - last.since - last.inner);
  }
  return times;
}

const canRecordHandlers = canRecord && HANDLERS.every((name) => {
  try {
    return Deno.statSync(`/sys/kernel/tracing/events/${name.replace(":", "/")}`).isDirectory;
  } catch {
    console.log(`ignored: this machine has no tracepoint ${name}`);
    return false;
  }
});

Deno.test({
  name: "--weight wall and off-cpu: times of interrupt handlers equal those in perf script's lines",
  ignore: !canRecordHandlers,
  async fn() {
    await inFolder(async (folder) => {
      const path = `${folder}/data`;
      const events = ["cpu-clock/period=5000000/", "sched:sched_switch", ...HANDLERS].join();
      let compared = 0;
      // In a recording without some of its records, the two may differ.
      for (let k = 0; k < 4 && compared === 0; k++) {
        assert(record(folder, ["-a", "-g", "-e", events]) !== undefined, events);
        const fields = ["-F", "comm,tid,cpu,time,event,trace"];
        const script = await perfText(
          ["script", "--ns", "-G", "--show-lost-events", ...fields],
          path,
        );
        const lines = script?.stdout.split("\n") ?? [];
        const expected = handlerTimes(lines);
        assert(expected.has("[irq local_timer]"), [...expected.keys()].join());
        for (const weight of ["wall", "off-cpu"]) {
          const args = ["--weight", weight, "--sort", "dso,sym", "--json", path];
          const { code, out, err } = await tool("funcs", args);
          assertEquals(code, 0, err);
          if (/records were lost|interrupt handlers: /.test(err)) break;
          const rows = out.trim().split("\n").map((line) => JSON.parse(line));
          const found = rows.filter(({ dso }) => dso === "[interrupts]")
            .map(({ sym, period }) => [sym, period] as const);
          assertEquals(found.toSorted(), [...expected].toSorted(), weight);
          const folded = await tool("export", ["folded", "--weight", weight, path]);
          const ofTimer = [...folded.out.matchAll(/;\[irq local_timer\] (\d+)$/gm)];
          const sum = ofTimer.reduce((all, [, ns]) => all + Number(ns), 0);
          assertEquals(sum, expected.get("[irq local_timer]"), weight);
          compared++;
        }
      }
      assertEquals(compared, 2, "each of 4 recordings lacks records");
    });
  },
});

Deno.test("--weight off-cpu: a recording without context switches gives the flags that record them", async () => {
  const path = "fixtures/recorded/callchain.perf.data";
  for (const name of ["tree", "export", "flame", "diff", "funcs"]) {
    const operands = { export: ["folded", path], flame: ["-o", "-", path], diff: [path, path] };
    const rest = operands[name as keyof typeof operands] ?? [path];
    const { code, err } = await tool(name, ["--weight", "off-cpu", ...rest]);
    assertEquals(code, 1);
    assert(/no context switches were recorded: perf record .*sched_switch/.test(err), err);
  }
  assertEquals((await tool("tree", ["--weight", "offcpu", path])).code, 2);
});
