import { byteAt, floatAt, intAt } from "@perfdata/format/bytes";
import { frameStacks, FUNCTION_KIND, functionName, type Profile } from "@perfdata/profile";

/** Number of samples, and their period. */
export interface AnnotatedCount {
  /** Number of samples. */
  samples: number;
  /** Sum of their periods. */
  period: number;
}

/** A sampled source line of a function, or of a function inlined into it. */
export interface AnnotatedLine {
  /** Source file; `undefined` if unknown. */
  readonly file: string | undefined;
  /** Line; 0 if unknown. */
  readonly line: number;
  /** Samples of the line itself. */
  readonly self: AnnotatedCount;
  /** Samples of the line and of the functions called or inlined there. */
  readonly total: AnnotatedCount;
  /** Functions called or inlined at this line, with their samples. */
  readonly calls: readonly AnnotatedCall[];
}

/** A function called or inlined at a line. */
export interface AnnotatedCall extends AnnotatedCount {
  /** Name of the function. */
  readonly name: string;
  /** `false` if the name comes from an unverified file. */
  readonly verified?: false;
  /** Whether it is inlined. */
  readonly inlined: boolean;
}

/** A function with its source lines. */
export interface Annotation {
  /** Name of the function. */
  readonly name: string;
  /** `false` if the name comes from an unverified file. */
  readonly verified?: false;
  /** Name of the object. */
  readonly object: string;
  /** Samples in the function, without its callees. */
  readonly self: AnnotatedCount;
  /** Samples in the function and its callees. */
  readonly total: AnnotatedCount;
  /** Source lines, sorted by file and number. */
  readonly lines: readonly AnnotatedLine[];
}

/**
 * Samples of the functions with a name, by source line, in each object that has such a function.
 *
 * A sample counts once for a line, and once for a function called or inlined at the line, however
 * often these are in its stack. An inlined function counts for the line at which it is inlined.
 *
 * @param event Index of the event.
 *
 * @example
 * ```ts
 * import { annotate } from "@perfdata/export/code";
 * import { ProfileBuilder } from "@perfdata/profile";
 * import { assertEquals } from "@std/assert";
 *
 * const builder = new ProfileBuilder({ events: [{ name: "cycles", unit: "count" }] });
 * const frames = [{ name: "inner", line: 2, kind: 4 }, { name: "main", file: "a.c", line: 7 }];
 * const stack = builder.stack(-1, builder.place(-1, 0x10, frames));
 * builder.sample({ stack, event: 0, thread: builder.thread(7, 7, "demo"), period: 100 });
 * const [main] = annotate(builder.profile(), 0, (name) => name === "main");
 * assertEquals(main?.lines[0]?.line, 7);
 * assertEquals(main?.lines[0]?.calls[0]?.name, "inner");
 * ```
 */
export function annotate(
  profile: Profile,
  event: number,
  matches: FunctionTest,
): Annotation[] {
  const { functions, frames, objects, samples } = profile;
  const stacks = frameStacks(profile, { by: "frame" });
  const found = new Map<string, Collected>();
  const wanted = functions.name.map((name, number) => name !== "" && matches(name, number));
  const groupOf = (frame: number): string => {
    const number = intAt(frames.function, frame);
    return `${functions.object[number]} ${functions.name[number]}`;
  };
  for (let i = 0; i < samples.length; i++) {
    if (samples.event[i] !== event) continue;
    const stack = intAt(samples.stack, i);
    if (stack < 0) continue;
    const count = { samples: samples.count[i] as number, period: floatAt(samples.period, i) };
    const leaf = intAt(stacks.of, stack);
    const met = new Set<string>();
    for (let row = leaf, below = -1; row >= 0; below = row, row = intAt(stacks.parent, row)) {
      const frame = intAt(stacks.item, row);
      const number = intAt(frames.function, frame);
      if (!wanted[number]) continue;
      const key = groupOf(frame);
      let own = found.get(key);
      if (own === undefined) found.set(key, own = new Collected(profile, number));
      const callee = below < 0 ? -1 : intAt(frames.function, intAt(stacks.item, below));
      own.add(count, frame, callee, met, key);
    }
  }
  const annotated = [...found.values()].map((own): Annotation => ({
    name: functions.name[own.number] as string,
    ...trustOf(profile, own.number),
    object: objects[intAt(functions.object, own.number)]?.name ?? "[unknown]",
    self: own.self,
    total: own.total,
    lines: own.lines(),
  }));
  return annotated.sort((a, b) =>
    b.total.period - a.total.period || (a.object < b.object ? -1 : 1)
  );
}

