import type { BinarySource } from "./binary_source.ts";
import type { BuildIdFolder } from "./build_id_folder.ts";
import { runsOn } from "../code/architecture.ts";
import { SHT } from "../elf/elf_constants.ts";
import { crc32 } from "../elf/crc32.ts";
import type { DebugLink, ElfFile } from "../elf/elf_file.ts";
import { SymbolsError } from "../errors.ts";
import { containerPath, mapKind } from "./map_name.ts";

/** The file to search for. */
export interface WantedFile {
  /** Name of the mapping: a path or `[vdso]`. */
  readonly path: string;
  /** Build id from the recording, hex; may be padded with zeros to 20 bytes. */
  readonly buildId?: string;
  /** Architecture of the recorded machine (`uname -m`). */
  readonly arch?: string;
  /** A process that maps the file. */
  readonly pid?: number;
  /** Whether to search for debug information if the file with the symbols has none. */
  readonly wantsDebug?: boolean;
}

/** Places to search. Missing places are skipped. */
export interface SearchPlaces {
  /** `--symfs`: prefix of the paths of binaries and of `/usr/lib/debug`. */
  readonly symfs?: string;
  /** The build-id cache of `perf`, by convention `~/.debug`. */
  readonly buildIdCache?: string;
  /** Folder of separate debug files; default `/usr/lib/debug`. */
  readonly debugRoot?: string;
  /** Cache of debuginfod clients, by convention `~/.cache/debuginfod_client`. */
  readonly debuginfodCache?: string;
  /** Files of a folder by build id. They are tried last. */
  readonly byBuildId?: Pick<BuildIdFolder, "find">;
}

/**
 * The default places of `perf` and debuginfod clients, from the environment: `HOME`,
 * `PERF_BUILDID_DIR`, `DEBUGINFOD_CACHE_PATH`, `XDG_CACHE_HOME`.
 *
 * @param environment Returns a variable; `undefined` if it is unset or access is denied.
 *
 * @example
 * ```ts
 * import { searchPlaces } from "@perfdata/symbols/resolver";
 * import { assertEquals } from "@std/assert";
 *
 * const { buildIdCache, debuginfodCache } = searchPlaces((name) => ({ HOME: "/home/a" })[name]);
 * assertEquals(buildIdCache, "/home/a/.debug");
 * assertEquals(debuginfodCache, "/home/a/.cache/debuginfod_client");
 * ```
 */
export function searchPlaces(environment: (name: string) => string | undefined): SearchPlaces {
  const home = environment("HOME");
  const cache = environment("XDG_CACHE_HOME") ??
    (home === undefined ? undefined : `${home}/.cache`);
  const debuginfod = environment("DEBUGINFOD_CACHE_PATH") ??
    (cache === undefined ? undefined : `${cache}/debuginfod_client`);
  const buildIds = environment("PERF_BUILDID_DIR") ??
    (home === undefined ? undefined : `${home}/.debug`);
  return {
    debugRoot: "/usr/lib/debug",
    ...(buildIds === undefined ? {} : { buildIdCache: buildIds }),
    ...(debuginfod === undefined ? {} : { debuginfodCache: debuginfod }),
  };
}

/** The rule that gave a candidate. */
export type CandidateOrigin =
  | "path"
  | "debuglink"
  | "build-id cache"
  | "build-id cache, debug"
  | "debug root"
  | "debug root, build id"
  | "debuginfod cache"
  | "folder, build id"
  | "container"
  | "vmlinux"
  | "bundle";

/** A file to try. */
export interface FileCandidate {
  /** Path of the file. */
  readonly path: string;
  /** The rule that gave it. */
  readonly origin: CandidateOrigin;
}

/** An opened candidate. */
export interface OpenedCandidate {
  /** Its bytes. */
  readonly source: BinarySource;
  /** Its headers. */
  readonly elf: ElfFile;
}

/** A file that the search chose. */
export interface FoundFile extends FileCandidate {
  /** Its headers. */
  readonly elf: ElfFile;
}

/** An existing file that was not used. */
export interface RefusedFile extends FileCandidate {
  /** Reason for the refusal. */
  readonly reason:
    | "build id differs"
    | "no build id"
    | "debug link checksum differs"
    | "another architecture"
    | "another kernel"
    | "of another user"
    | "not readable";
  /** Build id of the file. */
  readonly buildId?: string;
}

