import { type ByteSource, ForwardReader, isRandomAccess, putBack } from "@perfdata/format/bytes";
import { fileKind } from "@perfdata/format/constants";
import type { ImportedKind } from "@perfdata/profile";
import { areTables, type ReadyInput, type TableFiles } from "./ready_profile.ts";

/** An input, with its kind: one that has a profile, or other input, such as a recording. */
export type InputOfKind<S extends ByteSource> = ReadyInput | {
  /** The whole input. */
  readonly source: S | ByteSource;
  readonly kind: undefined;
};

/** Size of a recording's magic number in bytes. */
const MAGIC_BYTES = 8;

/**
 * Detects what an input is: tables, or by its first bytes a profile of another tool.
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
export async function inputKind<S extends ByteSource>(
  input: S | TableFiles,
): Promise<InputOfKind<S>> {
  if (areTables(input)) return { source: input, kind: "tables" };
  const reader = new ForwardReader(input);
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
  const source = isRandomAccess(input) ? input : putBack(input, start);
  return kind === undefined ? { source, kind } : { source, kind };
}

/** Whether an input can be read again. */
export function isAgain({ source, kind }: InputOfKind<ByteSource>): boolean {
  return kind === "tables" || isRandomAccess(source);
}
