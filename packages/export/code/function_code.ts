/** The code of functions, instruction by instruction, with the samples at each one. */
import { floatAt } from "@perfdata/format/elements";
import { InsnDecoder } from "@perfdata/intel-pt";
import { InsnKind, type InsnMode } from "@perfdata/intel-pt/x86";
import type { Profile } from "@perfdata/profile/profile";
import type { ObjectCodeReader } from "@perfdata/session/object-code";
import type { AddressedPlaces } from "@perfdata/session/address-table";
import type { InsnText } from "@perfdata/pt/decode";
import type { ObjectSymbols } from "@perfdata/symbols/object-symbols";
import type { Resolution, SymbolObject, SymbolResolver } from "@perfdata/symbols";
import type { AnnotatedCount, CodeCounts } from "./annotate.ts";
import type { ListedFrame, ListedInsn } from "./code_listing.ts";

/** An instruction as it is decoded. */
export interface DecodedInsn {
  /** Distance from the first one. */
  readonly at: number;
  /** Bytes. */
  readonly length: number;
  /** `""` where there is no disassembler. */
  readonly text: string;
  /** Where it may go, as a distance from the first one: of jumps and calls with a fixed target. */
  readonly target: number | undefined;
  /** Whether it is a call: that comes back. */
  readonly isCall: boolean;
}

/** Decodes code of one architecture. */
export interface Disassembler {
  /** The instructions; a piece that is none stands for itself. */
  insns(bytes: Uint8Array, address: bigint): DecodedInsn[];
}

/**
 * Decodes code of x86.
 *
 * @param textOf Makes the texts of instructions; without it they have none.
 */
export function x86Disassembler(mode: InsnMode, textOf?: InsnText): Disassembler {
  return {
    insns(bytes, address) {
      const decoder = new InsnDecoder();
      const found: DecodedInsn[] = [];
      for (let at = 0; at < bytes.length;) {
        const length = Math.max(1, decoder.decode(bytes, at, bytes.length, mode));
        const { kind, relative } = decoder;
        const isJump = kind === InsnKind.JCC || kind === InsnKind.JMP;
        const isCall = kind === InsnKind.CALL;
        const target = (isJump || isCall) && !decoder.absolute ? at + length + relative : undefined;
        const ip = BigInt.asUintN(64, address + BigInt(at));
        const text = textOf?.(bytes.subarray(at, at + length), ip, mode) ?? "";
        found.push({ at, length, text, target, isCall });
        at += length;
      }
      return found;
    },
  };
}

/** Longest function that is listed: the longest of LLVM's have 1 MB. */
export const MOST_CODE: number = 1 << 22;

/** What instructions are read with. */
export interface CodeOptions {
  /** What was run. */
  readonly engine: { readonly places: AddressedPlaces };
  /** Finds symbols. */
  readonly resolver: SymbolResolver;
  /** Where the code is read from. */
  readonly code: ObjectCodeReader;
  /** Decodes it. */
  readonly disassembler: Disassembler;
}

/** Code of a function in one piece: a name may have several, as where a JIT compiler made it again. */
interface Piece {
  /** As the object's symbols count. */
  readonly start: number;
  readonly size: number;
  readonly self: AnnotatedCount;
  readonly total: AnnotatedCount;
}

/** An instruction. */
export interface CodeInsn extends ListedInsn {
  /** Where it is: in a file, as that was linked. */
  readonly address: bigint;
  /** Its bytes. */
  readonly bytes: Uint8Array;
  /** With the name of what it calls. */
  readonly text: string;
}

/** A piece of code that was read, or why it could not be. */
export interface ReadCode {
  /** The function. */
  readonly counts: CodeCounts;
  /** Path of its object. */
  readonly path: string;
  /** Name of its object. */
  readonly object: string;
  /** Samples that were taken in the piece. */
  readonly self: AnnotatedCount;
  /** With those in what it called. */
  readonly total: AnnotatedCount;
  /** Where the piece is, as the object counts. */
  readonly start: number;
  /** Its instructions. */
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
  const about = { counts, path, object: name, self, total, start: 0 };
  const object = engine.places.objects[counts.object];
  if (object === undefined) {
    return [{ ...about, insns: [], missing: "nothing was mapped there" }];
  }
  const symbols = await resolver.open(object);
  try {
    const all: ReadCode[] = [];
    for (const piece of await piecesOf(counts, symbols)) {
      const found = piece.size > MOST_CODE
        ? { missing: `${piece.size} bytes are no function` }
        : code.read(object, piece.start, piece.size);
      const own = { ...about, self: piece.self, total: piece.total, start: piece.start };
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

/** The pieces that addresses are in, those with the most samples first. */
async function piecesOf(
  { addresses, totals }: CodeCounts,
  symbols: ObjectSymbols,
): Promise<Piece[]> {
  const own = Float64Array.from(totals.keys());
  const found = await symbols.find(own);
  const pieces = new Map<number, Piece>();
  for (const [i, { symbol }] of found.entries()) {
    const address = floatAt(own, i);
    const { start, end } = symbol ?? { start: address, end: address };
    const known = pieces.get(start);
    pieces.set(start, {
      start,
      size: Math.max(end - start, known?.size ?? 0),
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
  { piece: { start }, bytes, address }: {
    readonly piece: Piece;
    readonly bytes: Uint8Array;
    readonly address: bigint;
  },
  symbols: ObjectSymbols,
  { addresses, totals }: CodeCounts,
): Promise<CodeInsn[]> {
  const places = Float64Array.from(insns, ({ at }) => start + at);
  const found = await symbols.find(places);
  const outside = insns.filter(({ target }) =>
    target !== undefined && (target < 0 || target >= bytes.length)
  );
  const targets = Float64Array.from(outside, ({ target }) => start + (target as number));
  const called = new Map(
    (await symbols.find(targets))
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
