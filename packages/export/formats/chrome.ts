import { ByteText, floatAt, intAt, numberAt } from "@perfdata/format/bytes";
import { oneFunctionEach } from "../tree/one_function.ts";
import {
  frameStacks,
  functionNames,
  groupSamples,
  type Profile,
  type SampleGroup,
} from "@perfdata/profile";

/** Options of {@linkcode chrome}. */
export interface ChromeOptions {
  /** Whether inlined functions are slices; default true. */
  readonly inline?: boolean;
}

/** Process whose threads are the CPUs, beyond Linux's pids. */
const CPUS = 4194305;
/** First thread for samples of further events, beyond the CPUs' process. */
const MORE_THREADS = 4194306;

/**
 * Trace events for Perfetto and `chrome://tracing` (the Trace Event Format, complete events).
 *
 * A slice is a function in consecutive samples of a thread. It ends at the next sample without the
 * function, or, if none follows soon, after the thread's usual distance between samples. Its
 * arguments are the number of samples and the sum of their periods. Context switches are slices of
 * their CPU. Times are microseconds of the recording's clock.
 */
export function* chrome(
  apart: Profile,
  { inline = true }: ChromeOptions = {},
): Generator<Uint8Array<ArrayBuffer>, void, void> {
  const profile = oneFunctionEach(apart);
  const { epoch, events, threads } = profile;
  const stacks = frameStacks(profile, { by: "function", inline });
  const names = functionNames(profile).map((name) => JSON.stringify(name));
  const text = new ByteText();
  text.string(
    `{"otherData":${JSON.stringify({ title: profile.title, trust: profile.trust })},` +
      `"displayTimeUnit":"ns","traceEvents":[\n`,
  );
  let comma = "";
  const named = (what: string, pid: number, tid: number, name: string) => {
    const args = JSON.stringify({ name });
    text.string(`${comma}{"ph":"M","name":"${what}","pid":${pid},"tid":${tid},"args":${args}}`);
    comma = ",\n";
  };
  for (const { pid, tid, comm } of threads) {
    if (pid === tid) named("process_name", pid, tid, comm);
    named("thread_name", pid, tid, comm);
    if (text.isFull) yield text.take();
  }
  let more = MORE_THREADS;
  for (const group of groupSamples(profile)) {
    const { pid, tid, comm } = threads.at(group.thread) ?? { pid: -1, tid: -1, comm: "" };
    let track = tid;
    if (group.event > 0) {
      track = more++;
      named("thread_name", pid, track, `${comm} ${tid} (${events[group.event]?.name ?? ""})`);
    }
    for (const slice of slices(profile, stacks, group)) {
      text.string(
        `${comma}{"ph":"X","name":${names[slice.item]},"pid":${pid},"tid":${track},"ts":`,
      );
      text.string(timestamp(epoch, slice.from));
      text.string(`,"dur":${microseconds(slice.to - slice.from)},"args":{"samples":`);
      text.number(slice.samples);
      text.string(`,"period":`);
      text.number(slice.period);
      text.string("}}");
      comma = ",\n";
      if (text.isFull) yield text.take();
    }
  }
  if (profile.switches.length > 0) named("process_name", CPUS, CPUS, "CPUs");
  for (const { cpu, thread, from, to, out } of onCpu(profile)) {
    const { comm, tid } = threads.at(thread) ?? { comm: "", tid: -1 };
    text.string(
      `${comma}{"ph":"X","name":${JSON.stringify(`${comm} ${tid}`)},"pid":${CPUS},"tid":${cpu},` +
        `"ts":${timestamp(epoch, from)},"dur":${microseconds(to - from)},` +
        `"args":{"end":${JSON.stringify(out)}}}`,
    );
    comma = ",\n";
    if (text.isFull) yield text.take();
  }
  text.string("\n]}\n");
  yield text.take();
}

/** Formats a time of the recording's clock. */
function timestamp(epoch: bigint, nanoseconds: number): string {
  if (epoch === 0n) return microseconds(nanoseconds);
  const time = epoch + BigInt(nanoseconds);
  return `${time / 1000n}.${String(time % 1000n).padStart(3, "0")}`;
}

function microseconds(nanoseconds: number): string {
  return (nanoseconds / 1000).toFixed(3);
}

interface Slice {
  item: number;
  from: number;
  to: number;
  samples: number;
  period: number;
}

/** The slices of a thread's samples, outer ones first. */
function* slices(
  { samples }: Profile,
  stacks: { parent: Int32Array; item: Int32Array; of: Int32Array },
  { rows }: SampleGroup,
): Generator<Slice, void, void> {
  // Without times, samples follow each other at a distance of a microsecond.
  const timeOf = (i: number) => samples.time?.[intAt(rows, i)] ?? i * 1000;
  const usual = usualDistance(rows.length, timeOf);
  let open: (Slice & { node: number })[] = [];
  const path: number[] = [];
  let done: Slice[] = [];
  for (let i = 0; i < rows.length; i++) {
    const row = intAt(rows, i);
    const from = timeOf(i);
    const next = i + 1 < rows.length ? timeOf(i + 1) : Infinity;
    const to = next - from > usual * 4 ? from + usual : next;
    const stack = intAt(samples.stack, row);
    path.length = 0;
    for (
      let node = stack < 0 ? -1 : intAt(stacks.of, stack);
      node >= 0;
      node = intAt(stacks.parent, node)
    ) path.push(node);
    path.reverse();
    let same = 0;
    while (
      same < open.length && same < path.length && open[same]?.node === path[same] &&
      open[same]?.to === from
    ) same++;
    open = open.slice(0, same);
    if (same === 0) {
      yield* done;
      done = [];
    }
    for (let at = same; at < path.length; at++) {
      const node = numberAt(path, at);
      const slice = { node, item: intAt(stacks.item, node), from, to, samples: 0, period: 0 };
      open.push(slice);
      done.push(slice);
    }
    for (const slice of open) {
      slice.to = to;
      slice.samples += samples.count[row] as number;
      slice.period += floatAt(samples.period, row);
    }
  }
  yield* done;
}

/** The median distance between samples; a millisecond for a single sample. */
function usualDistance(count: number, timeOf: (i: number) => number): number {
  if (count < 2) return 1e6;
  const distances = new Float64Array(count - 1);
  for (let i = 1; i < count; i++) distances[i - 1] = timeOf(i) - timeOf(i - 1);
  return distances.sort()[distances.length >> 1] || 1000;
}

/** Intervals in which a thread ran on a CPU. */
function* onCpu({ switches, threads }: Profile) {
  const running = new Map<number, { thread: number; from: number }>();
  for (const { cpu, thread, time, out, preempted } of switches) {
    if (!out) {
      running.set(cpu, { thread, from: time });
      continue;
    }
    const since = running.get(cpu);
    running.delete(cpu);
    if (since === undefined) continue;
    // A thread that was renamed in between is the same thread.
    const [came, left] = [threads.at(since.thread), threads.at(thread)];
    if (came?.tid !== left?.tid || came?.pid !== left?.pid) continue;
    yield {
      cpu,
      thread: since.thread,
      from: since.from,
      to: time,
      out: preempted ? "preempted" : "waiting",
    };
  }
}
