import type { BinarySource } from "./binary_source.ts";

/** A file opened by a {@linkcode SymbolFiles}, which the caller may close. */
export interface ClosableSource extends BinarySource {
  /** Closes it; where there is nothing to close, it may be missing. */
  close?(): void;
}

/** What is in a folder: a file, or a folder. */
export interface FolderEntry {
  /** Its name, without a path. */
  readonly name: string;
  /** Whether it is a folder. */
  readonly isFolder: boolean;
}

/** The files that a `SymbolResolver` can see. */
export interface SymbolFiles {
  /**
   * Opens a file.
   *
   * @returns `undefined` if there is none of that name
   * @throws {SymbolsError} if it is there and cannot be read
   */
  open(path: string): ClosableSource | undefined;
  /**
   * The whole of a file whose size may not be known beforehand; otherwise as `open`.
   *
   * @param limit the most bytes it may have
   * @throws {SymbolsError} if it cannot be read or has more
   */
  read(path: string, limit?: number): Uint8Array | undefined;
  /**
   * What is in a folder, without what is linked from elsewhere; nothing if it is none, or cannot be read.
   * Without this, files are found by their paths alone.
   */
  list?(folder: string): readonly FolderEntry[];
  /**
   * Whether a file belongs to another user, who is not root: anybody can write a file that goes by the
   * number of a process. Where it is missing, or that is not known, none does.
   */
  isForeign?(path: string): boolean;
}
