import { floatAt, intAt } from "@perfdata/format/bytes";
import type {
  CallEvents,
  CallTimeline,
  CallTree,
  PtNames,
  PtThreads,
  PtTrace,
} from "@perfdata/pt/decode";
import { FUNCTION_KIND, type Profile, type ProfileWrite } from "../columns/profile.ts";
import { ProfileBuilder } from "./profile_builder.ts";

/** Options of {@linkcode ptProfile}. */
export interface PtProfileSource {
  /** Call tree of the trace: `PtCalls.tree`. */
  readonly tree: CallTree;
  /** Names of its places. */
  readonly names: PtNames;
  /** The decoded trace. */
  readonly trace: Pick<PtTrace, "code" | "sideband">;
  /** Whether the trace has times. */
  readonly timed: boolean;
  /** Innermost node by time. With it, there is a sample with a time for each change. */
  readonly timeline?: CallTimeline | undefined;
  /** Values of PTWRITE: `PtCalls.writes`. */
  readonly writes?: CallEvents | undefined;
  /** Description of the trace, such as its file. */
  readonly title?: string;
  /** Description of undecoded parts. */
  readonly trust?: string;
}

/**
 * Adds a sample for each period of a stack, and a sample without a stack when a thread stops
 * running.
 */
function addTimeline(
  builder: ProfileBuilder,
  { count, tid, node, from, to }: CallTimeline,
  stacks: Int32Array,
  threads: PtThreads,
): void {
  const known = new Map<number, { readonly number: number; end: number }>();
  for (let i = 0; i < count; i++) {
    const of = tid[i] as number;
    let thread = known.get(of);
    if (thread === undefined) {
      const pid = threads.pid(of, Infinity);
      const number = builder.thread(pid, of, threads.name(pid, Infinity) ?? `:${pid}`);
      known.set(of, thread = { number, end: -1 });
    }
    const start = from[i] as number;
    const away = { stack: -1, event: 0, thread: thread.number, period: 0 };
    if (thread.end >= 0 && start > thread.end) builder.sample({ ...away, time: thread.end });
    thread.end = to[i] as number;
    builder.sample({
      stack: stacks[node[i] as number] as number,
      event: 0,
      thread: thread.number,
      period: thread.end - start,
      time: start,
    });
  }
  for (const { number, end } of known.values()) {
    builder.sample({ stack: -1, event: 0, thread: number, period: 0, time: end });
  }
}

/** The values of PTWRITE that have a time. */
function writesOf(
  rows: CallEvents,
  builder: ProfileBuilder,
  { names, trace: { sideband: { threads } } }: PtProfileSource,
): ProfileWrite[] {
  return Array.from({ length: rows.count }, (_, i): ProfileWrite => {
    const tid = intAt(rows.tid, i);
    const pid = threads.pid(tid, Infinity);
    return {
      thread: builder.thread(pid, tid, threads.name(pid, Infinity) ?? `:${pid}`),
      time: floatAt(rows.time, i),
      cpu: intAt(rows.cpu, i),
      value: rows.written(i),
      function: names.names[intAt(rows.place, i)] as string,
    };
  }).filter(({ time }) => time >= 0);
}

/**
 * Creates a profile of a trace: for each stack, the time and the instructions of its innermost
 * function. There are no samples, so the count is 1 for each stack.
 */
export function ptProfile(source: PtProfileSource): Profile {
  const { tree, names, trace: { code, sideband: { threads } }, timed, timeline } = source;
  const builder = new ProfileBuilder({
    events: timeline !== undefined
      ? [{ name: "time", unit: "nanoseconds" }]
      : timed
      ? [{ name: "time", unit: "nanoseconds" }, { name: "instructions", unit: "count" }]
      : [{ name: "instructions", unit: "count" }],
    title: source.title ?? "",
    trust: source.trust ?? "",
  });
  const places: number[] = [];
  const stacks = new Int32Array(tree.count);
  const { places: table } = code;
  const pathOf = (place: number) => table.objects[table.object(place)]?.path ?? "";
  // Sort the tree, so that the profile does not depend on the order of decoding.
  const order = tree.ordered((a, b) => {
    const [of, other] = [pathOf(a), pathOf(b)];
    return of === other ? table.address(a) - table.address(b) : of < other ? -1 : 1;
  });
  for (const node of order) {
    const place = tree.place[node] as number;
    const parent = tree.parent[node] as number;
    let number = places[place];
    if (number === undefined) {
      const found = table.objects[table.object(place)];
      const path = found?.path ?? "[unknown]";
      const object = builder.object({
        name: path.slice(path.lastIndexOf("/") + 1),
        path,
        ...(found?.buildId === undefined ? {} : { buildId: found.buildId }),
      });
      number = places[place] = builder.place(
        object,
        table.address(place),
        [{
          name: names.names[place] as string,
          ...(names.trust(place).verified === false ? { kind: FUNCTION_KIND.UNVERIFIED } : {}),
        }],
      );
    }
    const stack = builder.stack(parent < 0 ? -1 : stacks[parent] as number, number);
    stacks[node] = stack;
    if (timeline !== undefined) continue;
    const insns = tree.insns[node] as number;
    if (insns === 0) continue;
    const tid = tree.tid[node] as number;
    const pid = threads.pid(tid, Infinity);
    const thread = builder.thread(pid, tid, threads.name(pid, Infinity) ?? `:${pid}`);
    const time = Math.round(tree.time[node] as number);
    if (timed) builder.sample({ stack, event: 0, thread, period: time });
    builder.sample({ stack, event: timed ? 1 : 0, thread, period: insns });
  }
  if (timeline !== undefined) addTimeline(builder, timeline, stacks, threads);
  const writes = source.writes === undefined ? [] : writesOf(source.writes, builder, source);
  return writes.length === 0 ? builder.profile() : { ...builder.profile(), writes };
}
