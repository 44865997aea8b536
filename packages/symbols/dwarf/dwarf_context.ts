import { type Address, addressFromBigInt } from "../address.ts";
import { KIND, SLOT } from "./abbrev.ts";
import { DW_FORM } from "./constants.ts";
import { Die } from "./die.ts";
import { DwarfError } from "./dwarf_error.ts";
import { DwarfFile } from "./dwarf_file.ts";
import { FunctionTable } from "./functions.ts";
import { LineTable } from "./line_table.ts";
import { PackageIndex } from "./package_index.ts";
import type { Cells } from "./paint.ts";
import type { DwarfSections } from "./sections.ts";
import type { Unit } from "./unit.ts";
import { unitIndex } from "./unit_index.ts";

/** A split unit (`.dwo`) that is wanted. */
export interface DwoRequest {
  /** File name, `DW_AT_dwo_name`; relative to {@link compDir}. */
  readonly name: string;
  /** Directory of the compilation. */
  readonly compDir: string | undefined;
  /** Id that the file must have; 64 bits. */
  readonly id: bigint | undefined;
}

/** Where {@link DwarfContext} finds what is in other files, and how it deals with what is broken. */
export interface DwarfOptions {
  /** Opens the supplementary file (`.gnu_debugaltlink`), which `dwz` makes. Called once at most. */
  readonly supplementary?: () => DwarfSections | undefined;
  /** Opens the package file (`.dwp`) beside the binary. Called once at most. */
  readonly dwp?: () => DwarfSections | undefined;
  /** Opens a split unit that the package does not have. Called once for each unit at most. */
  readonly dwo?: (request: DwoRequest) => DwarfSections | undefined;
  /**
   * Is told, once, of each part that cannot be read; look-ups then give what the other parts hold.
   * Without it, look-ups throw.
   */
  readonly diagnostics?: (error: DwarfError) => void;
  /** Bytes of parsed tables to keep, 512 MiB by default. The least recently used unit goes first. */
  readonly cacheBytes?: number;
}

/** A function as DWARF names it. */
export interface FunctionName {
  /** `DW_AT_name`: `push_back`, without scopes. */
  readonly function: string | undefined;
  /** `DW_AT_linkage_name`: the mangled name, where there is one. */
  readonly linkageName: string | undefined;
}

/** A function at an address, and where in its source. */
export interface Frame extends FunctionName {
  /** Path of the source file, absolute where the producer said what it is relative to. */
  readonly file: string | undefined;
  /** Line, from 1; 0 where it is not known. */
  readonly line: number;
  /** Column, from 1; 0 where it is not known. */
  readonly column: number;
  /** Number of the block on this line; 0 where there is only one. */
  readonly discriminator: number;
  /** True where the code was inlined into that of the next frame. */
  readonly inlined: boolean;
}

/**
 * The frames of many addresses. Those of address number `i` are
 * `first[i] … first[i] + count[i] - 1`, innermost first.
 */
export interface FrameBatch {
  /** Index of the first frame of each address. */
  readonly first: Uint32Array;
  /** Number of frames of each address, 0 where no unit covers it. */
  readonly count: Uint32Array;
  /** Of each frame, the index in {@link functions}, or -1. */
  readonly function: Int32Array;
  /** Of each frame, the index in {@link files}, or -1. */
  readonly file: Int32Array;
  /** Of each frame, the line, 0 where it is not known. */
  readonly line: Int32Array;
  /** Of each frame, the column, 0 where it is not known. */
  readonly column: Int32Array;
  /** Of each frame, the discriminator, 0 where there is none. */
  readonly discriminator: Int32Array;
  /** Every function that a look-up of this context has met; it grows, indices stay. */
  readonly functions: readonly FunctionName[];
  /** Every source path that a look-up of this context has met; it grows, indices stay. */
  readonly files: readonly string[];
}

const DEFAULT_CACHE = 512 * 1024 * 1024;
/** Steps from an entry to the one that names it. Compilers need three or four. */
const LONGEST_ORIGIN = 64;
/** Inlined calls within each other. Compilers stop at some dozens. */
const DEEPEST_INLINING = 4096;

/** Frames as they are found. */
class FrameSink {
  function = new Int32Array(256);
  file = new Int32Array(256);
  line = new Int32Array(256);
  column = new Int32Array(256);
  discriminator = new Int32Array(256);
  count = 0;

