import type { Address } from "./address.ts";
import { FileAddresses, type LoadSegment } from "./address_map.ts";
import { runsOn } from "./architecture.ts";
import { type BinarySource, bytesSource } from "./binary_source.ts";
import type { BundleObject, SymbolBundle } from "./bundle.ts";
import { Demangler } from "./demangle/demangler.ts";
import type { DwarfContext, Frame } from "./dwarf/dwarf_context.ts";
import type { DwarfSections } from "./dwarf/sections.ts";
import { ET, STT } from "./elf/constants.ts";
import { ElfFile, type ElfOpenOptions } from "./elf/elf_file.ts";
import { type ElfSymbolsOptions, readElfSymbols } from "./elf/elf_symbols.ts";
import { buildIdOfNotes } from "./elf/notes.ts";
import { findElfSymbol } from "./elf/raw_symbols.ts";
import { SymbolsError } from "./errors.ts";
import {
  buildIdsEqual,
  type FoundFile,
  type KernelCandidate,
  kernelCandidates,
  type OpenedCandidate,
  type RefusedFile,
  type SearchPlaces,
  searchSymbolFiles,
} from "./file_search.ts";
import type { JitSymbols } from "./jit_symbols.ts";
import {
  findKallsym,
  isKallsymsRestricted,
  type Kallsyms,
  readKallsyms,
  readKallsymsAt,
} from "./kallsyms.ts";
import { type Resolution, resolution, type SymbolObject, unresolved } from "./resolution.ts";
import type { CodeSearch } from "./object_code.ts";
import type { SymbolInfo, SymbolTable } from "./symbol_table.ts";
import type { UnresolvedCause } from "./trust_report.ts";

/** A file that a {@linkcode SymbolResolver} has opened, and may close. */
export interface ClosableSource extends BinarySource {
  /** Closes it; where there is nothing to close, it may be missing. */
  close?(): void;
}

/** The files that a {@linkcode SymbolResolver} can see. */
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
}

/** Where symbols are taken from and how they are shown: what all tools have in common. */
export interface SymbolOptions {
  /** `--symfs`: a directory in which the files of the recorded machine lie. */
  readonly symfs?: string;
  /** `--vmlinux`: the kernel's ELF file. Where it or `kallsyms` is given, no other is looked for. */
  readonly vmlinux?: string;
  /** `--kallsyms`: a copy of `/proc/kallsyms`. */
  readonly kallsyms?: string;
  /** `--no-demangle` makes it `false`: names as the files have them. */
  readonly demangle?: boolean;
  /** `false` shows C++ functions without their parameters and return types, as `perf` does. */
  readonly parameters?: boolean;
  /** `false` leaves debug information alone: functions by symbol only, no lines, nothing inlined. */
  readonly debugInformation?: boolean;
}

/** Options of {@linkcode SymbolResolver}. */
export interface ResolverOptions extends SymbolOptions {
  /** `--symbols`: a bundle, which is asked before any file is. */
  readonly bundle?: SymbolBundle;
  /** Where files are looked for; `symfs` is added. */
  readonly places?: SearchPlaces;
  /** Release of the recorded kernel, for the paths at which its `vmlinux` may be. */
  readonly release?: string;
  /** Architecture of the recorded machine (`uname -m`): files of others are refused. */
  readonly arch?: string;
  /** How ELF files are opened. */
  readonly elf?: ElfOpenOptions;
}

/** The symbols of one object. */
export interface ObjectSymbols {
  /** The object. */
  readonly object: SymbolObject;
  /** The file that its symbols come from; `undefined` if there is none. */
  readonly origin: string | undefined;
  /** Whether they come from a bundle only. */
  readonly bundled: boolean;
  /**
   * Whether they are known to be those of what was recorded: by its build id, or of a kernel, by
   * where it was. `false` as well if there are none.
   */
  readonly verified: boolean;
  /** What of an ELF file is loaded from where; empty for others. */
  readonly segments: readonly LoadSegment[];
  /** Files that were there but are of another build, or cannot be read. */
  readonly refused: readonly RefusedFile[];
  /** Parts of the symbols and debug information that cannot be read: the first few of them. */
  readonly faults: readonly SymbolsError[];
  /** How many such parts there are. */
  readonly faultCount: number;
  /**
   * Looks addresses up.
   *
   * @param addresses as the object's kind counts them
   * @param times of each, nanoseconds in the recording's clock; only code of a JIT compiler needs
   * them, the newest is taken without
   */
  find(addresses: Float64Array, times?: Float64Array): Promise<Resolution[]>;
  /** Closes the files. */
  close(): void;
}

