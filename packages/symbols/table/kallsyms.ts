import { byteAt, enlarge, floatAt, numberAt, uintAt } from "@perfdata/format/bytes";
import { type Address, addressFromHalves } from "../resolver/address.ts";
import { STB, STT } from "../elf/elf_constants.ts";
import { lowerBound, upperBound } from "./sorted_numbers.ts";
import type { SymbolTable } from "./symbol_table.ts";
import { type SymbolNameBytes, SymbolTableBuilder } from "./symbol_table_builder.ts";
import { HEX_DIGITS, HexField } from "./text_lines.ts";

/** The symbols in a list of kernel symbols. */
export interface Kallsyms {
  /**
   * Symbols of kernel and modules. A symbol's group is its index in {@linkcode Kallsyms.modules}.
   */
  readonly table: SymbolTable;
  /** Names of the modules without brackets; entry 0 is `""`, the kernel itself. */
  readonly modules: readonly string[];
  /** Whether all addresses are 0: `kptr_restrict` hid them from the user who made the copy. */
  readonly restricted: boolean;
  /** Number of lines that are not `address type name`. */
  readonly malformed: number;
}

const SPACE = 0x20;
const TAB = 0x09;
const NEWLINE = 0x0a;

/**
 * Reads `/proc/kallsyms` or a copy: lines of address, type letter, name, and `[module]` after a
 * tab.
 *
 * As in `perf` (`map__process_kallsym_symbol` of tools/perf/util/symbol.c), symbols of the types T,
 * W, D and B in either case are used, a symbol extends to the next one, and the last of several at
 * one address is kept.
 *
 * @param bytes the text
 *
 * @example
 * ```ts
 * import { addressFromBigInt } from "@perfdata/symbols/resolver";
 * import { readKallsyms } from "@perfdata/symbols";
 * import { assertEquals } from "@std/assert";
 *
 * const kallsyms = readKallsyms(new TextEncoder().encode(
 *   "ffffffff81000000 T _stext\nffffffff81000100 t do_work\nffffffffc0000000 t init\t[ext4]\n",
 * ));
 * const index = kallsyms.table.lookup(addressFromBigInt(0xffffffff81000180n));
 * assertEquals(kallsyms.table.name(index), "do_work");
 * assertEquals(kallsyms.modules, ["", "ext4"]);
 * ```
 */
export function readKallsyms(bytes: Uint8Array): Kallsyms {
  // Lines with an address, a letter, and a name have some 32 bytes.
  const builder = new KallsymsBuilder(bytes, bytes.length >> 5);
  const line = new SymbolLine(bytes);
  let lines = 0;
  let restricted = true;
  while (line.next()) {
    lines++;
    if (line.address !== 0) restricted = false;
    builder.add(line);
  }
  const { malformed } = line;
  restricted &&= lines > 0;
  if (restricted) {
    const table = new SymbolTableBuilder().build();
    return { table, modules: [""], restricted, malformed };
  }
  return { table: builder.build(), modules: builder.modules, restricted, malformed };
}

/**
 * Whether all addresses are 0 ({@linkcode Kallsyms.restricted}). Stops at the first other address.
 */
export function isKallsymsRestricted(bytes: Uint8Array): boolean {
  const line = new SymbolLine(bytes);
  let lines = 0;
  while (line.next()) {
    if (line.address !== 0) return false;
    lines++;
  }
  return lines > 0;
}

/**
 * Reads only the symbols that the look-up of some addresses needs. The results equal those in the
 * table of {@linkcode readKallsyms}, several times sooner. Groups other than 0 (the kernel) have
 * other numbers.
 *
 * @param bytes the text
 * @param addresses the addresses that will be looked up, sorted
 *
 * @example
 * ```ts
 * import { addressFromBigInt } from "@perfdata/symbols/resolver";
 * import { readKallsymsAt } from "@perfdata/symbols";
 * import { assertEquals } from "@std/assert";
 *
 * const address = addressFromBigInt(0xffffffff81000180n);
 * const table = readKallsymsAt(new TextEncoder().encode(
 *   "ffffffff81000000 T _stext\nffffffff81000100 t do_work\nffffffff81000200 t other\n",
 * ), Float64Array.of(address));
 * assertEquals(table.name(table.lookup(address)), "do_work");
 * ```
 */