/** Result of a search. */
export interface SearchResult {
  /** The file with the best symbol table, which usually has debug information, too. */
  readonly symbols?: FoundFile;
  /** A file of the same build with debug information, if it is wanted and other files have none. */
  readonly debug?: FoundFile;
  /** The mapped file, or one with its dynamic symbols and code. */
  readonly runtime?: FoundFile;
  /** The build id that was required. */
  readonly buildId?: string;
  /** Files that exist but are from another build, or unreadable. */
  readonly refused: readonly RefusedFile[];
}

/**
 * Searches the files with the symbols of a mapping, without access to a file system: the generator
 * yields a path and receives (`next(opened)`) the opened file, `undefined` if it does not exist, or
 * a {@linkcode SymbolsError} if it is not readable as ELF.
 *
 * The order follows `perf` (`binary_type_symtab` of tools/perf/util/symbol.c), then debuginfod's
 * cache, the container of a process that still runs, and a folder of files by build id; the code below lists it from top to bottom. The search
 * ends when a `.symtab` and a `.dynsym` are found. A file with another build id, or of an
 * architecture that the recorded machine cannot run, is reported and never used.
 *
 * @example
 * ```ts
 * import { searchSymbolFiles } from "@perfdata/symbols/resolver";
 * import { assertEquals } from "@std/assert";
 *
 * const search = searchSymbolFiles({ path: "/usr/bin/true" });
 * const tried: string[] = [];
 * for (let step = search.next(); !step.done; step = search.next(undefined)) {
 *   tried.push(step.value.path);
 * }
 * assertEquals(tried, [
 *   "/usr/bin/true",
 *   "/usr/lib/debug/usr/bin/true.debug",
 *   "/usr/lib/debug/usr/bin/true",
 *   "/usr/bin/.debug/true",
 * ]);
 * ```
 */
export function searchSymbolFiles(
  wanted: WantedFile,
  places: SearchPlaces = {},
): Generator<FileCandidate, SearchResult, OpenedCandidate | SymbolsError | undefined> {
  return new FileSearch(wanted, places).search();
}

/** A part of a search, which yields files to open. */
type Steps<T> = Generator<FileCandidate, T, OpenedCandidate | SymbolsError | undefined>;

/** State and steps of one search. */
class FileSearch {
  readonly #wanted: WantedFile;
  readonly #places: SearchPlaces;
  readonly #symfs: string;
  readonly #debugRoot: string;
  readonly #isVdso: boolean;
  readonly #itself: FileCandidate;
  readonly #refused: RefusedFile[] = [];
  #symbols: FoundFile | undefined;
  #runtime: FoundFile | undefined;
  #buildId: string | undefined;

  constructor(wanted: WantedFile, places: SearchPlaces) {
    this.#wanted = wanted;
    this.#places = places;
    this.#symfs = (places.symfs ?? "").replace(/\/$/, "");
    this.#debugRoot = places.debugRoot ?? "/usr/lib/debug";
    this.#isVdso = mapKind(wanted.path) === "vdso";
    this.#itself = { path: this.#symfs + wanted.path, origin: "path" };
    this.#buildId = wanted.buildId;
  }

