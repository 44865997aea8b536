/** Damage in a realistic place: within compressed debug sections. */
import { deflateSync } from "node:zlib";
import type { Random } from "./random.ts";

/** `sh_flags` of a section that begins with an Elf64_Chdr, and the size of that. */
const SHF_COMPRESSED = 0x800;
const CHDR_SIZE = 24;
/** Limit of the size to which a section is repeated or filled with zeros. */
const LARGEST = 1 << 26;

/**
 * A 64-bit little-endian ELF file with zlib-compressed debug sections, some many times as long:
 * repeated, or with zeros. A file without such sections is unchanged.
 */
export function packSections(elf: Uint8Array, random: Random): Uint8Array {
  if (elf.length < 64) return elf;
  const view = new DataView(elf.buffer, elf.byteOffset, elf.byteLength);
  const table = Number(view.getBigUint64(40, true));
  const count = view.getUint16(60, true);
  if (table + 64 * count > elf.length) return elf;
  const found: { at: number; bytes: Uint8Array }[] = [];
  for (let i = 0; i < count; i++) {
    const at = table + 64 * i;
    const offset = Number(view.getBigUint64(at + 24, true));
    const size = Number(view.getBigUint64(at + 32, true));
    const isLoaded = view.getBigUint64(at + 16, true) !== 0n;
    // Debug sections are PROGBITS that are not loaded.
    if (view.getUint32(at + 4, true) !== 1 || isLoaded || offset + size > elf.length) continue;
    const plain = lengthened(elf.subarray(offset, offset + size), random);
    const packed = deflateSync(plain, { level: 1 });
    const bytes = new Uint8Array(CHDR_SIZE + packed.length);
    const head = new DataView(bytes.buffer);
    head.setUint32(0, 1, true);
    head.setBigUint64(8, BigInt(plain.length), true);
    head.setBigUint64(16, 1n, true);
    bytes.set(packed, CHDR_SIZE);
    found.push({ at, bytes });
  }
  const size = found.reduce((sum, { bytes }) => sum + bytes.length, elf.length);
  const out = new Uint8Array(size);
  out.set(elf);
  const written = new DataView(out.buffer);
  let end = elf.length;
  for (const { at, bytes } of found) {
    out.set(bytes, end);
    const flags = written.getBigUint64(at + 8, true);
    written.setBigUint64(at + 8, flags | BigInt(SHF_COMPRESSED), true);
    written.setBigUint64(at + 24, BigInt(end), true);
    written.setBigUint64(at + 32, BigInt(bytes.length), true);
    end += bytes.length;
  }
  return out;
}

/** Usually the section itself. */
function lengthened(section: Uint8Array, random: Random): Uint8Array {
  const choice = random.below(8);
  if (choice > 1 || section.length === 0) return section;
  const long = new Uint8Array(Math.min(LARGEST, section.length << random.below(15)));
  if (choice === 0) {
    for (let at = 0; at < long.length; at += section.length) {
      long.set(section.subarray(0, long.length - at), at);
    }
  }
  return long;
}
