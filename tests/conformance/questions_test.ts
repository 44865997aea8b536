/** The questions in docs/tables.md: their answers equal perf's for the same recording. */
import { assert, assertEquals } from "@std/assert";
import { ignored } from "../support/ignored.ts";
import { perfText } from "../support/perf.ts";
import { noRecording, recordProgram } from "../support/recorded_program.ts";
import { inFolder, tool } from "../support/tool.ts";

const root = new URL("../../", import.meta.url).pathname;

const PROGRAM = `
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>
volatile unsigned long sum;
__attribute__((noinline)) void leaf(unsigned n) { for (unsigned i = 0; i < n; i++) sum += i * i; }
__attribute__((noinline)) void left(void) { leaf(2000); sum++; }
__attribute__((noinline)) void right(void) { leaf(1000); sum++; }
__attribute__((noinline)) void touch(void) {
  char *p = malloc(1 << 20);
  for (int i = 0; i < 1 << 20; i += 4096) p[i] = 1;
  sum += p[4096];
  free(p);
}
void *worker(void *n) {
  for (int i = 0; i < 30000; i++) {
    left();
    right();
    if (i % 3000 == 0) { touch(); usleep(1000); }
  }
  return n;
}
int main(void) {
  pthread_t t[2];
  for (int i = 0; i < 2; i++) pthread_create(t + i, 0, worker, 0);
  worker(0);
  for (int i = 0; i < 2; i++) pthread_join(t[i], 0);
  return 0;
}
`;

/** The program's own functions, since names of others depend on installed symbols. */
const OURS = new Set(["leaf", "left", "right", "touch", "worker", "main"]);

type Row = Readonly<Record<string, string | number | null>>;

/** A sample as perf script prints it. */
interface Sample {
  readonly comm: string;
  readonly pid: number;
  readonly tid: number;
  readonly cpu: number;
  readonly misc: string;
  readonly ns: bigint;
  readonly period: number;
  readonly event: string;
  readonly addr: bigint;
  /** Functions and objects, innermost first. */
  readonly chain: readonly { readonly sym: string; readonly dso: string }[];
}

async function script(path: string, ...args: string[]): Promise<string> {
  const result = await perfText(["script", ...args], path);
  assertEquals(result?.code, 0, result?.stderr);
  return result?.stdout ?? "";
}

async function perfSamples(path: string): Promise<Sample[]> {
  const fields = "comm,pid,tid,cpu,misc,time,period,event,addr,ip,sym,dso";
  const text = await script(path, "-F", fields, "--ns", "--no-inline");
  return text.trimEnd().split("\n\n").map((block) => {
    const [head = "", ...frames] = block.split("\n");
    const match =
      /^\s*(.+?)\s+(\d+)\/(\d+)\s+\[(\d+)\]\s+(\w)\s+(\d+)\.(\d{9}):\s+(\d+)\s+(\S+):\s+([0-9a-f]+)/
        .exec(head);
    assert(match !== null, head);
    const [, comm = "", pid, tid, cpu, misc = "", s, ns, period, event = "", addr] = match;
    return {
      ...{ comm, pid: Number(pid), tid: Number(tid), cpu: Number(cpu), misc, event },
      ns: BigInt(s as string) * 1_000_000_000n + BigInt(ns as string),
      period: Number(period),
      addr: BigInt(`0x${addr}`),
      chain: frames.map((line) => {
        const [, sym = "", dso = ""] = /^\s+[0-9a-f]+ (.*) \((.*)\)$/.exec(line) ?? [];
        return { sym, dso };
      }),
    };
  });
}

/** Sums of rows by a key, sorted by the key. */
function sums<T>(
  rows: Iterable<T>,
  key: (row: T) => string | undefined,
  value: (row: T) => number,
): [string, number][] {
  const found = new Map<string, number>();
  for (const row of rows) {
    const of = key(row);
    if (of !== undefined) found.set(of, (found.get(of) ?? 0) + value(row));
  }
  return [...found].sort(([a], [b]) => a < b ? -1 : 1);
}

const one = (): number => 1;
const period = (row: { readonly period?: string | number | null }): number => Number(row.period);
const ours = (name: unknown): string | undefined =>
  typeof name === "string" && OURS.has(name) ? name : undefined;

/** perf's result for an answer, both as lists that must be equal. */
type Check = (answer: readonly Row[], perf: Perf) => readonly [found: unknown, expected: unknown];

interface Perf {
  readonly samples: readonly Sample[];
  readonly ofCpu: readonly Sample[];
  readonly ofFaults: readonly Sample[];
  /** Lines of perf script with records of tasks, mappings and switches. */
  readonly records: readonly string[];
}