/** What reads the symbols of an object that is not a bundle's. */
interface Lookup {
  readonly origin?: string;
  readonly segments?: readonly LoadSegment[];
  /** As in {@linkcode ObjectSymbols}. */
  readonly verified: boolean;
  find(addresses: Float64Array, times: Float64Array | undefined): Resolution[];
}

/** Why there is nothing to look up in. */
class Nothing implements Lookup {
  readonly verified = false;
  readonly #cause: UnresolvedCause;
  constructor(cause: UnresolvedCause) {
    this.#cause = cause;
  }
  find(addresses: Float64Array): Resolution[] {
    const answer = unresolved(this.#cause);
    return Array.from(addresses, () => answer);
  }
}

// What only some recordings need is imported when one of them comes: to load a module takes longer
// than to name the functions of a short recording.

/** Damage can make one fault every four bytes of a file: so many are kept, the others counted. */
const FAULTS_KEPT = 5;
/** The most bytes of a perf map or a copy of kallsyms. A symbol takes about six times its line. */
const TEXT_LIMIT = 2 ** 27;

const RUNNING_KALLSYMS = "/proc/kallsyms";
/** The group of the kernel's own symbols in a copy of kallsyms. */
const KERNEL_GROUP = 0;
const RUNNING_NOTES = "/sys/kernel/notes";
const RUNNING_RELEASE = "/proc/sys/kernel/osrelease";

/**
 * Finds the symbols of objects: in a bundle, in ELF files with their DWARF, in kallsyms, perf maps
 * and jitdump files, in the order in which `perf` looks for them. What is of another build is
 * refused and reported.
 *
 * @example
 * ```ts
 * import { bytesSource, SymbolResolver } from "@perfdata/symbols";
 * import { assertEquals } from "@std/assert";
 *
 * const map = new TextEncoder().encode("7f0000001000 40 LazyCompile:*f a.js:1\n");
 * const resolver = new SymbolResolver({
 *   open: () => undefined,
 *   read: (path) => path === "/tmp/perf-7.map" ? map : undefined,
 * });
 * const symbols = await resolver.open({ path: "/tmp/perf-7.map", kind: "jit" });
 * const [found] = await symbols.find(Float64Array.of(0x7f0000001010));
 * assertEquals(found?.frames[0]?.name, "LazyCompile:*f a.js:1");
 * ```
 */
export class SymbolResolver {
  readonly #files: SymbolFiles;
  readonly #options: ResolverOptions;
  readonly #places: SearchPlaces;
  /** A name as it is to be shown. */
  readonly show: (name: string) => string;
  /** How `perf` shows names, by which it chooses among aliases. */
  readonly #shownByPerf: ((name: string) => string) | undefined;
  readonly #kallsyms = new Map<string, KallsymsText | undefined>();

  /** Takes the files that it can see. */
  constructor(files: SymbolFiles, options: ResolverOptions = {}) {
    this.#files = files;
    this.#options = options;
    const { symfs } = options;
    this.#places = { ...options.places, ...(symfs === undefined ? {} : { symfs }) };
    if (options.demangle === false) {
      this.show = (name) => name;
    } else {
      const demangler = new Demangler();
      const brief = new Demangler({ params: false });
      this.#shownByPerf = (name) => brief.demangle(name);
      this.show = options.parameters === false
        ? this.#shownByPerf
        : (name) => demangler.demangle(name);
    }
  }

