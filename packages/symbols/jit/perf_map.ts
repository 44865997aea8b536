import { addressFromHalves } from "../resolver/address.ts";
import type { SymbolTable } from "../table/symbol_table.ts";
import { SymbolTableBuilder } from "../table/symbol_table_builder.ts";
import { HexField } from "../table/text_lines.ts";

/** Symbols of a process whose JIT compiler writes a perf map. */
export interface PerfMap {
  /** The symbols. If ranges overlap, the later line wins, since its code is newer. */
  readonly table: SymbolTable;
  /** Number of lines that are not `start size name`. */
  readonly malformed: number;
}

/**
 * Reads `/tmp/perf-PID.map`: lines of start and size in hex, and a name that may contain spaces
 * (tools/perf/Documentation/jit-interface.txt).
 *
 * @param bytes the text
 *
 * @example
 * ```ts
 * import { readPerfMap } from "@perfdata/symbols";
 * import { assertEquals } from "@std/assert";
 *
 * const { table } = readPerfMap(new TextEncoder().encode("7f0000001000 40 LazyCompile:*f a.js:1\n"));
 * assertEquals(table.name(table.lookup(0x7f0000001020)), "LazyCompile:*f a.js:1");
 * ```
 */
export function readPerfMap(bytes: Uint8Array): PerfMap {
  const builder = new SymbolTableBuilder();
  const name = { strings: builder.addStrings(bytes), offset: 0, length: 0 };
  const start = new HexField();
  const size = new HexField();
  let malformed = 0;
  for (let at = 0; at < bytes.length;) {
    let end = bytes.indexOf(0x0a, at);
    if (end < 0) end = bytes.length;
    const next = end + 1;
    if (end > at && bytes[end - 1] === 0x0d) end--;
    if (end > at) {
      const afterStart = start.read(bytes, at, end);
      const afterSize = afterStart > 0 && bytes[afterStart] === 0x20
        ? size.read(bytes, afterStart + 1, end)
        : -1;
      if (afterSize < 0 || bytes[afterSize] !== 0x20 || afterSize + 1 >= end) malformed++;
      else {
        const address = addressFromHalves(start.hi, start.lo);
        const length = size.hi * 4294967296 + size.lo;
        name.offset = afterSize + 1;
        name.length = end - name.offset;
        builder.add(address, length, name);
      }
    }
    at = next;
  }
  return { table: builder.build("newest"), malformed };
}
