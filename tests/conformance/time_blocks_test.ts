/** A time range reads only the file's blocks in it, and gives the result of the whole file. */
import { assert, assertEquals } from "@std/assert";
import { SampleCollector } from "@perfdata/profile";
import { type ByteSource, bytesSource } from "@perfdata/format/bytes";
import { PerfDataReader } from "@perfdata/format/records";
import { PERF_RECORD_SAMPLE } from "@perfdata/format/constants";
import { functionTable } from "@perfdata/report";
import { CHOSEN, type Consumer, type Engine, RecordTime, runEngine } from "@perfdata/session";
import { openResolver } from "@perfdata/symbols/files";
import { corpusFiles } from "../support/corpus.ts";

const root = new URL("../../", import.meta.url).pathname;
const kallsyms = `${root}fixtures/kernel/kallsyms`;
const BLOCK = 1 << 12;

type Span = readonly [from: number, to: number];
type Times = readonly [bigint, bigint];
/** A record with a time. */
type Timed = { readonly at: Span; readonly time: bigint; readonly isSample: boolean };

/** With it, all records are in time order, and none is dropped. */
const IN_ORDER: Consumer = { needs: {}, rows: () => {} };

/** Functions of the samples in a time range; `more` consumers may change the order of delivery. */
async function functions(source: ByteSource, time: Times, more: readonly Consumer[], options = {}) {
  const reader = await PerfDataReader.open(source, { diagnostics: () => {} });
  const consumer = new SampleCollector({ keys: { tid: true } });
  const engine = await runEngine(reader, [consumer, ...more], {
    diagnostics: () => {},
    filter: { time },
    blockBytes: BLOCK,
    ...options,
  });
  const resolver = openResolver({ parameters: false, kallsyms, machine: engine.recorded });
  const table = await functionTable(consumer, resolver, {
    sort: ["comm", "dso", "sym", "tid"],
  });
  return [
    JSON.stringify(consumer.totals.filter(({ samples }) => samples > 0)),
    ...Array.from(table.rows, (row) => JSON.stringify(table.row(row))).sort(),
  ];
}

/** Offsets and times of the records with a time. */
async function timesOf(bytes: Uint8Array): Promise<Timed[]> {
  const reader = await PerfDataReader.open(bytesSource(bytes), { diagnostics: () => {} });
  const time = new RecordTime(reader.events);
  const found: Timed[] = [];
  for await (const batch of reader.batches()) {
    for (let i = 0; i < batch.count; i++) {
      if (!time.read(batch, i).known) continue;
      const from = batch.offsetOf(i);
      const ns = BigInt(time.hi >>> 0) << 32n | BigInt(time.lo >>> 0);
      const at: Span = [from, from + batch.size(i)];
      found.push({ at, time: ns, isSample: batch.type(i) === PERF_RECORD_SAMPLE });
    }
  }
  return found;
}

/** The middle tenth of a recording's time. */
function middle(records: readonly { time: bigint }[]): Times {
  const times = records.map(({ time }) => time).sort((a, b) => a < b ? -1 : a > b ? 1 : 0);
  const at = (share: number) => times[Math.floor(times.length * share)] as bigint;
  return [at(0.5), at(0.6)];
}