  /**
   * Opens the symbols of an object. If there are none, look-ups say why.
   *
   * Nothing is thrown for a file that cannot be read: it is in `refused`.
   */
  async open(object: SymbolObject): Promise<ObjectSymbols> {
    const opened = new OpenedFiles(this.#files, this.#options.elf ?? {});
    const { bundle } = this.#options;
    const bundled = bundle?.object(object);
    if (bundle !== undefined) {
      for (const { info } of bundle.otherBuilds(object)) {
        opened.refused.push({
          path: info.path,
          origin: "bundle",
          ...(info.buildId === undefined
            ? { reason: "no build id" }
            : { reason: "build id differs", buildId: info.buildId }),
        });
      }
    }
    // A bundle usually knows everything that is asked; files are only opened if it does not.
    let lookup = bundled === undefined ? await this.#lookup(object, opened) : undefined;
    const inFiles = async (): Promise<Lookup> => lookup ??= await this.#lookup(object, opened);
    const { show } = this;
    return {
      object,
      get origin() {
        return lookup?.origin ?? bundled?.info.origin;
      },
      get bundled() {
        return bundled !== undefined && lookup?.origin === undefined;
      },
      get verified() {
        // What a bundle was made for is found by its build id where there is one.
        return (lookup?.verified ?? true) &&
          (bundled === undefined || object.buildId !== undefined);
      },
      get segments() {
        return lookup?.segments ?? bundled?.info.segments ?? [];
      },
      refused: opened.refused,
      faults: opened.faults,
      get faultCount() {
        return opened.faultCount;
      },
      find: async (addresses, times) =>
        bundled === undefined ? (await inFiles()).find(addresses, times) : await findBundled(
          bundled,
          addresses,
          times,
          inFiles,
          show,
          this.#options.debugInformation !== false,
        ),
      close: () => opened.close(),
    };
  }

  /**
   * Where the code of objects is looked for when stacks are unwound: as their symbols are.
   *
   * @ignore for `openObjectCode`
   */
  get codeSearch(): CodeSearch {
    const { arch, bundle, elf } = this.#options;
    return { files: this.#files, places: this.#places, arch, bundle, elf };
  }

  async #lookup(object: SymbolObject, opened: OpenedFiles): Promise<Lookup> {
    switch (object.kind) {
      case "elf":
      case "vdso": {
        const found = await this.#search(object, opened);
        const { runtime } = found;
        const mini = runtime?.elf.section(".gnu_debugdata") === undefined ||
            found.symbols !== undefined
          ? undefined
          : await opened.tolerant(runtime, () => miniDebugInfo(runtime.elf));
        return await this.#elf(found, mini, opened);
      }
      case "kernel":
        return await this.#kernel(object, opened);
      case "module":
        return await this.#module(object, opened);
      case "jit":
        return await this.#jit(object, opened);
      case "bpf":
        return this.#bpf(object);
    }
  }

  async #search(object: SymbolObject, opened: OpenedFiles): Promise<Found> {
    const { arch } = this.#options;
    const wanted = arch === undefined ? object : { ...object, arch };
    const search = searchSymbolFiles(wanted, this.#places);
    let present = false;
    let step = search.next();
    while (!step.done) {
      const file = object.kind === "module"
        ? await opened.expanded(step.value.path)
        : opened.candidate(step.value.path);
      if (file !== undefined && !(file instanceof SymbolsError)) {
        const { buildId } = object;
        present ||= runsOn(arch, file.elf) &&
          (buildId === undefined || buildIdsEqual(opened.buildId(file.elf) ?? "", buildId));
      }
      step = search.next(file);
    }
    opened.refused.push(...step.value.refused);
    opened.keepOnly([step.value.symbols?.elf, step.value.runtime?.elf]);
    return { ...step.value, present, verified: object.buildId !== undefined };
  }

  async #elf(
    found: Found,
    miniDebugInfo: ElfFile | undefined,
    opened: OpenedFiles,
  ): Promise<Lookup> {
    const { symbols, runtime } = found;
    const file = symbols ?? runtime;
    if (file === undefined) {
      const other = opened.refused.some(({ reason }) =>
        reason === "build id differs" || reason === "no build id"
      );
      return new Nothing(
        found.present ? "no symbols" : other ? "build id differs" : "file missing",
      );
    }
    const tables = new ElfTables(file, opened, {
      ...(runtime === undefined ? {} : { runtime: runtime.elf }),
      ...(miniDebugInfo === undefined ? {} : { miniDebugInfo }),
      ...(this.#shownByPerf === undefined ? {} : { demangle: this.#shownByPerf }),
    });
    const debug = hasDwarf(file.elf) || runtime === undefined ? file : runtime;
    const dwarf = await this.#dwarf(debug, runtime?.path ?? file.path, opened);
    const addresses = new FileAddresses((runtime ?? file).elf);
    return {
      origin: debug.path,
      verified: found.verified,
      segments: addresses.segments,
      find: (offsets) =>
        findInElf(
          offsets,
          (offset) => addresses.fromOffset(offset),
          tables.for,
          dwarf,
          this.show,
        ),
    };
  }

  async #kernel(object: SymbolObject, opened: OpenedFiles): Promise<Lookup> {
    const { vmlinux, kallsyms, release } = this.#options;
    const wanted = {
      ...(object.buildId === undefined ? {} : { buildId: object.buildId }),
      ...(release === undefined ? {} : { release }),
    };
    const given: KernelCandidate[] = [];
    if (vmlinux !== undefined) given.push({ path: vmlinux, kind: "vmlinux" });
    if (kallsyms !== undefined) given.push({ path: kallsyms, kind: "kallsyms" });
    const candidates = given.length > 0 ? given : kernelCandidates(wanted, this.#places);
    if (given.length === 0 && this.#isRunning(object, opened)) {
      candidates.push({ path: RUNNING_KALLSYMS, kind: "kallsyms" });
    }
    let restricted = false;
    for (const { path, kind } of candidates) {
      if (kind === "vmlinux") {
        const lookup = await this.#vmlinux(path, object, opened);
        if (lookup !== undefined) return lookup;
        continue;
      }
      const text = this.#readKallsyms(path, opened);
      if (text === undefined) continue;
      if (text.restricted) {
        restricted = true;
        continue;
      }
      const moved = kernelBase(text.bytes, object);
      if (moved === undefined) {
        opened.refused.push({ path, origin: "path", reason: "another kernel" });
        continue;
      }
      return {
        origin: path,
        verified: given.length === 0 || moved === object.referenceAddress,
        find: (addresses) =>
          findInTable(
            addresses,
            moved,
            text.tableFor(addresses, moved),
            this.show,
            "no symbols",
            KERNEL_GROUP,
          ),
      };
    }
    const other = opened.refused.some(({ reason }) => reason === "build id differs");
    return new Nothing(
      restricted ? "kallsyms restricted" : other ? "build id differs" : "file missing",
    );
  }

  async #vmlinux(
    path: string,
    object: SymbolObject,
    opened: OpenedFiles,
  ): Promise<Lookup | undefined> {
    const file = opened.candidate(path);
    if (file === undefined) return undefined;
    const candidate = { path, origin: "vmlinux" } as const;
    if (file instanceof SymbolsError) {
      opened.refused.push({ ...candidate, reason: "not readable" });
      return undefined;
    }
    const { elf } = file;
    if (!runsOn(this.#options.arch, elf)) {
      opened.refused.push({ ...candidate, reason: "another architecture" });
      return undefined;
    }
    if (object.buildId !== undefined) {
      const buildId = opened.buildId(elf);
      if (buildId === undefined || !buildIdsEqual(buildId, object.buildId)) {
        opened.refused.push({
          ...candidate,
          ...(buildId === undefined
            ? { reason: "no build id" }
            : { reason: "build id differs", buildId }),
        });
        return undefined;
      }
    }
    const found: FoundFile = { path, origin: "path", elf };
    const linked = object.reference === undefined
      ? 0
      : opened.attempt(found, () => findElfSymbol(elf, object.reference as string));
    const table = opened.attempt(found, () => readElfSymbols(elf).table);
    if (linked === undefined || table === undefined || table.size === 0) return undefined;
    const dwarf = await this.#dwarf(found, path, opened);
    return {
      origin: path,
      verified: object.buildId !== undefined,
      find: (addresses) =>
        findInElf(addresses, (address) => address + linked, () => table, dwarf, this.show),
    };
  }

  async #module(object: SymbolObject, opened: OpenedFiles): Promise<Lookup> {
    if (object.path.startsWith("/")) {
      const found = await this.#search(object, opened);
      if (found.symbols !== undefined) {
        const { elf } = found.symbols;
        const tables = new ElfTables(found.symbols, opened);
        const dwarf = await this.#dwarf(found.symbols, found.symbols.path, opened);
        const addresses = elf.type === ET.REL ? undefined : new FileAddresses(elf);
        return {
          origin: found.symbols.path,
          verified: found.verified,
          find: (distances) =>
            findInElf(
              distances,
              (distance) => addresses === undefined ? distance : addresses.fromOffset(distance),
              tables.for,
              dwarf,
              this.show,
            ),
        };
      }
    }
    // Where a module lies is known from a copy of kallsyms of the very boot that was recorded.
    const { buildId: _, ...kernel } = object;
    const { loadAddress, reference, referenceAddress } = object;
    const path = this.#options.kallsyms ?? RUNNING_KALLSYMS;
    const text = loadAddress === undefined || reference === undefined
      ? undefined
      : this.#readKallsyms(path, opened);
    if (
      text !== undefined && loadAddress !== undefined && !text.restricted &&
      kernelBase(text.bytes, kernel) === referenceAddress
    ) {
      const group = text.read.modules.indexOf(moduleName(object.path));
      if (group > 0) {
        return {
          origin: path,
          verified: true,
          find: (distances) =>
            findInTable(distances, loadAddress, text.read.table, this.show, "no symbols", group),
        };
      }
    }
    const other = opened.refused.some(({ reason }) => reason === "build id differs");
    return new Nothing(other ? "build id differs" : "file missing");
  }