export function readKallsymsAt(bytes: Uint8Array, addresses: Float64Array): SymbolTable {
  const lines = plainLines(bytes);
  if (lines === undefined) return readKallsyms(bytes).table;
  const { starts, offsets, runs } = lines;
  const asked = addresses.length;
  // The last and the first symbol between an address and the previous address.
  const last = new Float64Array(asked + 1).fill(-Infinity);
  const first = new Float64Array(asked + 1).fill(Infinity);
  for (let run = 0; run + 1 < runs.length; run++) {
    const end = numberAt(runs, run + 1);
    for (let i = numberAt(runs, run), at = 0; i < end;) {
      // The symbols from here to the next address, or all that are left.
      const start = floatAt(starts, i);
      at = lowerBound(addresses, start, at);
      const next = at === asked ? end : upperBound(starts, floatAt(addresses, at), i, end);
      if (start < floatAt(first, at)) first[at] = start;
      const latest = floatAt(starts, next - 1);
      if (latest > floatAt(last, at)) last[at] = latest;
      i = next;
    }
  }
  const deciding = new Float64Array(2 * asked);
  const before = new Float64Array(asked);
  for (let i = 0, start = -Infinity; i < asked; i++) {
    start = Math.max(start, floatAt(last, i));
    before[i] = start;
    deciding[i] = start;
  }
  for (let i = asked - 1, next = floatAt(first, asked); i >= 0; i--) {
    deciding[asked + i] = next;
    next = Math.min(next, floatAt(first, i));
  }
  deciding.sort();
  const builder = new KallsymsBuilder(bytes, deciding.length);
  const line = new SymbolLine(bytes);
  for (let run = 0; run + 1 < runs.length; run++) {
    const end = numberAt(runs, run + 1);
    for (let i = numberAt(runs, run), at = 0; i < end;) {
      at = lowerBound(deciding, floatAt(starts, i), at);
      if (at === deciding.length) break;
      const wanted = floatAt(deciding, at);
      i = lowerBound(starts, wanted, i, end);
      for (; i < end && floatAt(starts, i) === wanted; i++) {
        line.seek(uintAt(offsets, i));
        if (line.next()) builder.add(line);
      }
    }
  }
  const table = builder.build();
  for (let i = 0; i < asked; i++) {
    const address = floatAt(addresses, i);
    const start = floatAt(before, i);
    if (start === -Infinity || table.start(table.lookup(address)) === start) continue;
    // The previous symbol ends earlier. At a boundary of modules, an earlier symbol may extend
    // further.
    if (address - start < LONGEST_OVERLAP) return readKallsyms(bytes).table;
  }
  return table;
}

/** Largest computed size of a symbol that does not end at the next symbol. */
const LONGEST_OVERLAP = 2 * 4096;

/** The used symbols, in text order. */
interface PlainLines {
  readonly starts: Float64Array;
  /** Offsets of the lines in the text. */
  readonly offsets: Uint32Array;
  /**
   * The start of each run of ascending symbols, and at the end the number of symbols. The kernel's
   * own symbols are one run or two.
   */
  readonly runs: readonly number[];
}

/** The lines of a text; `undefined` if one does not have the kernel's format. */
function plainLines(bytes: Uint8Array): PlainLines | undefined {
  const { length } = bytes;
  // 16 digits, a space, a letter, a space, a name, a newline.
  const shortest = 20;
  const most = Math.ceil(length / (shortest + 1));
  let starts = new Float64Array(Math.min(most, (length >> 5) + 16));
  let offsets = new Uint32Array(starts.length);
  let count = 0;
  const runs: number[] = [];
  let previous = Infinity;
  for (let at = 0; at < length;) {
    // The last line of a copy may be truncated.
    if (length - at < shortest) return undefined;
    const hi = eightDigits(bytes, at);
    const lo = eightDigits(bytes, at + 8);
    const type = byteAt(bytes, at + 17);
    const upper = type & ~0x20;
    const name = byteAt(bytes, at + 19);
    if (
      !(hi >= 0 && lo >= 0) || bytes[at + 16] !== SPACE || bytes[at + 18] !== SPACE ||
      upper < 0x41 || upper > 0x5a || !(name > SPACE)
    ) return undefined;
    // T, W, D, B; without mapping symbols (`$`) of ARM modules
    if (
      (upper === 0x54 || upper === 0x57 || upper === 0x44 || upper === 0x42) && name !== 0x24
    ) {
      if (count === starts.length) {
        starts = enlarge(starts, most);
        offsets = enlarge(offsets, most);
      }
      const start = (hi | 0) * 4294967296 + lo;
      if (start < previous) runs.push(count);
      previous = start;
      starts[count] = start;
      offsets[count++] = at;
    }
    at += shortest;
    while (at < length && bytes[at] !== NEWLINE) at++;
    at++;
  }
  runs.push(count);
  return { starts, offsets, runs };
}

/** Parses eight hex digits. Returns a negative number or NaN for other characters. */
function eightDigits(bytes: Uint8Array, at: number): number {
  const a = HEX_DIGITS[byteAt(bytes, at)] as number;
  const b = HEX_DIGITS[byteAt(bytes, at + 1)] as number;
  const c = HEX_DIGITS[byteAt(bytes, at + 2)] as number;
  const d = HEX_DIGITS[byteAt(bytes, at + 3)] as number;
  const e = HEX_DIGITS[byteAt(bytes, at + 4)] as number;
  const f = HEX_DIGITS[byteAt(bytes, at + 5)] as number;
  const g = HEX_DIGITS[byteAt(bytes, at + 6)] as number;
  const h = HEX_DIGITS[byteAt(bytes, at + 7)] as number;
  // Other characters have the value -1.
  if ((a | b | c | d | e | f | g | h) < 0) return -1;
  return (a << 28 | b << 24 | c << 20 | d << 16 | e << 12 | f << 8 | g << 4 | h) >>> 0;
}

