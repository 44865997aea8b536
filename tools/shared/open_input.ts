/** Opens the input of a command that shows samples: a recording, or a profile of another tool. */
import { type ByteSource, ForwardReader, isRandomAccess, putBack } from "@perfdata/format/bytes";
import { fileKind } from "@perfdata/format/constants";
import { type OpenOptions, openSource } from "@perfdata/format/files";
import type { ImportedKind } from "@perfdata/profile";

/** An input that was opened. */
export interface OpenedInput {
  /** All of it. */
  readonly source: ByteSource;
  /** The kind of a profile of another tool; `undefined` for all else. */
  readonly kind: ImportedKind | undefined;
}

/** Bytes of the magic number of a recording. */
const MAGIC_BYTES = 8;

/** Opens a file, or standard input for `-`, and tells by its first bytes whether it is a profile of another tool. */
export async function openInput(name: string, options: OpenOptions = {}): Promise<OpenedInput> {
  const source = openSource(name, options);
  const reader = new ForwardReader(source);
  const magic = new Uint8Array(MAGIC_BYTES);
  let start = magic.subarray(0, await reader.readFull(magic));
  let kind: ImportedKind | undefined;
  if (fileKind(start) !== "recording") {
    const { IMPORTED_KIND_BYTES, importedKind } = await import("@perfdata/profile");
    const more = new Uint8Array(IMPORTED_KIND_BYTES);
    more.set(start);
    start = more.subarray(0, start.length + await reader.readFull(more.subarray(start.length)));
    kind = importedKind(start);
  }
  return { source: isRandomAccess(source) ? source : putBack(source, start), kind };
}

/** Whether a file is a profile of another tool. */
export async function isImported(name: string): Promise<boolean> {
  return name !== "-" && (await openInput(name)).kind !== undefined;
}
