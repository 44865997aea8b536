// Uses Deno's file API; everything else in this package runs in any JavaScript runtime.
/**
 * Files as byte sinks, on Deno.
 *
 * @module
 */
import { checkMemory } from "./memory.ts";
import type { RandomAccessSink } from "./sink.ts";
import { VisibleText } from "../text/visible.ts";

/** What is written cannot be: the disk is full, for one. The input has nothing to do with it. */
export class OutputError extends Error {
  /** The name of the class. */
  override name = "OutputError";
  /** What is wrong, for programs. */
  readonly code = "output" as const;

  /**
   * Says what cannot be written, and why.
   *
   * @param path What is written: a path, or `standard output`.
   * @param cause What the operating system says.
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
 * Writes to standard output. On a terminal, what would act there is shown instead (see `visible`); a
 * pipe or a file gets the bytes as they are.
 *
 * @param own Whether what acts in it is the program's own, such as colors, and names are shown already.
 * @throws {Deno.errors.BrokenPipe} If nobody reads any more.
 * @throws {OutputError} If they cannot be written for another reason.
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

/** Writes all of `bytes`: one `write` may take fewer. */
export function writeAllSync(
  to: { writeSync(bytes: Uint8Array): number },
  bytes: Uint8Array,
): void {
  for (let n = 0; n < bytes.length;) n += to.writeSync(bytes.subarray(n));
}

/**
 * Creates a file for writing.
 *
 * @param options `createNew`: fail where the file exists, instead of replacing it; `mode`: who may do
 *   what with a new one, 0o666 by default, of which the system's umask takes away.
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

/** A file that takes its name when it is whole. */
export interface NewFile extends FileSink {
  /** The path that it has until then. */
  readonly temporary: string;
  /**
   * Gives the file its name; what had that name before is gone.
   *
   * @throws {Deno.errors.AlreadyExists} If the name was taken meanwhile, without `force`.
   */
  commit(): void;
}

/** How the message of an error ends where what has the name is never replaced. */
export const NOT_A_FILE = "not a regular file";

/** What writes nothing. */
function nowhere(path: string): NewFile {
  const nothing = () => {};
  return {
    ...{ temporary: path, write: nothing, writeAt: nothing, commit: nothing, close: nothing },
    [Symbol.dispose]: nothing,
  };
}

/** Files that have no name yet, and folders that were made for them. */
const unfinished = new Set<string>();

/** Notes that a path goes with an interrupt, until what is returned is called. */
function unfinishedUntil(path: string): () => void {
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

/** Removes what an interrupted process would leave, and ends it as a shell reports that: 128 + signal. */
function ending(signal: number): () => void {
  return () => {
    // Folders after what is in them.
    for (const path of [...unfinished].reverse()) removeQuietly(path);
    Deno.exit(128 + signal);
  };
}

/** What is done on signals while there are such files. */
const LISTENERS: readonly (readonly [Deno.Signal, () => void])[] = Deno.build.os === "windows"
  ? [["SIGINT", ending(2)]]
  : [
    ["SIGINT", ending(2)],
    ["SIGTERM", ending(15)],
    ["SIGHUP", ending(1)],
    // Beyond `ulimit -f` a write fails as on a full disk, and does not end the process.
    ["SIGXFSZ", () => {}],
  ];

function removeQuietly(path: string): void {
  unfinished.delete(path);
  try {
    Deno.removeSync(path);
  } catch {
    // It is gone, or the directory is.
  }
}

/**
 * Creates a file under a temporary name in the directory of `path`. It gets its name with
 * {@link NewFile.commit}; closed without that, or where SIGINT, SIGTERM or SIGHUP ends the process, it
 * is removed, so that there is a whole file of that name, the one from before, or none.
 *
 * @param path `/dev/null` takes everything and stays what it is.
 * @param options `force`: a file of that name may be there and is replaced. Another thing (a symbolic
 *   link, a directory, a device) never is. `mode`: as of {@link fileSink}.
 * @throws {Deno.errors.AlreadyExists} If the name is taken.
 * @throws {OutputError} By its methods, where it cannot be written.
 *
 * @example
 * ```ts
 * import { newFile } from "@perfdata/format/file-sink";
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
  if (path === "/dev/null") return nowhere(path);
  refuseTaken();
  const slash = path.lastIndexOf("/") + 1;
  const temporary = `${path.slice(0, slash)}.${path.slice(slash).slice(0, 200)}.${Deno.pid}.tmp`;
  // Before the file is there, so that there is no moment at which an interrupt leaves it.
  const forget = unfinishedUntil(temporary);
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

/** A folder that is there, and stays if what is to be in it has been written. */
export interface NewFolder extends Disposable {
  /** Keeps it. */
  commit(): void;
}

/**
 * Makes a folder, with those above it, where they are missing. Those that it has made are removed again, if
 * they are empty, unless {@link NewFolder.commit} is called; and where a signal ends the process, as with
 * {@linkcode newFile}.
 *
 * @example
 * ```ts
 * import { newFolder } from "@perfdata/format/file-sink";
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
  const made: { readonly path: string; readonly forget: () => void }[] = [];
  const make = (path: string): void => {
    const forget = unfinishedUntil(path);
    try {
      Deno.mkdirSync(path);
      made.push({ path, forget });
    } catch (error) {
      forget();
      if (error instanceof Deno.errors.AlreadyExists && Deno.statSync(path).isDirectory) return;
      if (!(error instanceof Deno.errors.NotFound)) throw error;
      const plain = path.replace(/(?<!\/)\/+$/, "");
      const above = plain.slice(0, Math.max(0, plain.lastIndexOf("/")));
      if (above === "" || above === path) throw error;
      make(above);
      make(path);
    }
  };
  const end = (isKept: boolean) => {
    for (const { path, forget } of made.reverse()) {
      if (!isKept) removeQuietly(path);
      forget();
    }
    made.length = 0;
  };
  try {
    make(path);
  } catch (error) {
    end(false);
    throw error;
  }
  return { commit: () => end(true), [Symbol.dispose]: () => end(false) };
}
