import {
  annotate,
  type CodeCounts,
  codeCounts,
  type FunctionTest,
  type ReadCode,
} from "@perfdata/export/code";
import { NodeTable, type Profile, ThreadTable } from "@perfdata/profile";
import { floatAt, intAt } from "@perfdata/format/bytes";
import type { ViewProfile } from "@perfdata/export/tree";
import type { CodeService, CodeSource, SourcePart } from "./code_service.ts";

/** Maximum number of functions of an event whose code is in a report. */
const MOST_FUNCTIONS = 40;
/** Maximum number of their instructions. */
const MOST_INSNS = 100_000;
/** Maximum number of characters of source. */
const MOST_TEXT = 4_000_000;
/** Source lines before and after each line that has code. */
const AROUND = 2;

/** An instruction without its weights. */
interface StoredInsn {
  /** Number of bytes. */
  readonly length: number;
  readonly text: string;
  readonly jump?: number | undefined;
  /** Index in {@linkcode ReportCode.frames}. */
  readonly frames: number;
}

/** A piece of a function's code. */
interface StoredPiece {
  readonly start: number;
  /** Display address, as decimal text. */
  readonly address: string;
  readonly bytes: Uint8Array;
  readonly insns: readonly StoredInsn[];
  /** Reason why there are no instructions. */
  readonly missing: string | undefined;
}

interface StoredFunction {
  readonly name: string;
  readonly object: number;
  readonly path: string;
  readonly pieces: readonly StoredPiece[];
}

/** The code of the functions with most samples, inside of a report. */
export interface ReportCode {
  readonly functions: readonly StoredFunction[];
  /** Functions and lines of instructions. */
  readonly frames: readonly ReadCode["insns"][number]["frames"][];
  readonly files: readonly { readonly path: string; readonly parts: readonly SourcePart[] }[];
  /** The functions that are shown, with and without own code. */
  readonly known: Int32Array;
  /** Addresses and lines of these functions; other frames are left out. */
  readonly profile: CountedParts;
}

interface CountedParts extends Pick<Profile, "frames" | "places" | "stacks" | "files"> {
  readonly stack: Int32Array;
}

/** Returns the functions in which most samples of an event were taken, and those that they are inlined into. */
function hottest({ frames, places, stacks, samples }: Profile, event: number): Set<number> {
  const sums = new Map<number, number>();
  const around = new Map<number, Set<number>>();
  for (let i = 0; i < samples.length; i++) {
    const stack = intAt(samples.stack, i);
    if (samples.event[i] !== event || stack < 0) continue;
    const place = intAt(stacks.place, stack);
    const [first, end] = [intAt(places.start, place), intAt(places.start, place + 1)];
    if (end === first) continue;
    const fn = intAt(frames.function, intAt(places.frames, first));
    sums.set(fn, (sums.get(fn) ?? 0) + floatAt(samples.period, i));
    const outer = around.get(fn) ?? new Set();
    around.set(fn, outer.add(intAt(frames.function, intAt(places.frames, end - 1))));
  }
  const most = [...sums].sort(([a, sumA], [b, sumB]) => sumB - sumA || a - b)
    .slice(0, MOST_FUNCTIONS);
  return new Set(most.flatMap(([fn]) => [fn, ...around.get(fn) ?? []]));
}

/** Collects the code of the functions with most samples of each event. */
export async function reportCode({ profile, source }: CodeService): Promise<ReportCode> {
  const { functions: { name: names, object: objects } } = profile;
  const keyOf = (fn: number) => `${intAt(objects, fn)} ${names[fn]}`;
  const hot = new Set<string>();
  for (const event of profile.events.keys()) {
    for (const fn of hottest(profile, event)) if (names[fn] !== "") hot.add(keyOf(fn));
  }
  const isHot = Uint8Array.from(names, (_, fn) => hot.has(keyOf(fn)) ? 1 : 0);
  const isKnown = (_: string, fn: number) => isHot[fn] === 1;
  const found = new Map<string, Map<number, ReadCode>>();
  let room = MOST_INSNS;
  for (const event of profile.events.keys()) {
    for (const counts of codeCounts(profile, event, isKnown)) {
      const pieces = await source.pieces(profile, counts);
      if (typeof pieces === "string") continue;
      const key = `${counts.object} ${counts.name}`;
      const known = found.get(key) ?? new Map<number, ReadCode>();
      for (const piece of pieces) {
        if (known.has(piece.start) || piece.insns.length > room) continue;
        room -= piece.insns.length;
        known.set(piece.start, piece);
      }
      if (known.size > 0) found.set(key, known);
    }
  }
  const frames: ReportCode["frames"][number][] = [];
  const numbers = new Map<string, number>();
  const numberOf = (of: ReportCode["frames"][number]): number => {
    const key = JSON.stringify(of);
    const known = numbers.get(key) ?? frames.length;
    if (known === frames.length) {
      numbers.set(key, known);
      frames.push(of);
    }
    return known;
  };
  const functions = [...found.values()].map((pieces): StoredFunction => {
    const [{ counts: { name, object }, path }] = [...pieces.values()] as [ReadCode];
    return { name, object, path, pieces: [...pieces.values()].map((of) => stored(of, numberOf)) };
  });
  return {
    functions,
    frames,
    files: storedFiles(profile, source, isKnown, frames),
    known: Int32Array.from(isHot.keys()).filter((fn) => isHot[fn] === 1),
    profile: countedParts(profile, isHot),
  };
}

