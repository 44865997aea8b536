// Test support: calls of small traces as text.
import type { Places } from "@perfdata/session";
import { decodePt } from "../decode/pt_run.ts";
import { at, type OpenedSmall, type Small, small } from "../testing.ts";
import type { CallEvents } from "./pt_call_events.ts";
import { type CallFilter, type CallOptions, PtCalls } from "./pt_calls.ts";

/** Address of a place in its object; not a number without a place. */
function addressOf(places: Places, place = -1): number {
  return place < 0 ? NaN : places.address(place);
}

const KINDS = ["call", "return", "open", "write"];

/** Options of call lines. Times are ns since the first TSC packet. */
export interface CallLinesOptions extends Omit<CallOptions, "filter" | "idle"> {
  readonly from?: number;
  readonly to?: number;
  readonly tids?: readonly number[];
}

function filterOf(
  { trace: { clock } }: OpenedSmall,
  { from, to, tids }: CallLinesOptions,
): { filter: CallFilter; first: number } {
  const first = clock.origin.since(at(0));
  const filter: CallFilter = {
    ...(from === undefined ? {} : { from: first + from }),
    ...(to === undefined ? {} : { to: first + to }),
    ...(tids === undefined ? {} : { tids: new Set(tids) }),
  };
  return { filter, first };
}

/**
 * The text of a row: kind, hexadecimal address of the place, thread, CPU, depth, time, and for
 * returns the duration.
 */
export function callText(
  events: CallEvents,
  i: number,
  { trace: { code: { places: table } } }: Pick<OpenedSmall, "trace">,
  first: number,
): string {
  const kind = events.kind[i] ?? 9;
  const time = events.time[i] ?? NaN;
  return [
    KINDS[kind],
    addressOf(table, events.place[i]).toString(16),
    `${events.tid[i]}/${events.cpu[i]}`,
    events.depth[i],
    time < 0 ? "-" : time - first,
    ...(kind === 0 ? [] : [events.duration[i], events.insns[i]]),
    ...(events.cycles[i] === 0 ? [] : [`${events.cycles[i]} cycles`]),
  ].join(" ");
}

export async function callLines(
  recording: Small,
  options: CallLinesOptions = {},
): Promise<string[]> {
  const opened = await small(recording);
  const { trace } = opened;
  const { filter, first } = filterOf(opened, options);
  const lines: string[] = [];
  const sink: PtCalls = new PtCalls(trace, {
    filter,
    idle: () => {
      const { events } = sink;
      if (events === undefined) return;
      for (let i = 0; i < events.count; i++) lines.push(callText(events, i, opened, first));
      events.clear();
    },
  });
  await decodePt(trace, sink);
  sink.finish();
  await sink.idle();
  return lines;
}

/** A sink after it has counted a trace. */
export async function summed(
  recording: Small,
  options: CallLinesOptions = {},
): Promise<{ sink: PtCalls; opened: OpenedSmall; first: number }> {
  const opened = await small(recording);
  const { trace } = opened;
  const { from: _from, to: _to, tids: _tids, ...rest } = options;
  const { filter, first } = filterOf(opened, options);
  const sink = new PtCalls(trace, { ...rest, filter });
  await decodePt(trace, sink);
  await sink.idle();
  sink.finish();
  return { sink, opened, first };
}

/**
 * A line for each place with calls or instructions: address; its own instructions, ns and core
 * clocks; its calls, calls without a return, ns and instructions including callees.
 */
export function sumLines(
  { sink: { sums, latency }, opened: { trace: { code: { places: table } } } }: Pick<
    Awaited<ReturnType<typeof summed>>,
    "sink" | "opened"
  >,
): string[] {
  return Array.from({ length: table.count }, (_, place) => place)
    .sort((a, b) => table.address(a) - table.address(b))
    .flatMap((place) => {
      const { calls = 0, open = 0, time = 0, insns = 0 } = latency.of(place) ?? {};
      const own = [sums.insnsOf[place], Math.round(sums.timeOf[place] ?? 0), sums.cyclesOf[place]];
      if (calls === 0 && sums.insnsOf[place] === 0) return [];
      const all = [calls, open, Math.round(time), insns];
      return [`${table.address(place).toString(16)}: ${own.join(" ")}; ${all.join(" ")}`];
    });
}

/** A line for each path of the tree with instructions: thread, addresses from the outermost on, instructions and ns. */
export function treeLines(
  { sink: { tree }, opened: { trace: { code: { places: table } } } }: Pick<
    Awaited<ReturnType<typeof summed>>,
    "sink" | "opened"
  >,
): string[] {
  return Array.from({ length: tree?.count ?? 0 }, (_, node) => {
    const path: string[] = [];
    for (let of = node; of >= 0; of = tree?.parent[of] ?? -1) {
      path.unshift(addressOf(table, tree?.place[of]).toString(16));
    }
    return `${tree?.tid[node]}: ${path.join(";")} ${tree?.insns[node]} ${
      Math.round(tree?.time[node] ?? 0)
    }`;
  });
}

/** The rows of the timeline: thread, the node's place, from and to. */
export function timeLines(
  { sink: { tree, timeline }, opened: { trace: { code: { places: table } } }, first }: Awaited<
    ReturnType<typeof summed>
  >,
): string[] {
  return Array.from({ length: timeline?.count ?? 0 }, (_, i) => {
    const place = tree?.place[timeline?.node[i] ?? -1] ?? -1;
    return `${timeline?.tid[i]}: ${table.address(place).toString(16)} ${
      (timeline?.from[i] ?? 0) - first
    } ${(timeline?.to[i] ?? 0) - first}`;
  });
}