interface CollectedLine {
  readonly file: number;
  readonly line: number;
  readonly self: AnnotatedCount;
  readonly total: AnnotatedCount;
  /** By index of the function. */
  readonly calls: Map<number, AnnotatedCount>;
}

const none = (): AnnotatedCount => ({ samples: 0, period: 0 });

/** Counts of one function. */
class Collected {
  readonly number: number;
  readonly self: AnnotatedCount = none();
  readonly total: AnnotatedCount = none();
  readonly #profile: Profile;
  readonly #lines = new Map<string, CollectedLine>();

  constructor(profile: Profile, number: number) {
    this.#profile = profile;
    this.number = number;
  }

  /**
   * Counts a sample.
   *
   * @param callee Function called from the frame; -1 if there is none.
   * @param met Keys for which the sample was counted before.
   */
  add(count: AnnotatedCount, frame: number, callee: number, met: Set<string>, key: string): void {
    const { frames } = this.#profile;
    const [file, number] = [intAt(frames.file, frame), intAt(frames.line, frame)];
    const at = `${file} ${number}`;
    let line = this.#lines.get(at);
    if (line === undefined) {
      line = { file, line: number, self: none(), total: none(), calls: new Map() };
      this.#lines.set(at, line);
    }
    if (callee < 0) {
      sum(this.self, count);
      sum(line.self, count);
    }
    const once = (what: string, to: AnnotatedCount) => {
      if (met.has(what)) return;
      met.add(what);
      sum(to, count);
    };
    once(key, this.total);
    once(`${key} ${at}`, line.total);
    if (callee < 0) return;
    let call = line.calls.get(callee);
    if (call === undefined) line.calls.set(callee, call = none());
    once(`${key} ${at} ${callee}`, call);
  }

