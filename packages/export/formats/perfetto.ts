import { byteAt, intAt } from "@perfdata/format/bytes";
import {
  type FrameStacks,
  frameStacks,
  FUNCTION_KIND,
  functionNames,
  groupSamples,
  type Profile,
} from "@perfdata/profile";
import { MessageBytes } from "./message_bytes.ts";
import { oneFunctionEach } from "../tree/one_function.ts";
import {
  CALLSTACK,
  CPU_MODE,
  DEFAULTS,
  ENTRY,
  FRAME,
  INTERNED,
  MAPPING,
  PACKET,
  PERF_SAMPLE,
  PERF_SAMPLE_TIMEBASE,
  SEQUENCE,
  TIMEBASE,
  TRACE_PACKET,
  TREE,
  TREE_PROCESS,
  TREE_THREAD,
} from "./perfetto_fields.ts";

/** Options of {@linkcode perfetto}. */
export interface PerfettoOptions {
  /** Whether inlined functions are frames; default true. */
  readonly inline?: boolean;
}

/**
 * Samples for Perfetto in its own format (`perfetto.protos.Trace`): one `PerfSample` each, with its
 * stack. Functions, objects and stacks are written once per event.
 */
export function* perfetto(
  apart: Profile,
  { inline = true }: PerfettoOptions = {},
): Generator<Uint8Array<ArrayBuffer>, void, void> {
  const profile = oneFunctionEach(apart);
  const { epoch, events, threads, samples, functions } = profile;
  const bytes = new MessageBytes();
  const stacks = frameStacks(profile, { by: "function", inline });
  const labels = functionNames(profile);
  const known = events.map(() => new Interned(profile, stacks, labels, bytes));
  const timeOf = (ns: number) => epoch === 0n ? ns : epoch + BigInt(ns);
  putThreads(bytes, profile, timeOf(samples.time?.[0] ?? 0));
  for (const [event, { name }] of events.entries()) {
    const packet = bytes.open(PACKET);
    bytes.field(TRACE_PACKET.TRUSTED_PACKET_SEQUENCE_ID, event + 1);
    bytes.field(TRACE_PACKET.SEQUENCE_FLAGS, SEQUENCE.CLEARED);
    const defaults = bytes.open(TRACE_PACKET.TRACE_PACKET_DEFAULTS);
    const ofSamples = bytes.open(DEFAULTS.PERF_SAMPLE);
    const timebase = bytes.open(PERF_SAMPLE_TIMEBASE);
    bytes.text(TIMEBASE.NAME, name);
    bytes.close(timebase);
    bytes.close(ofSamples);
    bytes.close(defaults);
    bytes.close(packet);
  }
  for (const { rows, thread, event } of groupSamples(profile)) {
    const { pid, tid } = threads.at(thread) ?? { pid: -1, tid: -1 };
    for (const [i, row] of rows.entries()) {
      const stack = intAt(samples.stack, row);
      const node = stack < 0 ? -1 : intAt(stacks.of, stack);
      const packet = bytes.open(PACKET);
      bytes.present(TRACE_PACKET.TIMESTAMP, timeOf(samples.time?.[row] ?? i * 1000));
      bytes.field(TRACE_PACKET.TRUSTED_PACKET_SEQUENCE_ID, event + 1);
      if (node >= 0) known[event]?.put(node);
      bytes.field(TRACE_PACKET.SEQUENCE_FLAGS, SEQUENCE.NEEDS_STATE);
      const sample = bytes.open(TRACE_PACKET.PERF_SAMPLE);
      const cpu = samples.cpu?.[row] ?? -1;
      if (cpu >= 0) bytes.present(PERF_SAMPLE.CPU, cpu);
      if (pid >= 0) bytes.present(PERF_SAMPLE.PID, pid);
      if (tid >= 0) bytes.present(PERF_SAMPLE.TID, tid);
      if (node >= 0) {
        bytes.field(PERF_SAMPLE.CALLSTACK_IID, node + 1);
        const kind = byteAt(functions.kind, intAt(stacks.item, node));
        const isKernel = (kind & FUNCTION_KIND.LEVEL) === FUNCTION_KIND.KERNEL;
        bytes.field(PERF_SAMPLE.CPU_MODE, isKernel ? CPU_MODE.KERNEL : CPU_MODE.USER);
      }
      bytes.close(sample);
      bytes.close(packet);
      if (bytes.isFull) yield bytes.take();
    }
  }
  yield bytes.take();
}

