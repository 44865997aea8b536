/** Instructions of functions with their shares: what `annotate` and `report` show. */
import type { AnnotatedCount, CodeCounts } from "@perfdata/export/annotate";
import { codeListing, type ListedFrame, type ListedInsn } from "@perfdata/export/code-listing";
import { shareStyle } from "@perfdata/profile/colors";
import { markedName, type Profile } from "@perfdata/profile/profile";
import { shortName } from "@perfdata/profile/short-names";
import type { Engine } from "@perfdata/session/engine";
import type { ObjectCodeReader } from "@perfdata/session/object-code";
import type { ObjectSymbols, Resolution, SymbolObject, SymbolResolver } from "@perfdata/symbols";
import type { Line, Span } from "../view/terminal/lines.ts";
import type { DecodedInsn, Disassembler } from "./_disassembler.ts";
import type { Sources } from "./_source_lines.ts";

/** Longest function that is listed: the longest of LLVM's have 1 MB. */
const MOST_CODE = 1 << 22;

/** What instructions are read with. */
export interface CodeOptions {
  readonly engine: Engine;
  readonly resolver: SymbolResolver;
  /** Where the code is read from. */
  readonly code: ObjectCodeReader;
  readonly disassembler: Disassembler;
}

/** Code of a function in one piece: a name may have several, as where a JIT compiler made it again. */
interface Piece {
  /** As the object's symbols count. */
  readonly start: number;
  readonly size: number;
  /** When it was there, ns; of code that a JIT compiler made. */
  readonly time: number;
  readonly self: AnnotatedCount;
  readonly total: AnnotatedCount;
}

/** An instruction. */
export interface CodeInsn extends ListedInsn {
  /** Where it is: in a file, as that was linked. */
  readonly address: bigint;
  readonly bytes: Uint8Array;
  /** With the name of what it calls. */
  readonly text: string;
}

/** A piece of code that was read, or why it could not be. */
export interface ReadCode {
  readonly counts: CodeCounts;
  /** Path of its object. */
  readonly path: string;
  /** Name of its object. */
  readonly object: string;
  /** Samples that were taken in the piece. */
  readonly self: AnnotatedCount;
  /** With those in what it called. */
  readonly total: AnnotatedCount;
  readonly insns: readonly CodeInsn[];
  /** Why there are none. */
  readonly missing: string | undefined;
}

/** Reads the code of a function, piece by piece: those with most samples first. */
export async function readCode(
  { objects }: Profile,
  counts: CodeCounts,
  { engine, resolver, code, disassembler }: CodeOptions,
): Promise<ReadCode[]> {
  const { path, name } = objects[counts.object] ?? { path: "[unknown]", name: "[unknown]" };
  const { self, total } = counts;
  const about = { counts, path, object: name, self, total };
  const object = engine.places.objects[counts.object];
  if (object === undefined) {
    return [{ ...about, insns: [], missing: "nothing was mapped there" }];
  }
  const symbols = await resolver.open(object);
  try {
    const all: ReadCode[] = [];
    for (const piece of await piecesOf(counts, object, symbols, engine)) {
      const found = piece.size > MOST_CODE
        ? { missing: `${piece.size} bytes are no function` }
        : code.read(object, piece.start, piece.size, piece.time);
      const own = { ...about, self: piece.self, total: piece.total };
      if ("missing" in found) {
        const remedy = object.kind === "kernel"
          ? "; --vmlinux names it, perf record --kcore copies it"
          : "";
        all.push({ ...own, insns: [], missing: `${path}: ${found.missing}${remedy}` });
      } else {
        const base = shownFrom(object, symbols, piece.start);
        const address = BigInt.asUintN(64, BigInt(piece.start + base));
        const insns = disassembler.insns(found.bytes, address);
        const where = { piece, bytes: found.bytes, address };
        all.push({ ...own, insns: await named(insns, where, symbols, counts), missing: undefined });
      }
    }
    return all;
  } finally {
    symbols.close();
  }
}

/** How instructions are shown. */
export interface CodeLineOptions {
  /** Name of the event. */
  readonly event: string;
  /** Sum of all periods of the event. */
  readonly whole: number;
  /** Where the text of source lines is from. */
  readonly sources: Sources;
  /** Instructions around those with samples that are shown. */
  readonly context: number;
  /** Columns for the names of what is called. */
  readonly room: number;
}

