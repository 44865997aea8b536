import { NT_GNU_BUILD_ID } from "./elf_constants.ts";

/** Limit of a build id's length. Usually it is a SHA-1 of 20 bytes. */
const MAX_BUILD_ID = 64;

/**
 * Finds the build id among ELF notes (`Elf32_Nhdr`: three 32-bit words, then owner and descriptor,
 * each padded).
 *
 * @param notes the bytes of a note section or a `PT_NOTE` segment
 * @param littleEndian byte order of the file
 * @param align padding of owner and descriptor: 4, or 8 if the segment has that alignment
 * @returns lower-case hex; `undefined` if there is no complete build id note
 *
 * @example
 * ```ts
 * import { buildIdOfNotes } from "@perfdata/symbols";
 * import { assertEquals } from "@std/assert";
 *
 * const note = Uint8Array.of(4, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, 0x47, 0x4e, 0x55, 0, 0xab, 0xcd, 0, 0);
 * assertEquals(buildIdOfNotes(note, true, 4), "abcd");
 * ```
 */
export function buildIdOfNotes(
  notes: Uint8Array,
  littleEndian: boolean,
  align: 4 | 8,
): string | undefined {
  const data = new DataView(notes.buffer, notes.byteOffset, notes.byteLength);
  let at = 0;
  while (at + 12 <= notes.length) {
    const namesz = data.getUint32(at, littleEndian);
    const descsz = data.getUint32(at + 4, littleEndian);
    const type = data.getUint32(at + 8, littleEndian);
    const name = at + 12;
    const desc = padded(name + namesz, align);
    if (desc + descsz > notes.length) return undefined;
    const gnu = namesz === 4 && notes[name] === 0x47 && notes[name + 1] === 0x4e &&
      notes[name + 2] === 0x55 && notes[name + 3] === 0;
    if (gnu && type === NT_GNU_BUILD_ID && descsz > 0 && descsz <= MAX_BUILD_ID) {
      let id = "";
      for (let i = desc; i < desc + descsz; i++) {
        id += (notes[i] ?? 0).toString(16).padStart(2, "0");
      }
      return id;
    }
    at = padded(desc + descsz, align);
  }
  return undefined;
}

function padded(offset: number, align: number): number {
  return Math.ceil(offset / align) * align;
}
