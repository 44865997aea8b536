import { type Address, addressFromHalves } from "./address.ts";
import { STB, STT } from "./elf/constants.ts";
import { type SymbolTable, SymbolTableBuilder } from "./symbol_table.ts";
import { HexField } from "./text_lines.ts";

/** The symbols of a running kernel. */
export interface Kallsyms {
  /**
   * Symbols of kernel and modules. The group of a symbol is its index in
   * {@linkcode Kallsyms.modules}.
   */
  readonly table: SymbolTable;
  /** Names of the modules, as in `[name]`, without brackets; entry 0 is `""`, the kernel itself. */
  readonly modules: readonly string[];
  /** All addresses read as 0: `kptr_restrict` kept them from whoever made the copy. */
  readonly restricted: boolean;
  /** Lines that are not `address type name`. */
  readonly malformed: number;
}

const SPACE = 0x20;
const TAB = 0x09;
const NEWLINE = 0x0a;

/**
 * Reads `/proc/kallsyms` or a copy of it: lines of address, type letter, name, and `[module]` after
 * a tab.
 *
 * As in `perf` (`map__process_kallsym_symbol` of tools/perf/util/symbol.c): symbols of the types T,
 * W, D and B of either case count, a symbol reaches to the next one, and of several at one address
 * the last is kept.
 *
 * @param bytes the text
 *
 * @example
 * ```ts
 * import { addressFromBigInt, readKallsyms } from "@perfdata/symbols";
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
  // A line is an address, a letter, and a name of some 20 bytes.
  const builder = new SymbolTableBuilder({ capacity: bytes.length >> 5 });
  const strings = builder.addStrings(bytes);
  const modules = [""];
  const moduleIndex = new Map<string, number>();
  const line = new SymbolLine(bytes);
  let lines = 0;
  let restricted = true;
  while (line.next()) {
    lines++;
    const { address, type, nameStart, nameEnd, lineEnd } = line;
    if (address !== 0) restricted = false;
    const upper = type & ~0x20;
    // T, W, D, B
    if (upper !== 0x54 && upper !== 0x57 && upper !== 0x44 && upper !== 0x42) continue;
    if (bytes[nameStart] === 0x24) continue; // `$`: mapping symbols of ARM modules
    let group = 0;
    if (nameEnd < lineEnd) {
      // "\t[name]"
      const name = new TextDecoder().decode(bytes.subarray(nameEnd + 2, lineEnd - 1));
      group = moduleIndex.get(name) ?? 0;
      if (group === 0 && modules.length < 65536) {
        group = modules.length;
        modules.push(name);
        moduleIndex.set(name, group);
      }
    }
    const weak = upper === 0x57;
    const binding = weak ? STB.WEAK : type === upper ? STB.GLOBAL : STB.LOCAL;
    const kind = weak || upper === 0x54 ? STT.FUNC : STT.OBJECT;
    builder.add(address, 0, strings, nameStart, nameEnd - nameStart, binding, kind, group);
  }
  const { malformed } = line;
  restricted &&= lines > 0;
  if (restricted) {
    const table = new SymbolTableBuilder().build();
    return { table, modules: [""], restricted, malformed };
  }
  builder.fixup({ splitGroups: true });
  return { table: builder.build(), modules, restricted, malformed };
}

/**
 * Finds the address of one symbol in `/proc/kallsyms` or a copy of it, of any type: `_text` or
 * `_stext`, by which a relocated kernel is recognised.
 *
 * @returns the address, or `undefined` if there is no symbol of that name
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

/** Goes through the lines, without a string for any. */
class SymbolLine {
  address: Address = 0;
  type = 0;
  nameStart = 0;
  nameEnd = 0;
  lineEnd = 0;
  /** Lines met so far that are not `address type name`. */
  malformed = 0;
  readonly #bytes: Uint8Array;
  readonly #field = new HexField();
  #at = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  /** Reads the next line that holds a symbol; returns whether there was one. */
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