function putThreads(bytes: MessageBytes, { threads }: Profile, time: number | bigint): void {
  const packet = bytes.open(PACKET);
  const tree = bytes.open(TRACE_PACKET.PROCESS_TREE);
  for (const { pid, tid, comm } of threads) {
    if (pid !== tid || pid < 0) continue;
    const process = bytes.open(TREE.PROCESSES);
    bytes.present(TREE_PROCESS.PID, pid);
    bytes.text(TREE_PROCESS.CMDLINE, comm);
    bytes.close(process);
  }
  for (const { pid, tid, comm } of threads) {
    if (pid < 0 || tid < 0) continue;
    const thread = bytes.open(TREE.THREADS);
    bytes.present(TREE_THREAD.TID, tid);
    bytes.text(TREE_THREAD.NAME, comm);
    bytes.present(TREE_THREAD.TGID, pid);
    bytes.close(thread);
  }
  bytes.close(tree);
  bytes.present(TRACE_PACKET.TIMESTAMP, time);
  bytes.close(packet);
}

/** Stacks, frames and functions that a sequence of packets has already defined. */
class Interned {
  readonly #profile: Profile;
  readonly #stacks: FrameStacks;
  readonly #labels: readonly string[];
  readonly #bytes: MessageBytes;
  readonly #nodes: Uint8Array;
  readonly #functions: Uint8Array;
  readonly #objects: Uint8Array;

  constructor(
    profile: Profile,
    stacks: FrameStacks,
    labels: readonly string[],
    bytes: MessageBytes,
  ) {
    this.#profile = profile;
    this.#stacks = stacks;
    this.#labels = labels;
    this.#bytes = bytes;
    this.#nodes = new Uint8Array(stacks.parent.length);
    this.#functions = new Uint8Array(profile.functions.name.length);
    this.#objects = new Uint8Array(profile.objects.length + 1);
  }

  /** Defines a stack in the open packet, if it is new. */
  put(node: number): void {
    if (this.#nodes[node] === 1) return;
    this.#nodes[node] = 1;
    const path: number[] = [];
    const { parent, item } = this.#stacks;
    for (let at = node; at >= 0; at = intAt(parent, at)) path.push(intAt(item, at));
    const bytes = this.#bytes;
    const interned = bytes.open(TRACE_PACKET.INTERNED_DATA);
    for (const of of path) this.#putFunction(of);
    const stack = bytes.open(INTERNED.CALLSTACKS);
    bytes.field(CALLSTACK.IID, node + 1);
    // The outermost frame is first.
    for (const of of path.toReversed()) bytes.field(CALLSTACK.FRAME_IDS, of + 1);
    bytes.close(stack);
    bytes.close(interned);
  }

  #putFunction(of: number): void {
    if (this.#functions[of] === 1) return;
    this.#functions[of] = 1;
    const bytes = this.#bytes;
    const object = intAt(this.#profile.functions.object, of);
    this.#putObject(object);
    const name = bytes.open(INTERNED.FUNCTION_NAMES);
    bytes.field(ENTRY.IID, of + 1);
    bytes.text(ENTRY.TEXT, this.#labels[of] as string);
    bytes.close(name);
    const frame = bytes.open(INTERNED.FRAMES);
    bytes.field(FRAME.IID, of + 1);
    bytes.field(FRAME.FUNCTION_NAME_ID, of + 1);
    bytes.field(FRAME.MAPPING_ID, object + 2);
    bytes.close(frame);
  }

  /** Defines an object. A frame needs one: -1 means unmapped. */
  #putObject(number: number): void {
    const iid = number + 2;
    if (this.#objects[number + 1] === 1) return;
    this.#objects[number + 1] = 1;
    const bytes = this.#bytes;
    const object = this.#profile.objects[number];
    const path = object?.path ?? "[unknown]";
    const buildId = object?.buildId;
    const name = bytes.open(INTERNED.MAPPING_PATHS);
    bytes.field(ENTRY.IID, iid);
    bytes.text(ENTRY.TEXT, path);
    bytes.close(name);
    if (buildId !== undefined) {
      const id = bytes.open(INTERNED.BUILD_IDS);
      bytes.field(ENTRY.IID, iid);
      bytes.bytes(
        ENTRY.TEXT,
        Uint8Array.from(buildId.match(/../g) ?? [], (pair) => parseInt(pair, 16)),
      );
      bytes.close(id);
    }
    const mapping = bytes.open(INTERNED.MAPPINGS);
    bytes.field(MAPPING.IID, iid);
    bytes.field(MAPPING.BUILD_ID, buildId === undefined ? 0 : iid);
    bytes.field(MAPPING.PATH_STRING_IDS, iid);
    bytes.close(mapping);
  }
}
