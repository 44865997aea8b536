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
  const builder = new SymbolTableBuilder();
  const strings = builder.addStrings(bytes);
  const modules = [""];
  const moduleIndex = new Map<string, number>();
  let malformed = 0;
  let lines = 0;
  let restricted = true;
  forEachSymbol(bytes, (address, type, nameStart, nameEnd, lineEnd) => {
    if (nameStart < 0) {
      malformed++;
      return;
    }
    lines++;
    if (address !== 0) restricted = false;
    const upper = type & ~0x20;
    // T, W, D, B
    if (upper !== 0x54 && upper !== 0x57 && upper !== 0x44 && upper !== 0x42) return;
    if (bytes[nameStart] === 0x24) return; // `$`: mapping symbols of ARM modules
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
  });
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
  let found: Address | undefined;
  forEachSymbol(bytes, (address, _type, nameStart, nameEnd) => {
    if (found !== undefined || nameEnd - nameStart !== wanted.length || nameStart < 0) return;
    for (let i = 0; i < wanted.length; i++) if (bytes[nameStart + i] !== wanted[i]) return;
    found = address;
  });
  return found;
}

/** Calls back for each line that is not empty; with `nameStart` −1 if it is malformed. */
function forEachSymbol(
  bytes: Uint8Array,
  each: (
    address: Address,
    type: number,
    nameStart: number,
    nameEnd: number,
    lineEnd: number,
  ) => void,
): void {
  const field = new HexField();
  for (let at = 0; at < bytes.length;) {
    let lineEnd = bytes.indexOf(NEWLINE, at);
    if (lineEnd < 0) lineEnd = bytes.length;
    const next = lineEnd + 1;
    if (lineEnd > at) {
      const end = field.read(bytes, at, lineEnd);
      const nameStart = end + 3;
      if (
        end < 0 || bytes[end] !== SPACE || bytes[end + 2] !== SPACE || nameStart >= lineEnd
      ) {
        each(0, 0, -1, -1, lineEnd);
      } else {
        let nameEnd = nameStart;
        while (nameEnd < lineEnd && bytes[nameEnd] !== TAB) nameEnd++;
        each(
          addressFromHalves(field.hi, field.lo),
          bytes[end + 1] ?? 0,
          nameStart,
          nameEnd,
          lineEnd,
        );
      }
    }
    at = next;
  }
}
