import { assertEquals } from "@std/assert";
import { decodePt } from "../decode/pt_run.ts";
import type { DecodePtOptions } from "../decode/pt_sink.ts";
import { BASE, ip, psb, small, tnt, tsc } from "../testing.ts";
import { PtEntries } from "./pt_entries.ts";
import { entryPoints, threadObjects } from "./pt_entries_text.ts";
import { type ListOptions, PtList } from "./pt_list.ts";
import { lossText, packetsText, rowLines, unsureText } from "./pt_text.ts";

const PACKETS = [
  ...psb(0, BASE),
  tsc(1000),
  tnt("11"),
  tsc(3000),
  ip("TIP", 0x1010n),
  ip("FUP", 0x1011n),
  ip("TIP.PGD"),
  tsc(9000),
  ip("TIP.PGE", 0x1011n),
];

async function listed(options: Omit<ListOptions, "idle">, json = false, packets = PACKETS) {
  const { trace, names } = await small({ cpus: [packets] });
  const lines: string[] = [];
  const list: PtList = new PtList(trace, {
    ...options,
    idle: async () => {
      await names.resolve();
      lines.push(...rowLines(list.rows, names, list.texts, { json, source: false }));
      list.rows.clear();
    },
  });
  const counts = await decodePt(trace, list);
  await list.idle();
  return { lines, counts };
}

Deno.test("PtList: instructions of a call and its return are in order of execution", async () => {
  const { lines } = await listed({ insns: true }, true);
  const rows = lines.map((line) => JSON.parse(line));
  assertEquals(rows.map(({ ip }) => ip), [
    ..."0x1000 0x1010 0x1011 0x1012 0x1005 0x1010 0x1011 0x1012 0x100a 0x1010".split(" "),
  ]);
  assertEquals([...new Set(rows.map(({ tid, cpu }) => `${tid} ${cpu}`))], ["7 0"]);
  // The indirect jump was executed at the last time, the instructions before it at the time before.
  assertEquals(rows.filter(({ time }) => time === rows[0].time).length, 8);
  assertEquals(rows[9].time - rows[0].time, 744);
  assertEquals(rows.some((row) => "unsure" in row), false);
});

Deno.test("PtList: branches have their kind, from and to; the end and start of tracing are events", async () => {
  const { lines } = await listed({ branches: true });
  assertEquals(lines.length, 8);
  assertEquals(lines.map((line) => / (call|return|jmp|tr strt|tr end) /.exec(line)?.[1]), [
    "tr strt",
    "call",
    "return",
    "call",
    "return",
    "jmp",
    "tr end",
    "tr strt",
  ]);
});

Deno.test("PtList: a time filter keeps only its rows", async () => {
  const { trace } = await small({ cpus: [PACKETS] });
  const { clock } = trace;
  const { lines } = await listed({ insns: true, filter: { from: clock.ns(0) } });
  assertEquals(lines.length, 10);
  const all = await listed({ insns: true, filter: { tids: new Set([9]) } });
  assertEquals(all.lines, []);
});

Deno.test("PtList: errors say where code is missing", async () => {
  const packets = [...psb(0, 0x9000n), tnt("1"), ip("TIP", BASE), ip("TIP", BASE)];
  const { lines, counts } = await listed({ errors: true }, true, packets);
  assertEquals(
    lines.map((line) => JSON.parse(line)).map(({ event, reason, ip }) => [event, reason, ip]),
    [
      ["error", "no code at hand", "0x9000"],
      ["error", "packets do not fit the code", "0x1010"],
    ].slice(0, lines.length),
  );
  assertEquals(counts.errors[0], 1);
  assertEquals(lossText(counts)?.includes("no code at hand (1)"), true);
});

const FEW = {
  bytes: 200,
  lostBytes: 50,
  lostBranches: 10,
  addresses: 30,
  insns: 40,
  insnBranches: 20,
  unsureInsns: 3,
  branches: 60,
  unsureThread: 0,
  errors: Float64Array.of(2, 0, 5, 0, 0, 0, 0, 0, 0, 0),
};

Deno.test("lossText: figures give shares, the estimated instructions and reasons, most frequent first", () => {
  assertEquals(
    lossText(FEW),
    "not decoded: 25.00% of the bytes, 14.29% of the conditional branches, about 20 instructions, " +
      "and 3 instructions that lead into a loop without an end; " +
      "packets do not fit the code (5), no code at hand (2)",
  );
  assertEquals(lossText({ ...FEW, lostBytes: 0, errors: new Float64Array(10) }), undefined);
});

Deno.test("unsureText: instructions that may be of another thread give their share of all", () => {
  assertEquals(unsureText(FEW), undefined);
  // 60 branches with 2 instructions each.
  assertEquals(unsureText({ ...FEW, unsureThread: 12 })?.slice(0, 24), "12 instructions (10.00%)");
});

Deno.test("packetsText: branches with an address give their share of all", () => {
  assertEquals(packetsText(FEW), "from packets: 30.0% of 100 branches have an address");
});

Deno.test("PtEntries: packets' addresses give entries with time to the next address and a count", async () => {
  const { trace, names } = await small({ cpus: [PACKETS] });
  const { sideband, code } = trace;
  const entries = new PtEntries(trace);
  const options: DecodePtOptions = { quick: 1 };
  await decodePt(trace, entries, options);
  await names.resolve();
  const objects = threadObjects(
    entries,
    (number) => code.places.objects[number]?.path ?? "?",
    sideband.threads,
  );
  assertEquals(
    objects.map(({ tid, object, time, entries, seen }) => [tid, object, time, entries, seen]),
    [
      // 1000 from 0 to 1116 ns, 1010 and 1011 in no time, and 1011 where tracing continues.
      [7, "/bin/small", 1116, 1, 4],
    ],
  );
  const points = entryPoints(entries, names).map((
    point,
  ) => [point.function, point.time, point.entries, point.seen]);
  assertEquals(points, [["0x0", 1116, 1, 1], ["0x11", 0, 0, 2], ["0x10", 0, 0, 1]]);
});
