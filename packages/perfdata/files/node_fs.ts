/** A path as text, or as bytes if its name is not UTF-8. Deno cannot open files by such bytes. */
export type FilePath = string | Uint8Array;

/** The path of a name in a directory. */
export function pathIn(folder: FilePath, name: string): FilePath {
  if (typeof folder === "string") return `${folder}/${name}`;
  return Uint8Array.of(...folder, ...new TextEncoder().encode(`/${name}`));
}

/** A path as text. Bytes that are not UTF-8 become U+FFFD. */
export function pathText(path: FilePath): string {
  return typeof path === "string" ? path : new TextDecoder().decode(path);
}

/** The part of `node:fs` that is used; Node, Bun and Deno have it. */
export interface NodeFs {
  /** Opens a file for reading, or with `w` creates or empties it for writing. */
  openSync(path: FilePath, flags?: "w"): number;
  /**
   * Reads at a position. Returns the number of bytes, which may be less than `length`; 0 at the
   * end.
   */
  readSync(fd: number, into: Uint8Array, offset: number, length: number, position: number): number;
  /** Writes at a position. Returns the number of bytes, which may be less than `length`. */
  writeSync(fd: number, from: Uint8Array, offset: number, length: number, position: number): number;
  closeSync(fd: number): void;
  /** File status. Follows symbolic links. */
  statSync(path: FilePath): Stats;
  /** File status of the path itself, even if it is a symbolic link. */
  lstatSync(path: FilePath): Stats;
  readdirSync(path: FilePath): string[];
  readFileSync(path: string): Uint8Array;
}

/** The part of `fs.Stats` that is used. */
export interface Stats {
  /** Size in bytes. */
  readonly size: number;
  /** User id of the owner. */
  readonly uid: number;
  isFile(): boolean;
  isDirectory(): boolean;
}

/** The part of `process` that is used. */
interface Process {
  getBuiltinModule?(name: string): unknown;
  getuid?(): number;
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** The current process; `undefined` in a browser. */
export function ownProcess(): Process | undefined {
  return (globalThis as { readonly process?: Process }).process;
}

/**
 * Returns `node:fs`. A static import would prevent use in browsers.
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
