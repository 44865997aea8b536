import { assertEquals } from "@std/assert";
import type { Packet } from "@perfdata/intel-pt";
import { LatencyTable } from "../calls/pt_latency.ts";
import { PlaceSums } from "../calls/pt_place_sums.ts";
import { insnBytes } from "../decode/pt_block_insns.ts";
import { decodePt } from "../decode/pt_run.ts";
import { TimeOrigin } from "../decode/pt_time.ts";
import { at, BASE, CONDITIONAL, ip, psb, type Small, small, tnt, tsc } from "../testing.ts";
import { PtEntries } from "./pt_entries.ts";
import { entryPoints, threadObjects } from "./pt_entries_text.ts";
import { type ListOptions, PtList } from "./pt_list.ts";
import {
  callRowsOf,
  durationText,
  functionRows,
  functionTimes,
  latencyJson,
  latencyLines,
  lossText,
  rowLines,
  type RowTextOptions,
} from "./pt_text.ts";

// 1000 ticks are 372 ns, 2000 are 744, 3000 are 1116, 9000 are 3348; the first packet's time is 7.989163986.

/** All kinds of events, branches and losses. */
const EVENTS: readonly Packet[] = [
  ...psb(0, BASE),
  tsc(1000),
  { type: "CBR", ratio: 20 },
  tnt("1"),
  { type: "PTW", operandSize: 8, payload: 0x1_8000_0002n, ip: true },
  ip("FUP", 0x1005n),
  { type: "PIP", cr3: 0x12000n, nr: false },
  { type: "VMCS", base: 0x5000n },
  tsc(2000),
  { type: "MODE.TSX", inTx: true, txAbort: false },
  ip("FUP", 0x1005n),
  tnt("1"),
  tsc(3000),
  { type: "MODE.TSX", inTx: false, txAbort: false },
  ip("FUP", 0x100an),
  ip("TIP", BASE),
  { type: "EXSTOP", ip: true },
  ip("FUP", 0x1000n),
  { type: "MWAIT", hints: 0x20, extensions: 1 },
  ip("FUP", 0x1011n),
  ip("TIP", 0x1005n),
  { type: "OVF" },
  ip("FUP", 0x1010n),
  tnt("1"),
  ip("TIP", 0x100cn),
  ip("TIP.PGD"),
  tsc(9000),
  ip("TIP.PGE", 0x100en),
  ip("TIP.PGD", 0x7000n),
];

async function listed(
  options: Omit<ListOptions, "idle">,
  text: Partial<RowTextOptions> = {},
  recording: Small = { cpus: [EVENTS] },
): Promise<string[]> {
  const { trace, names } = await small(recording);
  const lines: string[] = [];
  const list: PtList = new PtList(trace, {
    ...options,
    idle: async () => {
      await names.resolve();
      lines.push(
        ...rowLines(list.rows, names, list.texts, { json: false, source: false, ...text }),
      );
      list.rows.clear();
    },
  });
  await decodePt(trace, list);
  await list.idle();
  return lines;
}

/** The variable part of lines: the last digits of the time, and the rest. */
function short(lines: readonly string[]): string[] {
  return lines.map((line) =>
    line.replace(/^ +7 \[000\] +7\.98916/, "").replaceAll(/ +/g, " ").replaceAll(
      " (/bin/small)",
      "",
    )
  );
}