const CHECKS: readonly Check[] = [
  (answer, { ofCpu }) => [
    sums(answer, ({ function: name }) => ours(name), period),
    sums(ofCpu, ({ chain }) => ours(chain[0]?.sym), period),
  ],
  (answer, { samples }) => [
    [sums(answer, (row) => `${row["event"]}`, (row) => Number(row["samples"])), ...[
      sums(answer, (row) => `${row["event"]}`, period),
    ]],
    [sums(samples, ({ event }) => event, one), sums(samples, ({ event }) => event, period)],
  ],
  (answer, { samples }) => [
    sums(answer, (row) => `${row["event"]} ${row["comm"]}`, period),
    sums(samples, ({ event, comm }) => `${event} ${comm}`, period),
  ],
  (answer, { ofCpu }) => [
    sums(answer, ({ object }) => object === null ? "[unknown]" : `${object}`, period),
    sums(ofCpu, ({ chain }) => chain[0]?.dso, period),
  ],
  (answer, { samples }) => [
    sums(answer, (row) => `${row["cpu"]} ${row["event"]}`, period),
    sums(samples, ({ cpu, event }) => `${cpu} ${event}`, period),
  ],
  (answer, { samples }) => [
    sums(answer, (r) => `${r["pid"]} ${r["tid"]} ${r["comm"]}`, (r) => Number(r["samples"])),
    sums(samples, ({ pid, tid, comm }) => `${pid} ${tid} ${comm}`, one),
  ],
  (answer, { samples }) => [
    sums(answer, ({ mode }) => `${mode}`[0]?.toUpperCase(), (r) => Number(r["samples"])),
    sums(samples, ({ misc }) => misc, one),
  ],
  (answer, { samples }) => {
    const first = samples.reduce((least, { ns }) => ns < least ? ns : least, samples[0]?.ns ?? 0n);
    return [
      sums(answer, (r) => `${r["event"]} ${r["second"]}`, (r) => Number(r["samples"])),
      sums(samples, ({ event, ns }) => `${event} ${(ns - first) / 1_000_000_000n}`, one),
    ];
  },
  (answer, { ofCpu }) => [
    sums(answer, ({ caller }) => ours(caller), period),
    sums(
      ofCpu,
      ({ chain: [leaf, caller] }) => leaf?.sym === "leaf" ? ours(caller?.sym) : undefined,
      period,
    ),
  ],
  (answer, { ofCpu }) => [
    sums(answer, ({ function: name }) => ours(name), period),
    sums(
      ofCpu.flatMap(({ chain, period }) =>
        [...new Set(chain.map(({ sym }) => sym))].map((sym) => ({ sym, period }))
      ),
      ({ sym }) => ours(sym),
      period,
    ),
  ],
  (answer, { samples }) => [
    sums(answer, ({ tid }) => `${tid}`, (r) => Number(r["samples"])),
    sums(
      samples,
      ({ tid, chain }) => chain.some(({ sym }) => sym === "worker") ? `${tid}` : undefined,
      one,
    ),
  ],
  (answer, { samples }) => [
    [answer[0]?.["deepest"], answer[0]?.["frames"]],
    [
      Math.max(...samples.map(({ chain }) => chain.length)),
      samples.reduce((sum, { chain }) => sum + chain.length, 0),
    ],
  ],
  (answer, { ofCpu }) => {
    const known = (stack: readonly string[]) => stack.map((name) => ours(name) ?? "?").join(";");
    return [
      sums(answer, ({ stack }) => known(`${stack}`.split(";")), period),
      sums(ofCpu, ({ chain }) => known(chain.map(({ sym }) => sym).toReversed()), period),
    ];
  },
  (answer, { ofFaults }) => [
    sums(answer, ({ function: name }) => ours(name), period),
    sums(ofFaults, ({ chain }) => ours(chain[0]?.sym), period),
  ],
  (answer, { ofFaults }) => [
    answer[0]?.["pages"],
    new Set(ofFaults.map(({ addr }) => addr >> 12n)).size,
  ],
  (answer, { samples }) => {
    const times = Map.groupBy(samples, ({ tid }) => tid);
    const expected = [...times].flatMap(([tid, of]) => {
      const sorted = of.map(({ ns }) => Number(ns)).sort((a, b) => a - b);
      const gaps = sorted.slice(1).map((ns, i) => ns - (sorted[i] as number));
      return gaps.length === 0 ? [] : [[tid, Math.max(...gaps)] as const];
    });
    return [
      answer.map(({ tid, gap }) => [tid, gap]),
      expected.sort(([a], [b]) => a - b),
    ];
  },
  (answer, { samples }) => {
    const times = Map.groupBy(samples, ({ tid }) => tid);
    const expected = [...times].map(([tid, of]) => {
      const sorted = of.map(({ ns }) => Number(ns)).sort((a, b) => a - b);
      return [tid, sorted[0], sorted.at(-1)] as const;
    });
    return [
      answer.map(({ tid, first, last }) => [tid, first, last]),
      expected.sort(([a], [b]) => a - b),
    ];
  },
  (answer, { records }) => {
    const out = records.flatMap((line) => {
      const match = /^\s*.+?\s+\d+\/(\d+)\s.*PERF_RECORD_SWITCH\S* OUT( preempt)?/.exec(line);
      return match === null ? [] : [{ tid: match[1] ?? "", preempted: match[2] !== undefined }];
    });
    const tid = (row: { readonly tid?: unknown }) => `${row.tid}`;
    return [
      [
        sums(answer, tid, (r) => Number(r["switches"])),
        sums(answer, tid, (r) => Number(r["preempted"])),
      ],
      [sums(out, tid, one), sums(out, tid, ({ preempted }) => preempted ? 1 : 0)],
    ];
  },
  (answer, { records }) => [
    answer.map(({ tid, ppid }) => `${tid} of ${ppid}`),
    records.flatMap((line) => {
      const match = /PERF_RECORD_FORK\((\d+):(\d+)\):\((\d+):\d+\)/.exec(line);
      const [, pid, tid, ppid] = match ?? [];
      return match === null || pid === tid ? [] : [`${tid} of ${ppid}`];
    }).sort(),
  ],
  (answer, { records }) => [
    sums(answer, ({ object }) => `${object}`, (r) => Number(r["mappings"])),
    sums(
      records.flatMap((line) =>
        /PERF_RECORD_MMAP2? [1-9]\d*\/\d+: \[.*\]: \S+ (.+)$/.exec(line)?.[1] ?? []
      ),
      (object) => object,
      one,
    ),
  ],
];

