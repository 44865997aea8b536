import { type ByteSource, ForwardReader, isRandomAccess, putBack } from "@perfdata/format/bytes";
import { fileKind } from "@perfdata/format/constants";
import type { ImportedKind } from "@perfdata/profile";

/** An input, with its kind. */
export interface InputOfKind<S extends ByteSource> {
  /** The whole input. */
  readonly source: S | ByteSource;
  /** The kind of another tool's profile; `undefined` for other input, such as a recording. */
  readonly kind: ImportedKind | undefined;
}

/** Size of a recording's magic number in bytes. */
const MAGIC_BYTES = 8;

/**
 * Detects other tools' profiles by their first bytes.
 *
 * @example
 * ```ts
 * import { bytesSource } from "@perfdata/format";
 * import { inputKind } from "@perfdata/perfdata/collect";
 * import { assertEquals } from "@std/assert";
 *
 * const text = new TextEncoder().encode("demo;main;work 3\n");
 * assertEquals((await inputKind(bytesSource(text))).kind, "folded");
 * ```
 */
export async function inputKind<S extends ByteSource>(source: S): Promise<InputOfKind<S>> {
  const reader = new ForwardReader(source);
  const magic = new Uint8Array(MAGIC_BYTES);
  let start = magic.subarray(0, await reader.readFull(magic));
  let kind: ImportedKind | undefined;
  if (fileKind(start) !== "recording") {
    const { IMPORTED_KIND_BYTES, importedKind } = await import("./profile_calls.ts");
    const more = new Uint8Array(IMPORTED_KIND_BYTES);
    more.set(start);
    start = more.subarray(0, start.length + await reader.readFull(more.subarray(start.length)));
    kind = importedKind(start);
  }
  return { source: isRandomAccess(source) ? source : putBack(source, start), kind };
}
