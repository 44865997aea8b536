import type { Packet } from "@perfdata/intel-pt";
import { PtNames, type PtWorkers, servePt } from "@perfdata/pt/decode";
import { parseItrace } from "@perfdata/pt";
import { SymbolBundle, SymbolResolver } from "@perfdata/symbols";
import { SymbolBundleWriter } from "@perfdata/symbols/dwarf";
import { PerfDataReader } from "@perfdata/format/records";
import { assert, assertEquals } from "@std/assert";
import { BASE, FILE, ip, psb, type Small, small, tnt, tsc } from "../../pt/testing.ts";
import { threadWithin } from "../../session/workers/testing.ts";
import { asksFor, parseFields } from "./script_fields.ts";
import { ipFlagsText, PtScriptWriter } from "./script_pt.ts";
import {
  type PtScriptOrder,
  type PtScriptWhole,
  scriptWhole,
  writePtScript,
} from "./script_pt_join.ts";
import { PRINTED_PT, PRINTED_RECORDINGS, printedName } from "./testing.ts";

const FRAME = { inlined: false, column: 0, discriminator: 0, linkageName: undefined } as const;

/** Symbols: `main` before 10, `leaf` from 10 on, and a source line for each even address. */
function resolver(): SymbolResolver {
  const object = { kind: "elf", path: FILE } as const;
  const writer = new SymbolBundleWriter();
  writer.addObject(object);
  for (let address = 0; address < 0x13; address++) {
    const symbol = address < 0x10
      ? { name: "main", start: 0, end: 0x10 }
      : { name: "leaf", start: 0x10, end: 0x13 };
    const line = address % 2 === 0
      ? { file: "/src/small.c", line: 100 + address }
      : { file: undefined, line: 0 };
    writer.add(object, address, {
      symbol,
      frames: [{ ...line, name: symbol.name, function: symbol.name, ...FRAME }],
      cause: undefined,
    });
  }
  return new SymbolResolver(
    { open: () => undefined, read: () => undefined },
    { bundle: SymbolBundle.open(writer.finish()) },
  );
}

interface Wish {
  /** Letters of `--itrace`. */
  readonly itrace: string;
  readonly fields?: string;
  readonly nanoseconds?: boolean;
  readonly objectWidth?: number;
  /** Whether places have symbols. */
  readonly symbols?: boolean;
}

/** An opened recording, with its script options. */
async function opened(
  recording: Small,
  { itrace: letters, fields, nanoseconds = false, objectWidth = 0, symbols = false }: Wish,
): Promise<PtScriptWhole> {
  const { trace, names: none } = await small(recording);
  const { source, code, clock } = trace;
  const names = symbols ? new PtNames(code, resolver()) : none;
  const itrace = parseItrace(letters);
  const [event] = (await PerfDataReader.open(source)).events.all;
  assert(event !== undefined);
  const wish = fields === undefined ? undefined : parseFields(fields);
  const writer = new PtScriptWriter(trace, names, {
    ...{ eventNames: ["unknown attr type: 8", "dummy:u"], itrace, event, wish },
    ...{ nanoseconds, objectWidth, hasCpu: true, timed: true, periods: [1n, 1n] },
    ...{ maxNonTurboRatio: 28, ticksPerSecond: clock.period(1e9), hardware: itrace.branches },
    chains: itrace.callChain !== undefined,
  });
  return scriptWhole({
    ...{ trace, wants: () => true, names, writer },
    options: {
      ...{ itrace, maxNonTurboRatio: 28, hasKernel: false, snapshots: false },
      bytes: wish?.add.has("insn") === true,
      depths: wish?.add.has("callindent") === true,
      ipc: asksFor(wish, "ipc"),
    },
  });
}

/**
 * The lines of a recording's samples. `others` are times of other lines in ns since the first
 * packet.
 */
async function lines(
  recording: Small,
  wish: Wish,
  workers?: PtWorkers,
  order: Partial<PtScriptOrder> = {},
) {
  let text = "";
  const decoder = new TextDecoder();
  const whole = await opened(recording, wish);
  const written = await writePtScript(whole, workers, {
    write: (bytes) => void (text += decoder.decode(bytes, { stream: true })),
    others: () => Infinity,
    ...order,
  });
  return { lines: text.split("\n").slice(0, -1), written, whole };
}

const PRINTED = new URL("../../../fixtures/printed/pt/", import.meta.url);