/** The lines of a piece of code: two of heading, then its listing. */
export function codeLines(
  { counts, object, self, total, insns }: ReadCode,
  { event, whole, sources, context, room }: CodeLineOptions,
): { readonly lines: Line[]; readonly hottest: number } {
  const percent = (period: number) => whole === 0 ? 0 : 100 * period / whole;
  const share = (period: number): Span => ({
    text: (period === 0 ? "" : `${percent(period).toFixed(2)}%`).padStart(7),
    style: shareStyle(percent(period)),
  });
  const { rows, gutters, hottest } = codeListing(insns, context);
  const width = Math.max(4, ...insns.map(({ address }) => address.toString(16).length));
  const lines: Line[] = [[{
    text: `${markedName(counts)} in ${object}: ${total.samples} samples, ` +
      `${percent(total.period).toFixed(2)}% of ${event}, ${
        percent(self.period).toFixed(2)
      }% in itself`,
  }]];
  const hot = hottestLines(insns).filter(([, period]) => period > 0);
  if (hot.length > 0) {
    lines.push([
      { text: "hottest: " },
      ...hot.flatMap(([place, period], i): Span[] => [
        { text: `${i > 0 ? ", " : ""}${place} `, style: "source" },
        { ...share(period), text: share(period).text.trim() },
      ]),
    ]);
  }
  const first = lines.length + 1;
  lines.push([{ text: "   SELF   TOTAL  INSTRUCTION", style: "head" }]);
  for (const [i, row] of rows.entries()) {
    const gutter: Span = { text: gutters[i] as string, style: "jump" };
    if (row.kind === "gap") {
      const text = `… ${row.count} ${
        row.count === 1 ? "instruction" : "instructions"
      } without samples`;
      lines.push([{ text: " ".repeat(17) }, gutter, { text: ` ${text}`, style: "dim" }]);
    } else if (row.kind === "source") {
      const { frame: { name, file, line }, depth, begins } = row;
      const indent = "  ".repeat(depth);
      const what = begins ? `${shortName(name, room)} (inlined) ` : "";
      const place = file === undefined || line === 0
        ? ""
        : `${file.slice(file.lastIndexOf("/") + 1)}:${line}`;
      const text = file === undefined ? undefined : sources.lines(file)?.[line - 1]?.trim();
      lines.push([
        { text: " ".repeat(17) },
        gutter,
        { text: ` ${indent}${what}` },
        { text: place, style: "source" },
        { text: text === undefined ? "" : `  ${text}`, style: "bold" },
      ]);
    } else {
      const { self, total, address, text } = insns[row.number] as CodeInsn;
      lines.push([
        share(self.period),
        { ...share(total.period), text: ` ${share(total.period).text}  ` },
        gutter,
        { text: ` ${address.toString(16).padStart(width)}:  `, style: "dim" },
        { text: withShortCall(text, room) },
      ]);
    }
  }
  return { lines, hottest: first + hottest };
}

/** The name of what is called in so many characters. */
function withShortCall(text: string, room: number): string {
  return text.replace(/ <(.+)>$/, (_, name) => ` <${shortName(name, room)}>`);
}

/** Places in the source with most samples of their own. */
function hottestLines(insns: readonly CodeInsn[]): [string, number][] {
  const periods = new Map<string, number>();
  for (const { frames, self, address } of insns) {
    const { file, line = 0 } = frames.at(-1) ?? {};
    const place = file === undefined || line === 0
      ? address.toString(16)
      : `${file.slice(file.lastIndexOf("/") + 1)}:${line}`;
    periods.set(place, (periods.get(place) ?? 0) + self.period);
  }
  return [...periods].sort(([, a], [, b]) => b - a).slice(0, 3);
}

/** Lines of JSON, an instruction each. */
export function codeJson(
  { counts: { name, verified }, path, insns }: ReadCode,
  event: string,
): string[] {
  const about = { event, function: name, verified, object: path };
  return insns.map(({ address, bytes, text, self, total, frames, jump }) => {
    const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
    const { file, line } = frames.at(-1) ?? {};
    const to = jump === undefined ? undefined : insns[jump]?.address;
    return JSON.stringify({
      ...about,
      address: `0x${address.toString(16)}`,
      bytes: hex,
      text,
      ...self,
      total,
      jump: to === undefined ? undefined : `0x${to.toString(16)}`,
      file,
      line,
      inlined: frames.slice(1).map(({ name }) => name),
    });
  });
}

