import type { BinarySource } from "../files/binary_source.ts";

/**
 * Source of DWARF: the decompressed sections of one file, by name.
 *
 * {@linkcode elfDwarfSections} makes it from an ELF file.
 *
 * @example
 * ```ts
 * import { DwarfContext } from "@perfdata/symbols";
 * import { type DwarfSections } from "@perfdata/symbols/dwarf";
 * import { assertEquals } from "@std/assert";
 *
 * const sections: DwarfSections = { littleEndian: true, get: () => undefined };
 * assertEquals(DwarfContext.open(sections).find(0x1000), []);
 * ```
 */
export interface DwarfSections {
  /** Byte order of the file. */
  readonly littleEndian: boolean;
  /** The whole section, decompressed (and relocated, in a relocatable file), or `undefined`. */
  get(name: string): Uint8Array | undefined;
  /** The section for reading in parts, or `undefined` if only `get` can give it. */
  open?(name: string): BinarySource | undefined;
}
