/**
 * A machine's past, computed before any sample is read, gives the same state for each sample as
 * applying records in their order of delivery.
 */
import { assert, assertEquals } from "@std/assert";
import { PerfDataReader, type PerfEvent } from "@perfdata/format/records";
import { openSource } from "@perfdata/format/files";
import {
  PERF_RECORD_COMM,
  PERF_RECORD_FINISHED_ROUND,
  PERF_RECORD_MISC_CPUMODE_MASK,
  PERF_RECORD_MISC_KERNEL,
  PERF_RECORD_MISC_USER,
  PERF_RECORD_MMAP2,
  PERF_RECORD_SAMPLE,
} from "@perfdata/format/constants";
import {
  type Engine,
  History,
  RecordedObjects,
  RecordingIndex,
  RecordTime,
  type Run,
  runEngine,
} from "@perfdata/session";
import { corpusFiles } from "../support/corpus.ts";
import { inFolder } from "../support/tool.ts";
import { testSeed } from "../support/seed.ts";

interface Seen {
  readonly process: number;
  readonly comm: string;
  readonly map: string;
}

/** State for each sample while records are applied, by offset and number at the offset. */
async function replayed(path: string): Promise<Map<string, Seen>> {
  const found = new Map<string, Seen>();
  let engine: Engine | undefined;
  const reader = await PerfDataReader.open(openSource(path), { diagnostics: () => {} });
  await runEngine(reader, [{
    needs: { maps: true },
    start: (of: Engine) => void (engine = of),
    rows(run: Run) {
      const { machine } = engine as Engine;
      for (let i = 0; i < run.count; i++) {
        if (run.type[i] !== PERF_RECORD_SAMPLE || (run.thread[i] as number) < 0) continue;
        const offset = run.offset[i] as number;
        const comm = run.comm[i] as number;
        const map = run.map[i] as number;
        const mode = (run.misc[i] as number) & PERF_RECORD_MISC_CPUMODE_MASK;
        const isHost = mode === PERF_RECORD_MISC_KERNEL || mode === PERF_RECORD_MISC_USER;
        found.set(`${offset} ${run.tid[i]} ${run.time(i)} ${run.event[i]}`, {
          process: run.process[i] as number,
          comm: comm < 0 ? "" : machine.names.text(comm),
          map: map < 0 || !isHost ? "" : machine.names.text(map),
        });
      }
    },
  }], { diagnostics: () => {} });
  return found;
}

/** State for each sample from the past, in reverse file order. */
async function looked(path: string, blockBytes: number): Promise<Map<string, Seen>> {
  const found = new Map<string, Seen>();
  const reader = await PerfDataReader.open(openSource(path), { diagnostics: () => {} });
  const index = await RecordingIndex.read(reader, { blockBytes });
  const recorded = new RecordedObjects(reader, () => {});
  await recorded.readFeatures(reader);
  const history = new History(index, {
    littleEndian: reader.littleEndian,
    arch: reader.arch,
    known: recorded.known,
  });
  const { names } = history;
  const le = reader.littleEndian;
  const time = new RecordTime(reader.events);
  const blocks = index.isCompressed ? [undefined] : index.blocks.toReversed();
  for (const block of blocks) {
    let round = block?.round ?? 0;
    let position = block?.first ?? 0;
    const span = block === undefined ? {} : { from: block.from, to: block.to };
    for await (const batch of reader.batches({ ...span, quiet: true })) {
      for (let i = 0; i < batch.count; i++, position++) {
        const type = batch.type(i);
        if (type === PERF_RECORD_FINISHED_ROUND) round++;
        if (type !== PERF_RECORD_SAMPLE) continue;
        const event = batch.eventOf(i);
        if (event === undefined) continue;
        const { view } = batch;
        const at = batch.start(i);
        const { pid, ip, fixedSize } = event.layout;
        if (fixedSize > batch.size(i)) continue;
        const known = time.read(batch, i).known;
        const { hi, lo } = time;
        const [p, t] = pid < 0
          ? [-1, -1]
          : [view.getInt32(at + pid, le), view.getInt32(at + pid + 4, le)];
        const moment = history.moment(round, known ? hi : 0, known ? lo : 0, position);
        const state = history.state(p, t, moment);
        const mode = batch.misc(i) & PERF_RECORD_MISC_CPUMODE_MASK;
        const map = ip < 0
          ? history.map(state, mode, 0, 0)
          : history.mapAt(state, mode, view, at + ip, le);
        const comm = history.comms[state] as number;
        const key = `${batch.offsetOf(i)} ${t} ${
          BigInt(hi >>> 0) << 32n | BigInt(lo >>> 0)
        } ${time.event}`;
        found.set(key, {
          process: history.pids[state] as number,
          comm: comm < 0 ? "" : names.text(comm),
          map: map < 0 ? "" : names.text(history.mapName(map)),
        });
      }
    }
  }
  return found;
}

