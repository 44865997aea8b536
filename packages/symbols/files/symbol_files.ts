import type { BinarySource } from "./binary_source.ts";

/** A file opened by {@linkcode SymbolFiles}. */
export interface ClosableSource extends BinarySource {
  /** Closes the file. Missing if there is nothing to close. */
  close?(): void;
}

/** An entry of a folder. */
export interface FolderEntry {
  /** Name without a path. */
  readonly name: string;
  /** Whether the entry is a folder. */
  readonly isFolder: boolean;
}

/** The files that a `SymbolResolver` can access. */
export interface SymbolFiles {
  /**
   * Opens a file.
   *
   * @returns `undefined` if it does not exist
   * @throws {SymbolsError} If it is unreadable.
   */
  open(path: string): ClosableSource | undefined;
  /**
   * Reads a whole file, whose size may be unknown in advance.
   *
   * @param limit limit of its size
   * @throws {SymbolsError} if it is unreadable or exceeds the limit
   */
  read(path: string, limit?: number): Uint8Array | undefined;
  /**
   * The entries of a folder, without links; empty if it is not a folder, or unreadable. Without
   * this method, files are found only by path.
   */
  list?(folder: string): readonly FolderEntry[];
  /**
   * Whether a file belongs to another user than this one and root. Any user can write a file for
   * another user's process id. If this method is missing, or the owner unknown, no file is foreign.
   */
  isForeign?(path: string): boolean;
}
