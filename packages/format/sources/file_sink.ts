// Uses Deno's file API; everything else in this package runs in any JavaScript runtime.
/**
 * Files as byte sinks, on Deno.
 *
 * @module
 */
import { checkMemory } from "./memory.ts";
import type { RandomAccessSink } from "./sink.ts";
import { VisibleText } from "../text/visible.ts";

/** Output cannot be written, for example to a full disk. The input is not the cause. */
export class OutputError extends Error {
  /** The name of the class. */
  override name = "OutputError";
  /** Kind of error, for programs. */
  readonly code = "output" as const;

  /**
   * Creates the error.
   *
   * @param path Path of the output, or `standard output`.
   * @param cause Error of the operating system.
   */
  constructor(path: string, cause: unknown) {
    const why = cause instanceof Error ? cause.message : String(cause);
    super(
      `${path}: cannot be written: ${/^(.*?) \(os error/.exec(why)?.[1]?.toLowerCase() ?? why}`,
      {
        cause,
      },
    );
  }
}

let terminal: boolean | undefined;
const onTerminal = new VisibleText();

/**
 * Writes to standard output. On a terminal, control characters are made visible (see `visible`); a
 * pipe or a file receives the bytes unchanged.
 *
 * @param own Whether the bytes are safe for a terminal: their escapes, such as colors, are the program's own.
 * @throws {Deno.errors.BrokenPipe} If the reader has closed the pipe.
 * @throws {OutputError} If the write fails for another reason.
 */
export function writeStdout(bytes: Uint8Array, own = false): void {
  checkMemory();
  terminal ??= Deno.stdout.isTerminal();
  try {
    writeAllSync(Deno.stdout, terminal && !own ? onTerminal.take(bytes) : bytes);
  } catch (error) {
    throw error instanceof Deno.errors.BrokenPipe
      ? error
      : new OutputError("standard output", error);
  }
}

/** A file on disk; close it with `using` or {@link FileSink.close}. */
export interface FileSink extends RandomAccessSink {
  /** Closes the file. */
  close(): void;
  /** Closes the file. */
  [Symbol.dispose](): void;
}

/** Writes all of `bytes`; a single `writeSync` may write fewer. */
export function writeAllSync(
  to: { writeSync(bytes: Uint8Array): number },
  bytes: Uint8Array,
): void {
  for (let n = 0; n < bytes.length;) n += to.writeSync(bytes.subarray(n));
}

/**
 * Creates a file for writing.
 *
 * @param options `createNew`: fail if the file exists, instead of replacing it. `mode`: permissions of
 * a new file, 0o666 by default, minus the umask.
 * @throws {Deno.errors.AlreadyExists} With `createNew`; see `Deno.openSync` for others.
 */
export function fileSink(
  path: string,
  options: { createNew?: boolean; mode?: number } = {},
): FileSink {
  const { mode } = options;
  const file = Deno.openSync(path, {
    write: true,
    ...(mode === undefined ? {} : { mode }),
    ...(options.createNew ? { createNew: true } : { create: true, truncate: true }),
  });
  return {
    write: (bytes) => writeAllSync(file, bytes),
    writeAt(bytes, position) {
      const end = file.seekSync(0, Deno.SeekMode.Current);
      file.seekSync(position, Deno.SeekMode.Start);
      writeAllSync(file, bytes);
      file.seekSync(end, Deno.SeekMode.Start);
    },
    close: () => file.close(),
    [Symbol.dispose]: () => file.close(),
  };
}

/** A file that gets its final name when it is complete. */
export interface NewFile extends FileSink {
  /** The path before the commit. */
  readonly temporary: string;
  /**
   * Renames the file to its final name, replacing an existing file.
   *
   * @throws {Deno.errors.AlreadyExists} If another file got the name meanwhile, without `force`.
   */
  commit(): void;
}

/** End of the error message for an existing path that is never replaced. */
export const NOT_A_FILE = "not a regular file";

function discardingFile(path: string): NewFile {
  const nothing = () => {};
  return {
    ...{ temporary: path, write: nothing, writeAt: nothing, commit: nothing, close: nothing },
    [Symbol.dispose]: nothing,
  };
}

/** Paths to remove on an interrupt: uncommitted files and new folders. */
const unfinished = new Set<string>();

/** Registers a path for removal on an interrupt; the returned function unregisters it. */
function registerUnfinished(path: string): () => void {
  if (unfinished.size === 0) {
    for (const [name, run] of LISTENERS) Deno.addSignalListener(name, run);
  }
  unfinished.add(path);
  return () => {
    unfinished.delete(path);
    if (unfinished.size > 0) return;
    for (const [name, run] of LISTENERS) Deno.removeSignalListener(name, run);
  };
}

/** Returns a signal handler: it removes the registered paths and exits like a shell, with 128 + signal. */
function removeAndExit(signal: number): () => void {
  return () => {
    // Newest first: files before their folders.
    for (const path of [...unfinished].reverse()) removeQuietly(path);
    Deno.exit(128 + signal);
  };
}

