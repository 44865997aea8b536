import { byteAt } from "@perfdata/format/bytes";
import type { Address } from "../resolver/address.ts";
import type { SymbolBundle } from "../bundle/bundle.ts";
import { FileAddresses } from "../resolver/address_map.ts";
import { JitCfi } from "../cfi/jit_cfi.ts";
import { PythonTrampolines } from "../cfi/python_trampoline.ts";
import { ObjectCfi } from "../cfi/object_cfi.ts";
import type { ExpressionTable, FrameRules } from "../cfi/frame_rules.ts";
import { NO_CFI, NO_OBJECT } from "../cfi/frame_walker.ts";
import { NO_FDE, type RowTable } from "../cfi/row_table.ts";
import { Sigreturn } from "../cfi/sigreturn.ts";
import { PF, PT, SHT } from "../elf/elf_constants.ts";
import type { ElfFile, ElfOpenOptions } from "../elf/elf_file.ts";
import { SymbolsError } from "../errors.ts";
import { runsOn } from "./architecture.ts";
import { buildIdsEqual, type SearchPlaces } from "../files/file_search.ts";
import type { JitFile, JitFiles } from "../jit/jit_files.ts";
import { OpenedFiles, readableBuildId } from "../files/opened_files.ts";
import type { SymbolObject } from "../resolver/resolution.ts";
import type { ClosableSource, SymbolFiles } from "../files/symbol_files.ts";

/** Code look-ups in one object for unwinding. */
export interface ObjectCode {
  /** Path of the file with the call frame information; `undefined` if there is none. */
  readonly origin: string | undefined;
  /** Errors of the parts that could not be read. */
  readonly damage: readonly SymbolsError[];
  /**
   * Returns the row of an address.
   *
   * @param address address in the object, as its kind defines
   * @returns a row of the table, `NO_FDE`, `DAMAGED`, `NO_CFI` or `NO_OBJECT`
   */
  row(address: Address): number;
  /** The rules of all registers at an address that has a row. */
  rules(address: Address): CodeRules | undefined;
  /** Reads constant memory as an unsigned number; `NaN` if it is unknown. */
  memory(address: Address, size: number): number;
}

/** Rules and their expressions. */
export interface CodeRules {
  /** Rules of the registers. */
  readonly rules: FrameRules;
  /** The expressions that the rules refer to. */
  readonly expressions: ExpressionTable;
}

/** Look-ups in an object without files or without tables: always `why`. */
export function unknownCode(why: typeof NO_CFI | typeof NO_OBJECT): ObjectCode {
  return {
    origin: undefined,
    damage: [],
    row: () => why,
    rules: () => undefined,
    memory: () => NaN,
  };
}

/** Search places of code. */
export interface CodeSearch {
  /** Access to the files. */
  readonly files: SymbolFiles;
  /** The opened jitdump files. */
  readonly jit: JitFiles;
  /** A bundle, which is searched before files. */
  readonly bundle?: SymbolBundle | undefined;
  /** Folders that are searched. */
  readonly places: SearchPlaces;
  /** Architecture of the recorded machine. */
  readonly arch?: string | undefined;
  /** Options for opening ELF files. */
  readonly elf?: ElfOpenOptions | undefined;
  /** The file in `.gnu_debugdata` by path of the object, see {@linkcode miniDebugInfos}. */
  readonly miniDebugInfo?: ReadonlyMap<string, ElfFile> | undefined;
}

/**
 * Decompresses `.gnu_debugdata` of objects without `.eh_frame`, since it may have `.debug_frame`.
 * Call it before opening code, because the decompressor is asynchronous. Unreadable files are
 * skipped.
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
 * Opens an object's call frame information and read-only memory, from the files that its symbols
 * are read from. A file of another build is refused. The files are closed before the return.
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

/** Looks up a bundle first, then files, which are opened only on a miss. */
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
    // The object is in the bundle, so it is known; it just has no call frame information.
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
    return new ElfCode(mapped, cfi, rows, search);
  } finally {
    opened.close();
  }
}

function find(object: SymbolObject, { arch, places }: CodeSearch, opened: OpenedFiles): {
  symbols: { elf: ElfFile } | undefined;
  mapped: { path: string; elf: ElfFile } | undefined;
} {
  const wanted = arch === undefined ? object : { ...object, arch };
  const { symbols, runtime } = opened.search(wanted, places);
  const { buildId } = object;
  // The mapped file may be one without symbols: static and stripped.
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
  readonly #sigreturn: Sigreturn | undefined;
  #bytes: ClosableSource | undefined;

  constructor(
    { path, elf }: { readonly path: string; readonly elf: ElfFile },
    cfi: ObjectCfi,
    rows: RowTable,
    search: CodeSearch,
  ) {
    this.origin = path;
    this.#cfi = cfi;
    this.#sigreturn = Sigreturn.of(rows);
    this.#addresses = new FileAddresses(elf);
    this.#search = search;
    this.#segments = elf.segments;
    this.#littleEndian = elf.littleEndian;
  }

  get damage(): readonly SymbolsError[] {
    return this.#cfi.damage;
  }

  row(offset: Address): number {
    if (this.#isSigreturn(offset)) return this.#sigreturn?.row() ?? NO_FDE;
    if (this.#cfi.empty) return NO_CFI;
    const address = this.#addresses.fromOffset(offset);
    return address === undefined ? NO_FDE : this.#cfi.find(address);
  }

  #isSigreturn(offset: Address): boolean {
    return this.#sigreturn?.isAt(offset, (at, size) => this.memory(at, size)) === true;
  }

  rules(offset: Address): CodeRules | undefined {
    if (this.#isSigreturn(offset)) return this.#sigreturn?.rules();
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

/** JIT-compiled code: tables in the jitdump file, and trampolines in the perf map. */
function jitCode(
  object: SymbolObject,
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
  const { path, version } = object;
  const dump = tolerant(() => dumpCfi(jit.open(object), rows));
  const map = tolerant(() => jit.perfMap(path));
  const trampolines = map && PythonTrampolines.open(map, rows);
  if (dump === undefined && trampolines === undefined) return { ...unknownCode(NO_CFI), damage };
  const locate = (address: Address) =>
    dump?.locate(address, version) ?? trampolines?.locate(address);
  return {
    origin: (dump && jit.dumpPath(object)) ?? jit.pathOf(path),
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

/** The tables of a jitdump file; `undefined` if it has none for this machine. */
function dumpCfi(file: JitFile | undefined, rows: RowTable): JitCfi | undefined {
  if (file === undefined) return undefined;
  const { header: { littleEndian, machine }, symbols } = file;
  // CPython 3.13.0 does not write the machine.
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