  push(
    functionId: number,
    file: number,
    line: number,
    column: number,
    discriminator: number,
  ): void {
    const n = this.count;
    if (n === this.line.length) {
      const wider = (from: Int32Array) => {
        const to = new Int32Array(2 * n);
        to.set(from);
        return to;
      };
      this.function = wider(this.function);
      this.file = wider(this.file);
      this.line = wider(this.line);
      this.column = wider(this.column);
      this.discriminator = wider(this.discriminator);
    }
    this.function[n] = functionId;
    this.file[n] = file;
    this.line[n] = line;
    this.column[n] = column;
    this.discriminator[n] = discriminator;
    this.count = n + 1;
  }
}

/** What is kept of a unit that was looked into. */
class Loaded {
  readonly unit: Unit;
  /** The split unit, or the unit itself. */
  readonly code: Unit;
  readonly functions: FunctionTable | undefined;
  readonly lines: LineTable | undefined;
  /** Ids of the files of `lines`, by number; -2 before they are asked for. */
  readonly fileIds: Int32Array;
  /** Memory at the last count. */
  memory = 0;

  constructor(
    unit: Unit,
    code: Unit,
    functions: FunctionTable | undefined,
    lines: LineTable | undefined,
  ) {
    this.unit = unit;
    this.code = code;
    this.functions = functions;
    this.lines = lines;
    this.fileIds = new Int32Array((lines?.fileCount ?? 0) + 1).fill(-2);
  }

  measure(): number {
    return this.unit.memory + (this.code === this.unit ? 0 : this.code.memory) +
      (this.functions?.memory ?? 0) + (this.lines?.bytes ?? 0) + this.fileIds.byteLength;
  }
}

/**
 * Looks up addresses in the DWARF of one file: function, source file and line, and the calls that
 * were inlined there. DWARF 2 to 5, both offset sizes, both byte orders, split and supplementary
 * files.
 *
 * Nothing is read before an address asks for it: first the headers of all units and their address
 * ranges, then the line table and the functions of the unit that covers the address, then the
 * inlined calls of its function.
 *
 * Addresses are those of the file (`st_value` of its symbols), without any load address.
 *
 * @example
 * ```ts
 * import { DwarfContext, type DwarfSections } from "@perfdata/symbols";
 *
 * const sections: DwarfSections = { littleEndian: true, get: () => undefined };
 * const context = DwarfContext.open(sections);
 * for (const frame of context.find(0x401136)) {
 *   console.log(`${frame.linkageName ?? frame.function} at ${frame.file}:${frame.line}`);
 * }
 * ```
 */
export class DwarfContext {
  readonly #options: DwarfOptions;
  readonly #main: DwarfFile;
  readonly #report: (error: DwarfError) => void;
  #index: Cells | undefined;
  readonly #loaded = new Map<Unit, Loaded>();
  #memory = 0;
  readonly #splitUnits = new Map<Unit, Unit | undefined>();
  #package: { sections: DwarfSections; index: PackageIndex } | undefined;
  #packageOpened = false;
  readonly #functions: FunctionName[] = [];
  readonly #functionIds = new Map<string, number>();
  readonly #files: string[] = [];
  readonly #fileIds = new Map<string, number>();
  #missing = 0;