/** Signal handlers while paths are registered. */
const LISTENERS: readonly (readonly [Deno.Signal, () => void])[] = Deno.build.os === "windows"
  ? [["SIGINT", removeAndExit(2)]]
  : [
    ["SIGINT", removeAndExit(2)],
    ["SIGTERM", removeAndExit(15)],
    ["SIGHUP", removeAndExit(1)],
    // With this handler, a write beyond `ulimit -f` fails like one to a full disk instead of ending the process.
    ["SIGXFSZ", () => {}],
  ];

function removeQuietly(path: string): void {
  unfinished.delete(path);
  try {
    Deno.removeSync(path);
  } catch {
    // The file or its directory no longer exists.
  }
}

/**
 * Creates a file under a temporary name in the directory of `path`. {@link NewFile.commit} gives it its final
 * name. If it is closed before, or SIGINT, SIGTERM or SIGHUP ends the process, it
 * is removed: a file with the final name is always complete.
 *
 * @param path Final path. Output to `/dev/null` is discarded.
 * @param options `force`: replace an existing regular file. A symbolic link, a directory or a device is
 * never replaced. `mode`: as of {@link fileSink}.
 * @throws {Deno.errors.AlreadyExists} If the path exists and may not be replaced.
 * @throws {OutputError} By its methods, if the file cannot be written.
 *
 * @example
 * ```ts
 * import { newFile } from "@perfdata/format/files";
 * import { assertEquals } from "@std/assert";
 *
 * const folder = Deno.makeTempDirSync();
 * {
 *   using file = newFile(`${folder}/whole`);
 *   file.write(Uint8Array.of(1));
 *   file.commit();
 * }
 * {
 *   using file = newFile(`${folder}/half`);
 *   file.write(Uint8Array.of(1));
 * }
 * assertEquals(Array.from(Deno.readDirSync(folder), ({ name }) => name), ["whole"]);
 * ```
 */
export function newFile(
  path: string,
  options: { force?: boolean; mode?: number } = {},
): NewFile {
  const { mode } = options;
  const refuseTaken = () => {
    let found: Deno.FileInfo;
    try {
      found = Deno.lstatSync(path);
    } catch (error) {
      if (error instanceof Deno.errors.NotFound) return;
      throw error;
    }
    if (!found.isFile) throw new Deno.errors.AlreadyExists(`${path}: ${NOT_A_FILE}`);
    if (!options.force) throw new Deno.errors.AlreadyExists(path);
  };
  if (path === "/dev/null") return discardingFile(path);
  refuseTaken();
  const slash = path.lastIndexOf("/") + 1;
  const temporary = `${path.slice(0, slash)}.${path.slice(slash).slice(0, 200)}.${Deno.pid}.tmp`;
  // Registered before the file exists, so that an interrupt never leaves it.
  const forget = registerUnfinished(temporary);
  let sink: FileSink;
  try {
    sink = fileSink(temporary, { createNew: true, ...(mode === undefined ? {} : { mode }) });
  } catch (error) {
    forget();
    throw error;
  }
  let open = true;
  const close = () => {
    if (!open) return;
    open = false;
    sink.close();
    removeQuietly(temporary);
    forget();
  };
  const orOutputError = (action: () => void): void => {
    try {
      action();
    } catch (error) {
      throw new OutputError(path, error);
    }
  };
  return {
    temporary,
    write: (bytes) => orOutputError(() => sink.write(bytes)),
    writeAt: (bytes, position) => orOutputError(() => sink.writeAt(bytes, position)),
    commit() {
      refuseTaken();
      orOutputError(() => Deno.renameSync(temporary, path));
      open = false;
      sink.close();
      forget();
    },
    close,
    [Symbol.dispose]: close,
  };
}

/** A folder that is removed on disposal unless it is committed. */
export interface NewFolder extends Disposable {
  /** Keeps the folder. */
  commit(): void;
}

/**
 * Creates a folder and its missing parents. On disposal without {@link NewFolder.commit}, and if a signal ends
 * the process, the created folders are removed if they are empty, as with {@linkcode newFile}.
 *
 * @example
 * ```ts
 * import { newFolder } from "@perfdata/format/files";
 * import { assertEquals } from "@std/assert";
 *
 * const above = Deno.makeTempDirSync();
 * {
 *   using _ = newFolder(`${above}/a/b`);
 * }
 * assertEquals([...Deno.readDirSync(above)], []);
 * ```
 */
export function newFolder(path: string): NewFolder {
  const created: { readonly path: string; readonly forget: () => void }[] = [];
  const create = (path: string): void => {
    const forget = registerUnfinished(path);
    try {
      Deno.mkdirSync(path);
      created.push({ path, forget });
    } catch (error) {
      forget();
      if (error instanceof Deno.errors.AlreadyExists && Deno.statSync(path).isDirectory) return;
      if (!(error instanceof Deno.errors.NotFound)) throw error;
      const plain = path.replace(/(?<!\/)\/+$/, "");
      const above = plain.slice(0, Math.max(0, plain.lastIndexOf("/")));
      if (above === "" || above === path) throw error;
      create(above);
      create(path);
    }
  };
  const end = (isKept: boolean) => {
    for (const { path, forget } of created.reverse()) {
      if (!isKept) removeQuietly(path);
      forget();
    }
    created.length = 0;
  };
  try {
    create(path);
  } catch (error) {
    end(false);
    throw error;
  }
  return { commit: () => end(true), [Symbol.dispose]: () => end(false) };
}
