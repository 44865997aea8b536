import { SymbolsError } from "../errors.ts";
import type { ClosableSource, SymbolFiles } from "../files/symbol_files.ts";
import { JitSymbols } from "./jit_symbols.ts";
import { type JitdumpHeader, openJitdump } from "./jitdump.ts";

/** A jitdump file that was read. */
export interface JitFile {
  /** Its header. */
  readonly header: JitdumpHeader;
  /** Its functions by address and version. */
  readonly symbols: JitSymbols;
}

/** The jitdump files of a recording. Each is read once: all versions of its code share it. */
export class JitFiles {
  readonly #files: SymbolFiles;
  readonly #symfs: string;
  readonly #read = new Map<string, JitFile | SymbolsError | undefined>();

  /**
   * Has read none.
   *
   * @param symfs the folder that all paths are below; none by default
   */
  constructor(files: SymbolFiles, symfs: string = "") {
    this.#files = files;
    this.#symfs = symfs.replace(/\/$/, "");
  }

  /** The path under which a recorded file is looked for. */
  pathOf(recorded: string): string {
    return `${this.#symfs}${recorded}`;
  }

  /**
   * The jitdump file of a recorded path; `undefined` if there is none, or it belongs to another user.
   *
   * @throws {SymbolsError} if it cannot be read
   */
  open(recorded: string): JitFile | undefined {
    if (!this.#read.has(recorded)) this.#read.set(recorded, this.#open(this.pathOf(recorded)));
    const file = this.#read.get(recorded);
    if (file instanceof SymbolsError) throw file;
    return file;
  }

  /** The same, and `undefined` if it cannot be read. */
  readable(recorded: string): JitFile | undefined {
    try {
      return this.open(recorded);
    } catch (error) {
      if (error instanceof SymbolsError) return undefined;
      throw error;
    }
  }

  #open(path: string): JitFile | SymbolsError | undefined {
    // As perf does: in /tmp, anybody may have written it.
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
