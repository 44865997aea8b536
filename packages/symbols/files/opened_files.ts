import { ElfFile, type ElfOpenOptions, sectionBudget } from "../elf/elf_file.ts";
import { SymbolsError } from "../errors.ts";
import {
  type OpenedCandidate,
  type RefusedFile,
  type SearchPlaces,
  type SearchResult,
  searchSymbolFiles,
  type WantedFile,
} from "./file_search.ts";
import type { ClosableSource, SymbolFiles } from "./symbol_files.ts";

/**
 * Maximum number of faults that are kept; others are counted. A damaged file may have one every four
 * bytes.
 */
const FAULTS_KEPT = 5;
/** The most bytes of a perf map or a copy of kallsyms. A symbol takes about six times its line. */
export const TEXT_LIMIT = 2 ** 27;

/** The files that are opened for one object, what is wrong with them, and their closing. */
export class OpenedFiles {
  /** Files that were there but are from another build, or cannot be read. */
  readonly refused: RefusedFile[] = [];
  /** Paths of ELF files that were looked for, in that order, whether they were there or not. */
  readonly looked: Set<string> = new Set();
  /** The first few parts of files that cannot be read. */
  readonly faults: SymbolsError[] = [];
  /** How many such parts there are. */
  faultCount = 0;
  readonly #files: SymbolFiles;
  readonly #options: ElfOpenOptions;
  readonly #elves = new Map<ElfFile, { readonly path: string; readonly source: ClosableSource }>();
  readonly #sources: ClosableSource[] = [];

  /** Opens nothing yet. */
  constructor(files: SymbolFiles, options: ElfOpenOptions) {
    this.#files = files;
    this.#options = options;
  }

  /** Opens an ELF file: `undefined` if it is not there, the error if it cannot be read. */
  candidate(path: string): OpenedCandidate | SymbolsError | undefined {
    let source: ClosableSource | undefined;
    this.looked.add(path);
    try {
      source = this.#files.open(path);
      return source === undefined ? undefined : this.#open(path, source);
    } catch (error) {
      source?.close?.();
      if (error instanceof SymbolsError) return error;
      throw error;
    }
  }

