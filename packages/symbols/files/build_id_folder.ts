import { fileKind } from "@perfdata/format/constants";
import { ElfFile } from "../elf/elf_file.ts";
import { SymbolsError } from "../errors.ts";
import type { SymbolFiles } from "./symbol_files.ts";

/** Limit of the depth of searched folders. */
const MOST_DEEP = 32;
/** Limit of the checked files: a user may name the root folder. */
const MOST_FILES = 200_000;

/**
 * The ELF files of a folder by build id, whatever their names: a folder of collected binaries,
 * perf's build-id cache, or the content of `perf archive`. The folder is scanned at the first
 * look-up.
 *
 * @example
 * ```ts
 * import { BuildIdFolder } from "@perfdata/symbols";
 * import { bytesSource } from "@perfdata/symbols/resolver";
 * import { assertEquals } from "@std/assert";
 *
 * const demo = Deno.readFileSync("fixtures/demo/demo");
 * const folder = new BuildIdFolder({
 *   open: (path) => path === "/collected/a.out.1" ? bytesSource(demo) : undefined,
 *   read: () => undefined,
 *   list: (path) => path === "/collected" ? [{ name: "a.out.1", isFolder: false }] : [],
 * }, "/collected/");
 * assertEquals(folder.find("00".repeat(20)), []);
 * assertEquals(folder.count, 1);
 * ```
 */
export class BuildIdFolder {
  readonly #files: SymbolFiles;
  readonly #folder: string;
  #paths: Map<string, string[]> | undefined;
  #left = MOST_FILES;

  /** Creates the index. The folder is not read yet. */
  constructor(files: SymbolFiles, folder: string) {
    this.#files = files;
    this.#folder = folder.replace(/(.)\/$/, "$1");
  }

  /** Number of build ids. */
  get count(): number {
    return this.#paths?.size ?? 0;
  }

  /**
   * The paths of the files with a build id, sorted.
   *
   * @param buildId In hex; may be padded with zeros, as in recordings.
   */
  find(buildId: string): readonly string[] {
    if (this.#paths === undefined) {
      this.#paths = new Map();
      this.#look(this.#folder, MOST_DEEP);
    }
    return this.#paths.get(keyOf(buildId)) ?? [];
  }

  #look(folder: string, deep: number): void {
    const entries = [...this.#files.list?.(folder) ?? []]
      .sort(({ name: a }, { name: b }) => a < b ? -1 : a > b ? 1 : 0);
    for (const { name, isFolder } of entries) {
      const path = `${folder}/${name}`;
      if (isFolder) {
        if (deep > 0) this.#look(path, deep - 1);
      } else if (this.#left-- > 0) this.#take(path);
    }
  }

  #take(path: string): void {
    let source;
    try {
      source = this.#files.open(path);
      // An ELF file is larger than its 52-byte header.
      if (source === undefined || source.size < 52) return;
      if (fileKind(source.read(0, 4)) !== "elf") return;
      const buildId = ElfFile.open(source).buildId();
      if (buildId === undefined) return;
      const key = keyOf(buildId);
      const paths = this.#paths?.get(key) ?? [];
      this.#paths?.set(key, [...paths, path]);
    } catch (error) {
      // Skip unreadable files.
      if (!(error instanceof SymbolsError)) throw error;
    } finally {
      source?.close?.();
    }
  }
}

function keyOf(buildId: string): string {
  return buildId.toLowerCase().padEnd(40, "0");
}