  async #jit(object: SymbolObject, opened: OpenedFiles): Promise<Lookup> {
    const symfs = (this.#options.symfs ?? "").replace(/\/$/, "");
    const jitdump = object.jitdump === undefined ? undefined : `${symfs}${object.jitdump}`;
    let dump: JitSymbols | undefined;
    if (jitdump !== undefined) {
      const source = opened.source(jitdump);
      const place = { path: jitdump, origin: "path" } as const;
      if (source !== undefined) {
        const { openJitdump } = await import("./jitdump.ts");
        const { JitSymbols } = await import("./jit_symbols.ts");
        dump = opened.attempt(place, () => new JitSymbols(openJitdump(source).records()));
      }
    }
    const path = `${symfs}${object.path}`;
    const text = opened.read(path);
    const map = text === undefined
      ? undefined
      : (await import("./perf_map.ts")).readPerfMap(text).table;
    if (dump === undefined && map === undefined) return new Nothing("JIT");
    const origin = dump !== undefined ? jitdump : path;
    return {
      ...(origin === undefined ? {} : { origin }),
      // A number of a process is used again, and another machine has the same.
      verified: false,
      find: (addresses, times) =>
        Array.from(addresses, (address, i) => {
          const code = dump?.lookup(address, times?.[i] ?? Infinity);
          if (dump !== undefined && code !== undefined) {
            const line = dump.line(code, address);
            const { name, start, end } = code;
            const frames: Frame[] = line === undefined ? [] : [{
              function: name,
              linkageName: undefined,
              file: line.file,
              line: line.line,
              column: 0,
              discriminator: line.discriminator,
              inlined: false,
            }];
            return resolution({ name, start, end }, frames, this.show);
          }
          const symbol = map?.get(map.lookup(address));
          return symbol === undefined ? unresolved("JIT") : resolution(symbol, [], this.show);
        }),
    };
  }