Deno.test("PtList: branches and events have time, kind, addresses and functions", async () => {
  assertEquals(short(await listed({ branches: true, events: true })), [
    "3986 tr strt 1000 0x0",
    "4358 cbr 20",
    "4358 call 1000 0x0 => 1010 0x10",
    "4358 ptwrite 0x180000002 1005 0x5",
    "4358 pip cr3 0x12000",
    "4358 vmcs 0x5000",
    "4730 tsx inside 1005 0x5",
    "4730 return 1012 0x12 => 1005 0x5",
    "4730 call 1005 0x5 => 1010 0x10",
    "5102 tsx outside 100a 0xa",
    "5102 return 1012 0x12 => 100a 0xa",
    "5102 exstop 1000 0x0 detail 0 payload 0x0",
    "5102 mwait detail 0 payload 0x100000020",
    "5102 jmp 100a 0xa => 1000 0x0",
    "5102 call 1000 0x0 => 1010 0x10",
    "5102 interrupt 1011 0x11 => 0x1005",
    "5102 error: overflow: the processor lost packets at 1005 0x5",
    "5102 tr strt 1010 0x10",
    "5102 error: return without its call at 1012 0x12",
    "5102 tr strt 100c 0xc",
    // A system call, which has the address of the last branch.
    "5102 tr end 100c 0xc",
    "7334 tr strt 100e 0xe",
    "7334 tr end 100e 0xe => 0x7000",
  ]);
  const [first] = await listed({ branches: true });
  assertEquals(first, "      7 [000]        7.989163986 tr strt            1000 0x0 (/bin/small)");
});

Deno.test("PtList: only the selected kinds of events are listed; errors are in every list", async () => {
  const kinds = async (options: Omit<ListOptions, "idle">) =>
    short(await listed(options)).map((line) => line.split(" ")[1] ?? "");
  const errors = ["error:", "error:"];
  assertEquals(await kinds({ errors: true }), errors);
  assertEquals(await kinds({}), []);
  const branches = await kinds({ branches: true });
  assertEquals(branches.filter((kind) => kind === "error:"), errors);
  assertEquals(branches.filter((kind) => /cbr|ptwrite|pip|tsx|exstop|mwait/.test(kind)), []);
  assertEquals(branches.filter((kind) => kind === "tr").length, 6);
  const insns = await kinds({ insns: true });
  assertEquals(insns.filter((kind) => kind === "tr" || kind === "interrupt"), []);
  assertEquals(insns.filter((kind) => kind === "error:"), errors);
});

Deno.test("PtList: instructions have their bytes, and the time of the next packet", async () => {
  const lines = short(await listed({ insns: true, text: insnBytes })).filter((line) =>
    !/error/.test(line)
  );
  assertEquals(lines, [
    "4358 1000 0x0 e8 0b 00 00 00",
    "4358 1010 0x10 90",
    "4358 1011 0x11 90",
    "4358 1012 0x12 c3",
    "4730 1005 0x5 e8 06 00 00 00",
    "4730 1010 0x10 90",
    "4730 1011 0x11 90",
    "4730 1012 0x12 c3",
    "5102 100a 0xa ff e0",
    // 1011 was interrupted, and the call at 1005 was lost.
    "5102 1000 0x0 e8 0b 00 00 00",
    "5102 1010 0x10 90",
    "5102 1010 0x10 90",
    "5102 1011 0x11 90",
    "5102 1012 0x12 c3",
    "5102 100c 0xc 0f 05",
    "7334 100e 0xe ff e0",
  ]);
});

Deno.test("PtList: a time filter keeps its rows, and the branch into its first block", async () => {
  const { trace } = await small({ cpus: [EVENTS] });
  const { clock } = trace;
  const time = (ticks: number) => clock.origin.since(at(ticks));
  const of = async (from: number, to: number) =>
    short(await listed({ branches: true, filter: { from: time(from), to: time(to) } }));
  assertEquals(await of(2000, 2000), [
    // The call at 1000 and the code after it were before.
    "4730 return 1012 0x12 => 1005 0x5",
    "4730 call 1005 0x5 => 1010 0x10",
  ]);
  assertEquals(await of(0, 999), ["3986 tr strt 1000 0x0"]);
  assertEquals((await of(4000, 99_999)).length, 2);
  assertEquals((await listed({ branches: true, filter: { tids: new Set([8]) } })).length, 0);
});

Deno.test("rowLines: only some functions leave out other branches and instructions, no events", async () => {
  const of = async (options: Omit<ListOptions, "idle">, ...names: string[]) =>
    short(await listed(options, { only: new Set(names) })).filter((line) =>
      !/tr |error|interrupt/.test(line)
    );
  // Branches from or to these functions.
  assertEquals(await of({ branches: true }, "0x5"), [
    "4730 return 1012 0x12 => 1005 0x5",
    "4730 call 1005 0x5 => 1010 0x10",
  ]);
  assertEquals(await of({ insns: true }, "0x5", "0xc"), ["4730 1005 0x5", "5102 100c 0xc"]);
  assertEquals(await of({ insns: true }, "none"), []);
});

