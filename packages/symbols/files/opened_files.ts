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
 * Limit of stored errors; others are only counted. A damaged file may have one every four bytes.
 */
const FAULTS_KEPT = 5;
/**
 * Limit of the size of a perf map or a copy of kallsyms. A symbol takes about six times its line.
 */
export const TEXT_LIMIT = 2 ** 27;

/** The files opened for one object, and their errors. */
export class OpenedFiles {
  /** Files that exist but are from another build, or unreadable. */
  readonly refused: RefusedFile[] = [];
  /** Paths of the ELF files that were tried, in that order, whether they exist or not. */
  readonly looked: Set<string> = new Set();
  /** The first few errors of unreadable parts. */
  readonly faults: SymbolsError[] = [];
  /** Number of unreadable parts. */
  faultCount = 0;
  readonly #files: SymbolFiles;
  readonly #options: ElfOpenOptions;
  readonly #elves = new Map<ElfFile, { readonly path: string; readonly source: ClosableSource }>();
  readonly #sources: ClosableSource[] = [];

  constructor(files: SymbolFiles, options: ElfOpenOptions) {
    this.#files = files;
    this.#options = options;
  }

  /** Opens an ELF file: `undefined` if it does not exist, an error if it is unreadable. */
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
      // Sections inflated from this file share its budget, which depends on the size on disk.
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

  /**
   * Opens an ELF file that another one refers to; `undefined` if it does not exist or is
   * unreadable.
   */
  elf(path: string): ElfFile | undefined {
    const opened = this.candidate(path);
    return opened instanceof SymbolsError ? undefined : opened?.elf;
  }

  /** Runs {@linkcode searchSymbolFiles}, and stores the refused files. */
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

  /** The first of the opened ELF files that passes a test. */
  find(test: (elf: ElfFile) => boolean): { path: string; elf: ElfFile } | undefined {
    for (const [elf, { path }] of this.#elves) if (test(elf)) return { path, elf };
    return undefined;
  }

  /** Whether a file belongs to another user. Such a file is refused. */
  refusesForeign(path: string): boolean {
    if (this.#files.isForeign?.(path) !== true) return false;
    this.refused.push({ path, origin: "path", reason: "of another user" });
    return true;
  }

  /** Reads a whole file. An unreadable one is refused. */
  read(path: string): Uint8Array | undefined {
    return this.attempt({ path, origin: "path" }, () => {
      const bytes = this.#files.read(path, TEXT_LIMIT);
      if (bytes === undefined || bytes.length <= TEXT_LIMIT) return bytes;
      throw new SymbolsError(TEXT_LIMIT, `${path} has more than ${TEXT_LIMIT} bytes`);
    });
  }

  /** Returns `read()`; if it fails, refuses the file and returns `undefined`. */
  attempt<T>(file: Pick<RefusedFile, "path" | "origin">, read: () => T): T | undefined {
    try {
      return read();
    } catch (error) {
      this.#failed(file, error);
      return undefined;
    }
  }

  /** {@linkcode OpenedFiles.attempt} for an asynchronous `read`. */
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

  fault(error: SymbolsError): void {
    if (this.faultCount++ < FAULTS_KEPT) this.faults.push(error);
    // Store this error, since a too large file explains the others.
    else if (isTooLarge(error)) this.faults[FAULTS_KEPT - 1] = error;
  }

  /** Closes the other ELF files that a search opened. */
  keepOnly(wanted: readonly (ElfFile | undefined)[]): void {
    for (const [elf, { source }] of this.#elves) {
      if (wanted.includes(elf)) continue;
      this.#elves.delete(elf);
      source.close?.();
    }
  }

  close(): void {
    this.keepOnly([]);
    for (const source of this.#sources.splice(0)) source.close?.();
  }
}

/** Whether a file was refused for its size, not for damage. */
function isTooLarge(error: SymbolsError): boolean {
  return error.message.includes("too large");
}

/** The build id of a file; `undefined` if it has none, or its notes are malformed. */
export function readableBuildId(elf: ElfFile): string | undefined {
  try {
    return elf.buildId();
  } catch (error) {
    if (error instanceof SymbolsError) return undefined;
    throw error;
  }
}
