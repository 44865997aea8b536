import { byteAt } from "@perfdata/format/elements";
import type { Address } from "../resolver/address.ts";
import type { SymbolBundle } from "../bundle/bundle.ts";
import { FileAddresses } from "../resolver/address_map.ts";
import { JitCfi } from "../cfi/jit_cfi.ts";
import { PythonTrampolines } from "../cfi/python_trampoline.ts";
import { ObjectCfi } from "../cfi/object_cfi.ts";
import type { ExpressionTable, FrameRules } from "../cfi/frame_rules.ts";
import { NO_CFI, NO_OBJECT } from "../cfi/frame_walker.ts";
import { NO_FDE, type RowTable } from "../cfi/row_table.ts";
import { PF, PT, SHT } from "../elf/elf_constants.ts";
import type { ElfFile, ElfOpenOptions } from "../elf/elf_file.ts";
import { SymbolsError } from "../errors.ts";
import { runsOn } from "./architecture.ts";
import { buildIdsEqual, type SearchPlaces } from "../files/file_search.ts";
import type { JitFile, JitFiles } from "../jit/jit_files.ts";
import { OpenedFiles, readableBuildId } from "../files/opened_files.ts";
import type { SymbolObject } from "../resolver/resolution.ts";
import type { ClosableSource, SymbolFiles } from "../files/symbol_files.ts";

/** Queries about the code of one object when unwinding stacks. */
export interface ObjectCode {
  /** The file that answers; `undefined` if there is none. */
  readonly origin: string | undefined;
  /** What could not be read of it. */
  readonly damage: readonly SymbolsError[];
  /**
   * The row of an address.
   *
   * @param address as the object's kind counts
   * @returns a row of the table, or one of `NO_FDE`, `DAMAGED`, `NO_CFI`, `NO_OBJECT`
   */
  row(address: Address): number;
  /** The rules of all registers at an address for which there is a row. */
  rules(address: Address): CodeRules | undefined;
  /** Bytes of its memory that do not change, as an unsigned number; `NaN` where there are none. */
  memory(address: Address, size: number): number;
}

/** Rules, and the expressions that they refer to. */
export interface CodeRules {
  /** The rules of one address. */
  readonly rules: FrameRules;
  /** Their expressions. */
  readonly expressions: ExpressionTable;
}

/** The code of an object whose files are not here, or that has no tables. */
export function unknownCode(why: typeof NO_CFI | typeof NO_OBJECT): ObjectCode {
  return {
    origin: undefined,
    damage: [],
    row: () => why,
    rules: () => undefined,
    memory: () => NaN,
  };
}

/** Where code is looked for. */
export interface CodeSearch {
  /** The files that can be seen. */
  readonly files: SymbolFiles;
  /** The jitdump files. */
  readonly jit: JitFiles;
  /** A bundle, which is asked before any file is. */
  readonly bundle?: SymbolBundle | undefined;
  /** Where they are looked for. */
  readonly places: SearchPlaces;
  /** Architecture of the recorded machine. */
  readonly arch?: string | undefined;
  /** How ELF files are opened. */
  readonly elf?: ElfOpenOptions | undefined;
  /** By path of the object: the file in its `.gnu_debugdata`, see {@linkcode miniDebugInfos}. */
  readonly miniDebugInfo?: ReadonlyMap<string, ElfFile> | undefined;
}

/**
 * Reads what is in `.gnu_debugdata` of objects without `.eh_frame`, whose `.debug_frame` may be
 * there: to be done before, since it takes an asynchronous decompressor. What cannot be read is left
 * out.
 */
export async function miniDebugInfos(
  objects: Iterable<SymbolObject>,
  search: CodeSearch,
): Promise<Map<string, ElfFile>> {
  const found = new Map<string, ElfFile>();
  for (const object of objects) {
    if (object.kind !== "elf") continue;
    const opened = new OpenedFiles(search.files, search.elf ?? {});
    try {
      const elf = find(object, search, opened).mapped?.elf;
      if (elf === undefined || elf.section(".gnu_debugdata") === undefined) continue;
      if (elf.section(".eh_frame") !== undefined) continue;
      const { readMiniDebugInfo } = await import("../elf/mini_debug_info.ts");
      const inside = await readMiniDebugInfo(elf);
      if (inside !== undefined) found.set(object.path, inside);
    } catch (error) {
      if (!(error instanceof SymbolsError)) throw error;
    } finally {
      opened.close();
    }
  }
  return found;
}

