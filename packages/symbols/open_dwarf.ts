// Uses Deno's file system API and node:zlib: opens a binary together with its debug information.

import { DwarfContext } from "./dwarf/dwarf_context.ts";
import type { DwarfError } from "./dwarf/dwarf_error.ts";
import { elfDwarfSections } from "./dwarf/elf_sections.ts";
import type { DwarfSections } from "./dwarf/sections.ts";
import { SHT } from "./elf/constants.ts";
import { ElfFile } from "./elf/elf_file.ts";
import { readElfSymbols } from "./elf/elf_symbols.ts";
import { SymbolsError } from "./errors.ts";
import { buildIdsEqual, type SearchPlaces } from "./file_search.ts";
import { type FileSource, openFileSource } from "./file_source.ts";
import { findSymbolFiles } from "./find_file.ts";
import { nodeDecompressors } from "./node_decompressors.ts";
import type { SymbolTable } from "./symbol_table.ts";

/** A binary, and where its debug information is. */
export interface OpenedDwarf extends Disposable {
  /** The file that was asked for. */
  readonly elf: ElfFile;
  /** The file that has the symbol table and the debug information: `elf`, or a separate one. */
  readonly debug: ElfFile;
  /** Path of `debug`. */
  readonly debugPath: string;
  /** Its DWARF. */
  readonly dwarf: DwarfContext;
  /** Its symbols, with those of `elf`. Reads them. */
  readSymbols(): SymbolTable;
  /** Closes all files. */
  close(): void;
}

/** Options of {@linkcode openDwarf}. */
export interface OpenDwarfOptions {
  /** Where separate files of debug information are looked for; the default is `/usr/lib/debug`. */
  readonly places?: SearchPlaces;
  /** Receives what cannot be read; without it, look-ups throw. */
  readonly diagnostics?: (error: DwarfError) => void;
}

/**
 * Opens a binary and what belongs to it: the separate file of debug information
 * (`.gnu_debuglink`, build id), the supplementary file of `dwz`, `FILE.dwp`, and `.dwo` files where
 * the compiler has left them, or next to the binary.
 *
 * @throws {SymbolsError} if the file is not ELF
 *
 * @example
 * ```ts
 * import { openDwarf } from "@perfdata/symbols/open-dwarf";
 * import { assertEquals } from "@std/assert";
 *
 * using binary = openDwarf(Deno.execPath());
 * assertEquals(binary.dwarf.find(0), []);
 * ```
 */
export function openDwarf(path: string, options: OpenDwarfOptions = {}): OpenedDwarf {
  const sources: FileSource[] = [];
  const open = (file: string): ElfFile => {
    const source = openFileSource(file);
    sources.push(source);
    return ElfFile.open(source, { decompressors: nodeDecompressors });
  };
  const close = (): void => {
    for (const source of sources.splice(0)) source.close();
  };
  const tryOpen = (file: string): ElfFile | undefined => {
    try {
      return open(file);
    } catch (error) {
      if (error instanceof SymbolsError || error instanceof Deno.errors.NotFound) return undefined;
      throw error;
    }
  };
  try {
    const real = Deno.realPathSync(path);
    const elf = open(real);
    let debug = elf, debugPath = real;
    if (!hasDwarf(elf)) {
      const found = findSymbolFiles({ path: real }, options.places ?? {});
      const { symbols } = found;
      found.close();
      const separate = symbols === undefined || symbols.path === real
        ? undefined
        : tryOpen(symbols.path);
      if (symbols !== undefined && separate !== undefined) {
        debug = separate;
        debugPath = symbols.path;
      }
    }
    const folder = folderOf(debugPath);
    const sections = (file: ElfFile | undefined): DwarfSections | undefined =>
      file === undefined ? undefined : elfDwarfSections(file);
    const dwarf = DwarfContext.open(elfDwarfSections(debug), {
      ...(options.diagnostics === undefined ? {} : { diagnostics: options.diagnostics }),
      dwp: () => sections(tryOpen(`${real}.dwp`) ?? tryOpen(`${debugPath}.dwp`)),
      dwo: ({ name, compDir }) => {
        const full = name.startsWith("/") ? name : `${compDir ?? folder}/${name}`;
        const beside = `${folder}/${name.slice(name.lastIndexOf("/") + 1)}`;
        return sections(tryOpen(full) ?? tryOpen(beside));
      },
      supplementary: () => {
        const link = debug.debugAltLink();
        if (link === undefined) return undefined;
        const id = link.buildId;
        const candidates = [
          link.name.startsWith("/") ? link.name : `${folder}/${link.name}`,
          `/usr/lib/debug/.build-id/${id.slice(0, 2)}/${id.slice(2)}.debug`,
        ];
        for (const candidate of candidates) {
          const file = tryOpen(candidate);
          // Offsets into a file of another build would give names of anything.
          if (file !== undefined && buildIdsEqual(file.buildId() ?? "", id)) return sections(file);
        }
        return undefined;
      },
    });
    const readSymbols = () => readElfSymbols(debug, { runtime: elf }).table;
    return { elf, debug, debugPath, dwarf, readSymbols, close, [Symbol.dispose]: close };
  } catch (error) {
    close();
    throw error;
  }
}

function hasDwarf(elf: ElfFile): boolean {
  const section = elf.debugSection(".debug_info");
  return section !== undefined && section.type !== SHT.NOBITS;
}

function folderOf(path: string): string {
  return path.slice(0, path.lastIndexOf("/")) || "/";
}