Deno.test("rowLines: JSON has numbers and addresses in full, and no members that are not known", async () => {
  const common = '"tid":7,"cpu":0,"time":7989164358,"uncertainty":372';
  const of = '"object":"/bin/small"';
  const lines = await listed({ branches: true, events: true }, { json: true });
  assertEquals(
    lines[0],
    '{"event":"sync","tid":7,"cpu":0,"time":7989163986,"uncertainty":0,' +
      `"ip":"0x1000","function":"0x0",${of},"detail":0,"payload":"0x0"}`,
  );
  // An event without an address.
  assertEquals(lines[1], `{"event":"cbr",${common},"detail":20,"payload":"0x14"}`);
  assertEquals(
    lines[2],
    `{"event":"branch","kind":"call",${common},` +
      `"from":{"ip":"0x1000","function":"0x0",${of}},"to":{"ip":"0x1010","function":"0x10",${of}}}`,
  );
  const error = lines.find((line) => line.includes("overflow"));
  assertEquals(
    error?.slice(error.indexOf('"ip"')),
    `"ip":"0x1005","function":"0x5",${of},` +
      '"reason":"overflow: the processor lost packets"}',
  );
  const [insn] = await listed({ insns: true, text: insnBytes }, { json: true });
  assertEquals(
    insn,
    `{"event":"insn",${common},"ip":"0x1000","function":"0x0",${of},"text":" e8 0b 00 00 00"}`,
  );
});

Deno.test("rowLines: two CPUs and threads have theirs; a row range gives its rows", async () => {
  const recording = { cpus: [EVENTS.slice(0, 12), EVENTS.slice(0, 12)], tids: [7, 80_000] };
  const lines = await listed({ branches: true }, {}, recording);
  assertEquals(
    new Set(lines.map((line) => line.slice(0, 14))),
    new Set(["      7 [000] ", "  80000 [001] "].map((text) => text.slice(0, 14))),
  );
  const { trace, names } = await small({ cpus: [EVENTS] });
  const { clock } = trace;
  const list = new PtList(trace, { branches: true, idle: () => {} });
  await decodePt(trace, list);
  await names.resolve();
  const options = { json: false, source: false };
  const all = [...rowLines(list.rows, names, list.texts, options)];
  assertEquals([...rowLines(list.rows, names, list.texts, options, 2, 5)], all.slice(2, 5));
  assertEquals([list.timeOfBuffer(0) - clock.origin.since(at(0)), list.timeOfBuffer(9)], [
    3348,
    -1,
  ]);
  list.rows.cpu[0] = -1;
  list.rows.unsure[0] = 1;
  list.rows.time[0] = -1;
  list.rows.high[0] = 0x7f;
  list.rows.low[0] = 0xabc;
  const [row] = rowLines(list.rows, names, list.texts, options);
  assertEquals(row, `     7?       ${" ".repeat(18)} tr strt      7f00000abc 0x0 (/bin/small)`);
  const [json] = rowLines(list.rows, names, list.texts, { ...options, json: true });
  assertEquals(
    json,
    '{"event":"sync","tid":7,"unsure":true,"ip":"0x7f00000abc","function":"0x0",' +
      '"object":"/bin/small","detail":0,"payload":"0x0"}',
  );
});

Deno.test("durationText: three digits with the unit below the next one", () => {
  assertEquals([-1, 0, 1.4, 999, 1000, 12_345, 999_000, 1e6, 1e9, 7.89e9].map(durationText), [
    ...[
      "?",
      "0 ns",
      "1 ns",
      "999 ns",
      "1.00 us",
      "12.3 us",
      "999 us",
      "1.00 ms",
      "1.00 s",
      "7.89 s",
    ],
  ]);
});

