import { floatAt, intAt } from "@perfdata/format/bytes";
import type { Address } from "./address.ts";
import { FileAddresses } from "./address_map.ts";
import { runsOn } from "../code/architecture.ts";
import type { DwarfContext, Frame } from "../dwarf/dwarf_context.ts";
import type { FunctionName } from "../dwarf/entry_names.ts";
import { ET } from "../elf/elf_constants.ts";
import type { ElfFile } from "../elf/elf_file.ts";
import type { ElfSymbolsOptions, readElfSymbols } from "../elf/elf_symbols.ts";
import {
  buildIdsEqual,
  type FoundFile,
  type SearchResult,
  type WantedFile,
} from "../files/file_search.ts";
import { type OpenedFiles, readableBuildId } from "../files/opened_files.ts";
import { type Resolution, resolution, type SymbolObject, unresolved } from "./resolution.ts";
import type { SymbolTable } from "../table/symbol_table.ts";
import { type Lookup, noSymbols, nothingFound, type ResolverContext } from "./lookup.ts";
import type { ObjectData } from "./object_data.ts";
import { FEW_LOOK_UPS, SymbolResolutions } from "./table_lookup.ts";

/** Opens the symbols of an executable, a library or the vdso. */
export async function elfLookup(
  object: SymbolObject,
  context: ResolverContext,
  opened: OpenedFiles,
): Promise<Lookup> {
  const wantsDebug = context.options.debugInformation !== false;
  const found = opened.search({ ...wantedFile(object, context), wantsDebug }, context.places);
  const { symbols, runtime } = found;
  const present = isPresent(object, context, opened);
  opened.keepOnly([symbols?.elf, runtime?.elf, found.debug?.elf]);
  const file = symbols ?? runtime;
  if (file === undefined) {
    return present ? noSymbols("no symbols") : nothingFound(opened);
  }
  const miniDebugInfo = await miniDebugInfoOf(found, opened);
  const tables = await ElfTables.of(file, opened, {
    ...(runtime === undefined ? {} : { runtime: runtime.elf }),
    miniDebugInfo,
    demangle: context.shownByPerf,
  });
  const hasDwarf = file.elf.debugSection(".debug_info") !== undefined;
  const debug = found.debug ?? (hasDwarf || runtime === undefined ? file : runtime);
  const dwarf = await debugInformation(debug, runtime?.path ?? file.path, context, opened);
  const addresses = new FileAddresses((runtime ?? file).elf);
  return {
    origin: debug.path,
    verified: object.buildId !== undefined,
    segments: addresses.segments,
    data: dataOf(dwarf, (offset) => addresses.fromOffset(offset), runtime?.elf, debug.elf),
    find: (offsets) =>
      findInElf(
        offsets,
        (offset) => addresses.fromOffset(offset),
        tables.tableFor,
        dwarf,
        context.show,
      ),
  };
}

/**
 * Opens the symbols of a kernel module's file, which may be compressed; `undefined` if it has none.
 */
export async function moduleFileLookup(
  object: SymbolObject,
  context: ResolverContext,
  opened: OpenedFiles,
): Promise<Lookup | undefined> {
  const { symbols, runtime } = await opened.searchExpanded(
    wantedFile(object, context),
    context.places,
  );
  opened.keepOnly([symbols?.elf, runtime?.elf]);
  if (symbols === undefined) return undefined;
  const { elf, path } = symbols;
  const tables = await ElfTables.of(symbols, opened);
  const dwarf = await debugInformation(symbols, path, context, opened);
  const addresses = elf.type === ET.REL ? undefined : new FileAddresses(elf);
  const toFile = (distance: Address) =>
    addresses === undefined ? distance : addresses.fromOffset(distance);
  return {
    origin: path,
    verified: object.buildId !== undefined,
    data: dataOf(dwarf, toFile, elf, elf),
    find: (distances) =>
      findInElf(
        distances,
        toFile,
        tables.tableFor,
        dwarf,
        context.show,
      ),
  };
}

function wantedFile(object: SymbolObject, { options }: ResolverContext): WantedFile {
  const arch = options.machine?.arch;
  return arch === undefined ? object : { ...object, arch };
}

/** Whether a file of the right build exists, with or without symbols. */
function isPresent(
  { buildId }: SymbolObject,
  { options }: ResolverContext,
  opened: OpenedFiles,
): boolean {
  const arch = options.machine?.arch;
  return opened.find((elf) =>
    runsOn(arch, elf) &&
    (buildId === undefined || buildIdsEqual(readableBuildId(elf) ?? "", buildId))
  ) !== undefined;
}

async function miniDebugInfoOf(
  { symbols, runtime }: SearchResult,
  opened: OpenedFiles,
): Promise<ElfFile | undefined> {
  if (runtime?.elf.section(".gnu_debugdata") === undefined || symbols !== undefined) {
    return undefined;
  }
  return await opened.tolerant(runtime, async () => {
    const { readMiniDebugInfo } = await import("../elf/mini_debug_info.ts");
    return await readMiniDebugInfo(runtime.elf);
  });
}

