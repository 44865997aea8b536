/** Converts an Intel PT trace to a profile of executed instructions, for `annotate`. */
import { floatAt, intAt } from "@perfdata/format/bytes";
import { InsnDecoder } from "@perfdata/intel-pt";
import { namePlaces, type Profile, ThreadTable } from "@perfdata/profile";
import type { ObjectCodeReader } from "@perfdata/session/code";
import { traceBranches, type TraceCounts } from "./branches_pt.ts";
import { complain, InputError, Progress, UsageError } from "./cli.ts";
import type { ReadProfile } from "./open_profile.ts";
import { resolverOf } from "./symbol_flags.ts";
import { objectCode } from "./pt_input.ts";

/** Maximum bytes of code between two branches; longer ranges are skipped. */
const MOST_CODE = 1 << 20;

/** A profile of a trace, with execution counts between branches. */
export interface TracedInsns extends ReadProfile {
  readonly traced: TraceCounts;
}

/** Decodes a trace. Each executed instruction becomes a sample. */
export async function readTracedInsns(
  tool: string,
  name: string,
  flags: Parameters<typeof traceBranches>[2] & {
    readonly value: { readonly comm?: string | undefined };
  },
  title: string,
): Promise<TracedInsns> {
  if (flags.value.comm !== undefined) {
    throw new UsageError("--comm is for samples: --tid and --pid choose threads of a trace");
  }
  const traced = await traceBranches(tool, name, flags);
  const { code, engine } = traced.decoded.trace;
  const source = await objectCode(engine.recorded, flags.value, name);
  const mode = /^i[3-6]86$|^x86$/.test(engine.reader.arch ?? "") ? 32 : 64;
  const executed = executions(traced, source, mode);
  if (executed.size === 0) {
    throw new InputError(`${name}: nothing ran between branches of its trace`);
  }
  const place = Int32Array.from(executed.keys());
  const count = Float64Array.from(executed.values());
  const { length } = place;
  const { places } = code;
  const stacks = { parent: new Int32Array(length).fill(-1), place };
  const samples = {
    length,
    stack: Int32Array.from(place, (_, i) => i),
    event: new Int32Array(length),
    thread: new Int32Array(length),
    count,
    period: count,
  };
  const resolver = await resolverOf(flags, name, {
    machine: engine.recorded,
    parameters: false,
    debugInformation: true,
  });
  const progress = new Progress(tool, undefined);
  const named = await namePlaces({ places }, stacks, samples, {
    resolver,
    progress: progress.names,
  });
  progress.finish();
  const threads = new ThreadTable();
  threads.add(-1, -1, "");
  const profile: Profile = {
    ...{ title, trust: "", events: [{ name: "instructions", unit: "count" }], threads },
    ...{ objects: named.objects, functions: named.functions, frames: named.frames },
    ...{ places: named.places, files: named.files, stacks, samples, epoch: 0n, switches: [] },
  };
  complain(`${tool}: ${name}: all of its Intel PT: each instruction that ran counts as a sample`);
  return {
    profile,
    isWhole: traced.report() === 0,
    isPt: true,
    source: { engine: { reader: engine.reader, recorded: engine.recorded, places }, resolver },
    traced,
  };
}

/** Execution counts of instructions by place. */
function executions(
  { counts, places, decoded: { trace: { code } } }: TraceCounts,
  source: ObjectCodeReader,
  mode: 64 | 32,
): Map<number, number> {
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
      const place = code.places.row(number, Math.floor((first + at) / 2 ** 32), first + at);
      executed.set(place, (executed.get(place) ?? 0) + count);
      at += Math.max(1, decoder.decode(bytes, at, bytes.length, mode));
    }
  }
  return executed;
}