/**
 * Leaves out the frames from which nothing is counted: those of functions that are not known, except one that a known
 * function called, whose name is shown at the line of the call.
 */
function countedParts(
  { frames, places, stacks, samples, files }: Profile,
  isKnown: Uint8Array,
): CountedParts {
  const kept = Uint8Array.from(places.object, (_, place) => {
    for (let i = intAt(places.start, place); i < intAt(places.start, place + 1); i++) {
      if (isKnown[intAt(frames.function, intAt(places.frames, i))] === 1) return 1;
    }
    return 0;
  });
  const [object, address, start, own]: [number[], number[], number[], number[]] = [[], [], [0], []];
  const add = (ofObject: number, at: number, ofFrames: Iterable<number>): number => {
    object.push(ofObject);
    address.push(at);
    own.push(...ofFrames);
    return start.push(own.length) - 2;
  };
  const numbers = new Map<number, number>();
  const callees = new Map<number, number>();
  const keptPlace = (place: number): number => {
    let number = numbers.get(place);
    if (number === undefined) {
      const [from, to] = [intAt(places.start, place), intAt(places.start, place + 1)];
      const all = places.frames.subarray(from, to);
      number = add(intAt(places.object, place), floatAt(places.address, place), all);
      numbers.set(place, number);
    }
    return number;
  };
  // Of a callee only the outermost function counts, whatever its line.
  const calleePlace = (place: number): number => {
    const end = intAt(places.start, place + 1);
    const frame = end === intAt(places.start, place) ? -1 : intAt(places.frames, end - 1);
    const fn = frame < 0 ? -1 : intAt(frames.function, frame);
    const number = callees.get(fn) ?? add(-1, 0, frame < 0 ? [] : [frame]);
    callees.set(fn, number);
    return number;
  };
  const nodes = new NodeTable();
  const of = new Int32Array(stacks.parent.length);
  for (let row = 0; row < of.length; row++) {
    const place = intAt(stacks.place, row);
    const parent = intAt(stacks.parent, row);
    const up = parent < 0 ? -1 : intAt(of, parent);
    const isCallee = parent >= 0 && kept[intAt(stacks.place, parent)] === 1;
    of[row] = kept[place] === 1
      ? nodes.node(up, keptPlace(place))
      : isCallee
      ? nodes.node(up, calleePlace(place))
      : up;
  }
  const stackOf = (row: number) => row < 0 ? -1 : intAt(of, row);
  return {
    frames,
    files,
    places: {
      object: Int32Array.from(object),
      address: Float64Array.from(address),
      start: Int32Array.from(start),
      frames: Int32Array.from(own),
    },
    stacks: { parent: nodes.parents().slice(), place: nodes.items().slice() },
    stack: samples.stack.slice(0, samples.length).map(stackOf),
  };
}

function stored(
  { start, insns, missing }: ReadCode,
  numberOf: (frames: ReportCode["frames"][number]) => number,
): StoredPiece {
  return {
    start,
    address: `${insns[0]?.address ?? 0n}`,
    bytes: Uint8Array.from(insns.flatMap(({ bytes }) => [...bytes])),
    insns: insns.map(({ bytes, text, jump, frames }) => ({
      length: bytes.length,
      text,
      jump,
      frames: numberOf(frames),
    })),
    missing,
  };
}