Deno.test("latencyLines, latencyJson: calls have a bar for each duration, and the slowest with their times", () => {
  const table = new LatencyTable();
  for (const [time, duration] of [[1000, 5], [2000, 5], [3000, 5], [4000, 20]] as const) {
    table.add(0, 7, time, duration, true);
  }
  table.add(0, 8, 9000, 3, false);
  table.addOwn(0, 35, 6);
  const stats = table.of(0);
  if (stats === undefined) throw new Error("no calls");
  const origin = TimeOrigin.before(0n);
  assertEquals([...latencyLines("f", stats, origin)], [
    "f: 5 calls, 1 without a return",
    // The longest bar has 40 characters; a third of it is 13.3, rounded up.
    `      5 ns          3  ${"#".repeat(40)}`,
    // From 16 ns on, four buckets: 16, 19.03, 22.6.
    `     20 ns          1  ${"#".repeat(14)}`,
    "slowest:",
    "     20 ns  at 0.000004000  thread 7",
    "      5 ns  at 0.000001000  thread 7",
    "      5 ns  at 0.000002000  thread 7",
    "      5 ns  at 0.000003000  thread 7",
  ]);
  assertEquals(JSON.parse(latencyJson({ name: "f" }, stats, origin)), {
    ...{ function: "f", calls: 5, open: 1, time: 35, insns: 6 },
    histogram: [{ from: 5, calls: 3 }, { from: 20, calls: 1 }],
    slowest: [[20, 4000], [5, 1000], [5, 2000], [5, 3000]].map(([duration, time]) => ({
      ...{ duration, time, tid: 7 },
    })),
  });
  assertEquals(
    latencyJson({ name: "f", verified: false }, stats, origin).slice(0, 33),
    '{"function":"f","verified":false,',
  );
  const none = new LatencyTable();
  none.add(1, 7, -1, -1, true);
  assertEquals([...latencyLines("g", none.of(1) ?? stats, origin)], [
    "g: 1 call",
    "no durations: the trace has no times",
  ]);
  // Late times are exact.
  const late = TimeOrigin.before((1n << 60n) + 7n);
  const text = latencyJson({ name: "f" }, stats, late);
  assertEquals(text.includes(`"time":${late.ns + 4000n},`), true);
});

Deno.test("functionTimes: places of a function are one row, most time of its own first", async () => {
  const { trace, names } = await small({ cpus: [psb(0)] });
  const { code } = trace;
  const object = code.places.addObject({ kind: "elf", path: "/bin/a" });
  const places = [16, 32, 48, 64, 80].map((address) => code.places.row(object, 0, address));
  await names.resolve();
  // f at two places, g, h, and one place that was not executed.
  const functions = ["f", "f", "g", "h", "idle"];
  names.functionNames.splice(
    0,
    9,
    ...["f", "g", "h", "idle"].map((name) => ({ name, object: "/bin/a" })),
  );
  names.functions.splice(0, 9, 0, 0, 1, 2, 3);
  assertEquals([places, functions.length], [[0, 1, 2, 3, 4], 5]);
  const sums = new PlaceSums();
  sums.add(0, 5, 2, 1);
  sums.add(1, 5, 2, 0.25);
  sums.add(2, 1, 50, 0);
  sums.add(3, 9, 0, 0);
  const latency = new LatencyTable();
  latency.add(0, 7, 0, 5, true);
  latency.add(0, 7, 9, 5, true);
  latency.addOwn(0, 70, 3);
  const rows = functionTimes({ sums, latency }, names);
  assertEquals(
    rows.map((
      { name, self, insns, cycles, calls, total },
    ) => [name, self, insns, cycles, calls, total]),
    [
      ["g", 50, 1, 0, 0, 0],
      // 10 and 10 ns; 5 and 1.25 core clocks.
      ["f", 20, 10, 6, 2, 70],
      ["h", 0, 9, 0, 0, 0],
    ],
  );
  assertEquals("cycles" in (functionTimes({ sums, latency }, names, false)[0] ?? {}), false);
  const counted = functionRows(names);
  assertEquals([counted.of(1), counted.of(4), counted.of(9)], [0, 3, undefined]);
  const single = callRowsOf("f", names);
  assertEquals([single.of(0), single.of(1), single.of(2), single.of(9)], [0, 0, -1, undefined]);
});

