import { byteAt, floatAt, intAt } from "@perfdata/format/bytes";
import { type ProfileObject, ranks } from "@perfdata/profile";
import type { FlameData, FlameRows } from "../flame/flame_data.ts";
import { flameFunctionName, percentage } from "../flame/flame_text.ts";
import { type PageParts, reportText } from "./page_text.ts";
import { inDepthFirstOrder, type ViewProfile } from "./view_profile.ts";

/**
 * A page with the data of a flame graph, opened on the graph; for a comparison, on the graph of
 * changes. It is one file that needs no network. Names are inserted only as packed data, never as
 * markup.
 *
 * @example
 * ```ts
 * import { flameData, flamePage } from "@perfdata/export/tree";
 * import { VIEW_PARTS } from "@perfdata/page";
 * import { ProfileBuilder } from "@perfdata/profile";
 * import { assert } from "@std/assert";
 *
 * const builder = new ProfileBuilder({ events: [{ name: "cycles", unit: "count" }] });
 * const main = builder.stack(-1, builder.place(-1, 1, [{ name: "main" }]));
 * builder.sample({ stack: main, event: 0, thread: builder.thread(7, 7, "demo"), period: 500 });
 * const page = await flamePage(flameData([builder.profile()]), VIEW_PARTS);
 * assert(page.startsWith("<!DOCTYPE html>"));
 * ```
 */
export async function flamePage(data: FlameData, parts: PageParts): Promise<string> {
  const isComparison = data.sides.length > 1;
  const last = data.sides.length - 1;
  return await reportText(
    parts,
    { profile: slicedProfile(data, last), base: isComparison ? slicedProfile(data, 0) : undefined },
    isComparison ? "view=compare&graph=1" : "view=flame&root=process",
  );
}

/** One side of the data in the page's profile format: samples are sums per time slice. */
export function slicedProfile(data: FlameData, side: number): ViewProfile {
  const { rows, slices, start, end } = data;
  const names = data.names.map((_, number) => flameFunctionName(data, number));
  const stacks = inDepthFirstOrder(data, ranks(names));
  // The rows of one side, in time order.
  const own = Int32Array.from(rows.node, (_, row) => row).filter((row) => rows.side[row] === side)
    .sort((a, b) => intAt(rows.slice, a) - intAt(rows.slice, b) || a - b);
  const pick = (column: Int32Array) => Int32Array.from(own, (row) => intAt(column, row));
  const step = Math.max(1, (end - start) / slices);
  const omitted = data.omittedNodes === 0
    ? ""
    : `${data.omittedNodes.toLocaleString("en-US")} boxes of at most ` +
      `${percentage(data.omittedShare)} are part of their callers`;
  return {
    title: data.sides[side] ?? data.title,
    trust: [data.trust, omitted].filter((text) => text !== "").join("; "),
    events: data.events,
    threads: data.threads,
    objects: data.objects.map((name): ProfileObject => ({ name, path: name })),
    functions: {
      name: names,
      object: data.functionObject,
      kind: Uint8Array.from(data.functionKind),
      ...heaviestLines(data),
    },
    files: data.files,
    stacks: stacks.rows,
    samples: {
      length: own.length,
      stack: Int32Array.from(own, (row) => {
        const node = intAt(rows.node, row);
        return node < 0 ? -1 : intAt(stacks.number, node);
      }),
      event: pick(rows.event),
      thread: pick(rows.thread),
      ...(rows.pmu === undefined ? {} : {
        pmu: Uint8Array.from(own, (row) => byteAt(rows.pmu as Uint8Array, row)),
      }),
      count: Float64Array.from(own, (row) => floatAt(rows.count, row)),
      period: Float64Array.from(own, (row) => floatAt(rows.period, row)),
      ...(slices < 2 ? {} : {
        time: Float64Array.from(own, (row) => Math.ceil(intAt(rows.slice, row) * step)),
      }),
    },
    start: `${Math.round(start)}`,
    duration: slices < 2 ? 0 : Math.round(end - start),
    ...(slices < 2 ? {} : { step }),
    recordings: data.recordings[side] ?? 1,
  };
}

function heaviestLines(
  { names, parent, item, rows, file, line }: FlameData,
): { readonly file: Int32Array; readonly line: Int32Array } {
  const weights = inclusive(parent, rows);
  const most = new Float64Array(names.length).fill(-1);
  const found = { file: new Int32Array(names.length).fill(-1), line: new Int32Array(names.length) };
  for (const [node, number] of item.entries()) {
    const weight = floatAt(weights, node);
    if (weight <= floatAt(most, number)) continue;
    most[number] = weight;
    found.file[number] = intAt(file, node);
    found.line[number] = intAt(line, node);
  }
  return found;
}

/** Inclusive period of each node. */
function inclusive(parent: Int32Array, { node, period }: FlameRows): Float64Array {
  const sums = new Float64Array(parent.length);
  for (const [row, at] of node.entries()) {
    if (at >= 0) sums[at] = floatAt(sums, at) + floatAt(period, row);
  }
  for (let at = parent.length - 1; at >= 0; at--) {
    const up = intAt(parent, at);
    if (up >= 0) sums[up] = floatAt(sums, up) + floatAt(sums, at);
  }
  return sums;
}
