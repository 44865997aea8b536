import { BranchCounts } from "@perfdata/export/code";
import { TraceBranches } from "@perfdata/export/traces";
import { floatAt, intAt, PerfDataError } from "@perfdata/format/bytes";
import { InsnDecoder } from "@perfdata/intel-pt";
import { namePlaces, type Profile, ThreadTable } from "@perfdata/profile";
import type { PtTrace } from "@perfdata/pt/decode";
import { ObjectCodeReader } from "@perfdata/session/code";
import type { SymbolResolver } from "@perfdata/symbols";
import type { RecordingTrace, TraceHost } from "./recording_trace.ts";
import type { TraceChoice, TraceProfile } from "./trace_question.ts";

/** Maximum bytes of code between two branches; longer ranges are skipped. */
const MOST_CODE = 1 << 20;

/** A profile with a sample for each instruction that ran, which counts its executions. */
export interface ExecutedInsns extends TraceProfile {
  /** The branches, and the code between them. */
  readonly counts: BranchCounts;
  /** The symbols. Objects have the same numbers as in the places of the trace. */
  readonly resolver: SymbolResolver;
}

/** Counts the executions of each instruction of a trace. */
export async function executedInsns(
  of: Pick<RecordingTrace, "trace" | "code" | "branches">,
  choice: TraceChoice,
  { title, symbols, naming }: Pick<TraceHost, "title" | "symbols" | "naming">,
): Promise<ExecutedInsns> {
  const counts = new BranchCounts();
  const branches = new TraceBranches(counts);
  const loss = await of.branches((rows) => branches.take(rows), choice);
  const { trace, code: { files, images } } = of;
  const executed = executions(counts, trace, new ObjectCodeReader(files, images));
  if (executed.size === 0) {
    throw new PerfDataError("nothing ran between branches of its trace", { code: "not-decoded" });
  }
  const { code: { places }, engine } = trace;
  const resolver = await symbols({ machine: engine.recorded, lines: true });
  const place = Int32Array.from(executed.keys());
  const count = Float64Array.from(executed.values());
  const { length } = place;
  const stacks = { parent: new Int32Array(length).fill(-1), place };
  const samples = {
    length,
    stack: Int32Array.from(place, (_, i) => i),
    event: new Int32Array(length),
    thread: new Int32Array(length),
    count,
    period: count,
  };
  const named = await namePlaces({ places }, stacks, samples, { resolver, progress: naming });
  const threads = new ThreadTable();
  threads.add(-1, -1, "");
  const profile: Profile = {
    title,
    trust: "",
    events: [{ name: "instructions", unit: "count" }],
    threads,
    objects: named.objects,
    functions: named.functions,
    frames: named.frames,
    places: named.places,
    files: named.files,
    stacks,
    samples,
    epoch: 0n,
    switches: [],
  };
  return { profile, loss, counts, resolver };
}

/** Execution counts of instructions by place. */
function executions(
  counts: BranchCounts,
  { code: { places }, engine }: PtTrace,
  source: ObjectCodeReader,
): Map<number, number> {
  const mode = /^i[3-6]86$|^x86$/.test(engine.reader.arch ?? "") ? 32 : 64;
  const decoder = new InsnDecoder();
  const executed = new Map<number, number>();
  const to = counts.branches.items();
  const before = counts.traces.parents();
  const until = counts.traces.items();
  const ran = counts.ran.array();
  // The code bytes that follow a place.
  const read = new Map<number, Uint8Array | undefined>();
  for (let i = 0; i < before.length; i++) {
    const [start, end] = [intAt(to, intAt(before, i)), intAt(until, i)];
    const number = start < 0 || end < 0 ? -1 : places.object(start);
    const object = places.objects[number];
    if (object === undefined || places.object(end) !== number) continue;
    const [first, last] = [places.address(start), places.address(end)];
    if (last < first || last - first > MOST_CODE) continue;
    let bytes = read.get(start);
    if (bytes === undefined || bytes.length <= last - first) {
      const found = source.read(object, first, last - first + 1);
      if ("missing" in found) continue;
      read.set(start, bytes = found.bytes);
    }
    const count = floatAt(ran, i);
    for (let at = 0; at <= last - first;) {
      const place = places.row(number, Math.floor((first + at) / 2 ** 32), first + at);
      executed.set(place, (executed.get(place) ?? 0) + count);
      at += Math.max(1, decoder.decode(bytes, at, bytes.length, mode));
    }
  }
  return executed;
}
