/** The writers of a trace's calls, with a few calls laid out by hand. */
import { CallEvents, type PtNames, type PtThreads } from "@perfdata/pt/decode";
import { assertEquals } from "@std/assert";
import type { ByteText } from "@perfdata/format/bytes";
import { ChromeCalls } from "../formats/chrome_calls.ts";
import { PerfettoCalls } from "../formats/perfetto_calls.ts";
import { CallJson, type CallJsonOptions } from "./call_json.ts";
import { CallText } from "./call_text.ts";

const FUNCTIONS = ["main", "f", "g"];

/** Names of places 0 to 2, and a clock that begins at `seconds`. */
function namesFrom(seconds: number): PtNames {
  return {
    names: FUNCTIONS,
    labels: FUNCTIONS.map((name) => `${name}?`),
    jsonOfFunction: (place: number) => `"function":"${FUNCTIONS[place]}"`,
    origin: {
      seconds,
      secondsOf: (ns: number) => seconds + Math.floor(ns / 1e9),
      restOf: (ns: number) => ns % 1e9,
      exact: (ns: number) => BigInt(seconds) * 1_000_000_000n + BigInt(ns),
    },
  } as Partial<PtNames> as PtNames;
}

/** A call, or the return of a call with ns, instructions and cycles. */
type Row = readonly [
  kind: number,
  tid: number,
  depth: number,
  place: number,
  time: number,
  duration?: number,
  insns?: number,
  cycles?: number,
];

function eventsOf(rows: readonly Row[]): CallEvents {
  const events = new CallEvents();
  for (const [kind, tid, depth, place, time, duration = -1, insns = 0, cycles = 0] of rows) {
    const i = events.add(kind, tid, tid === 7 ? 1 : -1, depth, place, time);
    events.duration[i] = duration;
    events.insns[i] = insns;
    events.cycles[i] = cycles;
  }
  return events;
}

/** main calls f and g; thread 8 has only a g that did not return, without a time. */
const ROWS: readonly Row[] = [
  [0, 7, 0, 0, 100],
  [0, 7, 1, 1, 200],
  [1, 7, 1, 1, 250, 50, 10, 20.4],
  [2, 8, 0, 2, -1, -1, 3],
  [0, 7, 1, 2, 300],
  [0, 7, 2, 1, 400],
  [2, 7, 2, 1, 1000, 600, 5],
  [1, 7, 1, 2, 1001, 701, 8],
  [1, 7, 0, 0, 1_600_000_100, 1_600_000_000, 30, 40],
];

const decoder = new TextDecoder();

function linesOf(
  writer: { rows(events: CallEvents, out: (bytes: Uint8Array) => void): void; text: ByteText },
  rows = ROWS,
): string[] {
  let text = "";
  writer.rows(eventsOf(rows), (bytes) => text += decoder.decode(bytes));
  text += decoder.decode(writer.text.take());
  return text.split("\n").slice(0, -1);
}

const json = (options: CallJsonOptions, seconds = 5) =>
  linesOf(new CallJson(namesFrom(seconds), options));

Deno.test("CallJson: a call is a line when it ends, with the time of its beginning", () => {
  assertEquals(json({}), [
    `{"event":"call","tid":7,"cpu":1,"time":5000000200,"duration":50,"depth":1,"function":"f","insns":10}`,
    `{"event":"call","tid":8,"depth":0,"function":"g","insns":3,"returned":false}`,
    `{"event":"call","tid":7,"cpu":1,"time":5000000400,"duration":600,"depth":2,"function":"f","insns":5,"returned":false}`,
    `{"event":"call","tid":7,"cpu":1,"time":5000000300,"duration":701,"depth":1,"function":"g","insns":8}`,
    `{"event":"call","tid":7,"cpu":1,"time":5000000100,"duration":1600000000,"depth":0,"function":"main","insns":30}`,
  ]);
});

Deno.test("CallJson: a clock from 0 has no leading zeros, cycles are rounded, a filter selects functions", () => {
  assertEquals(json({ cycles: true, filter: new Set(["f"]) }, 0), [
    `{"event":"call","tid":7,"cpu":1,"time":200,"duration":50,"depth":1,"function":"f","insns":10,"cycles":20}`,
    `{"event":"call","tid":7,"cpu":1,"time":400,"duration":600,"depth":2,"function":"f","insns":5,"cycles":0,"returned":false}`,
  ]);
});

