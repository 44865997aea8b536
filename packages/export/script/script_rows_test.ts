import { bytesSource } from "@perfdata/format/bytes";
import { PerfDataReader } from "@perfdata/format/records";
import { runEngine } from "@perfdata/session";
import { assertEquals } from "@std/assert";
import { recordingOf, type SmallSample } from "../../profile/testing.ts";
import { ROW, ROW_WORDS, type RowBlock, ScriptRows } from "./script_rows.ts";

const MAPS = [{ path: "/bin/a", at: 0x1000n }, { path: "/bin/b", at: 0x4000n, size: 0x2000n }];

/** 9000 is unmapped, and so is the kernel. */
const SAMPLES: readonly SmallSample[] = [
  { tid: 7, time: 10n, period: 3n, ips: [0x1010n, 0x1020n], cpu: 1 },
  { tid: 8, time: 20n, period: 5n, ips: [0x4000n, 0x9000n, 0x1020n] },
  { tid: 7, time: 30n, period: 0x1_0000_0002n, ips: [0x1010n], event: 1 },
  { tid: 7, time: 40n, ips: [0x9000n] },
  { tid: 8, time: 0x1_0000_0005n, ips: [0x5008n, 0x1010n, 0x9_0000_0000n] },
];
const NEEDS = { stacks: true, addresses: false, branches: false, records: () => false };

async function rowsOf(
  samples: readonly SmallSample[],
  needs: Partial<typeof NEEDS> = {},
): Promise<ScriptRows> {
  const bytes = await recordingOf({ samples, maps: MAPS, attrs: [{}, { config: 0n }] });
  const rows = new ScriptRows({ ...NEEDS, ...needs });
  await runEngine(await PerfDataReader.open(bytesSource(bytes)), [rows]);
  return rows;
}

/** Samples of each place: object, address in its file. */
function placesOf(rows: ScriptRows): string[] {
  const { places } = rows.engine;
  const nameOf = (object: number) => places.objects[object]?.path ?? "unmapped";
  return Array.from(rows.samples()).flatMap((count, place) =>
    count === 0
      ? []
      : [`${nameOf(places.object(place))} ${places.address(place).toString(16)}: ${count}`]
  ).sort();
}

/** Totals: samples, entries of call chains, unmapped entries, samples of both events. */
function totals(rows: ScriptRows): number[] {
  const { count, frames, unmapped } = rows;
  return [
    ...[count, frames, unmapped],
    ...[rows.countOf((event) => event === 0), rows.countOf((event) => event === 1)],
  ];
}

const TOTALS = [5, 10, 3, 4, 1];
const PLACES = ["/bin/a 10: 2", "/bin/b 0: 1", "/bin/b 1008: 1", "unmapped 0: 1"];

Deno.test("ScriptRows: samples, entries of call chains, events and places are counted", async () => {
  const rows = await rowsOf(SAMPLES);
  assertEquals(totals(rows), TOTALS);
  assertEquals(placesOf(rows), PLACES);
  assertEquals(rows.countOf(() => true), 5);
  assertEquals(rows.countOf(() => false), 0);
});

/**
 * One line per row: event, process, thread, CPU, halves of time, period and address, and the call
 * chain.
 */
function rowLines({ words, frames, count }: RowBlock): string[] {
  return Array.from({ length: count }, (_, row) => {
    const word = (name: keyof typeof ROW) => words[row * ROW_WORDS + ROW[name]] ?? NaN;
    const chain = word("FRAMES");
    return [
      ...[word("EVENT"), word("PID"), word("TID"), word("CPU")],
      ...[word("TIME_HI"), word("TIME_LO"), word("PERIOD_HI"), word("PERIOD_LO")],
      ...[word("IP_HI"), word("IP_LO").toString(16)],
      chain < 0 ? "no chain" : `${(frames[chain] ?? 0) / 2} entries`,
      ...[word("BRANCHES"), word("RECORD")],
    ].join(" ");
  });
}

Deno.test("ScriptRows: a row has its sample's fields, 64-bit numbers in halves", async () => {
  const { blocks } = await rowsOf(SAMPLES);
  assertEquals(blocks.flatMap(rowLines), [
    "0 7 7 1 0 10 0 3 0 1010 2 entries -1 -1",
    "0 7 8 0 0 20 0 5 0 4000 3 entries -1 -1",
    "1 7 7 0 0 30 1 2 0 1010 1 entries -1 -1",
    "0 7 7 0 0 40 0 1 0 9000 1 entries -1 -1",
    "0 7 8 0 1 5 0 1 0 5008 3 entries -1 -1",
  ]);
  const plain = await rowsOf(SAMPLES, { stacks: false });
  assertEquals([plain.count, plain.frames, plain.unmapped], [5, 0, 0]);
  assertEquals(
    plain.blocks.flatMap(rowLines).map((line) => line.slice(line.indexOf("no"))),
    Array(5).fill("no chain -1 -1"),
  );
});

Deno.test("ScriptRows: joined counts of two parts of a recording equal those of the whole", async () => {
  // Both objects are in the first part.
  for (const at of [2, 3, 4, 5]) {
    const first = await rowsOf(SAMPLES.slice(0, at));
    const second = await rowsOf(SAMPLES.slice(at));
    // The first part's numbers of the second part's places.
    const { places } = first.engine, others = second.engine.places;
    const numbers = Int32Array.from({ length: others.count }, (_, place) => {
      const { path } = others.objects[others.object(place)] ?? {};
      const object = places.objects.findIndex((of) => of.path === path);
      return places.row(
        path === undefined ? others.object(place) : object,
        others.hi(place),
        others.lo(place),
      );
    });
    first.join(second.part(), numbers);
    assertEquals(totals(first), TOTALS, `${at}`);
    assertEquals(placesOf(first), PLACES, `${at}`);
  }
});

Deno.test("ScriptRows: cleared blocks are reused, and counts stay", async () => {
  const rows = await rowsOf(SAMPLES);
  const [block] = rows.blocks;
  rows.clear();
  assertEquals([rows.blocks.length, block?.count, block?.frameWords], [0, 0, 0]);
  assertEquals([block?.branchWords, block?.recordBytes], [0, 0]);
  assertEquals(totals(rows), TOTALS);
});
