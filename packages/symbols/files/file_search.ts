import type { BinarySource } from "./binary_source.ts";
import type { BuildIdFolder } from "./build_id_folder.ts";
import { runsOn } from "../code/architecture.ts";
import { SHT } from "../elf/elf_constants.ts";
import { crc32 } from "../elf/crc32.ts";
import type { DebugLink, ElfFile } from "../elf/elf_file.ts";
import { SymbolsError } from "../errors.ts";
import { mapKind } from "./map_name.ts";

/** Object of a search. */
export interface WantedFile {
  /** Name of the mapping: a path, or `[vdso]`. */
  readonly path: string;
  /** Build id from the recording, hex; may be padded with zeros to 20 bytes. */
  readonly buildId?: string;
  /** Architecture of the recorded machine, as `uname -m` names it. */
  readonly arch?: string;
  /** Whether debug information is looked for, where the file with the symbols has none. */
  readonly wantsDebug?: boolean;
}

/** Where to look. Folders that are left out are not searched. */
export interface SearchPlaces {
  /** `--symfs`: put before the paths of files and of `/usr/lib/debug`. */
  readonly symfs?: string;
  /** The build-id cache of `perf`, usually `~/.debug`. */
  readonly buildIdCache?: string;
  /** Separate debug files, usually `/usr/lib/debug`, which is the default. */
  readonly debugRoot?: string;
  /** What debuginfod clients have downloaded, usually `~/.cache/debuginfod_client`. */
  readonly debuginfodCache?: string;
  /** Files of a folder by build id, whatever they are called: the last to be tried. */
  readonly byBuildId?: Pick<BuildIdFolder, "find">;
}

/**
 * The places where `perf` and clients of debuginfod look by default, by the environment: `HOME`,
 * `PERF_BUILDID_DIR`, `DEBUGINFOD_CACHE_PATH`, `XDG_CACHE_HOME`.
 *
 * @param environment A variable, `undefined` if it is not set or may not be read.
 *
 * @example
 * ```ts
 * import { searchPlaces } from "@perfdata/symbols/file-search";
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

/** Which rule led to a candidate. */
export type CandidateOrigin =
  | "path"
  | "debuglink"
  | "build-id cache"
  | "build-id cache, debug"
  | "debug root"
  | "debug root, build id"
  | "debuginfod cache"
  | "folder, build id"
  | "vmlinux"
  | "bundle";

/** A file to try. */
export interface FileCandidate {
  /** Its path. */
  readonly path: string;
  /** The rule that led to it. */
  readonly origin: CandidateOrigin;
}

/** A candidate that is there, opened. */
export interface OpenedCandidate {
  /** Its bytes. */
  readonly source: BinarySource;
  /** Its headers. */
  readonly elf: ElfFile;
}

/** A file that was found. */
export interface FoundFile extends FileCandidate {
  /** Its headers. */
  readonly elf: ElfFile;
}

/** A file that was there and was not used. */
export interface RefusedFile extends FileCandidate {
  /** Why not. */
  readonly reason:
    | "build id differs"
    | "no build id"
    | "debug link checksum differs"
    | "another architecture"
    | "another kernel"
    | "of another user"
    | "not readable";
  /** The build id it has. */
  readonly buildId?: string;
}

/** Result of a search. */
export interface SearchResult {
  /** The file with the best symbol table; debug information is usually there, too. */
  readonly symbols?: FoundFile;
  /** A file of the same build with debug information, where the others have none, and that is wanted. */
  readonly debug?: FoundFile;
  /** The file that was mapped, or one with its dynamic symbols and code. */
  readonly runtime?: FoundFile;
  /** The build id that files had to have. */
  readonly buildId?: string;
  /** Files that were there but are from another build, or cannot be read. */
  readonly refused: readonly RefusedFile[];
}