Deno.test("machine past: the state at each sample equals that while records are applied", async () => {
  let [files, samples] = [0, 0];
  const fixtures = ["recorded", "synthesized"].flatMap((folder) =>
    Array.from(Deno.readDirSync(new URL(`../../fixtures/${folder}`, import.meta.url)))
      .filter(({ name, isFile }) => isFile && name.endsWith(".data"))
      .map(({ name }) => new URL(`../../fixtures/${folder}/${name}`, import.meta.url).pathname)
  );
  for (const path of [...fixtures.sort(), ...corpusFiles().map(({ path }) => path)]) {
    let expected: Map<string, Seen>;
    try {
      expected = await replayed(path);
    } catch {
      continue;
    }
    if (expected.size === 0) continue;
    for (const blockBytes of [1 << 12, 1 << 20]) {
      const actual = await looked(path, blockBytes);
      for (const [key, seen] of expected) {
        assertEquals(actual.get(key), seen, `${path}: ${key}`);
      }
    }
    files++;
    samples += expected.size;
  }
  console.log(`${samples} samples of ${files} files`);
  assert(files >= 30 && samples >= 1500);
});

/** The recording of a fixture with other records. Header and attrs are kept. */
function withRecords(fixture: string, records: readonly Uint8Array[]): Uint8Array {
  const file = Deno.readFileSync(new URL(`../../fixtures/recorded/${fixture}`, import.meta.url));
  const view = new DataView(file.buffer);
  // `struct perf_file_header`: the data section at 40, the feature bits at 72.
  const offset = Number(view.getBigUint64(40, true));
  const size = records.reduce((sum, { length }) => sum + length, 0);
  const bytes = new Uint8Array(offset + size);
  bytes.set(file.subarray(0, offset));
  new DataView(bytes.buffer).setBigUint64(48, BigInt(size), true);
  bytes.fill(0, 72, 104);
  let at = offset;
  for (const record of records) {
    bytes.set(record, at);
    at += record.length;
  }
  return bytes;
}

Deno.test("machine past: processes known only from samples, and reused ids, have the same state", () =>
  inFolder(async (folder) => {
    const fixture = "two-events.perf.data";
    const path = new URL(`../../fixtures/recorded/${fixture}`, import.meta.url).pathname;
    const reader = await PerfDataReader.open(openSource(path));
    const templates = new Map<number, Uint8Array>();
    for await (const batch of reader.batches()) {
      for (let i = 0; i < batch.count; i++) {
        if (!templates.has(batch.type(i))) {
          templates.set(batch.type(i), batch.recordBytes(i).slice());
        }
      }
    }
    const sample = templates.get(PERF_RECORD_SAMPLE) as Uint8Array;
    const { layout } = reader.events.all[0] as PerfEvent;
    const others = [PERF_RECORD_COMM, PERF_RECORD_MMAP2].map((type) => templates.get(type));
    let seed = testSeed();
    const below = (n: number): number => {
      seed = Math.imul(seed, 1103515245) + 12345 & 0x7fff_ffff;
      return (seed >>> 8) % n;
    };
    let compared = 0;
    for (let round = 0; round < 20; round++) {
      const records: Uint8Array[] = [];
      for (let i = 0; i < 400; i++) {
        const other = others[below(8)];
        const record = (other ?? sample).slice();
        const view = new DataView(record.buffer);
        // Ids that occur often, now and then, and once.
        const tid = [1000 + below(12), 2000 + below(120), 100_000 + i][below(3)] as number;
        const pid = below(4) > 0 ? tid : 1000 + below(12);
        view.setInt32(other === undefined ? layout.pid : 8, pid, true);
        view.setInt32(other === undefined ? layout.pid + 4 : 12, tid, true);
        // Times out of order, some of them equal.
        const time = BigInt(1_000_000 + i * 10 + below(200));
        const at = other === undefined ? layout.time : record.length + layout.trailer.time;
        view.setBigUint64(at, time, true);
        records.push(record);
      }
      const file = `${folder}/${round}.data`;
      Deno.writeFileSync(file, withRecords(fixture, records));
      const expected = await replayed(file);
      assert(expected.size > 250);
      for (const blockBytes of [1 << 10, 1 << 20]) {
        const actual = await looked(file, blockBytes);
        for (const [key, seen] of expected) {
          assertEquals(actual.get(key), seen, `round ${round}: ${key}`);
        }
      }
      compared += expected.size;
    }
    console.log(`${compared} samples`);
    assert(compared > 5000);
  }));