  private constructor(sections: DwarfSections, options: DwarfOptions) {
    this.#options = options;
    this.#report = (error) => {
      if (options.diagnostics === undefined) throw error;
      options.diagnostics(error);
    };
    this.#main = new DwarfFile(sections, {
      report: this.#report,
      supplementary: options.supplementary,
    });
  }

  /**
   * A context over the sections of a file. Reads nothing yet; a file without DWARF finds nothing.
   */
  static open(sections: DwarfSections, options: DwarfOptions = {}): DwarfContext {
    return new DwarfContext(sections, options);
  }

  /** True where the file has `.debug_info`. */
  get hasDebugInfo(): boolean {
    return this.#main.info.size > 0;
  }

  /** Split units that were wanted and not found. Their addresses have lines and no functions. */
  get missingSplitUnits(): number {
    return this.#missing;
  }

  /** Every function that a look-up has met; see {@linkcode FrameBatch.functions}. */
  get functions(): readonly FunctionName[] {
    return this.#functions;
  }

  /** Every source path that a look-up has met; see {@linkcode FrameBatch.files}. */
  get files(): readonly string[] {
    return this.#files;
  }

  /**
   * The frames at an address, innermost first; none where no unit covers the address.
   *
   * A `bigint` is the plain 64-bit value; a `number` is a signed {@linkcode Address}.
   *
   * Throws {@link DwarfError} on what cannot be read, unless there is a `diagnostics` callback.
   */
  find(address: Address | bigint): Frame[] {
    const sink = scratch;
    sink.count = 0;
    const at = typeof address === "bigint" ? addressFromBigInt(address) : address;
    const number = this.#unitIndex().find(at);
    if (number < 0) return [];
    this.#lookup(this.#load(this.#main.units[number] as Unit), at, sink);
    const frames: Frame[] = [];
    for (let i = 0; i < sink.count; i++) {
      const name = this.#functions[sink.function[i] as number];
      frames.push({
        function: name?.function,
        linkageName: name?.linkageName,
        file: this.#files[sink.file[i] as number],
        line: (sink.line[i] as number) >>> 0,
        column: (sink.column[i] as number) >>> 0,
        discriminator: (sink.discriminator[i] as number) >>> 0,
        inlined: i + 1 < sink.count,
      });
    }
    return frames;
  }

  /**
   * The frames of many addresses ({@linkcode Address}, signed), in any order.
   *
   * Addresses are looked up unit by unit, so that each unit is read once, whatever the size of the
   * cache; with `keep: false` it is let go right after, which bounds memory by the largest unit.
   *
   * @example
   * ```ts
   * import { DwarfContext, type DwarfSections } from "@perfdata/symbols";
   *
   * const sections: DwarfSections = { littleEndian: true, get: () => undefined };
   * const batch = DwarfContext.open(sections).findAll(Float64Array.of(0x1000, 0x1004));
   * console.assert(batch.count.length === 2 && batch.count[0] === 0);
   * ```
   */
  findAll(addresses: Float64Array, options: { readonly keep?: boolean } = {}): FrameBatch {
    const n = addresses.length;
    const index = this.#unitIndex();
    const { units } = this.#main;
    // Count, then place: the addresses of each unit one after another.
    const unitOf = new Int32Array(n);
    const next = new Uint32Array(units.length + 1);
    for (let i = 0; i < n; i++) {
      const unit = index.find(addresses[i] as number);
      unitOf[i] = unit;
      if (unit >= 0) next[unit + 1] = (next[unit + 1] as number) + 1;
    }
    for (let u = 0; u < units.length; u++) {
      next[u + 1] = (next[u + 1] as number) + (next[u] as number);
    }
    const starts = next.slice();
    const placed = new Uint32Array(starts[units.length] as number);
    for (let i = 0; i < n; i++) {
      const unit = unitOf[i] as number;
      if (unit < 0) continue;
      const place = next[unit] as number;
      placed[place] = i;
      next[unit] = place + 1;
    }
    const sink = new FrameSink();
    const first = new Uint32Array(n), count = new Uint32Array(n);
    for (let u = 0; u < units.length; u++) {
      const from = starts[u] as number, to = starts[u + 1] as number;
      if (from === to) continue;
      const unit = units[u] as Unit;
      const kept = this.#loaded.has(unit);
      let loaded: Loaded | undefined;
      try {
        loaded = this.#load(unit, true);
        for (let k = from; k < to; k++) {
          const i = placed[k] as number;
          const before = sink.count;
          this.#lookup(loaded, addresses[i] as number, sink);
          first[i] = before;
          count[i] = sink.count - before;
        }
      } finally {
        unit.giveBack();
        loaded?.code.giveBack();
      }
      if (options.keep === false && !kept) this.#drop(loaded);
    }
    const total = sink.count;
    return {
      first,
      count,
      function: sink.function.subarray(0, total),
      file: sink.file.subarray(0, total),
      line: sink.line.subarray(0, total),
      column: sink.column.subarray(0, total),
      discriminator: sink.discriminator.subarray(0, total),
      functions: this.#functions,
      files: this.#files,
    };
  }

  #unitIndex(): Cells {
    return this.#index ??= unitIndex(this.#main, this.#report);
  }

  /** `read()`, or `undefined` where it fails and diagnostics are wanted. */
  #tolerant<T>(read: () => T): T | undefined {
    try {
      return read();
    } catch (error) {
      if (!(error instanceof DwarfError)) throw error;
      this.#report(error);
      return undefined;
    }
  }

  /** What is to know of a unit; with `borrow`, its bytes are to be given back. */
  #load(unit: Unit, borrow = false): Loaded {
    const known = this.#loaded.get(unit);
    if (known !== undefined) {
      if (borrow) known.code.borrow();
      // A Map is in the order of insertion: the used one goes to its end.
      if (this.#loaded.size > 1) {
        this.#loaded.delete(unit);
        this.#loaded.set(unit, known);
      }
      return known;
    }
    const stmtList = this.#tolerant(() => unit.root.stmtList) ?? -1;
    const lines = stmtList < 0
      ? undefined
      : this.#tolerant(() => new LineTable(unit.file.line, stmtList, unit));
    const split = this.#tolerant(() => this.#split(unit));
    const code = split ?? unit;
    if (borrow) code.borrow();
    let functions: FunctionTable | undefined;
    try {
      functions = this.#tolerant(() => new FunctionTable(code));
    } catch (error) {
      code.giveBack();
      throw error;
    }
    const loaded = new Loaded(unit, code, functions, lines);
    this.#loaded.set(unit, loaded);
    this.#account(loaded);
    return loaded;
  }

  #account(loaded: Loaded): void {
    const memory = loaded.measure();
    this.#memory += memory - loaded.memory;
    loaded.memory = memory;
    const limit = this.#options.cacheBytes ?? DEFAULT_CACHE;
    if (this.#memory <= limit) return;
    for (const oldest of this.#loaded.values()) {
      if (oldest === loaded || this.#memory <= limit) break;
      this.#drop(oldest);
    }
  }

  #drop(loaded: Loaded): void {
    this.#loaded.delete(loaded.unit);
    this.#memory -= loaded.memory;
    loaded.unit.release();
    loaded.code.release();
  }

  /** The split unit that has the functions of `unit`, or `undefined`. */
  #split(unit: Unit): Unit | undefined {
    if (this.#splitUnits.has(unit)) return this.#splitUnits.get(unit);
    this.#splitUnits.set(unit, undefined);
    const { dwoName: name, dwoId: id, compDir } = unit.root;
    if (name === undefined) return undefined;
    const split = (id === undefined ? undefined : this.#packaged(id)) ??
      this.#separate({ name, id, compDir });
    if (split === undefined) {
      this.#missing++;
      // Not an error of the file: it is told where somebody listens.
      this.#options.diagnostics?.(unit.error(`split unit ${name} was not found`));
      return undefined;
    }
    split.skeleton = unit;
    this.#splitUnits.set(unit, split);
    return split;
  }

  #packaged(id: bigint): Unit | undefined {
    if (!this.#packageOpened) {
      this.#packageOpened = true;
      const sections = this.#options.dwp?.();
      const bytes = sections?.get(".debug_cu_index");
      if (sections !== undefined && bytes !== undefined) {
        this.#package = { sections, index: new PackageIndex(bytes, sections.littleEndian) };
      }
    }
    const contributions = this.#package?.index.find(id);
    if (this.#package === undefined || contributions === undefined) return undefined;
    return new DwarfFile(this.#package.sections, {
      split: true,
      contributions,
      report: this.#report,
    }).splitUnit(id);
  }

  #separate(request: DwoRequest): Unit | undefined {
    const sections = this.#options.dwo?.(request);
    if (sections === undefined) return undefined;
    const file = new DwarfFile(sections, { split: true, report: this.#report });
    const unit = file.splitUnit(request.id);
    if (unit === undefined) {
      this.#report(
        new DwarfError(
          file.info.name,
          0,
          `${request.name} has no unit with id 0x${request.id?.toString(16)}`,
        ),
      );
    }
    return unit;
  }

  #lookup(loaded: Loaded, address: number, sink: FrameSink): void {
    const { lines, functions, code } = loaded;
    let file = -1, line = 0, column = 0, discriminator = 0;
    const row = lines === undefined ? -1 : lines.find(address);
    if (lines !== undefined && row >= 0) {
      file = this.#fileId(loaded, lines.file[row] as number);
      line = lines.line[row] as number;
      column = lines.column[row] as number;
      discriminator = lines.discriminator === undefined ? 0 : lines.discriminator[row] as number;
    }
    const f = functions === undefined ? -1 : functions.find(address);
    if (functions === undefined || f < 0) {
      if (row >= 0) sink.push(-1, file, line, column, discriminator);
      return;
    }
    if (!functions.hasCalls(f)) {
      this.#tolerant(() => functions.readCalls(f));
      this.#account(loaded);
    }
    const calls = functions.calls;
    let call = functions.findCall(f, address);
    for (let depth = 0; call >= 0; depth++) {
      if (depth > DEEPEST_INLINING) {
        this.#report(code.error(`more than ${DEEPEST_INLINING} inlined calls in each other`));
        break;
      }
      const id = this.#functionId(code.file, calls.origin[call] as number);
      sink.push(id, file, line, column, discriminator);
      file = this.#fileId(loaded, calls.file[call] as number);
      line = calls.line[call] as number;
      column = calls.column[call] as number;
      discriminator = calls.discriminator[call] as number;
      call = calls.parent[call] as number;
    }
    const id = this.#functionId(code.file, functions.entryOffset(f));
    sink.push(id, file, line, column, discriminator);
  }

  /** Id of file number `index` of the unit's line table, or -1. */
  #fileId(loaded: Loaded, index: number): number {
    const ids = loaded.fileIds;
    if (index >= ids.length || loaded.lines === undefined) return -1;
    const known = ids[index] as number;
    if (known !== -2) return known;
    const lines = loaded.lines;
    const path = this.#tolerant(() => lines.path(index));
    let id = -1;
    if (path !== undefined) {
      id = this.#fileIds.get(path) ?? -1;
      if (id < 0) {
        id = this.#files.push(path) - 1;
        this.#fileIds.set(path, id);
      }
    }
    return ids[index] = id;
  }

  /** Id of the function that the entry at `origin` of `file` names, or -1. */
  #functionId(file: DwarfFile, origin: number): number {
    const known = file.functionIds.get(origin);
    if (known !== undefined) return known;
    let id = -1;
    try {
      findName(file, origin, found);
      id = this.#nameId(found);
    } catch (error) {
      if (!(error instanceof DwarfError)) throw error;
      this.#report(error);
    }
    file.functionIds.set(origin, id);
    return id;
  }

  #nameId({ name, linkageName }: FoundName): number {
    const { unit } = linkageName.unit === undefined ? name : linkageName;
    if (unit === undefined) return -1;
    // Linkers merge equal strings, so the offset of a name tells whether it has been met already,
    // and it need not be decoded. Functions of one linkage name have one name.
    const deciding = linkageName.unit === undefined ? name : linkageName;
    const ids = deciding.form !== DW_FORM.strp
      ? undefined
      : deciding === name
      ? unit.file.idsByName
      : unit.file.idsByLinkageName;
    const met = ids?.get(deciding.value);
    if (met !== undefined) return met;
    const names = { function: stringOf(name), linkageName: stringOf(linkageName) };
    const key = `${names.linkageName ?? ""} ${names.function ?? ""}`;
    let id = this.#functionIds.get(key);
    if (id === undefined) {
      id = this.#functions.push(names) - 1;
      this.#functionIds.set(key, id);
    }
    ids?.set(deciding.value, id);
    return id;
  }
}