/** The pieces that addresses are in, those with the most samples first. */
async function piecesOf(
  { object: number, addresses, totals }: CodeCounts,
  object: SymbolObject,
  symbols: ObjectSymbols,
  { places }: Engine,
): Promise<Piece[]> {
  const times = new Map<number, number>();
  if (object.kind === "jit") {
    for (let place = 0; place < places.count; place++) {
      if (places.object(place) !== number) continue;
      const address = places.address(place);
      if (totals.has(address)) times.set(address, places.times[place] as number);
    }
  }
  const own = Float64Array.from(totals.keys());
  const found = await symbols.find(own, own.map((address) => times.get(address) ?? Infinity));
  const pieces = new Map<number, Piece>();
  for (const [i, { symbol }] of found.entries()) {
    const address = own[i] as number;
    const { start, end } = symbol ?? { start: address, end: address };
    const known = pieces.get(start);
    pieces.set(start, {
      start,
      size: Math.max(end - start, known?.size ?? 0),
      time: known?.time ?? times.get(address) ?? Infinity,
      self: joined(known?.self, addresses.get(address)),
      total: joined(known?.total, totals.get(address)),
    });
  }
  return [...pieces.values()].sort((a, b) =>
    b.self.period - a.self.period || b.total.period - a.total.period || a.start - b.start
  );
}

function joined(a: AnnotatedCount | undefined, b: AnnotatedCount | undefined): AnnotatedCount {
  return {
    samples: (a?.samples ?? 0) + (b?.samples ?? 0),
    period: (a?.period ?? 0) + (b?.period ?? 0),
  };
}

/** Instructions with their samples, where they come from, and the names of what they call. */
async function named(
  insns: readonly DecodedInsn[],
  { piece: { start, time }, bytes, address }: {
    readonly piece: Piece;
    readonly bytes: Uint8Array;
    readonly address: bigint;
  },
  symbols: ObjectSymbols,
  { addresses, totals }: CodeCounts,
): Promise<CodeInsn[]> {
  const places = Float64Array.from(insns, ({ at }) => start + at);
  const found = await symbols.find(places, places.map(() => time));
  const outside = insns.filter(({ target }) =>
    target !== undefined && (target < 0 || target >= bytes.length)
  );
  const targets = Float64Array.from(outside, ({ target }) => start + (target as number));
  const called = new Map(
    (await symbols.find(targets, targets.map(() => time)))
      .map((resolution, i) => [outside[i], resolution]),
  );
  const numberAt = new Map(insns.map(({ at }, number) => [at, number]));
  return insns.map((insn, number): CodeInsn => {
    const { at, length, text, target, isCall } = insn;
    // A sample may be in the middle of an instruction, as callers are.
    let self: AnnotatedCount = { samples: 0, period: 0 };
    let total = self;
    for (let k = 0; k < length; k++) {
      self = joined(self, addresses.get(start + at + k));
      total = joined(total, totals.get(start + at + k));
    }
    const to = called.get(insn)?.frames.at(-1)?.name;
    return {
      address: BigInt.asUintN(64, address + BigInt(at)),
      bytes: bytes.subarray(at, at + length),
      text: to === undefined ? text : `${text} <${to}>`,
      self,
      total,
      frames: framesOf(found[number]),
      jump: isCall || target === undefined ? undefined : numberAt.get(target),
    };
  });
}

/** The function and what is inlined, the innermost last. */
function framesOf(found: Resolution | undefined): ListedFrame[] {
  return (found?.frames ?? []).map(({ name, file, line }) => ({ name, file, line })).reverse();
}

/** What is added to addresses to show them: those of a file are as it was linked, others as they ran. */
export function shownFrom(object: SymbolObject, symbols: ObjectSymbols, start: number): number {
  switch (object.kind) {
    case "kernel":
      return object.referenceAddress ?? 0;
    case "module":
      return object.loadAddress ?? 0;
    default: {
      const segment = symbols.segments.find(({ offset, size }) =>
        start >= offset && start < offset + size
      );
      return segment === undefined ? 0 : segment.address - segment.offset;
    }
  }
}