Deno.test("CallText: a call with callees has a line at both ends, one without has a single line", () => {
  const none = " ".repeat(10);
  assertEquals(linesOf(new CallText(namesFrom(5))), [
    `      7        5.000000100 ${none} | main?() {`,
    `      7        5.000000200      50 ns |   f?();`,
    `      8 ${" ".repeat(18)}          ? | }  /* g? */  /* no return seen */`,
    `      7        5.000000300 ${none} |   g?() {`,
    `      7        5.000000400     600 ns |     f?();  /* no return seen */`,
    `      7        5.000001001     701 ns |   }  /* g? */`,
    `      7        6.600000100     1.60 s | }  /* main? */`,
  ]);
});

/** main calls f, which writes 2^32 + 5 before it calls g; f has no time for the second value. */
const WRITES: readonly Row[] = [
  [0, 7, 0, 0, 100],
  [0, 7, 1, 1, 200],
  [3, 7, 2, 1, 210, -1, 5, 1],
  [0, 7, 2, 2, 220],
  [1, 7, 2, 2, 230, 10, 3],
  [1, 7, 1, 1, 250, 50, 10],
  [3, 8, 0, 2, -1, -1, 9],
];

Deno.test("CallText: a value of PTWRITE is a line in the call around it, in hex and decimal", () => {
  const lines = linesOf(new CallText(namesFrom(5)), WRITES);
  assertEquals(lines.map((line) => line.slice(0, 27).trimEnd() + line.slice(line.indexOf(" |"))), [
    "      7        5.000000100 | main?() {",
    "      7        5.000000200 |   f?() {",
    "      7        5.000000210 |     ptwrite 0x100000005 (4294967301);  /* f? */",
    "      7        5.000000220 |     g?();",
    "      7        5.000000250 |   }  /* f? */",
    "      8 | ptwrite 0x9 (9);  /* g? */",
  ]);
  const inside = linesOf(new CallText(namesFrom(5), new Set(["f"])), WRITES);
  assertEquals(inside.map((line) => line.slice(line.indexOf("|"))), [
    "| f?() {",
    "|   ptwrite 0x100000005 (4294967301);  /* f? */",
    "|   g?();",
    "| }  /* f? */",
  ]);
});

Deno.test("CallJson: a value of PTWRITE is a line with its payload and its function", () => {
  const lines = linesOf(new CallJson(namesFrom(5)), WRITES).filter((line) => /ptwrite/.test(line));
  assertEquals(lines, [
    `{"event":"ptwrite","tid":7,"cpu":1,"time":5000000210,"depth":2,"function":"f","payload":"0x100000005","value":4294967301}`,
    `{"event":"ptwrite","tid":8,"depth":0,"function":"g","payload":"0x9","value":9}`,
  ]);
});

Deno.test("CallText: with a filter, only its functions and their callees are printed", () => {
  const lines = linesOf(new CallText(namesFrom(5), new Set(["g"])));
  assertEquals(lines.map((line) => line.slice(line.indexOf("|"))), [
    ...["| g?() {", "|   f?();  /* no return seen */", "| }  /* g? */"],
  ]);
});

Deno.test("CallText: calls deeper than 60 have the indentation of the 60th", () => {
  const deep: Row[] = [[0, 7, 60, 1, 1], [1, 7, 60, 1, 2, 1], [0, 7, 99, 1, 3], [
    1,
    7,
    99,
    1,
    4,
    1,
  ]];
  const indents = linesOf(new CallText(namesFrom(0)), deep).map((line) =>
    line.indexOf("f") - line.indexOf("|")
  );
  assertEquals(indents, [122, 122]);
});

Deno.test("CallText: durations from 2^16 ns on have the same format as shorter ones", () => {
  const rows = [65_535, 65_536, 65_537, 65_535].map((ns): Row => [1, 7, 0, 1, 1, ns]);
  const durations = linesOf(new CallText(namesFrom(0)), rows).map((line) =>
    line.slice(0, line.indexOf(" |")).trim().split(/ +/).slice(2).join(" ")
  );
  assertEquals(durations, ["65.5 us", "65.5 us", "65.5 us", "65.5 us"]);
});

/**
 * Thread 7 of process 7 is called `demo`; thread 8 is of process 6, of which only the command is
 * known.
 */
