/** Seeds of the fuzzer: recordings, and files with symbols. */
import { bytesSource, memorySink } from "@perfdata/format/bytes";
import { emptyAttr, KERNEL_RECORDS, PerfDataWriter, RecordCodec } from "@perfdata/format/records";
import {
  PERF_SAMPLE_IP,
  PERF_SAMPLE_PERIOD,
  PERF_SAMPLE_TID,
  PERF_SAMPLE_TIME,
} from "@perfdata/format/constants";
import { hexRuns } from "@perfdata/dump";
import { GROWING } from "../hostile/growing.ts";
import { corpusFiles } from "../support/corpus.ts";
import type { Field, Seed } from "./kinds/kind.ts";
import { KINDS } from "./targets.ts";

const FIXTURES = new URL("../../fixtures/", import.meta.url).pathname;
/** Limit of the file size. Larger files take long, and are similar. */
const LARGEST = 96 << 10;

/** Limit of the fields of a seed. */
const MOST_FIELDS = 1500;

/**
 * All seeds: from `fixtures/` and, unless only this repository's are requested, from the corpus.
 */
export async function seeds(ours = false): Promise<Seed[]> {
  const all: Seed[] = [];
  for (const folder of ["recorded", "synthesized", "hostile"]) {
    for (const { name, isFile } of [...Deno.readDirSync(`${FIXTURES}${folder}`)].sort(byName)) {
      if (isFile && name.endsWith(".data")) add(all, name, `${FIXTURES}${folder}/${name}`, true);
    }
  }
  for (const { name, path } of ours ? [] : corpusFiles()) add(all, name, path, false);
  // Formats of tracepoints, build ids, topologies, locks, switches, which recordings of programs
  // lack.
  for (const [name, make] of Object.entries(GROWING)) {
    all.push({ name, kind: "recording", bytes: await make(12), ours: true });
  }
  all.push({ name: "processes", kind: "recording", bytes: await processes(), ours: true });
  for (const { kind, seeds } of KINDS) {
    for (const seed of await seeds()) all.push({ ...seed, kind, ours: true });
  }
  return all;
}

function byName(a: Deno.DirEntry, b: Deno.DirEntry): number {
  return a.name < b.name ? -1 : 1;
}

function add(to: Seed[], name: string, path: string, ours: boolean): void {
  const { size } = Deno.statSync(path);
  if (size <= LARGEST) to.push({ name, kind: "recording", bytes: Deno.readFileSync(path), ours });
}

/** A recording of many processes. Each starts, gets a name, maps a file, and is sampled. */
async function processes(): Promise<Uint8Array> {
  const attr = {
    ...emptyAttr(),
    sample_type: BigInt(PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_PERIOD),
    flags: { ...emptyAttr().flags, sample_id_all: true },
  };
  const sink = memorySink();
  const writer = await PerfDataWriter.file(sink, { events: [{ attr }] });
  const codec = new RecordCodec(KERNEL_RECORDS);
  const write = async (record: Parameters<typeof codec.encode>[0], pid: number, time: bigint) => {
    const body = codec.encode(record);
    const bytes = new Uint8Array(body.length + 16);
    bytes.set(body);
    const view = new DataView(bytes.buffer);
    view.setUint16(6, bytes.length, true);
    view.setInt32(body.length, pid, true);
    view.setInt32(body.length + 4, pid, true);
    view.setBigUint64(body.length + 8, time, true);
    await writer.write(bytes);
  };
  for (let i = 0; i < 400; i++) {
    const pid = 1000 + i % 300;
    const time = BigInt(1000 + 10 * i);
    const task = { pid, ppid: 1, tid: pid, ptid: 1, time };
    await write({ type: 7, name: "FORK", misc: 0, body: task }, pid, time);
    const comm = { pid, tid: pid, comm: `p${i}` };
    await write({ type: 3, name: "COMM", misc: 0, body: comm }, pid, time + 1n);
    const map = { pid, tid: pid, addr: 0x1000n, len: 0x1000n, pgoff: 0n, filename: "/bin/true" };
    await write({ type: 1, name: "MMAP", misc: 2, body: map }, pid, time + 2n);
    const sample = new Uint8Array(40);
    const view = new DataView(sample.buffer);
    view.setUint32(0, 9, true);
    view.setUint16(4, 2, true);
    view.setUint16(6, 40, true);
    view.setBigUint64(8, 0x1010n, true);
    view.setInt32(16, pid, true);
    view.setInt32(20, pid, true);
    view.setBigUint64(24, time + 3n, true);
    view.setBigUint64(32, 1n, true);
    await writer.write(sample);
  }
  await writer.close();
  return sink.bytes();
}

/** The fields of a seed; for a recording, from its annotated hexdump. */
export async function fieldsOf({ kind, bytes, fields: known }: Seed): Promise<readonly Field[]> {
  if (kind !== "recording") return known ?? [];
  const fields: Field[] = [];
  try {
    for await (const run of hexRuns(bytesSource(bytes))) {
      const { offset, size, field, owner, inflated } = run;
      if (inflated || size > 8 || offset + size > bytes.length) continue;
      fields.push({ offset, size, steers: STEERING.test(field) || owner === "header" });
    }
  } catch {
    // A damaged file has the fields up to the damage.
  }
  // Fields of all seeds are stored, so a large one has some from all over it.
  const every = Math.ceil(fields.length / MOST_FIELDS);
  return fields.filter((_, i) => i % every === 0);
}

const STEERING =
  /size|len|nr|count|offset|type|misc|num|flags|format|id\b|addr|pgoff|version|ids|time|period|\[0\]/;