Deno.test("--time: only blocks of the range are read, with the output of a whole pass", async () => {
  const paths = [
    ...["callchain", "rounds", "two-events", "all-cpus", "switch", "addr", "dwarf"].map((name) =>
      `${root}fixtures/recorded/${name}.perf.data`
    ),
    ...corpusFiles().filter(({ sound, row }) => sound && Number(row["bytes"]) > 200_000)
      .slice(0, 8).map(({ path }) => path),
  ];
  let rows = 0;
  let files = 0;
  let spared = 0;
  for (const path of paths) {
    const bytes = await Deno.readFile(path);
    const records = await timesOf(bytes);
    if (records.length < 10) continue;
    const time = middle(records);
    const reads: Span[] = [];
    const ends: number[] = [];
    const inner = bytesSource(bytes);
    const counting: ByteSource = {
      size: bytes.length,
      readAt(into, position) {
        const got = inner.readAt(into, position);
        reads.push([position, position + got]);
        return got;
      },
    };
    // After the second report of the total, the file was scanned.
    let begun = 0;
    let done = 0;
    let total = 0;
    const progress = (bytes: number, more = 0): void => {
      done += bytes;
      total += more;
      if (more === 0) return;
      ends.push(reads.length);
      begun = reads.length;
    };
    const actual = await functions(counting, time, [], { progress });
    assertEquals(actual, await functions(bytesSource(bytes), time, [IN_ORDER]), path);
    rows += actual.length;
    if (ends.length < 2) continue;
    files++;
    const { data } = await PerfDataReader.open(bytesSource(bytes));
    assertEquals(done, data.size + total, `${path}: progress ends where all is done`);
    // Bytes read after that are blocks in the range, with all of its samples.
    const later: [from: number, to: number][] = [];
    for (const [from, to] of reads.slice(begun)) {
      const last = later.at(-1);
      // Features follow the records.
      if (from >= data.offset + data.size) continue;
      if (last !== undefined && last[1] === from) last[1] = to;
      else if (to > from) later.push([from, to]);
    }
    const inside = ({ at: [from, to] }: Timed) =>
      later.some((read) => read[0] < to && from < read[1]);
    const [first, last] = time;
    for (const record of records) {
      if (!record.isSample || record.time < first || record.time > last) continue;
      assert(inside(record), `${path}: the sample at ${record.at[0]} is not read`);
    }
    for (const [from, to] of later) {
      const own = records.filter(({ at }) => at[0] < to && from < at[1]).map(({ time }) => time);
      assert(own.some((at) => at >= first) && own.some((at) => at <= last), `${path}: ${from}`);
    }
    spared += records.filter((record) => !inside(record)).length;
  }
  console.log(`${rows} rows compared; ${spared} records of ${files} files not read a second time`);
  assert(rows >= 25 && files >= 5 && spared >= 200);
});

/** The samples in a time range in order, one line each. */
async function samples(source: ByteSource, time: Times, more: readonly Consumer[]) {
  const reader = await PerfDataReader.open(source, { diagnostics: () => {} });
  const lines: string[] = [];
  let engine: Engine | undefined;
  await runEngine(reader, [{
    needs: { samples: true, places: true, frames: true },
    start(of) {
      engine = of;
    },
    rows(run) {
      const { places, names } = engine as Engine;
      for (let i = 0; i < run.count; i++) {
        if (run.chosen[i] !== CHOSEN.YES) continue;
        const comm = run.comm[i] as number;
        const place = run.place[i] as number;
        const mapped = place < 0 ? undefined : places.mapped[places.object(place)];
        lines.push([
          run.time(i),
          run.offset[i],
          run.process[i],
          comm < 0 ? "?" : names.text(comm),
          mapped?.name,
          place < 0 ? "" : places.address(place),
          (run.frameStart[i + 1] as number) - (run.frameStart[i] as number),
        ].join(" "));
      }
    },
  }, ...more], { diagnostics: () => {}, filter: { time }, blockBytes: BLOCK });
  return lines;
}

Deno.test("--time: samples of equal times keep their order if only blocks of the range are read", async () => {
  const paths = [
    ...["callchain", "rounds", "two-events", "all-cpus", "switch", "addr", "dwarf"].map((name) =>
      `${root}fixtures/recorded/${name}.perf.data`
    ),
    ...corpusFiles().filter(({ sound, row }) => sound && Number(row["bytes"]) > 200_000)
      .slice(0, 12).map(({ path }) => path),
  ];
  let compared = 0;
  let spared = 0;
  for (const path of paths) {
    const bytes = await Deno.readFile(path);
    const records = await timesOf(bytes);
    if (records.length < 10) continue;
    const time = middle(records);
    let read = 0;
    const inner = bytesSource(bytes);
    const counting: ByteSource = {
      size: bytes.length,
      readAt(into, position) {
        const got = inner.readAt(into, position);
        read += got;
        return got;
      },
    };
    const actual = await samples(counting, time, []);
    assertEquals(actual, await samples(bytesSource(bytes), time, [IN_ORDER]), path);
    compared += actual.length;
    if (read < 2 * bytes.length) spared++;
  }
  console.log(`${compared} samples compared; ${spared} files not read twice`);
  assert(compared >= 25 && spared >= 5, `${compared} ${spared}`);
});