const THREADS = {
  pid: (tid: number) => tid === 8 ? 6 : tid,
  name: (tid: number) => tid === 7 ? "demo" : tid === 6 ? "six" : undefined,
} as unknown as PtThreads;

Deno.test("ChromeCalls: a call is a slice in microseconds from its beginning, one without a time is counted", () => {
  const calls = new ChromeCalls(namesFrom(5), THREADS, { title: "t" });
  const rows: Row[] = [...ROWS, [1, 8, 0, 2, 2500, 1500, 1]];
  const [head, list, ...lines] = linesOf(calls, rows);
  assertEquals([head, list, lines], [
    `{"otherData":{"title":"t"},"displayTimeUnit":"ns","traceEvents":[`,
    `{"ph":"X","name":"f","pid":7,"tid":7,"ts":5000000.200,"dur":0.050,"args":{"insns":10}},`,
    [
      `{"ph":"X","name":"f","pid":7,"tid":7,"ts":5000000.400,"dur":0.600,"args":{"insns":5,"end":"no return seen"}},`,
      `{"ph":"X","name":"g","pid":7,"tid":7,"ts":5000000.300,"dur":0.701,"args":{"insns":8}},`,
      `{"ph":"X","name":"main","pid":7,"tid":7,"ts":5000000.100,"dur":1600000.000,"args":{"insns":30}},`,
      `{"ph":"X","name":"g","pid":6,"tid":8,"ts":5000001.000,"dur":1.500,"args":{"insns":1}},`,
    ],
  ]);
  assertEquals([calls.calls, calls.untimed, calls.headless], [5, 1, 0]);
  let end = "";
  calls.finish((bytes) => end += decoder.decode(bytes));
  const events = JSON.parse(`[${end.slice(0, end.lastIndexOf("]"))}]`);
  assertEquals(
    events.map(({ name, pid, tid, args }: Record<string, unknown>) => [name, pid, tid, args]),
    [
      ["process_name", 7, 7, { name: "demo" }],
      ["thread_name", 7, 7, { name: "demo" }],
      ["process_name", 6, 6, { name: "six" }],
      ["thread_name", 6, 8, { name: "six" }],
    ],
  );
});

Deno.test("ChromeCalls: a value of PTWRITE is an instant event of its thread", () => {
  const calls = new ChromeCalls(namesFrom(5), THREADS, { title: "t" });
  const lines = linesOf(calls, WRITES).filter((line) => /ptwrite/.test(line));
  assertEquals(lines, [
    `{"ph":"i","s":"t","name":"ptwrite 0x100000005","pid":7,"tid":7,"ts":5000000.210,` +
    `"args":{"payload":"0x100000005","value":"4294967301","function":"f"}},`,
  ]);
  // The other value has no time.
  assertEquals([calls.calls, calls.untimed], [2, 1]);
});

Deno.test("ChromeCalls: without calls, the file is JSON with one name", () => {
  const calls = new ChromeCalls(namesFrom(0), THREADS, { title: "t" });
  let text = "";
  calls.finish((bytes) => text += decoder.decode(bytes));
  assertEquals(JSON.parse(text).traceEvents, [{
    ph: "M",
    name: "trace",
    pid: 0,
    tid: 0,
    args: {},
  }]);
});

/**
 * Fields of messages that are texts: names of slices, arguments, tracks, processes and threads, and
 * arguments' values.
 */
const TEXTS = /^\/1\/(?:12\/[23]\/2|11\/4\/6|11\/23|60\/2|60\/3\/6|60\/4\/5)$/;

/** A protocol buffer message as text: `{field:value …}`, in byte order. */
function messageText(bytes: Uint8Array, path = ""): string {
  let at = 0;
  const number = (): bigint => {
    for (let value = 0n, shift = 0n;; shift += 7n) {
      const byte = bytes[at++] as number;
      value |= BigInt(byte & 127) << shift;
      if (byte < 128) return value;
    }
  };
  const fields: string[] = [];
  while (at < bytes.length) {
    const key = Number(number());
    const here = `${path}/${key >> 3}`;
    const value = number();
    if ((key & 7) === 0) fields.push(`${key >> 3}:${value}`);
    else {
      const part = bytes.subarray(at, at += Number(value));
      const text = TEXTS.test(here) ? `"${decoder.decode(part)}"` : messageText(part, here);
      fields.push(`${key >> 3}:${text}`);
    }
  }
  return `{${fields.join(" ")}}`;
}

