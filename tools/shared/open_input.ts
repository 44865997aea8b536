/** Opens the input of a command that shows samples: a recording, or another tool's profile. */
import { type ByteSource, ForwardReader, isRandomAccess, putBack } from "@perfdata/format/bytes";
import { fileKind } from "@perfdata/format/constants";
import { type OpenOptions, openSource } from "@perfdata/format/files";
import type { ImportedKind } from "@perfdata/profile";

export interface OpenedInput {
  /** The whole input. */
  readonly source: ByteSource;
  /** The kind of another tool's profile; `undefined` for other input. */
  readonly kind: ImportedKind | undefined;
}

/** Size of a recording's magic number in bytes. */
const MAGIC_BYTES = 8;

/**
 * Opens a file, or standard input for `-`, and detects other tools' profiles by their first bytes.
 */
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