/** Collects the symbols of lines. */
class KallsymsBuilder {
  readonly modules = [""];
  readonly #bytes: Uint8Array;
  readonly #builder: SymbolTableBuilder;
  readonly #name: SymbolNameBytes;
  readonly #groups = new Map<string, number>();

  constructor(bytes: Uint8Array, capacity: number) {
    this.#bytes = bytes;
    this.#builder = new SymbolTableBuilder({ capacity });
    this.#name = { strings: this.#builder.addStrings(bytes), offset: 0, length: 0 };
  }

  /** Adds a line's symbol, if its type is used. */
  add({ address, type, nameStart, nameEnd, lineEnd }: SymbolLine): void {
    const upper = type & ~0x20;
    // T, W, D, B
    if (upper !== 0x54 && upper !== 0x57 && upper !== 0x44 && upper !== 0x42) return;
    if (this.#bytes[nameStart] === 0x24) return; // a mapping symbol of an ARM module
    const group = nameEnd < lineEnd ? this.#group(nameEnd, lineEnd) : 0;
    const weak = upper === 0x57;
    const binding = weak ? STB.WEAK : type === upper ? STB.GLOBAL : STB.LOCAL;
    const kind = weak || upper === 0x54 ? STT.FUNC : STT.OBJECT;
    this.#name.offset = nameStart;
    this.#name.length = nameEnd - nameStart;
    this.#builder.add(address, 0, this.#name, binding, kind, group);
  }

  /** Group number of the module in "\t[name]". */
  #group(start: number, end: number): number {
    const name = new TextDecoder().decode(this.#bytes.subarray(start + 2, end - 1));
    let group = this.#groups.get(name) ?? 0;
    if (group === 0 && this.modules.length < 65536) {
      group = this.modules.length;
      this.modules.push(name);
      this.#groups.set(name, group);
    }
    return group;
  }

  build(): SymbolTable {
    this.#builder.fixup({ splitGroups: true });
    return this.#builder.build();
  }
}

/**
 * Finds the address of a symbol of any type in `/proc/kallsyms` or a copy, such as `_text` or
 * `_stext`, which identify a relocated kernel.
 *
 * @returns `undefined` if there is no symbol with that name
 */
export function findKallsym(bytes: Uint8Array, name: string): Address | undefined {
  const wanted = new TextEncoder().encode(name);
  const line = new SymbolLine(bytes);
  while (line.next()) {
    const { nameStart, nameEnd } = line;
    if (nameEnd - nameStart !== wanted.length) continue;
    let i = 0;
    while (i < wanted.length && bytes[nameStart + i] === wanted[i]) i++;
    if (i === wanted.length) return line.address;
  }
  return undefined;
}

/** Iterates over lines without creating strings. */
class SymbolLine {
  address: Address = 0;
  type = 0;
  nameStart = 0;
  nameEnd = 0;
  lineEnd = 0;
  /** Number of lines so far that are not `address type name`. */
  malformed = 0;
  readonly #bytes: Uint8Array;
  readonly #field = new HexField();
  #at = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  /** Moves to the line at an offset. */
  seek(offset: number): void {
    this.#at = offset;
  }

  /** Reads the next line with a symbol. Returns false at the end. */
  next(): boolean {
    const bytes = this.#bytes;
    const field = this.#field;
    const { length } = bytes;
    while (this.#at < length) {
      const start = this.#at;
      const end = field.read(bytes, start, length);
      const nameStart = end + 3;
      const wellFormed = end >= 0 && bytes[end] === SPACE && bytes[end + 1] !== NEWLINE &&
        bytes[end + 2] === SPACE;
      let nameEnd = wellFormed ? nameStart : start;
      while (nameEnd < length && bytes[nameEnd] !== TAB && bytes[nameEnd] !== NEWLINE) nameEnd++;
      let lineEnd = nameEnd;
      while (lineEnd < length && bytes[lineEnd] !== NEWLINE) lineEnd++;
      this.#at = lineEnd + 1;
      if (lineEnd === start) continue;
      if (!wellFormed || nameStart >= lineEnd) {
        this.malformed++;
        continue;
      }
      this.address = addressFromHalves(field.hi, field.lo);
      this.type = bytes[end + 1] ?? 0;
      this.nameStart = nameStart;
      this.nameEnd = nameEnd;
      this.lineEnd = lineEnd;
      return true;
    }
    return false;
  }
}
