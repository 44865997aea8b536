/** The code of functions by instruction, with samples. */
import { floatAt } from "@perfdata/format/bytes";
import { InsnDecoder, InsnKind, type InsnMode } from "@perfdata/intel-pt";
import type { Profile } from "@perfdata/profile";
import type { DataRange, ObjectCodeReader } from "@perfdata/session/code";
import type { AddressedPlaces } from "@perfdata/session";
import type { InsnText } from "@perfdata/pt/decode";
import type { ObjectSymbols, Resolution, SymbolObject } from "@perfdata/symbols/resolver";
import type { SymbolResolver } from "@perfdata/symbols";
import type { AnnotatedCount, CodeCounts } from "./annotate.ts";
import type { ListedFrame, ListedInsn } from "./code_listing.ts";

/** A decoded instruction. */
export interface DecodedInsn {
  /** Distance from the first instruction. */
  readonly at: number;
  /** Length in bytes. */
  readonly length: number;
  /** Text; `""` without a disassembler. */
  readonly text: string;
  /** Target of a direct jump or call, as distance from the first instruction. */
  readonly target: number | undefined;
  /** Whether it is a call, which returns. */
  readonly isCall: boolean;
}

/** Decodes code of one architecture. */
export interface Disassembler {
  /**
   * Decodes instructions. Invalid bytes are an item of their own.
   *
   * @param data Data among the instructions, in order.
   */
  insns(bytes: Uint8Array, address: bigint, data?: readonly DataRange[]): DecodedInsn[];
}

/**
 * Creates a decoder of x86 code.
 *
 * @param textOf Formats an instruction; without it, texts are empty.
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

/** Maximum size of a listed function. LLVM's longest functions have 1 MB. */
export const MOST_CODE: number = 1 << 22;

/** Inputs for reading instructions. */
export interface CodeOptions {
  /** Places of the recording. */
  readonly engine: { readonly places: AddressedPlaces };
  /** Finds symbols. */
  readonly resolver: SymbolResolver;
  /** Reads code. */
  readonly code: ObjectCodeReader;
  /** Decodes code. */
  readonly disassembler: Disassembler;
}

/**
 * A contiguous piece of a function's code. A name may have several, as when a JIT compiler compiled
 * it again.
 */
interface Piece {
  readonly start: number;
  readonly size: number;
  readonly self: AnnotatedCount;
  readonly total: AnnotatedCount;
}

/** An instruction with its bytes. */
export interface CodeInsn extends ListedInsn {
  /** Display address; in a file, the link-time address. */
  readonly address: bigint;
  /** Bytes of the instruction. */
  readonly bytes: Uint8Array;
  /** Text of the instruction, with the name of the function that it calls. */
  readonly text: string;
}

/** A piece of code, or the reason why it could not be read. */
export interface ReadCode {
  /** Samples of the function. */
  readonly counts: CodeCounts;
  /** Path of the object. */
  readonly path: string;
  /** Name of the object. */
  readonly object: string;
  /** Samples in the piece. */
  readonly self: AnnotatedCount;
  /** Samples in the piece and its callees. */
  readonly total: AnnotatedCount;
  /** Address of the piece in the object. */
  readonly start: number;
  /** Instructions of the piece. */
  readonly insns: readonly CodeInsn[];
  /** Reason for missing instructions. */
  readonly missing: string | undefined;
}

/** Reads the pieces of a function's code, those with the most samples first. */
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
        const data = code.data(object, piece.start, piece.size);
        const insns = disassembler.insns(found.bytes, address, data);
        const where = { piece, bytes: found.bytes, address };
        all.push({ ...own, insns: await named(insns, where, symbols, counts), missing: undefined });
      }
    }
    return all;
  } finally {
    symbols.close();
  }
}

/** The pieces with sampled addresses, those with the most samples first. */
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

/** Adds samples, frames and callees' names to instructions. */
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
    // A sample may be within an instruction, as return addresses minus one are.
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

/** The function and its inlined functions, innermost last. */
function framesOf(found: Resolution | undefined): ListedFrame[] {
  return (found?.frames ?? []).map(({ name, file, line }) => ({ name, file, line })).reverse();
}

/**
 * Number added to an object's addresses for display: files have link-time addresses, other objects
 * run-time addresses.
 */
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