const scratch = new FrameSink();
const die = new Die();

/** Where the string of an attribute is; `unit` is `undefined` where none was found. */
interface StringPlace {
  unit: Unit | undefined;
  form: number;
  value: number;
}

interface FoundName {
  readonly name: StringPlace;
  readonly linkageName: StringPlace;
}

const found: FoundName = {
  name: { unit: undefined, form: 0, value: 0 },
  linkageName: { unit: undefined, form: 0, value: 0 },
};

function stringOf({ unit, form, value }: StringPlace): string | undefined {
  return unit?.string(form, value, form === DW_FORM.string ? unit.bytes : NO_BYTES);
}

const NO_BYTES = new Uint8Array(0);

/** Follows `DW_AT_abstract_origin` and `DW_AT_specification` until both names are found. */
function findName(file: DwarfFile, origin: number, { name, linkageName }: FoundName): void {
  name.unit = linkageName.unit = undefined;
  let at = origin;
  for (let steps = 0; !Number.isNaN(at); steps++) {
    if (at < 0) {
      const supplementary = file.supplementary;
      if (supplementary === undefined) return;
      file = supplementary;
      at = -1 - at;
    }
    const unit = file.unitAt(at);
    if (steps === LONGEST_ORIGIN) {
      throw unit.error(
        "DW_AT_abstract_origin or DW_AT_specification in a circle",
        at - unit.offset,
      );
    }
    const table = unit.abbrevs;
    const c = unit.entryCursor(at - unit.offset);
    const a = table.index(c.uleb());
    if (a < 0) throw unit.error("a reference to where no entry is", at - unit.offset);
    if (table.kind[a] === KIND.SKIPPED) return;
    die.read(c, table, a, unit);
    if (linkageName.unit === undefined) place(linkageName, unit, SLOT.LINKAGE_NAME);
    if (name.unit === undefined) place(name, unit, SLOT.NAME);
    if (name.unit !== undefined && linkageName.unit !== undefined) return;
    const slot = die.has(SLOT.ABSTRACT_ORIGIN) ? SLOT.ABSTRACT_ORIGIN : SLOT.SPECIFICATION;
    if (!die.has(slot)) return;
    at = unit.reference(die.form[slot] as number, die.value[slot] as number);
  }
}

function place(to: StringPlace, unit: Unit, slot: number): void {
  if (!die.has(slot)) return;
  to.unit = unit;
  to.form = die.form[slot] as number;
  to.value = die.value[slot] as number;
}
