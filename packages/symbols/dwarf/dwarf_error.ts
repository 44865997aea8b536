import { SymbolsError } from "../errors.ts";

/**
 * Unreadable DWARF.
 *
 * The message begins with section and offset: `.debug_info: 0x1a40: …`.
 *
 * @example
 * ```ts
 * import { DwarfError } from "@perfdata/symbols/dwarf";
 * import { assertEquals } from "@std/assert";
 *
 * const error = new DwarfError(".debug_info", 0x1a40, "abbreviation 7 is not in the table");
 * assertEquals(error.message, ".debug_info: 0x1a40: abbreviation 7 is not in the table");
 * ```
 */
export class DwarfError extends SymbolsError {
  /** The name of the class. */
  override name = "DwarfError";
  /** Name of the section, such as `.debug_info`; `offset` counts in its decompressed bytes. */
  readonly section: string;

  /**
   * Creates an error at an offset of a section.
   *
   * @param what The found value, and the expected one.
   */
  constructor(section: string, offset: number, what: string) {
    super(offset, `${section}: 0x${offset.toString(16)}: ${what}`);
    this.section = section;
  }
}
