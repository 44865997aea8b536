import { byteAt, ByteText, floatAt, intAt, numberAt } from "@perfdata/format/bytes";
import {
  depthFirst,
  FloatColumn,
  frameStacks,
  FUNCTION_KIND,
  functionName,
  NodeTable,
  type Profile,
  type ProfileThread,
  ranks,
} from "@perfdata/profile";

const encoder = new TextEncoder();

/** Options of {@linkcode folded}. Marks and roots are those of `stackcollapse-perf.pl`. */
export interface FoldedOptions {
  /** Index of the event; default 0. */
  readonly event?: number;
  /** Meaning of a line's number: sum of the periods, or number of samples. */
  readonly weight?: "period" | "samples";
  /** Whether inlined functions are frames, marked `_[i]`. */
  readonly inline?: boolean;
  /** Whether kernel functions are marked `_[k]`. */
  readonly kernel?: boolean;
  /** Whether JIT-compiled functions are marked `_[j]`. */
  readonly jit?: boolean;
  /** Whether the root is `comm-pid`. */
  readonly pid?: boolean;
  /** Whether the root is `comm-pid/tid`. */
  readonly tid?: boolean;
  /** Whether lines have no root: their first frame is a function. */
  readonly withoutComm?: boolean;
  /** Whether per-CPU kernel threads such as `kworker/3:1-events` are merged to `kworker/*`. */
  readonly mergeCpus?: boolean;
}

/**
 * Folded stacks for flame-graph scripts: `comm;outer;inner 12`, one line per stack.
 *
 * Lines are sorted by frame. The format has no escapes, so a semicolon in a name becomes a colon, a
 * line break a space, and a space in a command an underscore.
 *
 * @example
 * ```ts
 * import { folded } from "@perfdata/export";
 * import { ProfileBuilder } from "@perfdata/profile";
 * import { assertEquals } from "@std/assert";
 *
 * const builder = new ProfileBuilder({ events: [{ name: "cycles", unit: "count" }] });
 * const main = builder.stack(-1, builder.place(-1, 1, [{ name: "main" }]));
 * const thread = builder.thread(7, 7, "my demo");
 * builder.sample({ stack: main, event: 0, thread, period: 500 });
 * const text = [...folded(builder.profile())].map((bytes) => new TextDecoder().decode(bytes));
 * assertEquals(text.join(""), "my_demo;main 500\n");
 * ```
 */
export function* folded(
  profile: Profile,
  options: FoldedOptions = {},
): Generator<Uint8Array<ArrayBuffer>, void, void> {
  const { event = 0, weight = "period", inline = false, withoutComm = false } = options;
  const marked = labels(profile, options);
  const distinct = [...new Set(marked)];
  const numbers = new Map(distinct.map((label, number) => [label, number]));
  const stacks = frameStacks(profile, {
    by: Int32Array.from(marked, (label) => numbers.get(label) as number),
    inline,
  });
  const order = depthFirst(stacks, ranks(distinct));
  const roots = Array.from(profile.threads, (thread) => rootName(thread, options));
  const rootRanks = ranks(roots);
  const rootNames: string[] = [];
  for (const [thread, root] of roots.entries()) rootNames[intAt(rootRanks, thread)] = root;

  // A line is identified by its root's rank and its stack row.
  const lines = new NodeTable();
  const sums = new FloatColumn();
  const { samples } = profile;
  const values = weight === "period" ? samples.period : samples.count;
  for (let i = 0; i < samples.length; i++) {
    if (samples.event[i] !== event) continue;
    const stack = intAt(samples.stack, i);
    const line = lines.node(
      intAt(rootRanks, intAt(samples.thread, i)),
      stack < 0 ? -1 : intAt(stacks.of, stack),
    );
    if (line === sums.length) sums.push(0);
    sums.add(line, values[i] as number);
  }
  const lineRoots = lines.parents();
  const lineRows = lines.items();
  const place = (line: number) => {
    const row = intAt(lineRows, line);
    return row < 0 ? -1 : intAt(order, row);
  };
  const sorted = Int32Array.from(lineRoots, (_, line) => line).sort((a, b) =>
    intAt(lineRoots, a) - intAt(lineRoots, b) || place(a) - place(b)
  );
  const frames = distinct.map((label) => encoder.encode(`;${label}`));
  const nothing = encoder.encode("[unknown]");
  let lastRoot = -1;
  let rootBytes = new Uint8Array(0);
  const path: number[] = [];
  const sumOf = sums.array();
  const text = new ByteText();
  for (const line of sorted) {
    path.length = 0;
    for (let row = intAt(lineRows, line); row >= 0; row = intAt(stacks.parent, row)) {
      path.push(intAt(stacks.item, row));
    }
    const root = intAt(lineRoots, line);
    if (root !== lastRoot) rootBytes = encoder.encode(rootNames[lastRoot = root]);
    text.bytes(path.length === 0 && withoutComm ? nothing : rootBytes);
    for (let i = path.length - 1; i >= 0; i--) {
      const frame = frames[numberAt(path, i)] as Uint8Array;
      // Without a root, nothing is before the first semicolon.
      text.bytes(withoutComm && i === path.length - 1 ? frame.subarray(1) : frame);
    }
    text.byte(0x20);
    text.number(floatAt(sumOf, line));
    text.byte(0x0a);
    if (text.isFull) yield text.take();
  }
  yield text.take();
}

function rootName(
  { pid, tid, comm }: ProfileThread,
  options: FoldedOptions,
): string {
  if (options.withoutComm) return "";
  const known = (number: number) => number < 0 ? "?" : String(number);
  const name = clean(options.mergeCpus ? withoutCpu(comm) : comm).replaceAll(" ", "_");
  return options.tid
    ? `${name}-${known(pid)}/${known(tid)}`
    : options.pid
    ? `${name}-${known(pid)}`
    : name;
}

/**
 * Names of per-CPU kernel threads: a slash and a number, followed by a colon or hyphen and more for
 * workers.
 */
const OF_CPU = /^([A-Za-z_]+)\/u?\d+(?:[:-].*)?$/;

/** The name of a thread, with the CPU's number replaced if it is a per-CPU kernel thread. */
function withoutCpu(comm: string): string {
  const [, name] = OF_CPU.exec(comm) ?? [];
  return name === undefined ? comm : `${name}/*`;
}

function labels(profile: Profile, { kernel, jit, inline }: FoldedOptions): string[] {
  return profile.functions.name.map((_, number) => {
    const kind = byteAt(profile.functions.kind, number);
    const level = kind & FUNCTION_KIND.LEVEL;
    const mark = inline && (kind & FUNCTION_KIND.INLINED) !== 0
      ? "_[i]"
      : kernel && level === FUNCTION_KIND.KERNEL
      ? "_[k]"
      : jit && level === FUNCTION_KIND.JIT
      ? "_[j]"
      : "";
    return clean(functionName(profile, number)) + mark;
  });
}

function clean(name: string): string {
  // deno-lint-ignore no-control-regex -- a name may have any byte
  return name.replaceAll(";", ":").replace(/[\x00-\x1f\x7f]/g, " ");
}