Deno.test("lossText: a loss before the first PSB, and of packets alone, has no branches", () => {
  const counts = {
    ...{ bytes: 0, lostBytes: 5, lostBranches: 0, addresses: 0, insns: 0, insnBranches: 0 },
    ...{ unsureInsns: 0, branches: 0, unsureThread: 0, errors: new Float64Array(10) },
  };
  assertEquals(lossText(counts), "not decoded: 500.00% of the bytes; before the first PSB");
  assertEquals(lossText({ ...counts, lostBytes: 0 }), undefined);
  const lost = { ...counts, bytes: 10, lostBranches: 1, branches: 3 };
  assertEquals(
    lossText(lost),
    "not decoded: 50.00% of the bytes, 25.00% of the conditional branches; before the first PSB",
  );
});

/** 1000 to 1010 by packets, an interrupt, and unmapped code; then 8 runs. */
const HOPS: Small = {
  tids: [7, 8],
  mtc: true,
  switches: [{ ticks: 5000, cpu: 0, tid: 8 }],
  cpus: [[
    ...psb(0, BASE),
    tsc(1000),
    ip("TIP", 0x1010n),
    tsc(2000),
    ip("FUP", 0x1011n),
    ip("TIP", 0x9000n),
    tsc(3000),
    ip("TIP", 0x1010n),
    tsc(4000),
    ip("TIP.PGD"),
    tsc(5000),
    ip("TIP.PGE", 0x1000n),
    tsc(9000),
    ip("TIP", 0x1012n),
  ]],
};

Deno.test("PtEntries: each thread has time and entries by object, without the time when tracing is off", async () => {
  const of = async (filter: { from?: number; to?: number; tids?: ReadonlySet<number> } = {}) => {
    const { trace, names } = await small(HOPS);
    const { sideband, code, clock } = trace;
    const first = clock.origin.since(at(0));
    const entries = new PtEntries(trace, {
      ...(filter.from === undefined ? {} : { from: first + filter.from }),
      ...(filter.to === undefined ? {} : { to: first + filter.to }),
      tids: filter.tids,
    });
    await decodePt(trace, entries, { quick: 1 });
    await names.resolve();
    const path = (object: number) => code.places.objects[object]?.path ?? `${object}`;
    return [
      threadObjects(entries, path, sideband.threads).map((row) =>
        [row.tid, row.object, row.time, row.entries, row.seen].join(" ")
      ),
      entryPoints(entries, names).map((row) =>
        [row.function, row.time, row.entries, row.seen].join(" ")
      ),
    ];
  };
  assertEquals(await of(), [
    [
      // 1000 from 5000 to 9000 ticks.
      "8 /bin/small 1488 1 2",
      // 1000 up to 1000 ticks, 1010 up to 2000, 1011 for no time, 1010 from 3000 up to 4000.
      "7 /bin/small 1116 2 4",
      "7 -1 372 1 1",
    ],
    // 372 of 7 and 1488 of 8.
    ["0x0 1860 2 2", "0x10 744 1 2", "0x9000 372 1 1", "0x11 0 0 1", "0x12 0 0 1"],
  ]);
  assertEquals((await of({ tids: new Set([7]) }))[0], ["7 /bin/small 1116 2 4", "7 -1 372 1 1"]);
  // From 500 to 1300 ns: 1010 from 500 to 744, 9000 from 744 to 1116, and 1010 to 1300.
  assertEquals(await of({ from: 500, to: 1300 }), [
    ["7 -1 372 1 1", "7 /bin/small 184 1 2"],
    ["0x9000 372 1 1", "0x10 184 1 1", "0x11 0 0 1"],
  ]);
});

Deno.test("PtList: a conditional branch is listed where it is taken", async () => {
  const lines = short(await listed({ branches: true }, {}, CONDITIONAL));
  assertEquals(
    lines.filter((line) => !line.includes("tr strt")).map((line) => line.replace(/^\d+ /, "")),
    [
      "jmp 1004 0x4 => 1000 0x0",
      "jcc 1000 0x0 => 1004 0x4",
    ],
  );
});