  /** {@linkcode OpenedFiles.candidate} for a file that may be compressed as a whole. */
  async expanded(path: string): Promise<OpenedCandidate | SymbolsError | undefined> {
    let source: ClosableSource | undefined;
    this.looked.add(path);
    try {
      source = this.#files.open(path);
      if (source === undefined) return undefined;
      const { expandElf, fileCompression } = await import("./compressed_file.ts");
      const compression = fileCompression(source.read(0, Math.min(6, source.size)));
      if (compression === undefined) return this.candidate(path);
      const expanded = await expandElf(source, compression);
      // What is compressed within it counts to the same budget, which is that of the file as it lies there.
      const left = sectionBudget(source.size) - expanded.size;
      const { maxDecompressedSize = Infinity } = this.#options;
      return this.#open(path, expanded, {
        ...this.#options,
        maxDecompressedSize: Math.max(0, Math.min(left, maxDecompressedSize)),
      });
    } catch (error) {
      if (error instanceof SymbolsError) return error;
      throw error;
    } finally {
      source?.close?.();
    }
  }

  #open(path: string, source: ClosableSource, options = this.#options): OpenedCandidate {
    const elf = ElfFile.open(source, options);
    this.#elves.set(elf, { path, source });
    return { source, elf };
  }

  /** An ELF file that belongs to another; `undefined` if it is not there or cannot be read. */
  elf(path: string): ElfFile | undefined {
    const opened = this.candidate(path);
    return opened instanceof SymbolsError ? undefined : opened?.elf;
  }

  /** Opens the files of {@linkcode searchSymbolFiles}; what it refuses is kept. */
  search(wanted: WantedFile, places: SearchPlaces): SearchResult {
    const search = searchSymbolFiles(wanted, places);
    let step = search.next();
    while (!step.done) step = search.next(this.candidate(step.value.path));
    return this.#searched(wanted, places, step.value);
  }

  /** {@linkcode OpenedFiles.search} among files that may be compressed as a whole. */
  async searchExpanded(wanted: WantedFile, places: SearchPlaces): Promise<SearchResult> {
    const search = searchSymbolFiles(wanted, places);
    let step = search.next();
    while (!step.done) {
      const opened = await this.expanded(step.value.path);
      if (opened instanceof SymbolsError && isTooLarge(opened)) this.fault(opened);
      step = search.next(opened);
    }
    return this.#searched(wanted, places, step.value);
  }

  #searched({ buildId }: WantedFile, { symfs, byBuildId }: SearchPlaces, result: SearchResult) {
    this.refused.push(...result.refused);
    if (buildId !== undefined && byBuildId !== undefined && result.symbols === undefined) {
      this.looked.add(`${symfs ?? ""}: any file of build id ${buildId}`);
    }
    return result;
  }

  /** The first of the ELF files opened so far that passes a test. */
  find(test: (elf: ElfFile) => boolean): { path: string; elf: ElfFile } | undefined {
    for (const [elf, { path }] of this.#elves) if (test(elf)) return { path, elf };
    return undefined;
  }

  /** Opens any file; one that cannot be read is refused. */
  source(path: string): ClosableSource | undefined {
    return this.attempt({ path, origin: "path" }, () => {
      const source = this.#files.open(path);
      if (source !== undefined) this.#sources.push(source);
      return source;
    });
  }

  /** Whether a file is of another user, and so not to be read: it is refused then. */
  refusesForeign(path: string): boolean {
    if (this.#files.isForeign?.(path) !== true) return false;
    this.refused.push({ path, origin: "path", reason: "of another user" });
    return true;
  }

  /** Reads a whole file; one that cannot be read is refused. */
  read(path: string): Uint8Array | undefined {
    return this.attempt({ path, origin: "path" }, () => {
      const bytes = this.#files.read(path, TEXT_LIMIT);
      if (bytes === undefined || bytes.length <= TEXT_LIMIT) return bytes;
      throw new SymbolsError(TEXT_LIMIT, `${path} has more than ${TEXT_LIMIT} bytes`);
    });
  }

  /** The result of `read`; `undefined` if the file cannot be read, which is then reported. */
  attempt<T>(file: Pick<RefusedFile, "path" | "origin">, read: () => T): T | undefined {
    try {
      return read();
    } catch (error) {
      this.#failed(file, error);
      return undefined;
    }
  }

  /** {@linkcode OpenedFiles.attempt} for what takes time. */
  async tolerant<T>(
    file: Pick<RefusedFile, "path" | "origin">,
    read: () => Promise<T>,
  ): Promise<T | undefined> {
    try {
      return await read();
    } catch (error) {
      this.#failed(file, error);
      return undefined;
    }
  }

  #failed({ path, origin }: Pick<RefusedFile, "path" | "origin">, error: unknown): void {
    if (!(error instanceof SymbolsError)) throw error;
    this.refused.push({ path, origin, reason: "not readable" });
    this.fault(error);
  }

  /** Counts a part that cannot be read. */
  fault(error: SymbolsError): void {
    if (this.faultCount++ < FAULTS_KEPT) this.faults.push(error);
    // That a file is too large explains all others.
    else if (isTooLarge(error)) this.faults[FAULTS_KEPT - 1] = error;
  }

  /** Closes the ELF files that a search has opened in vain. */
  keepOnly(wanted: readonly (ElfFile | undefined)[]): void {
    for (const [elf, { source }] of this.#elves) {
      if (wanted.includes(elf)) continue;
      this.#elves.delete(elf);
      source.close?.();
    }
  }

  /** Closes all files. */
  close(): void {
    this.keepOnly([]);
    for (const source of this.#sources.splice(0)) source.close?.();
  }
}

/** Whether a file was given up since it is too large, and not since it is damaged. */
function isTooLarge(error: SymbolsError): boolean {
  return error.message.includes("too large");
}

/** The build id of a file; `undefined` as well where its notes cannot be read. */
export function readableBuildId(elf: ElfFile): string | undefined {
  try {
    return elf.buildId();
  } catch (error) {
    if (error instanceof SymbolsError) return undefined;
    throw error;
  }
}