  lines(): AnnotatedLine[] {
    const { files, functions } = this.#profile;
    return [...this.#lines.values()]
      .sort((a, b) => a.file - b.file || a.line - b.line)
      .map(({ file, line, self, total, calls }) => ({
        file: files[file],
        line,
        self,
        total,
        calls: [...calls].map(([callee, count]) => ({
          name: functionName(this.#profile, callee),
          ...trustOf(this.#profile, callee),
          inlined: (byteAt(functions.kind, callee) & FUNCTION_KIND.INLINED) !== 0,
          ...count,
        })).sort((a, b) => b.period - a.period || (a.name < b.name ? -1 : 1)),
      }));
  }
}

/** The JSON member of a function with an unverified name. */
function trustOf({ functions }: Profile, number: number): { readonly verified?: false } {
  const isUnverified = (byteAt(functions.kind, number) & FUNCTION_KIND.UNVERIFIED) !== 0;
  return isUnverified ? { verified: false } : {};
}

function sum(to: AnnotatedCount, more: AnnotatedCount): void {
  to.samples += more.samples;
  to.period += more.period;
}

/** Samples in a function's code, by address. */
export interface CodeCounts {
  /** Name of the function. */
  readonly name: string;
  /** `false` if the name comes from an unverified file. */
  readonly verified?: false;
  /** Index of the object in the profile. */
  readonly object: number;
  /** Samples taken at each address of the object. */
  readonly addresses: ReadonlyMap<number, AnnotatedCount>;
  /** Samples taken at each address or in a callee; then the address is in the call instruction. */
  readonly totals: ReadonlyMap<number, AnnotatedCount>;
  /** Samples in the function. */
  readonly self: AnnotatedCount;
  /** Samples in the function and its callees. */
  readonly total: AnnotatedCount;
}

/** Selects functions by name and number in the profile. */
export type FunctionTest = (name: string, number: number) => boolean;

/**
 * Samples of the functions with a name, by address. Inlined functions belong to the function around
 * them. A sample counts once for an address, however often the address is in its stack.
 *
 * @param event Index of the event.
 *
 * @example
 * ```ts
 * import { codeCounts } from "@perfdata/export/code";
 * import { ProfileBuilder } from "@perfdata/profile";
 * import { assertEquals } from "@std/assert";
 *
 * const builder = new ProfileBuilder({ events: [{ name: "cycles", unit: "count" }] });
 * const main = builder.stack(-1, builder.place(-1, 0x10, [{ name: "main" }]));
 * const stack = builder.stack(main, builder.place(-1, 0x20, [{ name: "work" }]));
 * builder.sample({ stack, event: 0, thread: builder.thread(7, 7, "demo"), period: 100 });
 * const [found] = codeCounts(builder.profile(), 0, (name) => name === "main");
 * assertEquals(found?.addresses.get(0x10), undefined);
 * assertEquals(found?.totals.get(0x10)?.period, 100);
 * ```
 */
export function codeCounts(
  profile: Profile,
  event: number,
  matches: FunctionTest,
): CodeCounts[] {
  const { functions, frames, places, stacks, samples } = profile;
  const wanted = functions.name.map((name, number) => name !== "" && matches(name, number));
  const found = new Map<string, CollectedCode>();
  const codeOf = (place: number): CollectedCode | undefined => {
    const outermost = places.frames[intAt(places.start, place + 1) - 1];
    const number = outermost === undefined ? -1 : intAt(frames.function, outermost);
    if (wanted[number] !== true) return undefined;
    const name = functions.name[number] as string;
    const object = intAt(places.object, place);
    const key = `${object} ${name}`;
    let own = found.get(key);
    if (own === undefined) found.set(key, own = new CollectedCode(profile, number, object));
    return own;
  };
  // Code by place; `null` for other functions.
  const known: (CollectedCode | null | undefined)[] = [];
  for (let i = 0; i < samples.length; i++) {
    const leaf = intAt(samples.stack, i);
    if (samples.event[i] !== event || leaf < 0) continue;
    const count = { samples: samples.count[i] as number, period: floatAt(samples.period, i) };
    for (let row = leaf; row >= 0; row = intAt(stacks.parent, row)) {
      const place = intAt(stacks.place, row);
      let own = known[place];
      if (own === undefined) known[place] = own = codeOf(place) ?? null;
      own?.add(i, floatAt(places.address, place), count, row === leaf);
    }
  }
  return [...found.values()].sort((a, b) =>
    b.self.period - a.self.period || b.total.period - a.total.period
  );
}

class CollectedCode implements CodeCounts {
  readonly name: string;
  readonly verified?: false;
  readonly object: number;
  readonly addresses = new Map<number, AnnotatedCount>();
  readonly totals = new Map<number, AnnotatedCount & { last: number }>();
  readonly self = none();
  readonly total = none();
  /** The sample that was counted last. */
  #last = -1;

  constructor(profile: Profile, number: number, object: number) {
    this.name = profile.functions.name[number] as string;
    const { verified } = trustOf(profile, number);
    if (verified === false) this.verified = verified;
    this.object = object;
  }

  add(sample: number, address: number, count: AnnotatedCount, isLeaf: boolean): void {
    if (isLeaf) {
      let at = this.addresses.get(address);
      if (at === undefined) this.addresses.set(address, at = none());
      sum(at, count);
      sum(this.self, count);
    }
    let all = this.totals.get(address);
    if (all === undefined) this.totals.set(address, all = { ...none(), last: -1 });
    if (all.last !== sample) sum(all, count);
    all.last = sample;
    if (this.#last !== sample) sum(this.total, count);
    this.#last = sample;
  }
}
