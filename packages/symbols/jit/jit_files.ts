import { SymbolsError } from "../errors.ts";
import type { ClosableSource, SymbolFiles } from "../files/symbol_files.ts";
import { containerPath, perfMapPid } from "../files/map_name.ts";
import { TEXT_LIMIT } from "../files/opened_files.ts";
import type { SymbolTable } from "../table/symbol_table.ts";
import { readPerfMap } from "./perf_map.ts";
import { JitSymbols } from "./jit_symbols.ts";
import { type JitdumpHeader, openJitdump } from "./jitdump.ts";

/** Bytes of a file `/proc/PID/status`, at most. */
const STATUS_LIMIT = 1 << 16;

/**
 * The pid of a process in the innermost of its namespaces, from `/proc/PID/status`; `undefined` if it is in one
 * namespace only.
 */
export function innermostPid(status: string): number | undefined {
  const [, numbers = ""] = /^NSpid:((?:\t\d+)+)$/m.exec(status) ?? [];
  const all = numbers.split("\t").slice(1);
  return all.length > 1 ? Number(all.at(-1)) : undefined;
}

/** JIT-compiled code of a process, as the recording describes it. */
export interface JitObject {
  /** `/tmp/perf-PID.map`. */
  readonly path: string;
  /** Recorded path of its jitdump file, if it has one. */
  readonly jitdump?: string;
}

/** A parsed jitdump file. */
export interface JitFile {
  /** Its header. */
  readonly header: JitdumpHeader;
  /** Functions by address and version. */
  readonly symbols: JitSymbols;
}

/**
 * The jitdump files and perf maps of a recording. Each file is read once, and shared by all
 * versions of a process's code.
 */
export class JitFiles {
  readonly #files: SymbolFiles;
  readonly #symfs: string;
  readonly #maps = new Map<string, SymbolTable | SymbolsError | undefined>();
  /** Paths of jitdump files whose names contain another pid than that of their process. */
  readonly #dumps = new Map<string, string>();
  readonly #read = new Map<string, JitFile | SymbolsError | undefined>();

  /**
   * Creates an empty cache.
   *
   * @param symfs prefix of all paths; empty by default
   */
  constructor(files: SymbolFiles, symfs: string = "") {
    this.#files = files;
    this.#symfs = symfs.replace(/\/$/, "");
  }

  /** The path at which a recorded file is searched. */
  pathOf(recorded: string): string {
    return `${this.#symfs}${recorded}`;
  }

  /**
   * The path at which the jitdump file of a process is searched; `undefined` if it has none.
   *
   * A process in a container names the file by its pid inside of the container. The file is in the
   * container, whose files can be read while the process runs.
   */
  dumpPath({ path, jitdump }: JitObject): string | undefined {
    if (jitdump === undefined) return undefined;
    const pid = this.#symfs === "" ? perfMapPid(path) : undefined;
    const [, named] = /\/jit-(\d+)\.dump$/.exec(jitdump) ?? [];
    if (pid === undefined || named === undefined || Number(named) === pid) {
      return this.pathOf(jitdump);
    }
    const key = `${pid} ${jitdump}`;
    let found = this.#dumps.get(key);
    if (found === undefined) {
      const inside = containerPath(pid, jitdump);
      const isThere = innermostPid(this.#text(`/proc/${pid}/status`)) === Number(named) &&
        this.#exists(inside);
      this.#dumps.set(key, found = isThere ? inside : jitdump);
    }
    return found;
  }

  #exists(path: string): boolean {
    try {
      const source = this.#files.open(path);
      source?.close?.();
      return source !== undefined;
    } catch (error) {
      // A file that cannot be read exists.
      if (error instanceof SymbolsError) return true;
      throw error;
    }
  }

  /**
   * The jitdump file of a process; `undefined` if it has none, or the file does not exist or belongs
   * to another user.
   *
   * @throws {SymbolsError} If it is unreadable.
   */
  open(object: JitObject): JitFile | undefined {
    const path = this.dumpPath(object);
    if (path === undefined) return undefined;
    if (!this.#read.has(path)) this.#read.set(path, this.#open(path));
    const file = this.#read.get(path);
    if (file instanceof SymbolsError) throw file;
    return file;
  }

  /** As `open`, but `undefined` if the file is unreadable. */
  readable(object: JitObject): JitFile | undefined {
    try {
      return this.open(object);
    } catch (error) {
      if (error instanceof SymbolsError) return undefined;
      throw error;
    }
  }

  /**
   * The symbols of the perf map with a recorded path; `undefined` if it does not exist or belongs
   * to another user.
   *
   * @throws {SymbolsError} If it is unreadable.
   */
  perfMap(recorded: string): SymbolTable | undefined {
    if (!this.#maps.has(recorded)) this.#maps.set(recorded, this.#map(recorded));
    const map = this.#maps.get(recorded);
    if (map instanceof SymbolsError) throw map;
    return map;
  }

  #map(recorded: string): SymbolTable | SymbolsError | undefined {
    return this.#mapAt(this.pathOf(recorded)) ?? this.#mapInContainer(recorded);
  }

  /**
   * The perf map of a process that still runs in a container: it is in the files of the container, and named after
   * the number that the process has there.
   */
  #mapInContainer(recorded: string): SymbolTable | SymbolsError | undefined {
    const pid = this.#symfs === "" ? perfMapPid(recorded) : undefined;
    if (pid === undefined) return undefined;
    const inside = innermostPid(this.#text(`/proc/${pid}/status`));
    return inside === undefined
      ? undefined
      : this.#mapAt(containerPath(pid, `/tmp/perf-${inside}.map`));
  }

  #text(path: string): string {
    try {
      return new TextDecoder().decode(this.#files.read(path, STATUS_LIMIT));
    } catch (error) {
      if (error instanceof SymbolsError) return "";
      throw error;
    }
  }

  #mapAt(path: string): SymbolTable | SymbolsError | undefined {
    if (this.#files.isForeign?.(path) === true) return undefined;
    try {
      const text = this.#files.read(path, TEXT_LIMIT);
      if (text === undefined) return undefined;
      if (text.length <= TEXT_LIMIT) return readPerfMap(text).table;
      return new SymbolsError(TEXT_LIMIT, `${path} has more than ${TEXT_LIMIT} bytes`);
    } catch (error) {
      if (error instanceof SymbolsError) return error;
      throw error;
    }
  }

  #open(path: string): JitFile | SymbolsError | undefined {
    // As in perf, since any user can write to /tmp.
    if (this.#files.isForeign?.(path) === true) return undefined;
    let source: ClosableSource | undefined;
    try {
      source = this.#files.open(path);
      if (source === undefined) return undefined;
      const { header, records } = openJitdump(source);
      return { header, symbols: new JitSymbols(records()) };
    } catch (error) {
      if (error instanceof SymbolsError) return error;
      throw error;
    } finally {
      source?.close?.();
    }
  }
}