/** Returns the source lines of stored functions, with some around them. */
function storedFiles(
  profile: Profile,
  { source }: CodeSource,
  isKnown: FunctionTest,
  frames: ReportCode["frames"],
): ReportCode["files"] {
  const wanted = new Map<string, Set<number>>();
  const add = (file: string | undefined, line: number) => {
    if (file === undefined || line === 0) return;
    const lines = wanted.get(file) ?? new Set<number>();
    wanted.set(file, lines);
    for (let near = Math.max(1, line - AROUND); near <= line + AROUND; near++) lines.add(near);
  };
  for (const of of frames) for (const { file, line } of of) add(file, line);
  for (const event of profile.events.keys()) {
    for (const { lines } of annotate(profile, event, isKnown)) {
      for (const { file, line } of lines) add(file, line);
    }
  }
  let room = MOST_TEXT;
  const files: ReportCode["files"][number][] = [];
  for (const [path, lines] of wanted) {
    // The page requests only files of the profile.
    if (!profile.files.includes(path)) continue;
    const parts: SourcePart[] = [];
    for (const { first, text } of source(path) ?? []) parts.push(...partsOf(first, text, lines));
    room -= parts.reduce((sum, { text }) => sum + text.length, 0);
    if (room < 0) break;
    if (parts.length > 0) files.push({ path, parts });
  }
  return files;
}

/** Returns the ranges of consecutive wanted lines. */
function partsOf(first: number, text: string, wanted: ReadonlySet<number>): SourcePart[] {
  const parts: { first: number; lines: string[] }[] = [];
  for (const [i, line] of text.split("\n").entries()) {
    if (!wanted.has(first + i)) continue;
    const last = parts.at(-1);
    if (last !== undefined && last.first + last.lines.length === first + i) last.lines.push(line);
    else parts.push({ first: first + i, lines: [line] });
  }
  return parts.map(({ first, lines }) => ({ first, text: lines.join("\n") }));
}

/** Returns a report's profile with addresses and lines, as far as {@linkcode CodeService} needs it. */
export function reportProfile(view: ViewProfile, { profile }: ReportCode): Profile {
  const { stack, ...columns } = profile;
  const { events, objects, functions, samples, title, trust } = view;
  return {
    ...columns,
    events,
    // Code is counted by place, whatever the thread.
    threads: new ThreadTable(),
    objects,
    // Functions without a name are left out; here they have the name of their object.
    functions,
    samples: { ...samples, stack },
    epoch: 0n,
    switches: [],
    title,
    trust,
  };
}

export function codeOfReport({ functions, frames, files }: ReportCode): CodeSource {
  return {
    pieces(_, counts) {
      const found = functions.find(({ name, object }) =>
        name === counts.name && object === counts.object
      );
      return Promise.resolve(
        found === undefined
          ? "this report does not have its instructions; perfdata view FILE shows them"
          : found.pieces.map((piece) => countedPiece(piece, found.path, counts, frames))
            .filter(({ total, missing }) => total.samples > 0 || missing !== undefined)
            .sort((a, b) => b.self.period - a.self.period || b.total.period - a.total.period),
      );
    },
    source: (wanted) => files.find(({ path }) => path === wanted)?.parts,
  };
}

/** Adds the samples of a selection to a piece. */
function countedPiece(
  { start, address, bytes, insns, missing }: StoredPiece,
  path: string,
  counts: CodeCounts,
  frames: ReportCode["frames"],
): ReadCode {
  const sumIn = (of: CodeCounts["addresses"], from: number, length: number) => {
    const sum = { samples: 0, period: 0 };
    for (let at = from; at < from + length; at++) {
      const own = of.get(at);
      if (own === undefined) continue;
      sum.samples += own.samples;
      sum.period += own.period;
    }
    return sum;
  };
  let at = 0;
  const counted = insns.map(({ length, text, jump, frames: number }) => {
    const from = at;
    at += length;
    return {
      address: BigInt.asUintN(64, BigInt(address) + BigInt(from)),
      bytes: bytes.subarray(from, at),
      text,
      self: sumIn(counts.addresses, start + from, length),
      total: sumIn(counts.totals, start + from, length),
      frames: frames[number] ?? [],
      jump,
    };
  });
  return {
    counts,
    path,
    object: path.slice(path.lastIndexOf("/") + 1),
    self: sumIn(counts.addresses, start, at),
    total: sumIn(counts.totals, start, at),
    start,
    insns: counted,
    missing,
  };
}