for (const printed of PRINTED_PT) {
  const name = printedName(printed);
  Deno.test(`PtScriptWriter: ${name} gives the lines of perf 6.1`, async () => {
    const expected = Deno.readTextFileSync(new URL(`${name}.txt`, PRINTED));
    const recording = PRINTED_RECORDINGS[printed.recording] as Small;
    assertEquals((await lines(recording, printed)).lines, expected.split("\n").slice(0, -1));
  });
}

/** The branches in `calls` of {@link PRINTED_RECORDINGS}, in order: kind, from, to. */
const WAYS = [
  ...["call main+0x0 leaf+0x0", "return leaf+0x2 main+0x5", "call main+0x5 leaf+0x0"],
  ...["return leaf+0x2 main+0xa", "jmp main+0xa main+0x0", "call main+0x0 leaf+0x0"],
  ...["return leaf+0x2 main+0x5", "call main+0x5 leaf+0x0", "return leaf+0x2 main+0xa"],
  ...["jmp main+0xa main+0xc", "async main+0xc [unknown]", "strt [unknown] main+0xe"],
  ...["jmp main+0xe main+0x5", "call main+0x5 leaf+0x0", "return leaf+0x2 main+0xa"],
  "jmp main+0xa main+0x0",
];
const CALLS = PRINTED_RECORDINGS["calls"] as Small;

Deno.test("PtScriptWriter: symbols at both ends have the distance from their start", async () => {
  const fields = "flags,ip,addr,sym,symoff";
  const found = await lines(CALLS, { itrace: "b", fields, symbols: true });
  assertEquals(
    found.lines.map((line) => {
      const [, flag, from, to] =
        / (?:tr )?(?:end +)?(\S+) +[0-9a-f]+ (\S+) => +[0-9a-f]+ (\S+)$/.exec(line) ?? [];
      return `${flag} ${from} ${to}`;
    }),
    WAYS,
  );
  const plain = await lines(CALLS, { itrace: "b", fields: "ip,addr,sym", symbols: true });
  assertEquals(
    plain.lines.map((line) =>
      line.trim().split(/ (?:=> )?/).filter((word) => /[a-z]{4}/.test(word))
    ),
    WAYS.map((way) => way.split(" ").slice(1).map((end) => end.replace(/\+.*/, ""))),
  );
});

Deno.test("PtScriptWriter: a source line without directory follows each address that has one", async () => {
  const { lines: found } = await lines(CALLS, {
    itrace: "i1i",
    fields: "ip,sym,srcline",
    symbols: true,
  });
  // 1000 1010 1011 1012 1005: the even addresses have lines, 100 plus the offset.
  assertEquals(found.slice(0, 8), [
    ...["             1000 main", "  small.c:100", "             1010 leaf", "  small.c:116"],
    ...[
      "             1011 leaf",
      "             1012 leaf",
      "  small.c:118",
      "             1005 main",
    ],
  ]);
});

Deno.test("PtScriptWriter: callindent indents each call by four columns more than its caller", async () => {
  const wish = { itrace: "cr", fields: "callindent,dso", symbols: true };
  const found = (await lines(CALLS, wish)).lines.map((line) => line.split("\t"));
  // The functions that are called or returned from: leaf has depth 1, main has 0.
  assertEquals(found.map(([, name]) => name?.trimEnd()).slice(0, 4), Array(4).fill("    leaf"));
  assertEquals(new Set(found.map(([, name]) => (name?.length ?? 0) % 32)), new Set([0]));
  assertEquals(found.map(([object]) => object).slice(0, 2), ["(/bin/small)", "(/bin/small)"]);
  const narrow = (await lines(CALLS, { ...wish, objectWidth: 8 })).lines;
  // Seven letters, padded to eight.
  assertEquals(narrow[0]?.split("\t")[0], "(/bin/sm )");
});

Deno.test("PtScriptWriter: branch stacks have symbols with distances, newest branch first", async () => {
  const { lines: found } = await lines(CALLS, {
    itrace: "i3il2",
    fields: "brstacksym",
    symbols: true,
  });
  const stacks = found.map((line) =>
    line.trim().split(/\/-\/-\/-\/0\/ */).filter((end) => end !== "")
  );
  assertEquals(stacks.slice(0, 3), [
    ["main+0x0/leaf+0x0"],
    ["main+0x5/leaf+0x0", "leaf+0x2/main+0x5"],
    ["leaf+0x2/main+0xa", "main+0x5/leaf+0x0"],
  ]);
});

