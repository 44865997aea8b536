/**
 * The past of a machine, made before any sample is looked at, says of each sample what the machine says
 * that goes along with the records in the order of their delivery.
 */
import { assert, assertEquals } from "@std/assert";
import { PerfDataReader } from "@perfdata/format";
import { openSource } from "@perfdata/format/file-source";
import {
  PERF_RECORD_MISC_CPUMODE_MASK,
  PERF_RECORD_MISC_KERNEL,
  PERF_RECORD_MISC_USER,
} from "@perfdata/format/perf-event";
import { PERF_RECORD_FINISHED_ROUND, PERF_RECORD_SAMPLE } from "@perfdata/format/record-types";
import { type Engine, runEngine } from "@perfdata/session/engine";
import { History } from "@perfdata/session/history";
import { RecordingIndex } from "@perfdata/session/index";
import { RecordedObjects } from "@perfdata/session/recorded-objects";
import { RecordTime } from "@perfdata/session/record-time";
import type { Run } from "@perfdata/session/run";
import { corpusFiles } from "./corpus.ts";

interface Seen {
  readonly process: number;
  readonly comm: string;
  readonly map: string;
}

/** What the machine says of each sample while records go by, by offset and number at that offset. */
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

/** What the past says of them, in the order of the file backwards. */
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

Deno.test("the past of a machine is what it was when records went by", async () => {
  let [files, samples] = [0, 0];
  const fixtures = ["recorded", "synthesized"].flatMap((folder) =>
    Array.from(Deno.readDirSync(new URL(`../fixtures/${folder}`, import.meta.url)))
      .filter(({ name, isFile }) => isFile && name.endsWith(".data"))
      .map(({ name }) => new URL(`../fixtures/${folder}/${name}`, import.meta.url).pathname)
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