  #bpf(object: SymbolObject): Lookup {
    const symbol: SymbolInfo = { name: object.path, start: 0, end: object.size ?? 0 };
    const answer = resolution(symbol, [], this.show);
    // The recording itself has the name.
    return { verified: true, find: (addresses) => Array.from(addresses, () => answer) };
  }

  async #dwarf(
    file: FoundFile,
    runtimePath: string,
    opened: OpenedFiles,
  ): Promise<DwarfContext | undefined> {
    return this.#options.debugInformation === false
      ? undefined
      : await opened.dwarf(file, runtimePath);
  }

  #readKallsyms(
    path: string,
    opened: OpenedFiles,
  ): KallsymsText | undefined {
    if (!this.#kallsyms.has(path)) {
      const bytes = opened.read(path);
      this.#kallsyms.set(
        path,
        bytes === undefined || bytes.length === 0 ? undefined : new KallsymsText(bytes),
      );
    }
    return this.#kallsyms.get(path);
  }

  /**
   * Whether the recorded kernel is the one that runs here: by its build id, or where the recording
   * has none, by its release and the address that it was moved to when it was booted.
   */
  #isRunning(kernel: SymbolObject, opened: OpenedFiles): boolean {
    const { buildId, reference, referenceAddress } = kernel;
    if (buildId === undefined) {
      const { release } = this.#options;
      if (reference === undefined || release === undefined) return false;
      const running = opened.read(RUNNING_RELEASE);
      if (running === undefined || new TextDecoder().decode(running).trim() !== release) {
        return false;
      }
      const bytes = this.#readKallsyms(RUNNING_KALLSYMS, opened)?.bytes;
      return bytes !== undefined && kernelBase(bytes, kernel) === referenceAddress;
    }
    const notes = opened.read(RUNNING_NOTES);
    const running = notes === undefined ? undefined : buildIdOfNotes(notes, true, 4);
    return running !== undefined && buildIdsEqual(running, buildId);
  }
}

/** What a search has found, and whether a file of the right build was there at all. */
interface Found {
  readonly symbols?: FoundFile;
  readonly runtime?: FoundFile;
  readonly present: boolean;
  /** Whether the files are known to be of the recorded build. */
  readonly verified: boolean;
}