Deno.test("ipFlagsText: known flags have a name, others a letter each, transactions an x", () => {
  assertEquals(ipFlagsText(1 | 2).trimEnd(), "call");
  assertEquals(ipFlagsText(1 | 2 | 1 << 10), "call              (x)");
  // Start and end of tracing with a kind; bits 8 and 9.
  assertEquals(ipFlagsText(1 | 2 | 1 << 8).trimEnd(), "tr strt call");
  assertEquals(ipFlagsText(1 | 4 | 1 << 9).trimEnd(), "tr end  return");
  assertEquals(ipFlagsText(1 | 4 | 1 << 9 | 1 << 10), "tr end  return    (x)");
  // b, c, r, o: a call that is also a return has no name.
  assertEquals(ipFlagsText(15), "bcro");
  assertEquals(ipFlagsText(0), "");
});

/** Calls, interrupts, PSBs and times in between, of two CPUs. */
function long(from: number): Packet[] {
  const all: Packet[] = psb(from, BASE);
  let time = from;
  for (let i = 0; i < 40; i++) {
    all.push(tsc(time += 700 + 10 * i));
    if (i % 3 === 0) all.push(...psb(time += 50, 0x1011n), tsc(time += 300), ip("TIP", 0x1005n));
    else if (i % 3 === 1) all.push(tnt("1"), ip("TIP", BASE));
    else {
      all.push(tnt("11"), ip("TIP", BASE), ip("FUP", 0x1010n), ip("TIP.PGD"));
      all.push(tsc(time += 900), ip("TIP.PGE", 0x1010n), ip("TIP", 0x1005n));
    }
  }
  return all;
}

const LONG: Small = { cpus: [long(0), long(333)], tids: [7, 8] };

/** Ranges of a trace, decoded by this thread or by three others. */
function parts(wish: Wish): PtWorkers[] {
  return [
    ...[300, 700, 1500].map((rangeBytes) => ({
      ...{ jobs: 1, rangeBytes, about: undefined },
      start: () => {
        throw new Error("no thread is started");
      },
    })),
    {
      ...{ jobs: 4, rangeBytes: 250, about: "about" },
      start: () => threadWithin((scope) => servePt(() => opened(LONG, wish), scope)),
    },
  ];
}

for (
  const wish of [
    { itrace: "b", fields: "+flags,+addr", symbols: true },
    { itrace: "i1i", nanoseconds: true, symbols: true },
    // Instructions before a range count for its first sample.
    { itrace: "i1000ns" },
    { itrace: "i2048tbe" },
    { itrace: "i4096t", fields: "-period" },
  ]
) {
  const name = Object.values(wish).join(" ");
  Deno.test(`writePtScript: ${name}: ranges of a trace give the lines of one thread`, async () => {
    const one = await lines(LONG, wish);
    assertEquals(one.written.joined, undefined);
    assertEquals(one.written.printed, one.lines.length);
    for (const workers of parts(wish)) {
      const about = `${workers.rangeBytes} bytes, ${workers.jobs} jobs`;
      const many = await lines(LONG, wish, workers);
      assertEquals(many.lines, one.lines, about);
      assertEquals((many.written.joined?.ranges ?? 0) > 2, true, about);
      assertEquals(many.written.counts, one.written.counts, about);
      assertEquals(many.written.printed, one.lines.length, about);
    }
  });
}

Deno.test("writePtScript: other samples are written before the first line at or after their time", async () => {
  const wish = { itrace: "b", fields: "time", nanoseconds: true };
  const { lines: plain, whole } = await lines(LONG, wish);
  const { origin } = whole.trace.clock;
  const text = (ns: number) => `${origin.secondsText(ns)}`;
  const encoder = new TextEncoder();
  for (const workers of [undefined, ...parts(wish)]) {
    const decoder = new TextDecoder();
    let written = "";
    const asked: number[] = [];
    let next = 0;
    await writePtScript(await opened(LONG, wish), workers, {
      write: (bytes) => void (written += decoder.decode(bytes)),
      others: (ns) => {
        asked.push(ns);
        written += decoder.decode(encoder.encode("other\n"));
        return next = ns + 3000;
      },
    });
    const found = written.split("\n").slice(0, -1);
    assertEquals(found.filter((line) => line !== "other"), plain);
    // Computed by hand: the first line, then each first line that is 3000 ns or more after the
    // last.
    const times = plain.map((line) => Number(line.trim().replace(":", "").replace(".", "")));
    const wanted: number[] = [];
    let due = -Infinity;
    for (const [i, time] of times.entries()) {
      if (time < due) continue;
      wanted.push(i + wanted.length);
      due = time + 3000;
    }
    assertEquals(
      found.flatMap((line, i) => line === "other" ? [i] : []),
      wanted,
      `${workers?.rangeBytes} ${text(asked[0] ?? 0)} ${next}`,
    );
  }
});
