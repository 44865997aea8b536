import { InsnDecoder } from "@perfdata/intel-pt";
import { InsnKind, type InsnMode } from "@perfdata/intel-pt/x86";
import type { Engine } from "@perfdata/session/engine";
import type { ObjectCodeReader } from "@perfdata/session/object-code";
import type { SymbolObject } from "@perfdata/symbols";
import type { ByteText } from "../formats/byte_text.ts";
import type { ScriptPlaces } from "./script_places.ts";

/** Bytes of the longest piece of code that perf prints, and of the longest instruction. */
const MAXBB = 16384, MAXINSN = 15;
/** How far perf looks for a branch that is missing. */
const MISSING_BRANCH = 128;
/** Pieces of code that are kept. */
const KEPT = 1 << 16;

/** Instructions that are not branches. */
const PLAIN: ReadonlySet<number> = new Set([
  InsnKind.OTHER,
  InsnKind.PTWRITE,
  InsnKind.MOV_CR3,
  InsnKind.VM_CALL,
]);

/** An instruction of a piece of code. */
interface Insn {
  /** Distance from the start. */
  readonly at: number;
  /** 0 if it is none. */
  readonly length: number;
  /** As perf prints its bytes. */
  readonly text: string;
  readonly isBranch: boolean;
}

/** A branch as it was recorded. */
export interface RecordedBranch {
  /** Addresses, exact: upper halves are signed. */
  readonly from: number;
  readonly to: number;
  /** Places of these; -1 for none. */
  readonly fromPlace: number;
  readonly toPlace: number;
  /** The low half of its flags. */
  readonly flags: number;
  /** The text of its counters, where they are written. */
  readonly counters?: string;
}

/** Sources and targets of branches: places of an engine, or of a trace. */
export interface BlockPlaces {
  /** The object of a place; `undefined` for none. */
  object(place: number): SymbolObject | undefined;
  /** The address of a place in its object. */
  address(place: number): number;
  /** When it was met first, ns: of generated code whose object has no version. */
  time?(place: number): number;
  /** From where to where its function is, as the object counts. */
  functionRange(place: number): { readonly start: number; readonly end: number } | undefined;
  /** Writes the name of its function. */
  putSymbol(text: ByteText, place: number): void;
}

/** The places of an engine. */
export function recordedPlaces({ places }: Engine, names: ScriptPlaces): BlockPlaces {
  return {
    object: (place) => places.objects[places.object(place)],
    address: (place) => places.address(place),
    functionRange: (place) => names.functionRange(place),
    putSymbol: (text, place) => names.putSymbol(text, place, false),
  };
}

/** The end of a sample: where it was taken. */
export interface SampleEnd {
  readonly ip: number;
  readonly place: number;
}

/**
 * Writes the instructions that ran between the branches of a stack, as `perf script -F brstackinsn` does without a
 * disassembler: addresses and bytes (`perf_sample__fprintf_brstackinsn` of tools/perf/builtin-script.c).
 */
export class BranchBlocks {
  /** Pieces of code that were wanted. */
  wanted = 0;
  /** Those that could not be read. */
  missing = 0;
  readonly #places: BlockPlaces;
  readonly #code: ObjectCodeReader;
  readonly #mode: InsnMode;
  readonly #decoder = new InsnDecoder();
  /** By place and bytes: the instructions. */
  readonly #blocks = new Map<string, readonly Insn[] | undefined>();
  // The function that was written last, as its object counts.
  #functionStart = 0;
  #functionEnd = 0;
  #cycles = 0;

  /**
   * Has read nothing yet.
   *
   * @param arch Of the recorded machine: one of x86.
   */
  constructor(places: BlockPlaces, code: ObjectCodeReader, arch: string | undefined) {
    this.#places = places;
    this.#code = code;
    this.#mode = /^(?:i[3-6]86|x86)$/.test(arch ?? "") ? 32 : 64;
  }

  /**
   * Writes the code of a sample.
   *
   * @param branches The last one first.
   * @param lengths Whether lengths of instructions are written as well.
   */
  put(
    text: ByteText,
    branches: readonly RecordedBranch[],
    { ip, place }: SampleEnd,
    lengths: boolean,
  ): void {
    const [last] = branches;
    const first = branches.at(-1);
    if (last === undefined || first === undefined) return;
    text.byte(0x0a);
    this.#functionStart = this.#functionEnd = this.#cycles = 0;
    // Where it was come from to the first one is not known.
    const [jump] = this.#block(first.fromPlace, first.from, first.from) ?? [];
    if (jump !== undefined) {
      this.#symbol(text, first.fromPlace, 0, -1);
      this.#jump(text, first.from, jump, first, 0, lengths);
    }
    for (let i = branches.length - 2; i >= 0; i--) {
      const { to: start, toPlace } = branches[i + 1] as RecordedBranch;
      let end = branches[i] as RecordedBranch;
      // Into the kernel and back, where only the way back was recorded.
      if (start !== 0 && end.from !== 0 && start < 0 !== end.from < 0 && i > 0) {
        end = branches[--i] as RecordedBranch;
      }
      const insns = this.#block(toPlace, start, end.from);
      if (insns === undefined) continue;
      const size = end.from - start;
      let reached = 0;
      for (const [number, insn] of insns.entries()) {
        reached = insn.at;
        this.#symbol(text, toPlace, insn.at, end.fromPlace);
        if (insn.at === size) {
          this.#jump(text, end.from, insn, end, number + 1, lengths);
          break;
        }
        this.#insn(text, start + insn.at, insn, lengths);
        if (insn.length === 0) break;
        reached += insn.length;
      }
      if (reached !== size) text.string("\tmismatch of LBR data and executable\n");
    }
    // A branch to itself, or an abort: what it led to did not run.
    if (last.from === ip || (last.flags & 8) !== 0) return;
    const start = last.to;
    const end = ip < start ? start + MISSING_BRANCH : ip;
    const insns = this.#block(last.toPlace, start, end);
    this.#symbol(text, last.toPlace, 0, place);
    if (insns === undefined) {
      const [only] = this.#block(place, ip, ip) ?? [];
      if (only !== undefined) this.#insn(text, ip, only, lengths);
      return;
    }
    for (const insn of insns) {
      if (insn.at > end - start) break;
      this.#insn(text, start + insn.at, insn, lengths);
      if (insn.length > 0 && insn.isBranch && start + insn.at !== ip) {
        text.string("\t... not reaching sample ...\n");
        break;
      }
    }
  }

