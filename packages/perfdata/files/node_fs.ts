/** A path: text, or bytes if its name is not UTF-8. Deno finds no files by bytes that are not UTF-8. */
export type FilePath = string | Uint8Array;

/** The used part of `node:fs`, which Node, Bun and Deno have. */
export interface NodeFs {
  /** Opens a file for reading, or, with `w`, an empty one for writing. */
  openSync(path: FilePath, flags?: "w"): number;
  /** Reads at a place; fewer bytes than asked for, 0 at the end. */
  readSync(fd: number, into: Uint8Array, offset: number, length: number, position: number): number;
  /** Writes at a place; maybe fewer bytes than were given. */
  writeSync(fd: number, from: Uint8Array, offset: number, length: number, position: number): number;
  /** Closes a file. */
  closeSync(fd: number): void;
  /** What a path names. */
  statSync(path: FilePath): Stats;
  /** What a path names, a link itself. */
  lstatSync(path: FilePath): Stats;
  /** Names in a directory. */
  readdirSync(path: FilePath): string[];
  /** All of a file. */
  readFileSync(path: string): Uint8Array;
}

/** The used part of `fs.Stats`. */
export interface Stats {
  /** Bytes. */
  readonly size: number;
  /** Who owns it. */
  readonly uid: number;
  /** Whether it is a regular file. */
  isFile(): boolean;
  /** Whether it is a directory. */
  isDirectory(): boolean;
}

/** What is used of `process`. */
interface Process {
  getBuiltinModule?(name: string): unknown;
  getuid?(): number;
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** The process that runs this; `undefined` in a browser. */
export function ownProcess(): Process | undefined {
  return (globalThis as { readonly process?: Process }).process;
}

/**
 * The files of this machine. A static import of `node:fs` would keep the package from browsers.
 *
 * @throws {TypeError} In a browser.
 */
export function nodeFs(): NodeFs {
  const found = ownProcess()?.getBuiltinModule?.("node:fs") as NodeFs | undefined;
  if (found === undefined) {
    throw new TypeError(
      "a path needs Deno, Node (from 20.16 on) or Bun: give a File or bytes here",
    );
  }
  return found;
}