/** Opens a file's debug information; `undefined` if the options turn it off. */
export async function debugInformation(
  file: FoundFile,
  runtimePath: string,
  { options }: ResolverContext,
  opened: OpenedFiles,
): Promise<DwarfContext | undefined> {
  if (options.debugInformation === false) return undefined;
  const { openCompanionDwarf } = await import("./companion_dwarf.ts");
  return openCompanionDwarf(file, runtimePath, opened, (error) => opened.fault(error));
}

/**
 * Opens the look-up of variables and types in an object's debug information. Call frame information
 * is read on first use.
 */
export function dataOf(
  dwarf: DwarfContext | undefined,
  toFile: (address: Address) => Address | undefined,
  runtime: ElfFile | undefined,
  debug: ElfFile,
): Lookup["data"] {
  if (dwarf === undefined || debug.debugSection(".debug_info") === undefined) return undefined;
  let opened: Promise<ObjectData> | undefined;
  return () =>
    opened ??= import("./object_data.ts").then(({ ObjectData }) =>
      new ObjectData(dwarf, toFile, runtime ?? debug, debug)
    );
}

/** The symbols of a file, whose reader is loaded when there is a file: pages often have none. */
class ElfTables {
  readonly #file: FoundFile;
  readonly #opened: OpenedFiles;
  readonly #options: ElfSymbolsOptions;
  readonly #read: typeof readElfSymbols;
  #lookUps = 0;
  #failed = false;
  #all: SymbolTable | undefined;

  private constructor(
    file: FoundFile,
    opened: OpenedFiles,
    options: ElfSymbolsOptions,
    read: typeof readElfSymbols,
  ) {
    this.#file = file;
    this.#opened = opened;
    this.#options = options;
    this.#read = read;
  }

  static async of(
    file: FoundFile,
    opened: OpenedFiles,
    options: ElfSymbolsOptions = {},
  ): Promise<ElfTables> {
    const { readElfSymbols } = await import("../elf/elf_symbols.ts");
    return new ElfTables(file, opened, options, readElfSymbols);
  }

  /**
   * Returns the symbol table for the look-up of some addresses; `undefined` if it is unreadable.
   */
  readonly tableFor = (addresses: Float64Array): SymbolTable | undefined => {
    if (this.#all !== undefined) return this.#all;
    if (this.#failed) return undefined;
    const few = this.#lookUps++ < FEW_LOOK_UPS;
    const options = few ? { ...this.#options, addresses: addresses.toSorted() } : this.#options;
    const table = this.#opened.attempt(
      this.#file,
      () => this.#read(this.#file.elf, options).table,
    );
    this.#failed = table === undefined;
    if (!few) this.#all = table;
    return table;
  };
}

const NAMELESS: FunctionName = { function: undefined, linkageName: undefined };

/**
 * Looks up addresses in a symbol table and in debug information.
 *
 * @param toFile converts an object's address to a virtual address; `undefined` if it is not in the
 * file
 * @param tableFor returns the symbol table for some virtual addresses
 */
export function findInElf(
  addresses: Float64Array,
  toFile: (address: Address) => Address | undefined,
  tableFor: (addresses: Float64Array) => SymbolTable | undefined,
  dwarf: DwarfContext | undefined,
  show: (name: string) => string,
): Resolution[] {
  const nothing = unresolved("no symbols");
  // No unit covers the highest address, so -1 marks addresses that are not in the file.
  const inFile = addresses.map((address) => toFile(address) ?? -1);
  const table = tableFor(inFile);
  const known = table === undefined ? undefined : new SymbolResolutions(table, show);
  const batch = dwarf?.findAll(inFile, { keep: false });
  return Array.from(addresses, (address, i) => {
    const fileAddress = floatAt(inFile, i);
    const index = fileAddress === -1 ? -1 : table?.lookup(fileAddress) ?? -1;
    const bySymbol = known === undefined || index < 0
      ? nothing
      : known.resolve(index, address - fileAddress);
    const first = batch?.first[i] ?? 0;
    const count = batch?.count[i] ?? 0;
    if (batch === undefined || count === 0) return bySymbol;
    const frames: Frame[] = [];
    for (let k = first; k < first + count; k++) {
      const name = batch.functions[intAt(batch.function, k)];
      frames.push({
        ...(name ?? NAMELESS),
        file: batch.files[intAt(batch.file, k)],
        line: intAt(batch.line, k) >>> 0,
        column: intAt(batch.column, k) >>> 0,
        discriminator: intAt(batch.discriminator, k) >>> 0,
        inlined: k + 1 < first + count,
      });
    }
    return resolution(bySymbol.symbol, frames, show);
  });
}