  /** Writes the name of a function where another one begins. */
  #symbol(text: ByteText, place: number, distance: number, endPlace: number): void {
    if (place < 0) return;
    const address = this.#places.address(place) + distance;
    if (address >= this.#functionStart && address < this.#functionEnd) return;
    for (const known of [place, endPlace]) {
      const range = this.#places.functionRange(known);
      if (range === undefined || address < range.start || address >= range.end) continue;
      this.#functionStart = range.start;
      this.#functionEnd = range.end;
      text.byte(0x09);
      this.#places.putSymbol(text, known);
      if (address !== range.start) text.string(`+${address - range.start}`);
      text.string(":\n");
      return;
    }
  }

  #insn(text: ByteText, address: number, insn: Insn, lengths: boolean): void {
    putAddress(text, address);
    text.string(insn.text);
    if (lengths) text.string(`\tilen: ${insn.length}`);
    text.byte(0x0a);
  }

  /** Writes a branch, the last of `count` instructions. */
  #jump(
    text: ByteText,
    address: number,
    insn: Insn,
    { flags, counters }: RecordedBranch,
    count: number,
    lengths: boolean,
  ): void {
    putAddress(text, address);
    text.string(insn.text.padEnd(30));
    text.byte(0x09);
    if (lengths) text.string(`ilen: ${insn.length}\t`);
    if (counters !== undefined) text.string(counters);
    text.byte(0x23);
    if ((flags & 2) !== 0) text.string(" PRED");
    if ((flags & 1) !== 0) text.string(" MISPRED");
    if ((flags & 4) !== 0) text.string(" INTX");
    if ((flags & 8) !== 0) text.string(" ABORT");
    const cycles = flags >>> 4 & 0xffff;
    if (cycles > 0) {
      this.#cycles += cycles;
      text.string(` ${cycles} cycles [${this.#cycles}]`);
      if (count > 0) text.string(` ${twoDigits(Math.fround(count / cycles))} IPC`);
    }
    text.byte(0x0a);
  }

  /**
   * The instructions from a place on up to an address, and some more; `undefined` if there is no code.
   */
  #block(place: number, start: number, end: number): readonly Insn[] | undefined {
    if (start === 0 || end === 0 || start < 0 !== end < 0) return undefined;
    if (!(end >= start) || end - start > MAXBB - MAXINSN) return undefined;
    this.wanted++;
    const key = `${place} ${end - start}`;
    let block = this.#blocks.get(key);
    if (block === undefined && !this.#blocks.has(key)) {
      if (this.#blocks.size === KEPT) this.#blocks.clear();
      this.#blocks.set(key, block = this.#read(place, end - start));
    }
    if (block === undefined) this.missing++;
    return block;
  }

  #read(place: number, size: number): readonly Insn[] | undefined {
    const places = this.#places;
    const object = place < 0 ? undefined : places.object(place);
    if (object === undefined) return undefined;
    const bytes = this.#bytes(object, places.address(place), size, places.time?.(place));
    if (bytes === undefined) return undefined;
    const insns: Insn[] = [];
    const decoder = this.#decoder;
    // Where no instruction is at the end, perf goes on through all that it has read.
    for (let at = 0; at < bytes.length;) {
      const length = Math.max(0, decoder.decode(bytes, at, bytes.length, this.#mode));
      const hex = Array.from(
        bytes.subarray(at, at + length),
        (byte) => `${byte.toString(16).padStart(2, "0")} `,
      );
      const text = length === 0 ? "<bad>" : `insn: ${hex.join("")}`;
      insns.push({ at, length, text, isBranch: !PLAIN.has(decoder.kind) });
      if (length === 0) break;
      at += length;
    }
    return insns;
  }

  /** Code with what the longest instruction would take more, as far as the file has it. */
  #bytes(object: SymbolObject, start: number, size: number, time?: number): Uint8Array | undefined {
    for (let more = MAXINSN; more > 0; more--) {
      const found = this.#code.read(object, start, size + more, time);
      if (!("missing" in found)) return found.bytes;
    }
    return undefined;
  }
}

function putAddress(text: ByteText, address: number): void {
  const hi = Math.floor(address / 2 ** 32);
  const half = (value: number) => (value >>> 0).toString(16).padStart(8, "0");
  text.string(`\t${half(hi)}${half(address - hi * 2 ** 32)}\t`);
}

/** A float with two digits after the point, as C rounds it: halves to even ones. */
function twoDigits(value: number): string {
  const scaled = value * 100;
  const floor = Math.floor(scaled);
  const rest = scaled - floor;
  const hundredths = rest > 0.5 || (rest === 0.5 && floor % 2 === 1) ? floor + 1 : floor;
  return `${Math.floor(hundredths / 100)}.${String(hundredths % 100).padStart(2, "0")}`;
}
