import { assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { PerfDataError } from "@perfdata/format/bytes";
import { importPerfScript, scriptFrame, scriptHeader } from "./import_perf_script.ts";
import { importedLines, textSource } from "./testing.ts";

const imported = (text: string, options = {}) =>
  importPerfScript(textSource(text), { title: "t", ...options });

Deno.test("scriptHeader: the columns that perf prints give the fields of a sample", () => {
  assertEquals(scriptHeader("demo    17/18 [003]  2054.086196:     500250 cpu-clock:pppH: "), {
    ...{ comm: "demo", pid: 17, tid: 18, cpu: 3, seconds: 2054, nanoseconds: 86196000 },
    ...{ period: 500250, event: "cpu-clock:pppH", rest: " " },
  });
  const plain = { pid: -1, tid: 7, cpu: -1, period: undefined };
  const time = { seconds: 1, nanoseconds: 5 };
  const of = (line: string) => scriptHeader(line);
  assertEquals(of("a b 7 1.000000005: cycles:"), {
    ...{ ...plain, ...time, comm: "a b" },
    ...{ event: "cycles", rest: "" },
  });
  // A command that looks like a thread, flags of the latency format, and an event with a colon.
  assertEquals(of("  1 2 7 [000] d..1. 1.000000005: sched:sched_switch: prev_comm=x: 4"), {
    ...{ ...plain, ...time, comm: "1 2", cpu: 0 },
    ...{ event: "sched:sched_switch", rest: " prev_comm=x: 4" },
  });
  // Without an event, the address comes next.
  assertEquals(of("a 7 1.000000005:   55d0c3b2b139 std::f() (/bin/a)")?.event, undefined);
  assertEquals(of("a 7 1.000000005: 12345678 f (/bin/a)")?.period, undefined);
});

Deno.test("scriptHeader: lines of other kinds are no header", () => {
  for (
    const line of [
      "",
      "\tffffffff8158c4ba f ([kernel.kallsyms])",
      "main;work 12",
      "7 1.5: cycles:",
      "a 7 1.5",
      "a x 1.500000: cycles:",
      `${"x".repeat(600)} 7 1.500000: cycles:`,
    ]
  ) assertEquals(scriptHeader(line), undefined, line);
});

Deno.test("scriptFrame: address, function without offset, and object", () => {
  const frames: [line: string, address: number, name: string, path: string][] = [
    [
      "\tffffffff8158c4ba do_it+0x1a ([kernel.kallsyms])",
      -0x7ea73b46,
      "do_it",
      "[kernel.kallsyms]",
    ],
    ["\t 11da [unknown] (/tmp/demo/demo)", 0x11da, "", "/tmp/demo/demo"],
    ["\t 7fb5ae9688a8 [unknown] ([unknown])", 0x7fb5ae9688a8, "", ""],
    ["\t 10 f(int (*)(int))+0x0 (/a/b (deleted))", 0x10, "f(int (*)(int))", "/a/b (deleted)"],
    ["\t 10 operator()() const", 0x10, "operator()() const", ""],
    ["\t 10 g (/lib/x.so+0x1234)", 0x10, "g", "/lib/x.so"],
  ];
  for (const [line, address, name, path] of frames) {
    assertEquals(scriptFrame(line), { address, name, path, isInlined: false }, line);
  }
  assertEquals(scriptFrame("\t 10 h (inlined)")?.isInlined, true);
  assertEquals(scriptFrame("\t main.c:12"), undefined);
});

const CHAINS = `# a comment of perf script --header
demo 7/8 [001] 10.000000002: 5 cycles:
\t 20 leaf (inlined)
  leaf.h:3
\t 20 work+0x4 (/bin/demo)
  work.c:12
\t 10 main+0x8 (/bin/demo)

demo 7/8 [001] 10.000000001: 3 cycles:
\t 10 main+0x8 (/bin/demo)
\tffffffff81000010 sys (/lib/modules/6.1/kernel/fs/ext4.ko)

demo 7/8 10.000000003: PERF_RECORD_MMAP2 7/8: [0x1000(0x1000) @ 0 08:01 5 0]: r-xp /bin/demo
demo 7/8 10.000000004: page-faults:                20 fault (/bin/demo)
what is this
`;

Deno.test("importPerfScript: chains, inlined functions, source lines and events", async () => {
  const profile = await imported(CHAINS);
  assertEquals(importedLines(profile), [
    "cycles; demo 7/8; 1; 5; main@demo > work@demo:work.c:12 > leaf@demo:leaf.h:3/4",
    "cycles; demo 7/8; 1; 3; sys@[ext4]/1 > main@demo",
    "page-faults; demo 7/8; 1; 1; fault@demo",
  ]);
  assertStringIncludes(profile.trust, "100% of samples have a function; 66.7% have callers");
  assertStringIncludes(profile.trust, "1 of 15 lines are not understood, line 15 first");
});

Deno.test("importPerfScript --timed: samples are in order of time, with CPUs", async () => {
  const { samples, span, epoch } = await imported(CHAINS, { timed: true });
  assertEquals([...samples.time ?? []], [10_000_000_001, 10_000_000_002, 10_000_000_004]);
  assertEquals([...samples.cpu ?? []], [1, 1, -1]);
  assertEquals([...samples.period], [3, 5, 1]);
  assertEquals([span, epoch], [[10_000_000_001, 10_000_000_004], 0n]);
});

Deno.test("importPerfScript: filters by process, thread and CPU", async () => {
  const sums = async (filter: Record<string, ReadonlySet<number>>) =>
    importedLines(await imported(CHAINS, { filter })).length;
  assertEquals(await sums({ tids: new Set([8]) }), 3);
  assertEquals(await sums({ cpus: new Set([1]) }), 2);
  assertEquals(await sums({ pids: new Set([8]) }), 0);
});

Deno.test("importPerfScript: fields of a tracepoint are no code", async () => {
  const profile = await imported("a 7 1.000000: irq:x: 10 name (thing)\n");
  assertEquals(importedLines(profile), ["irq:x; a -1/7; 1; 1; -"]);
  assertStringIncludes(profile.trust, "without processes");
  assertStringIncludes(profile.trust, "without periods");
});

Deno.test("importPerfScript: a text without times has threads, periods and events as well", async () => {
  const text = "demo   165/166    1001001 cpu-clock:            4011da f (/tmp/demo)\n" +
    "a b  7 cycles: \n\t 10 g (/bin/x)\n\nc 8 [002] 5 x:y: \n\t 10 g (/bin/x)\n";
  const profile = await imported(text, { timed: true });
  assertEquals(importedLines(profile), [
    "cpu-clock; demo 165/166; 1; 1001001; f@demo",
    "cycles; a b -1/7; 1; 1; g@x",
    "x:y; c -1/8; 1; 5; g@x",
  ]);
  assertEquals(profile.samples.time, undefined);
  assertStringIncludes(profile.trust, "without times");
});

Deno.test("importPerfScript: a text without samples throws with the number of lines", async () => {
  await assertRejects(
    () => imported("notes\nof mine\n"),
    PerfDataError,
    "text of perf script: no sample in 2 lines",
  );
});