/** The files of one object. */
class OpenedFiles {
  readonly refused: RefusedFile[] = [];
  readonly faults: SymbolsError[] = [];
  faultCount = 0;
  readonly #files: SymbolFiles;
  readonly #options: ElfOpenOptions;
  readonly #elves = new Map<ElfFile, ClosableSource>();
  readonly #sources: ClosableSource[] = [];

  constructor(files: SymbolFiles, options: ElfOpenOptions) {
    this.#files = files;
    this.#options = options;
  }

  /** Opens an ELF file: `undefined` if it is not there, the error if it cannot be read. */
  candidate(path: string): OpenedCandidate | SymbolsError | undefined {
    let source: ClosableSource | undefined;
    try {
      source = this.#files.open(path);
      if (source === undefined) return undefined;
      const elf = ElfFile.open(source, this.#options);
      this.#elves.set(elf, source);
      return { source, elf };
    } catch (error) {
      source?.close?.();
      if (error instanceof SymbolsError) return error;
      throw error;
    }
  }

  /** {@linkcode OpenedFiles.candidate} for a file that may be compressed as a whole. */
  async expanded(path: string): Promise<OpenedCandidate | SymbolsError | undefined> {
    let source: ClosableSource | undefined;
    try {
      source = this.#files.open(path);
      if (source === undefined) return undefined;
      const { expandFile, fileCompression } = await import("./compressed_file.ts");
      const compression = fileCompression(source.read(0, Math.min(6, source.size)));
      if (compression === undefined) return this.candidate(path);
      const bytes = await expandFile(source.read(0, source.size), compression);
      const expanded = bytesSource(bytes);
      const elf = ElfFile.open(expanded, this.#options);
      this.#elves.set(elf, expanded);
      return { source: expanded, elf };
    } catch (error) {
      if (error instanceof SymbolsError) return error;
      throw error;
    } finally {
      source?.close?.();
    }
  }

  /** Opens any file; one that cannot be read is refused. */
  source(path: string): ClosableSource | undefined {
    return this.attempt({ path, origin: "path" }, () => {
      const source = this.#files.open(path);
      if (source !== undefined) this.#sources.push(source);
      return source;
    });
  }

  /** Reads a whole file; one that cannot be read is refused. */
  read(path: string): Uint8Array | undefined {
    return this.attempt({ path, origin: "path" }, () => {
      const bytes = this.#files.read(path, TEXT_LIMIT);
      if (bytes === undefined || bytes.length <= TEXT_LIMIT) return bytes;
      throw new SymbolsError(TEXT_LIMIT, `${path} has more than ${TEXT_LIMIT} bytes`);
    });
  }

  buildId(elf: ElfFile): string | undefined {
    try {
      return elf.buildId();
    } catch (error) {
      if (error instanceof SymbolsError) return undefined;
      throw error;
    }
  }

  /** Closes what a search has opened in vain. */
  keepOnly(wanted: readonly (ElfFile | undefined)[]): void {
    for (const [elf, source] of this.#elves) {
      if (wanted.includes(elf)) continue;
      this.#elves.delete(elf);
      source.close?.();
    }
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
    this.#fault(error);
  }

  #fault(error: SymbolsError): void {
    if (this.faultCount++ < FAULTS_KEPT) this.faults.push(error);
  }

  /** The debug information of a file, with what belongs to it: `.dwp`, `.dwo`, `dwz`. */
  async dwarf(file: FoundFile, runtimePath: string): Promise<DwarfContext> {
    const { DwarfContext } = await import("./dwarf/dwarf_context.ts");
    const { elfDwarfSections } = await import("./dwarf/elf_sections.ts");
    const folder = file.path.slice(0, file.path.lastIndexOf("/")) || "/";
    const sections = (path: string): DwarfSections | undefined => {
      const opened = this.candidate(path);
      return opened === undefined || opened instanceof SymbolsError
        ? undefined
        : elfDwarfSections(opened.elf);
    };
    return DwarfContext.open(elfDwarfSections(file.elf), {
      diagnostics: (error) => this.#fault(error),
      dwp: () => sections(`${runtimePath}.dwp`) ?? sections(`${file.path}.dwp`),
      dwo: ({ name, compDir }) =>
        sections(name.startsWith("/") ? name : `${compDir ?? folder}/${name}`) ??
          sections(`${folder}/${name.slice(name.lastIndexOf("/") + 1)}`),
      supplementary: () => {
        const elf = this.#supplementary(file.elf, folder);
        return elf === undefined ? undefined : elfDwarfSections(elf);
      },
    });
  }

  #supplementary(elf: ElfFile, folder: string): ElfFile | undefined {
    const link = elf.debugAltLink();
    if (link === undefined) return undefined;
    const { name, buildId } = link;
    const paths = [
      name.startsWith("/") ? name : `${folder}/${name}`,
      `/usr/lib/debug/.build-id/${buildId.slice(0, 2)}/${buildId.slice(2)}.debug`,
    ];
    for (const path of paths) {
      const opened = this.candidate(path);
      if (opened === undefined || opened instanceof SymbolsError) continue;
      const found = this.buildId(opened.elf);
      if (found !== undefined && buildIdsEqual(found, buildId)) return opened.elf;
      this.refused.push({
        path,
        origin: "debuglink",
        ...(found === undefined
          ? { reason: "no build id" }
          : { reason: "build id differs", buildId: found }),
      });
    }
    return undefined;
  }

