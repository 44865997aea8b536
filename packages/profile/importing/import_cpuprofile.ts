import { type ByteSource, PerfDataError } from "@perfdata/format/bytes";
import { ProfileBuilder } from "../collecting/profile_builder.ts";
import { CollectedRows } from "../collecting/collected_rows.ts";
import { FUNCTION_KIND, type Profile } from "../columns/profile.ts";
import { ImportedTrust, type ImportOptions, objectOf } from "./imported.ts";
import { wholeInput } from "./whole_input.ts";

/** A validated node of the call tree. */
interface Node {
  readonly id: number;
  readonly name: string;
  readonly url: string;
  readonly line: number;
  readonly column: number;
  readonly children: readonly unknown[];
}

type Fields = Readonly<Record<string, unknown>>;

const isObject = (value: unknown): value is Fields => typeof value === "object" && value !== null;
const numberOr = (value: unknown, other: number) =>
  typeof value === "number" && Number.isFinite(value) ? value : other;
const textOf = (value: unknown) => typeof value === "string" ? value : "";

function nodeOf(value: unknown, index: number): Node {
  const { id, callFrame, children } = isObject(value) ? value : {} as Fields;
  if (typeof id !== "number" || !isObject(callFrame)) {
    throw new PerfDataError(`cpuprofile: nodes[${index}] has no id and callFrame`);
  }
  return {
    id,
    name: textOf(callFrame["functionName"]),
    url: textOf(callFrame["url"]),
    line: numberOr(callFrame["lineNumber"], -1) + 1,
    column: numberOr(callFrame["columnNumber"], -1) + 1,
    children: Array.isArray(children) ? children : [],
  };
}

function listOf(fields: Fields, name: string): readonly unknown[] {
  const list = fields[name];
  if (!Array.isArray(list)) throw new PerfDataError(`cpuprofile: no list ${name}`);
  return list;
}

/**
 * Adds the stacks of all nodes. Returns by id the stack (-1 for the root), and whether it has
 * callers.
 */
function addNodes(
  builder: ProfileBuilder,
  nodes: readonly Node[],
): Map<unknown, { readonly stack: number; readonly isCalled: boolean }> {
  const byId = new Map<unknown, Node>(nodes.map((node) => [node.id, node]));
  const isChild = new Set(nodes.flatMap(({ children }) => children));
  const stacks = new Map<unknown, { stack: number; isCalled: boolean }>();
  const waiting = nodes.filter(({ id }) => !isChild.has(id)).map((node) => ({ node, parent: -1 }));
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const { node, parent } = next;
    const { id, name, url, line, column, children } = node;
    if (stacks.has(id)) throw new PerfDataError(`cpuprofile: node ${id} has two callers`);
    let stack = parent;
    if (name !== "(root)") {
      const object = url === ""
        ? -1
        : builder.object(objectOf(url).object ?? { name: url, path: url });
      const shown = name !== ""
        ? name
        : url === ""
        ? "(anonymous)"
        : `(anonymous):${line}:${column}`;
      const kind = url === "" ? FUNCTION_KIND.USER : FUNCTION_KIND.JIT;
      const at = url === "" || line < 1 ? {} : { file: url, line };
      stack = builder.stack(
        parent,
        builder.place(object, stacks.size, [{ name: shown, kind, ...at }]),
      );
    }
    stacks.set(id, { stack, isCalled: parent >= 0 });
    for (const child of children) {
      const node = byId.get(child);
      if (node === undefined) {
        throw new PerfDataError(`cpuprofile: node ${id} calls node ${child}, which is missing`);
      }
      waiting.push({ node, parent: stack });
    }
  }
  if (stacks.size < byId.size) {
    throw new PerfDataError("cpuprofile: nodes call each other in a circle");
  }
  return stacks;
}

/**
 * Imports a `.cpuprofile` of Chrome, Node or Deno. A sample counts for the time until the next one.
 *
 * @throws {PerfDataError} If the input is not a `.cpuprofile`, or damaged.
 */
export async function importCpuprofile(
  source: ByteSource,
  options: ImportOptions,
): Promise<Profile> {
  const text = new TextDecoder().decode(await wholeInput(source, options.progress));
  let all: unknown;
  try {
    all = JSON.parse(text);
  } catch (error) {
    throw new PerfDataError(`cpuprofile: ${error instanceof Error ? error.message : error}`);
  }
  const fields = isObject(all) ? all : {};
  const builder = new ProfileBuilder({
    events: [{ name: "cpu", unit: "nanoseconds" }],
    title: options.title,
  });
  const stacks = addNodes(builder, listOf(fields, "nodes").map(nodeOf));
  const samples = listOf(fields, "samples");
  const deltas = listOf(fields, "timeDeltas");
  if (samples.length !== deltas.length) {
    throw new PerfDataError(
      `cpuprofile: ${samples.length} samples and ${deltas.length} timeDeltas, expected as many`,
    );
  }
  const thread = builder.thread(-1, -1, "JavaScript");
  const rows = new CollectedRows(builder, options.timed === true);
  const trust = new ImportedTrust();
  // Microseconds.
  let at = numberOr(fields["startTime"], 0);
  const end = numberOr(fields["endTime"], 0);
  const times = deltas.map((delta) => at += numberOr(delta, 0));
  const order = times.map((_, i) => i).sort((a, b) => (times[a] ?? 0) - (times[b] ?? 0));
  for (const [i, number] of order.entries()) {
    const time = times[number] ?? 0;
    const found = stacks.get(samples[number]);
    if (found === undefined) {
      throw new PerfDataError(`cpuprofile: samples[${number}] is of no node`);
    }
    const next = order[i + 1];
    const until = next === undefined ? Math.max(end, time) : times[next] ?? time;
    const { stack, isCalled } = found;
    trust.add(1, stack >= 0, isCalled);
    const seconds = Math.floor(time / 1e6);
    rows.add({
      ...{ stack, event: 0, thread, seconds, period: Math.round((until - time) * 1000) },
      nanoseconds: Math.round((time - seconds * 1e6) * 1000),
    });
  }
  const epoch = rows.finish();
  return {
    ...builder.profile(),
    epoch,
    trust: trust.text("a .cpuprofile: a sample counts the time until the next one", [
      "without processes, CPUs and the kernel",
    ]),
  };
}
