import type { BinarySource } from "../files/binary_source.ts";

/**
 * The decompressed debug sections of one file, by name.
 *
 * {@linkcode elfDwarfSections} makes them from an ELF file.
 *
 * @example
 * ```ts
 * import { DwarfContext, type DwarfSections } from "@perfdata/symbols/dwarf";
 * import { assertEquals } from "@std/assert";
 *
 * const sections: DwarfSections = { littleEndian: true, get: () => undefined };
 * assertEquals(DwarfContext.open(sections).find(0x1000), []);
 * ```
 */
export interface DwarfSections {
  /** Byte order of the file. */
  readonly littleEndian: boolean;
  /**
   * The whole section, decompressed (in a relocatable file, relocated); `undefined` if it is
   * missing.
   */
  get(name: string): Uint8Array | undefined;
  /** The section for reading in parts; `undefined` if only `get` supports it. */
  open?(name: string): BinarySource | undefined;
}