/**
 * Searches for the files that hold the symbols of a mapping, without touching a file system: it
 * yields a path, and is given the opened file (`next(opened)`), or `undefined` if there is none, or
 * a {@linkcode SymbolsError} if it is there but not readable as ELF.
 *
 * The order is that of `perf` (`binary_type_symtab` of tools/perf/util/symbol.c), then the cache of
 * debuginfod and a folder of files by build id, and can be read here from top to bottom; the search ends when a `.symtab` and a `.dynsym` are found. A file whose build id is
 * not the wanted one, or that is of an architecture that the recorded machine does not run, is
 * refused and reported, never used.
 *
 * @example
 * ```ts
 * import { searchSymbolFiles } from "@perfdata/symbols/file-search";
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

/** A part of a search: it yields files to open, and returns what became of them. */
type Steps<T> = Generator<FileCandidate, T, OpenedCandidate | SymbolsError | undefined>;

/** One search: what it has found so far, and the steps that lead to the rest. */
class FileSearch {
  readonly #wanted: WantedFile;
  readonly #places: SearchPlaces;
  readonly #symfs: string;
  readonly #debugRoot: string;
  readonly #isVdso: boolean;
  /** The mapped file itself. */
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
    // The mapped file itself comes late in the order, but it says where its debug file is, and
    // which build id that must have if the recording does not.
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

  /** The mapped file, whatever its build id. */
  *#openItself(): Steps<ElfFile | undefined> {
    if (this.#isVdso || !this.#wanted.path.startsWith("/")) return undefined;
    const opened = yield this.#itself;
    if (opened === undefined) return undefined;
    if (opened instanceof SymbolsError) return this.#refuse(this.#itself, "not readable");
    if (runsOn(this.#wanted.arch, opened.elf)) return opened.elf;
    return this.#refuse(this.#itself, "another architecture");
  }

  /** Where the mapped file says that its debug file is; its build id is wanted if no other is. */
  #linkOf(mapped: ElfFile): DebugLink | undefined {
    try {
      this.#buildId ??= mapped.buildId();
      return mapped.debugLink();
    } catch (error) {
      // A file with broken notes or links may still have symbols.
      if (!(error instanceof SymbolsError)) throw error;
      return undefined;
    }
  }

  /** Tries the files that a debug link can mean; whether all is found. */
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

  /** Tries all other files, until all is found. */
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
    // That looks through a folder, where what came before does not suffice.
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
      // Older versions of perf made the entry a link to the file itself.
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
      // Where /usr/lib and /lib are one, debug files may be filed under the other.
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

  /** Looks for debug information, where it is wanted and the files that were found have none. */
  *#searchDebug(): Steps<FoundFile | undefined> {
    const has = [this.#symbols, this.#runtime].some((file) =>
      file !== undefined && hasDebug(file.elf)
    );
    // Without a build id, nothing says that another file belongs to it.
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

  /** Where debug information alone may be, by build id. */
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

  /** Whether a file is of the wanted build and architecture; refuses it otherwise. */
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

  /** Takes a file for what it is good for; whether all is found. */
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
 * Compares two build ids in hex. Records pad shorter ones with zeros to 20 bytes; that counts as
 * equal.
 *
 * @example
 * ```ts
 * import { buildIdsEqual } from "@perfdata/symbols/file-search";
 * import { assert } from "@std/assert";
 *
 * assert(buildIdsEqual("abcd", "ABCD" + "00".repeat(18)));
 * ```
 */
export function buildIdsEqual(a: string, b: string): boolean {
  const padded = (id: string): string => id.toLowerCase().padEnd(40, "0");
  return padded(a) === padded(b);
}

/** Where the symbols of a kernel may be. */
export interface KernelCandidate {
  /** Path of the file. */
  readonly path: string;
  /** What kind of file it is. */
  readonly kind: "vmlinux" | "kallsyms";
}

/**
 * The files to try for the symbols of a kernel, in the order of `perf` (`dso__load_kernel_sym` of
 * tools/perf/util/symbol.c). A `vmlinux` must have the wanted build id. `/proc/kallsyms` is of use
 * only if that of the running kernel (`/sys/kernel/notes`) is the wanted one, and is not listed.
 *
 * @param release release of the recorded kernel (`uname -r`)
 *
 * @example
 * ```ts
 * import { kernelCandidates } from "@perfdata/symbols/file-search";
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
    // As perf archive packs the cache of build ids.
    found.push({ path: `${symfs}/[kernel.kallsyms]/${buildId}/kallsyms`, kind: "kallsyms" });
    for (const path of places.byBuildId?.find(buildId) ?? []) found.push({ path, kind: "vmlinux" });
  }
  return found;
}
