import { partitionPoint } from "@perfdata/format/bytes";

import type { BinarySource } from "../files/binary_source.ts";
import { BundleError, HEADER } from "./bundle_format.ts";
import { SymbolsError } from "../errors.ts";

/** Byte ranges of one file with code, for decoding a trace on another machine. */
export interface BundledFile {
  /** The path in the recording. */
  readonly path: string;
  /** The build id in hex; empty if the file has none. */
  readonly buildId: string;
  /** Size of the whole file in bytes. */
  readonly size: number;
  /** The byte ranges that the bundle holds, by offset. */
  readonly parts: readonly { readonly offset: number; readonly bytes: Uint8Array }[];
}

const HEAD = 8;
const FILE = 24;
const PART = 16;

/**
 * Encodes the CODE section of a bundle (docs/symbol-bundle.md).
 *
 * @param string Returns the index of a string.
 */
export function encodeBundleCode(
  files: readonly BundledFile[],
  string: (text: string) => number,
): Uint8Array {
  const sorted = [...files].sort((a, b) =>
    a.path < b.path || (a.path === b.path && a.buildId < b.buildId) ? -1 : 1
  );
  const parts = sorted.flatMap((file) => file.parts);
  let end = HEAD + FILE * sorted.length + PART * parts.length;
  const start = end;
  for (const { bytes } of parts) end += bytes.length;
  const out = new Uint8Array(end);
  const view = new DataView(out.buffer);
  view.setUint32(0, sorted.length, true);
  view.setUint32(4, parts.length, true);
  let first = 0;
  for (const [i, file] of sorted.entries()) {
    const at = HEAD + FILE * i;
    view.setUint32(at, string(file.path), true);
    view.setUint32(at + 4, string(file.buildId), true);
    view.setBigUint64(at + 8, BigInt(file.size), true);
    view.setUint32(at + 16, first, true);
    view.setUint32(at + 20, file.parts.length, true);
    first += file.parts.length;
  }
  let bytesAt = start;
  for (const [i, { offset, bytes }] of parts.entries()) {
    const at = HEAD + FILE * sorted.length + PART * i;
    view.setBigUint64(at, BigInt(offset), true);
    view.setUint32(at + 8, bytes.length, true);
    view.setUint32(at + 12, bytesAt, true);
    out.set(bytes, bytesAt);
    bytesAt += bytes.length;
  }
  return out;
}

/**
 * Decodes the CODE section of a bundle.
 *
 * @param bytes The whole bundle.
 * @param at Offset of the section; 0 if the bundle has none.
 * @param string Returns the string with a number.
 * @throws {BundleError} If the section does not fit into the bundle.
 */
export function decodeBundleCode(
  bytes: Uint8Array,
  at: number,
  string: (number: number) => string,
): BundledFile[] {
  if (at === 0) return [];
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const fail = (offset: number, what: string): BundleError =>
    new BundleError(offset, `0x${offset.toString(16)}: section code: ${what}`);
  if (at % 8 !== 0 || at < HEADER.END || at + HEAD > bytes.length) {
    throw fail(HEADER.CODE, `it is at ${at} of ${bytes.length} bytes, expected a multiple of 8`);
  }
  const fileCount = view.getUint32(at, true);
  const partCount = view.getUint32(at + 4, true);
  const table = at + HEAD + FILE * fileCount;
  if (table + PART * partCount > bytes.length) {
    throw fail(at, `${fileCount} files and ${partCount} parts are more than the file holds`);
  }
  const parts = Array.from({ length: partCount }, (_, i) => {
    const row = table + PART * i;
    const offset = Number(view.getBigUint64(row, true));
    const length = view.getUint32(row + 8, true);
    const from = at + view.getUint32(row + 12, true);
    if (!Number.isSafeInteger(offset + length) || from + length > bytes.length) {
      throw fail(row, `a part of ${length} bytes at ${from} is not in the file`);
    }
    return { offset, bytes: bytes.subarray(from, from + length) };
  });
  return Array.from({ length: fileCount }, (_, i) => {
    const row = at + HEAD + FILE * i;
    const first = view.getUint32(row + 16, true);
    const count = view.getUint32(row + 20, true);
    if (first + count > partCount) throw fail(row, `parts up to ${first + count} of ${partCount}`);
    return {
      path: string(view.getUint32(row, true)),
      buildId: string(view.getUint32(row + 4, true)),
      size: Number(view.getBigUint64(row + 8, true)),
      parts: parts.slice(first, first + count),
    };
  });
}

/**
 * A source of bytes that holds only some ranges of a file.
 *
 * @example
 * ```ts
 * import { partsSource } from "@perfdata/symbols";
 * import { assertEquals } from "@std/assert";
 *
 * const parts = [{ offset: 4096, bytes: Uint8Array.of(0x90, 0xc3) }];
 * const source = partsSource({ path: "a", buildId: "", size: 8192, parts });
 * assertEquals(source.read(4097, 1), Uint8Array.of(0xc3));
 * ```
 */
export function partsSource({ size, parts }: BundledFile): BinarySource {
  return {
    size,
    read(offset: number, length: number): Uint8Array {
      const part = parts[
        partitionPoint(0, parts.length, (i) => (parts[i]?.offset ?? 0) <= offset) - 1
      ];
      if (part === undefined || offset + length > part.offset + part.bytes.length) {
        throw new SymbolsError(offset, `the bundle does not have ${length} bytes at ${offset}`);
      }
      return part.bytes.subarray(offset - part.offset, offset - part.offset + length);
    },
  };
}

/**
 * The text of a source file in a bundle; `undefined` if the bundle does not have the file. Lines
 * that were not bundled are empty.
 *
 * @example
 * ```ts
 * import { bundledText } from "@perfdata/symbols";
 * import { assertEquals } from "@std/assert";
 *
 * const parts = [{ offset: 0, bytes: new TextEncoder().encode("\nint main() {") }];
 * const files = [{ path: "/src/a.c", buildId: "", size: 13, parts }];
 * assertEquals(bundledText(files, "/src/a.c"), "\nint main() {");
 * ```
 */
export function bundledText(code: readonly BundledFile[], path: string): string | undefined {
  const file = code.find((file) => file.path === path && file.buildId === "");
  const [part] = file?.parts ?? [];
  // Binaries have several ranges, or a range smaller than the file.
  if (part === undefined || part.bytes.length !== file?.size) return undefined;
  return new TextDecoder().decode(part.bytes);
}