  close(): void {
    this.keepOnly([]);
    for (const source of this.#sources.splice(0)) source.close?.();
  }
}

async function miniDebugInfo(elf: ElfFile): Promise<ElfFile | undefined> {
  const { readMiniDebugInfo } = await import("./elf/mini_debug_info.ts");
  return await readMiniDebugInfo(elf);
}

function hasDwarf(elf: ElfFile): boolean {
  return elf.debugSection(".debug_info") !== undefined;
}

/** The name of a module as `/proc/kallsyms` has it: `[my-mod]` and `…/my-mod.ko.xz` are `my_mod`. */
function moduleName(path: string): string {
  const name = path.slice(path.lastIndexOf("/") + 1);
  return name.replace(/^\[(.*)\]$/, "$1").replace(/\.ko(\.\w+)?$/, "").replaceAll("-", "_");
}

/** The address in a copy of kallsyms from which addresses of a kernel count. */
function kernelBase(kallsyms: Uint8Array, kernel: SymbolObject): Address | undefined {
  return kernel.reference === undefined ? 0 : findKallsym(kallsyms, kernel.reference);
}

/** Looks up in a symbol table whose addresses are those of the object plus `base`. */
function findInTable(
  addresses: Float64Array,
  base: Address,
  table: SymbolTable,
  show: (name: string) => string,
  otherwise: UnresolvedCause,
  group?: number,
): Resolution[] {
  const nothing = unresolved(otherwise);
  const known = new SymbolResolutions(table, show);
  return Array.from(addresses, (address) => {
    const index = table.lookup(address + base);
    return index < 0 || (group !== undefined && table.group(index) !== group)
      ? nothing
      : known.of(index, -base);
  });
}

/** What is said of the symbols of a table alone: the same object for all addresses of one. */
class SymbolResolutions {
  readonly #table: SymbolTable;
  readonly #show: (name: string) => string;
  readonly #known = new Map<number, Resolution>();

  constructor(table: SymbolTable, show: (name: string) => string) {
    this.#table = table;
    this.#show = show;
  }