function perfettoOf(rows: readonly Row[]): { text: string; calls: PerfettoCalls } {
  const calls = new PerfettoCalls(namesFrom(5), THREADS);
  const parts: Uint8Array[] = [];
  const out = (bytes: Uint8Array): void => void parts.push(bytes.slice());
  calls.rows(eventsOf(rows), out);
  calls.finish(out);
  const all = Uint8Array.from(parts.flatMap((part) => [...part]));
  return { calls, text: messageText(all).slice(1, -1) };
}

/** The packets with a field (slices or tracks), as text. */
const packetsOf = (text: string, field: number): string[] =>
  text.split(/ (?=1:\{(?:10|6|8):)/).filter((packet) =>
    new RegExp(`[ {]${field}:\\{`).test(packet)
  );

Deno.test("PerfettoCalls: a call begins and ends a slice, times are distances within the thread's packets", () => {
  const { text, calls } = perfettoOf(ROWS);
  // Field numbers of trace_packet.proto: 8 the time, 10 the sequence, 11 the event, 12 names, 13
  // the state.
  const end = (time: number, insns: number, more = "") =>
    `1:{8:${time} 10:1 13:2 11:{4:{1:1 3:${insns}}${more} 9:2}}`;
  const begin = (time: number, iid: number, name = "") =>
    `1:{8:${time} 10:1 13:2 11:{9:1 10:${iid}}${name && ` 12:{2:{1:${iid} 2:"${name}"}}`}}`;
  assertEquals(packetsOf(text, 11).filter((packet) => packet.startsWith("1:{8:")), [
    begin(0, 1, "main"),
    begin(100, 2, "f"),
    end(50, 10),
    begin(50, 3, "g"),
    begin(100, 2),
    end(600, 5, ` 4:{1:2 6:"no return seen"}`),
    end(1, 8),
    end(1_600_000_100 - 1001, 30),
  ]);
  // The return of thread 8 has no time. It is not counted as a dropped call.
  assertEquals([calls.calls, calls.untimed, calls.headless], [4, 0, 0]);
});

Deno.test("PerfettoCalls: a value of PTWRITE is an instant with the value and its function", () => {
  const { text, calls } = perfettoOf(WRITES);
  assertEquals(packetsOf(text, 11).filter((packet) => packet.includes(" 9:3 ")), [
    `1:{8:10 10:1 13:2 11:{4:{1:3 3:4294967301} 4:{1:4 6:"f"} 9:3 23:"ptwrite 0x100000005"}}`,
  ]);
  assertEquals([calls.calls, calls.untimed, calls.headless], [3, 1, 0]);
});

Deno.test("PerfettoCalls: a thread has a track in its process's, and each CPU an idle task", () => {
  const { text, calls } = perfettoOf([
    [0, 7, 0, 0, 100],
    [0, 1, 0, 0, 100],
    [0, 0, 0, 0, 100],
    [0, -1, 0, 0, 100],
    [0, 8, 0, 0, -1],
    [1, 8, 0, 0, 100],
  ]);
  assertEquals(packetsOf(text, 60), [
    `1:{10:1 60:{1:17 3:{1:7 6:"demo"}}}`,
    `1:{10:1 60:{1:2 4:{1:7 2:7 5:"demo"} 5:17}}`,
    `1:{10:2 60:{1:5 3:{1:1 6:":1"}}}`,
    `1:{10:2 60:{1:4 4:{1:1 2:1 5:":1"} 5:5}}`,
    `1:{10:3 60:{1:6 2:"swapper"}}`,
    `1:{10:4 60:{1:8 2:"unknown"}}`,
    `1:{10:5 60:{1:15 3:{1:6 6:"six"}}}`,
    `1:{10:5 60:{1:10 4:{1:6 2:8 5:":8"} 5:15}}`,
  ]);
  // A call without a time, and a return whose call is missing.
  assertEquals([calls.calls, calls.untimed, calls.headless], [4, 1, 1]);
  // The clock of the first sequence begins at 5 s and 100 ns.
  assertEquals(
    packetsOf(text, 6)[0],
    "1:{6:{1:{1:64 2:5000000100 3:1} 1:{1:6 2:5000000100}} 10:1}",
  );
});