/** The questions in the page, as text and SQL. */
function questions(): { readonly title: string; readonly sql: string }[] {
  const page = Deno.readTextFileSync(`${root}docs/tables.md`);
  return [...page.matchAll(/^\*\*(\d+\. [^*]+)\*\*[^]*?```sql\n([^]*?)```/gm)]
    .map(([, title = "", sql = ""]) => ({ title, sql }));
}

Deno.test("docs/tables.md: every question is checked", () => {
  assertEquals(
    questions().map(({ title }) => Number.parseInt(title)),
    [
      ...CHECKS.keys(),
    ].map((number) => number + 1),
  );
});

Deno.test({
  name: "docs/tables.md: each answer equals perf's",
  ...ignored(noRecording()),
  fn: () =>
    inFolder(async (folder) => {
      const events =
        "-d --sample-cpu --switch-events -F 997 -e cpu-clock -e page-faults/period=1/u";
      const data = await recordProgram(folder, PROGRAM, events.split(" "));
      const samples = await perfSamples(data);
      const shown = ["--show-task-events", "--show-mmap-events", "--show-switch-events"];
      const perf: Perf = {
        samples,
        ofCpu: samples.filter(({ event }) => event === "cpu-clock"),
        ofFaults: samples.filter(({ event }) => event !== "cpu-clock"),
        records: (await script(data, ...shown, "-F", "comm,pid,tid,time", "--ns")).split("\n"),
      };
      assert(
        perf.ofCpu.length > 20 && perf.ofFaults.length > 20,
        `${perf.ofCpu.length} and ${perf.ofFaults.length} samples`,
      );
      const tables = `${folder}/tables`;
      const exported = await tool("export", ["parquet", "--names", "-o", tables, data]);
      assertEquals(exported.code, 0, exported.err);
      const END = "end of an answer";
      const text = questions().map(({ sql }) => `${sql.trim()};\nSELECT '${END}' AS line;\n`);
      const input = new TextEncoder().encode(text.join(""));
      const asked = await tool("sql", ["--json", tables], { input });
      assertEquals([asked.code, asked.err], [0, ""]);
      const answers = asked.out.split(`{"line":"${END}"}\n`).slice(0, -1).map((lines) =>
        lines.split("\n").filter(Boolean).map((line) => JSON.parse(line) as Row)
      );
      assertEquals(answers.length, CHECKS.length);
      for (const [number, { title }] of questions().entries()) {
        const answer = answers[number] ?? [];
        const [found, expected] = (CHECKS[number] as Check)(answer, perf);
        assertEquals(found, expected, title);
        assert(answer.length > 0, `${title}: no rows`);
        assert(!Array.isArray(found) || found.length > 0, `${title}: nothing was compared`);
      }
    }),
});