  /** @param by what is added to the addresses of the table */
  of(index: number, by: number): Resolution {
    let known = this.#known.get(index);
    const { start } = known?.symbol ?? {};
    // A symbol may lie in two segments, in theory.
    if (known === undefined || start !== this.#table.start(index) + by) {
      known = resolution(moved(this.#table, index, by), [], this.#show);
      this.#known.set(index, known);
    }
    return known;
  }
}

function moved(table: SymbolTable, index: number, by: number): SymbolInfo {
  const symbol = {
    name: table.name(index),
    start: table.start(index) + by,
    end: table.end(index) + by,
  };
  return table.type(index) === STT.OBJECT ? { ...symbol, data: true } : symbol;
}

/** Look-ups for which only the symbols that they need are read; for more, all are. */
const FEW_LOOK_UPS = 2;

/** The symbol tables of a file. */
class ElfTables {
  readonly #file: FoundFile;
  readonly #opened: OpenedFiles;
  readonly #options: ElfSymbolsOptions;
  #lookUps = 0;
  #failed = false;
  #all: SymbolTable | undefined;

  constructor(file: FoundFile, opened: OpenedFiles, options: ElfSymbolsOptions = {}) {
    this.#file = file;
    this.#opened = opened;
    this.#options = options;
  }

  /** A table for the look-up of some addresses; `undefined` where it cannot be read. */
  readonly for = (addresses: Float64Array): SymbolTable | undefined => {
    if (this.#all !== undefined) return this.#all;
    if (this.#failed) return undefined;
    const few = this.#lookUps++ < FEW_LOOK_UPS;
    const options = few ? { ...this.#options, addresses: addresses.toSorted() } : this.#options;
    const table = this.#opened.attempt(
      this.#file,
      () => readElfSymbols(this.#file.elf, options).table,
    );
    this.#failed = table === undefined;
    if (!few) this.#all = table;
    return table;
  };
}

/** A copy of kallsyms. */
class KallsymsText {
  readonly bytes: Uint8Array;
  readonly restricted: boolean;
  #lookUps = 0;
  #read: Kallsyms | undefined;

  constructor(bytes: Uint8Array) {
    this.bytes = bytes;
    this.restricted = isKallsymsRestricted(bytes);
  }

  /** All of it. */
  get read(): Kallsyms {
    return this.#read ??= readKallsyms(this.bytes);
  }

  /** A table for the look-up of some addresses plus `base` among the kernel's own symbols. */
  tableFor(addresses: Float64Array, base: Address): SymbolTable {
    if (this.#read !== undefined || this.#lookUps++ >= FEW_LOOK_UPS) return this.read.table;
    return readKallsymsAt(this.bytes, addresses.map((address) => address + base).sort());
  }
}

/** Looks up in a symbol table and debug information. */
function findInElf(
  addresses: Float64Array,
  toFile: (address: Address) => Address | undefined,
  tableFor: (addresses: Float64Array) => SymbolTable | undefined,
  dwarf: DwarfContext | undefined,
  show: (name: string) => string,
): Resolution[] {
  const nothing = unresolved("no symbols");
  // No unit covers the highest address: it stands for what is not in the file.
  const inFile = addresses.map((address) => toFile(address) ?? -1);
  const table = tableFor(inFile);
  const known = table === undefined ? undefined : new SymbolResolutions(table, show);
  const batch = dwarf?.findAll(inFile, { keep: false });
  return Array.from(addresses, (address, i) => {
    const fileAddress = inFile[i] as number;
    const index = fileAddress === -1 ? -1 : table?.lookup(fileAddress) ?? -1;
    const bySymbol = known === undefined || index < 0
      ? nothing
      : known.of(index, address - fileAddress);
    const first = batch?.first[i] ?? 0;
    const count = batch?.count[i] ?? 0;
    if (batch === undefined || count === 0) return bySymbol;
    const frames: Frame[] = [];
    for (let k = first; k < first + count; k++) {
      const name = batch.functions[batch.function[k] as number];
      frames.push({
        function: name?.function,
        linkageName: name?.linkageName,
        file: batch.files[batch.file[k] as number],
        line: (batch.line[k] as number) >>> 0,
        column: (batch.column[k] as number) >>> 0,
        discriminator: (batch.discriminator[k] as number) >>> 0,
        inlined: k + 1 < first + count,
      });
    }
    return resolution(bySymbol.symbol, frames, show);
  });
}

/** Looks up in a bundle, and in files what it does not know. */
async function findBundled(
  bundled: BundleObject,
  addresses: Float64Array,
  times: Float64Array | undefined,
  files: () => Promise<Lookup>,
  show: (name: string) => string,
  debugInformation: boolean,
): Promise<Resolution[]> {
  const missing: number[] = [];
  const found = Array.from(addresses, (address, i) => {
    const entry = bundled.find(address);
    if (entry === undefined || entry.cause !== undefined) missing.push(i);
    return entry === undefined
      ? unresolved("no symbols")
      : entry.cause !== undefined
      ? unresolved(entry.cause)
      : resolution(
        entry.symbol,
        debugInformation || entry.symbol === undefined ? entry.frames : [],
        show,
      );
  });
  if (missing.length > 0) {
    const answers = (await files()).find(
      Float64Array.from(missing, (i) => addresses[i] as number),
      times === undefined ? undefined : Float64Array.from(missing, (i) => times[i] as number),
    );
    missing.forEach((i, k) => {
      const answer = answers[k];
      const known = bundled.find(addresses[i] as number);
      // The bundle's reason is about the machine that had the binaries: it says more.
      if (answer !== undefined && (answer.cause === undefined || known === undefined)) {
        found[i] = answer;
      }
    });
  }
  return found;
}
