import { visible } from "@perfdata/format/bytes";
import { assertEquals } from "@std/assert";
import fc from "fast-check";
import type { TimehistRow } from "./timehist.ts";
import { TimehistText } from "./timehist_text.ts";

const NAMES = [
  "sh",
  "a name that is longer than the column",
  "größer",
  "\x1b[2J\n",
  '"quoted"\\',
  "",
];

const ns = fc.oneof(
  fc.integer({ min: 0, max: 3000 }),
  fc.integer({ min: 0, max: 2 ** 31 - 1 }),
  fc.integer({ min: 0, max: 2 ** 52 }),
  fc.constantFrom(999, 1000, 999_999, 1_000_000, 999_999_999, 1e9, 2 ** 32 - 1, 2 ** 32),
);

const row: fc.Arbitrary<TimehistRow> = fc.record({
  time: ns,
  cpu: fc.oneof(fc.integer({ min: 0, max: 300 }), fc.constantFrom(9999, 10_000, 65_535, -1)),
  name: fc.integer({ min: -1, max: NAMES.length - 1 }),
  isIdle: fc.boolean(),
  tid: fc.integer({ min: 1, max: 9 }),
  pid: fc.integer({ min: 1, max: 9 }),
  wait: ns,
  delay: ns,
  run: ns,
}).map((row) => row.isIdle ? { ...row, name: -1, tid: 0, pid: 0 } : row);

function comm({ isIdle, name, tid }: TimehistRow): string {
  return isIdle ? "<idle>" : NAMES[name] ?? `:${tid}`;
}

/** The text of rows. */
function textOf(base: bigint, rows: readonly TimehistRow[], json: boolean): string {
  const found: number[] = [];
  const [baseHi, baseLo] = [Number(base >> 32n), Number(base & 0xffffffffn)];
  const text = new TimehistText({ comm, baseHi, baseLo }, { json }, (bytes) => {
    for (const byte of bytes) found.push(byte);
  });
  for (const row of rows) text.take(row);
  text.flush();
  return new TextDecoder().decode(Uint8Array.from(found));
}

/** The expected text from exact integers, by perf's format `%15s [%04d]  %-*s %9s`. */
function wantedLines(base: bigint, rows: readonly TimehistRow[]): string[] {
  let width = 30;
  const thousandths = (units: bigint, digits: number, room: number) => {
    const one = 10n ** BigInt(digits);
    return `${units / one}.${String(units % one).padStart(digits, "0")}`.padStart(room);
  };
  return rows.map((row) => {
    const name = visible(comm(row));
    const ids = row.tid === row.pid ? `${row.tid}` : `${row.tid}/${row.pid}`;
    const task = row.isIdle ? name : `${name}[${ids}]`;
    width = Math.max(width, task.length);
    const ms = [row.wait, row.delay, row.run].map((ns) => thousandths(BigInt(ns) / 1000n, 3, 10));
    const when = thousandths((base + BigInt(row.time)) / 1000n, 6, 15);
    const cpu = row.cpu < 0 ? String(row.cpu) : String(row.cpu).padStart(4, "0");
    return `${when} [${cpu}]  ${task.padEnd(width)} ${ms.join(" ")} `;
  });
}

/** Times of a machine's clock, and values at which a half or a second overflows. */
const base = fc.oneof(
  fc.bigInt(0n, 10n ** 18n),
  fc.constantFrom(0n, 2n ** 32n - 1n, 999_999_999n, 2n ** 60n - 1n),
);

Deno.test("TimehistText: lines of any integers equal those computed exactly", () => {
  let compared = 0;
  fc.assert(
    fc.property(base, fc.array(row, { minLength: 1, maxLength: 20 }), (base, rows) => {
      const [, , , ...lines] = textOf(base, rows, false).split("\n");
      assertEquals(lines, [...wantedLines(base, rows), ""]);
      compared += rows.length;
    }),
    { numRuns: 300 },
  );
  console.log(`${compared} lines compared`);
});

Deno.test("TimehistText: JSON lines have all digits", () => {
  fc.assert(
    fc.property(base, fc.array(row, { minLength: 1, maxLength: 20 }), (base, rows) => {
      const lines = textOf(base, rows, true).trim().split("\n");
      const wanted = rows.map((row) => {
        const { cpu, tid, pid, wait, delay, run } = row;
        const rest = JSON.stringify({ cpu, comm: comm(row), tid, pid, wait, delay, run });
        return `{"time":${base + BigInt(row.time)},${rest.slice(1)}`;
      });
      assertEquals(lines, wanted);
    }),
    { numRuns: 300 },
  );
});

Deno.test("TimehistText: rows beyond the buffer's size, with names of any length, are complete", () => {
  const long = "x".repeat(70_000);
  const one = { cpu: 0, name: 0, isIdle: false, tid: 1, pid: 1, wait: 0, delay: 0, run: 0 };
  let text = "";
  const lines = new TimehistText(
    { comm: ({ tid }) => tid === 2 ? long : "sh", baseHi: 0, baseLo: 0 },
    { json: false },
    (bytes) => text += new TextDecoder().decode(bytes),
  );
  for (let k = 0; k < 2000; k++) lines.take({ ...one, time: k * 1000, tid: k === 1999 ? 2 : 1 });
  lines.flush();
  const found = text.trimEnd().split("\n").slice(3);
  assertEquals(found.length, 2000);
  assertEquals(
    found.map((line) => Math.round(Number(line.slice(0, 15)) * 1e6)),
    found.map((_, k) => k),
  );
  assertEquals(found.at(-1)?.includes(` ${long}[2/1] `), true);
});

Deno.test("TimehistText.lost: a line between the rows, below the head; none in JSON", () => {
  const row = {
    time: 2000,
    cpu: 0,
    name: 0,
    isIdle: false,
    tid: 1,
    pid: 1,
    wait: 0,
    delay: 0,
    run: 0,
  };
  const textOf = (json: boolean): string => {
    let text = "";
    const lines = new TimehistText(
      { comm: () => "sh", baseHi: 0, baseLo: 1_500_000_000 },
      { json },
      (bytes) => text += new TextDecoder().decode(bytes),
    );
    lines.lost({ time: 1000, cpu: 12, records: 345 });
    lines.take(row);
    lines.flush();
    return text;
  };
  const lines = textOf(false).split("\n");
  assertEquals([lines[3], lines[4]?.slice(0, 15), lines.length], [
    "       1.500001 lost 345 events on cpu 12",
    "       1.500002",
    6,
  ]);
  assertEquals(textOf(true).split("\n").length, 2);
});