/**
 * Opens the code of an object: call frame information and read-only memory, from the files in which
 * its symbols are looked for. A file of another build is not used. The files are closed again.
 */
export function openObjectCode(
  object: SymbolObject,
  rows: RowTable,
  search: CodeSearch,
): ObjectCode {
  const unwinding = search.bundle?.object(object)?.unwinding;
  return unwinding?.machine === rows.machine.machine
    ? new BundledCode(unwinding.section, rows, () => openFileCode(object, rows, search))
    : openFileCode(object, rows, search);
}

/** What a bundle knows, then what is in files, which are opened if the bundle does not. */
class BundledCode implements ObjectCode {
  readonly origin = "bundle";
  readonly #cfi: ObjectCfi;
  readonly #open: () => ObjectCode;
  #files: ObjectCode | undefined;

  constructor(bytes: Uint8Array, rows: RowTable, open: () => ObjectCode) {
    const section = { name: ".eh_frame", bytes, address: 0, littleEndian: true } as const;
    this.#cfi = ObjectCfi.ofSections(section, undefined, rows);
    this.#open = open;
  }

  get damage(): readonly SymbolsError[] {
    return this.#cfi.damage;
  }

  row(address: Address): number {
    const row = this.#cfi.find(address);
    if (row !== NO_FDE) return row;
    const inFiles = (this.#files ??= this.#open()).row(address);
    // That the machine which had the file found nothing says more than that it is not here.
    return inFiles === NO_OBJECT ? NO_CFI : inFiles;
  }

  rules(address: Address): CodeRules | undefined {
    return rulesOf(this.#cfi, address) ?? this.#files?.rules(address);
  }

  memory(address: Address, size: number): number {
    return this.#files?.memory(address, size) ?? NaN;
  }
}

function openFileCode(object: SymbolObject, rows: RowTable, search: CodeSearch): ObjectCode {
  switch (object.kind) {
    case "elf":
    case "vdso":
      return elfCode(object, rows, search);
    case "jit":
      return jitCode(object, rows, search);
    default:
      return unknownCode(NO_CFI);
  }
}

function elfCode(object: SymbolObject, rows: RowTable, search: CodeSearch): ObjectCode {
  const opened = new OpenedFiles(search.files, search.elf ?? {});
  try {
    const { symbols, mapped } = find(object, search, opened);
    if (mapped === undefined) return unknownCode(NO_OBJECT);
    const debug = symbols === undefined || symbols.elf === mapped.elf ? {} : { debug: symbols.elf };
    const miniDebugInfo = search.miniDebugInfo?.get(object.path);
    const mini = miniDebugInfo === undefined ? {} : { miniDebugInfo };
    const cfi = ObjectCfi.open({ runtime: mapped.elf, ...debug, ...mini }, rows);
    return new ElfCode(mapped.path, cfi, mapped.elf, search);
  } finally {
    opened.close();
  }
}

/** The file with symbols, and the one that was mapped. */
function find(object: SymbolObject, { arch, places }: CodeSearch, opened: OpenedFiles): {
  symbols: { elf: ElfFile } | undefined;
  mapped: { path: string; elf: ElfFile } | undefined;
} {
  const wanted = arch === undefined ? object : { ...object, arch };
  const { symbols, runtime } = opened.search(wanted, places);
  const { buildId } = object;
  // It may be among those that are no good for symbols: static, and stripped.
  const mapped = runtime ??
    opened.find((elf) =>
      elf.section(".text")?.type !== SHT.NOBITS && runsOn(arch, elf) &&
      (buildId === undefined || buildIdsEqual(readableBuildId(elf) ?? "", buildId))
    );
  return { symbols, mapped };
}

class ElfCode implements ObjectCode {
  readonly origin: string;
  readonly #cfi: ObjectCfi;
  readonly #addresses: FileAddresses;
  readonly #search: CodeSearch;
  readonly #segments: ElfFile["segments"];
  readonly #littleEndian: boolean;
  #bytes: ClosableSource | undefined;

  constructor(path: string, cfi: ObjectCfi, elf: ElfFile, search: CodeSearch) {
    this.origin = path;
    this.#cfi = cfi;
    this.#addresses = new FileAddresses(elf);
    this.#search = search;
    this.#segments = elf.segments;
    this.#littleEndian = elf.littleEndian;
  }

  get damage(): readonly SymbolsError[] {
    return this.#cfi.damage;
  }

  row(offset: Address): number {
    if (this.#cfi.empty) return NO_CFI;
    const address = this.#addresses.fromOffset(offset);
    return address === undefined ? NO_FDE : this.#cfi.find(address);
  }

  rules(offset: Address): CodeRules | undefined {
    const address = this.#addresses.fromOffset(offset);
    return address === undefined ? undefined : rulesOf(this.#cfi, address);
  }

  memory(offset: Address, size: number): number {
    const constant = this.#segments.some((s) =>
      s.type === PT.LOAD && (s.flags & PF.W) === 0 && offset >= s.offset &&
      offset + size <= s.offset + s.filesz
    );
    if (!constant) return NaN;
    try {
      this.#bytes ??= this.#search.files.open(this.origin);
      return this.#bytes === undefined
        ? NaN
        : number(this.#bytes.read(offset, size), this.#littleEndian);
    } catch (error) {
      if (error instanceof SymbolsError) return NaN;
      throw error;
    }
  }
}

/** The code of a JIT compiler: the tables in its jitdump file, and trampolines in its perf map. */
function jitCode(
  { path, jitdump, version }: SymbolObject,
  rows: RowTable,
  { jit }: CodeSearch,
): ObjectCode {
  const damage: SymbolsError[] = [];
  const tolerant = <T>(read: () => T): T | undefined => {
    try {
      return read();
    } catch (error) {
      if (!(error instanceof SymbolsError)) throw error;
      damage.push(error);
      return undefined;
    }
  };
  const dump = tolerant(() => jitdump === undefined ? undefined : dumpCfi(jit.open(jitdump), rows));
  const map = tolerant(() => jit.perfMap(path));
  const trampolines = map && PythonTrampolines.open(map, rows);
  if (dump === undefined && trampolines === undefined) return { ...unknownCode(NO_CFI), damage };
  const locate = (address: Address) =>
    dump?.locate(address, version) ?? trampolines?.locate(address);
  return {
    origin: jit.pathOf(dump === undefined || jitdump === undefined ? path : jitdump),
    damage,
    row(address) {
      const found = locate(address);
      return found === undefined ? NO_FDE : found.cfi.find(found.address);
    },
    rules(address) {
      const found = locate(address);
      return found && rulesOf(found.cfi, found.address);
    },
    memory: () => NaN,
  };
}

/** The tables of a jitdump file; `undefined` if it has none for the machine. */
function dumpCfi(file: JitFile | undefined, rows: RowTable): JitCfi | undefined {
  if (file === undefined) return undefined;
  const { header: { littleEndian, machine }, symbols } = file;
  // CPython 3.13.0 leaves the machine out.
  if (machine !== 0 && machine !== rows.machine.machine) return undefined;
  const cfi = new JitCfi(symbols, littleEndian, rows);
  return cfi.size === 0 ? undefined : cfi;
}

function rulesOf(cfi: ObjectCfi, address: Address): CodeRules | undefined {
  const source = cfi.source(address);
  const rules = source?.rules(address);
  return source === undefined || rules === undefined
    ? undefined
    : { rules, expressions: source.expressions };
}

function number(bytes: Uint8Array, littleEndian: boolean): number {
  let value = 0;
  for (let i = 0; i < bytes.length; i++) {
    value = value * 256 + byteAt(bytes, littleEndian ? bytes.length - 1 - i : i);
  }
  return value >= 2 ** 63 ? value - 2 ** 64 : value;
}