  *search(): Steps<SearchResult> {
    // The mapped file comes late in the order, but it names its debug file, and has the build id if
    // the recording lacks it.
    const mapped = yield* this.#openItself();
    const link = mapped === undefined ? undefined : this.#linkOf(mapped);
    const isFound = link !== undefined && (yield* this.#followLink(link));
    if (!isFound) yield* this.#tryOthers(mapped);
    const debug = yield* this.#searchDebug();
    return {
      ...(this.#symbols === undefined ? {} : { symbols: this.#symbols }),
      ...(debug === undefined ? {} : { debug }),
      ...(this.#runtime === undefined ? {} : { runtime: this.#runtime }),
      ...(this.#buildId === undefined ? {} : { buildId: this.#buildId }),
      refused: this.#refused,
    };
  }

  /** Opens the mapped file, whatever its build id. */
  *#openItself(): Steps<ElfFile | undefined> {
    if (this.#isVdso || !this.#wanted.path.startsWith("/")) return undefined;
    const opened = yield this.#itself;
    if (opened === undefined) return undefined;
    if (opened instanceof SymbolsError) return this.#refuse(this.#itself, "not readable");
    if (runsOn(this.#wanted.arch, opened.elf)) return opened.elf;
    return this.#refuse(this.#itself, "another architecture");
  }

  /**
   * The mapped file's debug link. Its build id becomes the required one, unless the recording has
   * one.
   */
  #linkOf(mapped: ElfFile): DebugLink | undefined {
    try {
      this.#buildId ??= mapped.buildId();
      return mapped.debugLink();
    } catch (error) {
      // A file with malformed notes or links may still have symbols.
      if (!(error instanceof SymbolsError)) throw error;
      return undefined;
    }
  }

  /** Tries the files that a debug link can refer to. Returns whether the search is complete. */
  *#followLink(link: DebugLink): Steps<boolean> {
    const { path: itself } = this.#itself;
    const folder = itself.slice(0, itself.lastIndexOf("/"));
    const paths = [
      ...(link.name.startsWith("/") ? [link.name] : []),
      `${folder}/${link.name}`,
      `${folder}/.debug/${link.name}`,
      `${this.#debugRoot}${folder}/${link.name}`,
    ];
    for (const path of paths) {
      if (path === itself) continue;
      const candidate: FileCandidate = { path, origin: "debuglink" };
      const opened = yield candidate;
      if (opened === undefined) continue;
      if (opened instanceof SymbolsError) this.#refuse(candidate, "not readable");
      else if (this.#buildId === undefined && crc32(opened.source) !== link.crc32) {
        this.#refuse(candidate, "debug link checksum differs");
      } else if (this.#fits(candidate, opened.elf)) return this.#take(candidate, opened.elf);
    }
    return false;
  }

  /** Tries all other files until the search is complete. */
  *#tryOthers(mapped: ElfFile | undefined): Steps<void> {
    for (const candidate of this.#others()) {
      if (candidate === "itself") {
        if (mapped === undefined || !this.#fits(this.#itself, mapped)) continue;
        if (this.#take(this.#itself, mapped)) return;
        continue;
      }
      const opened = yield candidate;
      if (opened === undefined) continue;
      if (opened instanceof SymbolsError) this.#refuse(candidate, "not readable");
      else if (this.#fits(candidate, opened.elf) && this.#take(candidate, opened.elf)) return;
    }
  }

  *#others(): Generator<FileCandidate | "itself"> {
    yield* this.#inPlaces();
    // Without a build id, the pid may belong to another process by now.
    const { buildId, pid, path } = this.#wanted;
    if (pid !== undefined && buildId !== undefined && this.#symfs === "" && path.startsWith("/")) {
      yield { path: containerPath(pid, path), origin: "container" };
    }
    // This scans a folder, so it comes last.
    if (this.#buildId === undefined) return;
    for (const path of this.#places.byBuildId?.find(this.#buildId) ?? []) {
      yield { path, origin: "folder, build id" };
    }
  }

  #inPlaces(): (FileCandidate | "itself")[] {
    const { path } = this.#wanted;
    const { buildIdCache, debuginfodCache } = this.#places;
    const [buildId, symfs, debugRoot] = [this.#buildId, this.#symfs, this.#debugRoot];
    const found: (FileCandidate | "itself")[] = [];
    const inFolders = buildId === undefined
      ? undefined
      : `${buildId.slice(0, 2)}/${buildId.slice(2)}`;
    if (inFolders !== undefined && buildIdCache !== undefined) {
      const entry = `${buildIdCache}/.build-id/${inFolders}`;
      found.push({ path: `${entry}/${this.#isVdso ? "vdso" : "elf"}`, origin: "build-id cache" });
      // In older perf versions the entry is a link to the file.
      found.push({ path: entry, origin: "build-id cache" });
      found.push({ path: `${entry}/debug`, origin: "build-id cache, debug" });
    }
    const isFile = path.startsWith("/") && !this.#isVdso;
    if (isFile) {
      found.push({ path: `${symfs}${debugRoot}${path}.debug`, origin: "debug root" });
      found.push({ path: `${symfs}${debugRoot}${path}`, origin: "debug root" });
    }
    if (inFolders !== undefined) {
      found.push({
        path: `${symfs}${debugRoot}/.build-id/${inFolders}.debug`,
        origin: "debug root, build id",
      });
    }
    if (isFile) {
      found.push("itself");
      const slash = path.lastIndexOf("/");
      const beside = `${symfs}${path.slice(0, slash)}/.debug${path.slice(slash)}`;
      found.push({ path: beside, origin: "debug root" });
      // If /lib is a link to /usr/lib, debug files may be stored under /lib.
      if (path.startsWith("/usr/lib/")) {
        found.push({ path: `${symfs}${debugRoot}${path.slice(4)}`, origin: "debug root" });
      }
    }
    if (buildId !== undefined && debuginfodCache !== undefined) {
      const entry = `${debuginfodCache}/${buildId}`;
      found.push({ path: `${entry}/debuginfo`, origin: "debuginfod cache" });
      found.push({ path: `${entry}/executable`, origin: "debuginfod cache" });
    }
    return found;
  }

  /** Searches debug information, if it is wanted and the chosen files have none. */
  *#searchDebug(): Steps<FoundFile | undefined> {
    const has = [this.#symbols, this.#runtime].some((file) =>
      file !== undefined && hasDebug(file.elf)
    );
    // Only a build id shows that another file belongs to it.
    const buildId = this.#buildId;
    if (this.#wanted.wantsDebug !== true || buildId === undefined || has) return undefined;
    for (const candidate of this.#debugCandidates(buildId)) {
      const opened = yield candidate;
      if (opened instanceof SymbolsError) this.#refuse(candidate, "not readable");
      else if (
        opened !== undefined && hasDebug(opened.elf) && this.#fits(candidate, opened.elf)
      ) return { ...candidate, elf: opened.elf };
    }
    return undefined;
  }

  /** Places of files with only debug information, by build id. */
  *#debugCandidates(buildId: string): Generator<FileCandidate> {
    const { buildIdCache, debuginfodCache, byBuildId } = this.#places;
    const inFolders = `${buildId.slice(0, 2)}/${buildId.slice(2)}`;
    if (buildIdCache !== undefined) {
      const path = `${buildIdCache}/.build-id/${inFolders}/debug`;
      yield { path, origin: "build-id cache, debug" };
    }
    const path = `${this.#symfs}${this.#debugRoot}/.build-id/${inFolders}.debug`;
    yield { path, origin: "debug root, build id" };
    if (debuginfodCache !== undefined) {
      yield { path: `${debuginfodCache}/${buildId}/debuginfo`, origin: "debuginfod cache" };
    }
    for (const path of byBuildId?.find(buildId) ?? []) yield { path, origin: "folder, build id" };
  }

  /** Checks build id and architecture, and refuses the file on a mismatch. */
  #fits(candidate: FileCandidate, elf: ElfFile): boolean {
    if (!runsOn(this.#wanted.arch, elf)) {
      this.#refuse(candidate, "another architecture");
      return false;
    }
    if (this.#buildId === undefined) return true;
    let found: string | undefined;
    try {
      found = elf.buildId();
    } catch (error) {
      if (!(error instanceof SymbolsError)) throw error;
      this.#refuse(candidate, "not readable");
      return false;
    }
    if (found === undefined) this.#refuse(candidate, "no build id");
    else if (!buildIdsEqual(this.#buildId, found)) {
      this.#refused.push({ ...candidate, reason: "build id differs", buildId: found });
    } else return true;
    return false;
  }

  /**
   * Uses the file for symbols and code, if these are missing. Returns whether the search is
   * complete.
   */
  #take(candidate: FileCandidate, elf: ElfFile): boolean {
    if (this.#symbols === undefined && hasSymtab(elf)) this.#symbols = { ...candidate, elf };
    if (this.#runtime === undefined && isRuntime(elf)) this.#runtime = { ...candidate, elf };
    return this.#symbols !== undefined && this.#runtime !== undefined;
  }

  #refuse(candidate: FileCandidate, reason: RefusedFile["reason"]): undefined {
    this.#refused.push({ ...candidate, reason });
  }
}

function hasDebug(elf: ElfFile): boolean {
  return elf.debugSection(".debug_info") !== undefined;
}

function hasSymtab(elf: ElfFile): boolean {
  return elf.section(".symtab")?.type === SHT.SYMTAB;
}

function isRuntime(elf: ElfFile): boolean {
  return elf.section(".dynsym")?.type === SHT.DYNSYM || elf.section(".opd")?.type === SHT.PROGBITS;
}

/**
 * Compares two build ids in hex. Recordings pad short ones with zeros to 20 bytes; such ids are
 * equal.
 *
 * @example
 * ```ts
 * import { buildIdsEqual } from "@perfdata/symbols/resolver";
 * import { assert } from "@std/assert";
 *
 * assert(buildIdsEqual("abcd", "ABCD" + "00".repeat(18)));
 * ```
 */
export function buildIdsEqual(a: string, b: string): boolean {
  const padded = (id: string): string => id.toLowerCase().padEnd(40, "0");
  return padded(a) === padded(b);
}

/** A possible source of a kernel's symbols. */
export interface KernelCandidate {
  /** Path of the file. */
  readonly path: string;
  /** Format of the file. */
  readonly kind: "vmlinux" | "kallsyms";
}

/**
 * The files to try for a kernel's symbols, in the order of `perf` (`dso__load_kernel_sym` of
 * tools/perf/util/symbol.c). A `vmlinux` must have the wanted build id. `/proc/kallsyms` is not
 * listed: it is usable only if the running kernel's build id (`/sys/kernel/notes`) is the wanted
 * one.
 *
 * @param release release of the recorded kernel (`uname -r`)
 *
 * @example
 * ```ts
 * import { kernelCandidates } from "@perfdata/symbols/resolver";
 * import { assertEquals } from "@std/assert";
 *
 * const paths = kernelCandidates({ release: "6.1.0" }).map((candidate) => candidate.path);
 * assertEquals(paths.slice(0, 3), ["vmlinux", "/boot/vmlinux", "/boot/vmlinux-6.1.0"]);
 * ```
 */
export function kernelCandidates(
  wanted: { readonly buildId?: string; readonly release?: string },
  places: SearchPlaces = {},
): KernelCandidate[] {
  const { buildId, release } = wanted;
  const symfs = (places.symfs ?? "").replace(/\/$/, "");
  const debugRoot = places.debugRoot ?? "/usr/lib/debug";
  const found: KernelCandidate[] = [];
  const entry = buildId === undefined || places.buildIdCache === undefined
    ? undefined
    : `${places.buildIdCache}/.build-id/${buildId.slice(0, 2)}/${buildId.slice(2)}`;
  if (entry !== undefined) {
    found.push({ path: `${entry}/elf`, kind: "vmlinux" });
    found.push({ path: entry, kind: "vmlinux" });
  }
  const vmlinux = (path: string): void => {
    found.push({
      path: symfs === "" ? path : `${symfs}/${path.replace(/^\//, "")}`,
      kind: "vmlinux",
    });
  };
  vmlinux("vmlinux");
  vmlinux("/boot/vmlinux");
  if (release !== undefined && symfs === "") {
    vmlinux(`/boot/vmlinux-${release}`);
    vmlinux(`${debugRoot}/boot/vmlinux-${release}`);
    vmlinux(`/lib/modules/${release}/build/vmlinux`);
    vmlinux(`${debugRoot}/lib/modules/${release}/vmlinux`);
    vmlinux(`${debugRoot}/boot/vmlinux-${release}.debug`);
  }
  if (buildId !== undefined && places.buildIdCache !== undefined) {
    const copy = `${places.buildIdCache}/[kernel.kallsyms]/${buildId}`;
    found.push({ path: `${copy}/kallsyms`, kind: "kallsyms" });
    found.push({ path: copy, kind: "kallsyms" });
  }
  if (buildId !== undefined && places.debuginfodCache !== undefined) {
    const path = `${places.debuginfodCache}/${buildId}/debuginfo`;
    found.push({ path, kind: "vmlinux" });
  }
  if (buildId !== undefined && symfs !== "") {
    // The layout of perf archive's build-id cache.
    found.push({ path: `${symfs}/[kernel.kallsyms]/${buildId}/kallsyms`, kind: "kallsyms" });
    for (const path of places.byBuildId?.find(buildId) ?? []) found.push({ path, kind: "vmlinux" });
  }
  return found;
}
