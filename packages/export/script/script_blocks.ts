import { InsnDecoder, InsnKind, type InsnMode } from "@perfdata/intel-pt";
import type { Engine } from "@perfdata/session";
import type { ObjectCodeReader } from "@perfdata/session/code";
import type { SymbolObject } from "@perfdata/symbols/resolver";
import type { ByteText } from "@perfdata/format/bytes";
import type { ScriptPlaces } from "./script_places.ts";

/** Bytes of the longest piece of code that perf prints, and of the longest instruction. */
const MAXBB = 16384, MAXINSN = 15;
/** Distance in which perf looks for a missing branch. */
const MISSING_BRANCH = 128;
/** Limit of cached pieces of code. */
const KEPT = 1 << 16;

/** Instructions that are not branches. */
const PLAIN: ReadonlySet<number> = new Set([
  InsnKind.OTHER,
  InsnKind.PTWRITE,
  InsnKind.MOV_CR3,
  InsnKind.VM_CALL,
]);

/** An instruction in a piece of code. */
interface Insn {
  readonly at: number;
  /** Length in bytes; 0 if it is invalid. */
  readonly length: number;
  /** Bytes in perf's format. */
  readonly text: string;
  readonly isBranch: boolean;
}

export interface RecordedBranch {
  /** Exact addresses; upper halves are signed. */
  readonly from: number;
  readonly to: number;
  /** Places of the addresses; -1 if unmapped. */
  readonly fromPlace: number;
  readonly toPlace: number;
  /** Low half of the flags. */
  readonly flags: number;
  /** Text of the counters, if they are printed. */
  readonly counters?: string;
}

/** Look-up of branches' places: of an engine, or of an Intel PT trace. */
export interface BlockPlaces {
  /** The object of a place; `undefined` if it is unmapped. */
  object(place: number): SymbolObject | undefined;
  address(place: number): number;
  /**
   * Time of a place's first occurrence in ns, for JIT-compiled code whose object has no version.
   */
  time?(place: number): number;
  functionRange(place: number): { readonly start: number; readonly end: number } | undefined;
  /** Writes the name of the function at a place. */
  putSymbol(text: ByteText, place: number): void;
}

export function recordedPlaces({ places }: Engine, names: ScriptPlaces): BlockPlaces {
  return {
    object: (place) => places.objects[places.object(place)],
    address: (place) => places.address(place),
    functionRange: (place) => names.functionRange(place),
    putSymbol: (text, place) => names.putSymbol(text, place, false),
  };
}

/** The sampled address, which ends the last piece of code. */
export interface SampleEnd {
  readonly ip: number;
  readonly place: number;
}

/**
 * Writes the instructions between the branches of a stack in the format of `perf script -F
 * brstackinsn` without a disassembler: addresses and bytes (`perf_sample__fprintf_brstackinsn` of
 * tools/perf/builtin-script.c).
 */
export class BranchBlocks {
  /** Number of pieces of code. */
  wanted = 0;
  /** Number of unreadable pieces. */
  missing = 0;
  readonly #places: BlockPlaces;
  readonly #code: ObjectCodeReader;
  readonly #mode: InsnMode;
  readonly #decoder = new InsnDecoder();
  /** Instructions by place and number of bytes. */
  readonly #blocks = new Map<string, readonly Insn[] | undefined>();
  // Range of the function that was written last, as addresses in the object.
  #functionStart = 0;
  #functionEnd = 0;
  #cycles = 0;

  /**
   * Creates the writer.
   *
   * @param arch Architecture of the recorded machine, an x86 one.
   */
  constructor(places: BlockPlaces, code: ObjectCodeReader, arch: string | undefined) {
    this.#places = places;
    this.#code = code;
    this.#mode = /^(?:i[3-6]86|x86)$/.test(arch ?? "") ? 32 : 64;
  }

  /**
   * Writes the code of a sample.
   *
   * @param branches The branches, last one first.
   * @param lengths Whether to print lengths of instructions.
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
    // The code before the first branch is unknown.
    const [jump] = this.#block(first.fromPlace, first.from, first.from) ?? [];
    if (jump !== undefined) {
      this.#symbol(text, first.fromPlace, 0, -1);
      this.#jump(text, first.from, jump, first, 0, lengths);
    }
    for (let i = branches.length - 2; i >= 0; i--) {
      const { to: start, toPlace } = branches[i + 1] as RecordedBranch;
      let end = branches[i] as RecordedBranch;
      // Into the kernel and back, with only the way back recorded.
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
    // After a branch to itself, or an abort, the target did not run.
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

  /** Writes the name of the function if it differs from the one before. */
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
   * The instructions from a place to an address and a little beyond; `undefined` if there is no
   * code.
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
    // If no instruction begins at the end, perf continues through all bytes that it read.
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

  /** Reads code with room for one more instruction, as far as the file has it. */
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

/** Formats a float with two decimals, rounding halves to even as C does. */
function twoDigits(value: number): string {
  const scaled = value * 100;
  const floor = Math.floor(scaled);
  const rest = scaled - floor;
  const hundredths = rest > 0.5 || (rest === 0.5 && floor % 2 === 1) ? floor + 1 : floor;
  return `${Math.floor(hundredths / 100)}.${String(hundredths % 100).padStart(2, "0")}`;
}
