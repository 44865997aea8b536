/**
 * A section that can be read in parts, so that a file of a gigabyte is not loaded for one address.
 */
export interface SectionSource {
  /** Length of the section in bytes. */
  readonly size: number;
  /**
   * The bytes `[offset, offset + length)`; always inside `[0, size)`. The array is kept, so it must
   * not be overwritten later.
   */
  read(offset: number, length: number): Uint8Array;
}

/**
 * Where DWARF comes from: the sections of one file, by name, decompressed.
 *
 * @example
 * ```ts
 * import { DwarfContext, type DwarfSections } from "@perfdata/symbols";
 *
 * const sections: DwarfSections = { littleEndian: true, get: () => undefined };
 * console.assert(DwarfContext.open(sections).find(0x1000).length === 0);
 * ```
 */
export interface DwarfSections {
  /** Byte order of the file. */
  readonly littleEndian: boolean;
  /** The whole section, decompressed (and relocated, in a relocatable file), or `undefined`. */
  get(name: string): Uint8Array | undefined;
  /** The section for reading in parts, or `undefined` where only {@link get} can give it. */
  open?(name: string): SectionSource | undefined;
}
