/**
 * DWARF that cannot be read: what was being read, what was found, and where.
 *
 * The message begins with the section and the offset in it, `.debug_info: 0x1a40: …`.
 *
 * @example
 * ```ts
 * import { DwarfError } from "@perfdata/symbols";
 *
 * const error = new DwarfError(".debug_info", 0x1a40, "abbreviation 7 is not in the table");
 * console.assert(error.message === ".debug_info: 0x1a40: abbreviation 7 is not in the table");
 * ```
 */
export class DwarfError extends Error {
  /** Always `"DwarfError"`. */
  override readonly name = "DwarfError";
  /** Name of the section, such as `.debug_info`. */
  readonly section: string;
  /** Byte offset in that section (after decompression). */
  readonly offset: number;

  /** `section` and `offset` say where, `what` says what was found and what was expected. */
  constructor(section: string, offset: number, what: string) {
    super(`${section}: 0x${offset.toString(16)}: ${what}`);
    this.section = section;
    this.offset = offset;
  }
}
