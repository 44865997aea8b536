// One module, since a look-up goes from the index of units to a unit's tables, and on to split and
// supplementary files. All of them share one cache.
import { floatAt, intAt, uintAt } from "@perfdata/format/bytes";
import { type Address, addressFromBigInt } from "../resolver/address.ts";
import { KIND, SLOT } from "./abbrev.ts";
import { DataFinder } from "./data/data_finder.ts";
import type { VariableFinder } from "./data/variables.ts";
import { Die } from "./die.ts";
import { DwarfError } from "./dwarf_error.ts";
import { DwarfFile } from "./dwarf_file.ts";
import {
  type FoundName,
  type FunctionName,
  FunctionNames,
  type StringPlace,
} from "./entry_names.ts";
import { FunctionTable, FunctionWalk } from "./subprograms.ts";
import { LineTable } from "./line_table.ts";
import { PackageIndex } from "./package_index.ts";
import { type Cells, orderOf, RangeList } from "./paint.ts";
import type { Section } from "./section.ts";
import type { DwarfSections } from "./sections.ts";
import type { Unit } from "./unit.ts";
import { unitIndex } from "./unit_index.ts";
import { WantedFunctions } from "./wanted_functions.ts";

/** Request for a split unit's file (`.dwo`). */
export interface DwoRequest {
  /** File name, `DW_AT_dwo_name`; relative to {@link compDir}. */
  readonly name: string;
  /** Directory of the compilation. */
  readonly compDir: string | undefined;
  /** The file's 64-bit id. */
  readonly id: bigint | undefined;
}

/** Access to other files, and the treatment of damage, for {@link DwarfContext}. */
export interface DwarfOptions {
  /** Opens the supplementary file (`.gnu_debugaltlink`) that `dwz` makes. Called at most once. */
  readonly supplementary?: () => DwarfSections | undefined;
  /** Opens the package file (`.dwp`) beside the binary. Called at most once. */
  readonly dwp?: () => DwarfSections | undefined;
  /**
   * Opens the file of a split unit that the package does not contain. Called at most once for each
   * unit.
   */
  readonly dwo?: (request: DwoRequest) => DwarfSections | undefined;
  /**
   * Called once for each unreadable part; look-ups then use the other parts. Without it, look-ups
   * throw.
   */
  readonly diagnostics?: (error: DwarfError) => void;
  /**
   * Limit of the bytes of cached tables, 512 MiB by default. The least recently used unit is
   * removed first.
   */
  readonly cacheBytes?: number;
}

/** A function and source line at an address. */
export interface Frame extends FunctionName {
  /** Path of the source file. It is absolute if the producer recorded the directory. */
  readonly file: string | undefined;
  /** Line, from 1; 0 if unknown. */
  readonly line: number;
  /** Column, from 1; 0 if unknown. */
  readonly column: number;
  /** Number of the block on this line; 0 if there is only one. */
  readonly discriminator: number;
  /** Whether the code was inlined into the function of the next frame. */
  readonly inlined: boolean;
}

/**
 * The frames of many addresses. Address `i` has the frames `first[i] … first[i] + count[i] - 1`,
 * innermost first.
 */
export interface FrameBatch {
  /** Index of the first frame of each address. */
  readonly first: Uint32Array;
  /** Number of frames of each address; 0 if no unit covers it. */
  readonly count: Uint32Array;
  /** Function of each frame as index in {@link functions}, or -1. */
  readonly function: Int32Array;
  /** Source file of each frame as index in {@link files}, or -1. */
  readonly file: Int32Array;
  /** Line of each frame; 0 if unknown. */
  readonly line: Int32Array;
  /** Column of each frame; 0 if unknown. */
  readonly column: Int32Array;
  /** Discriminator of each frame; 0 if there is none. */
  readonly discriminator: Int32Array;
  /** Line of each frame's function declaration, if requested; 0 if unknown. */
  readonly declLine?: Int32Array;
  /**
   * Every function that a look-up of this context found. The array grows; indices stay valid. Two
   * functions can have equal names.
   */
  readonly functions: readonly FunctionName[];
  /**
   * Every source path that a look-up of this context found. The array grows; indices stay valid.
   */
  readonly files: readonly string[];
}

/** The code of functions, one row for each range. */
export interface FunctionRanges {
  /** Start of each range, in ascending order. */
  readonly low: Float64Array;
  /** First address after each range. */
  readonly high: Float64Array;
  /** Function of each range, as in {@linkcode FrameBatch.functions}. */
  readonly function: Int32Array;
}

/** The line table of a unit: a row is a stretch of code `[low, high)` of one line. */
export interface CodeLines {
  /** First address of each row. */
  readonly low: number[];
  /** First address after each row. */
  readonly high: number[];
  /** Line of each row, from 1. */
  readonly line: number[];
  /** Source file of each row: an index in `files`. */
  readonly file: number[];
  /** Paths of the source files. */
  readonly files: readonly string[];
}

const DEFAULT_CACHE = 512 * 1024 * 1024;
/** Limit of references from an entry to the one with the name. Compilers need three or four. */
const LONGEST_ORIGIN = 64;
/** Limit of nested inlined calls. Compilers nest some dozens. */
const DEEPEST_INLINING = 256;
/**
 * Limit of the inlined frames of a file: a constant, plus a number for each address that is looked
 * up.
 */
const [INLINED_CALLS, INLINED_CALLS_EACH] = [1 << 16, 32];

/** Collects frames. */
class FrameSink {
  function: Int32Array;
  file: Int32Array;
  line: Int32Array;
  column: Int32Array;
  discriminator: Int32Array;
  /** Lines of the functions' declarations, if they were requested. */
  declLine: Int32Array | undefined;
  count = 0;

  constructor(room: number, declLines = false) {
    if (declLines) this.declLine = new Int32Array(room);
    this.function = new Int32Array(room);
    this.file = new Int32Array(room);
    this.line = new Int32Array(room);
    this.column = new Int32Array(room);
    this.discriminator = new Int32Array(room);
  }

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
      if (this.declLine !== undefined) this.declLine = wider(this.declLine);
    }
    this.function[n] = functionId;
    this.file[n] = file;
    this.line[n] = line;
    this.column[n] = column;
    this.discriminator[n] = discriminator;
    this.count = n + 1;
  }
}

/**
 * Line table and functions of a unit, either all of them or those that the current look-up needs.
 */
class Tables<Functions extends FunctionTable | WantedFunctions> {
  /** The split unit, or the unit itself. */
  readonly code: Unit;
  readonly functions: Functions | undefined;
  readonly lines: LineTable | undefined;
  /** Ids of the files of `lines`, by index; -2 if not determined yet. */
  readonly fileIds: Int32Array;

  constructor(code: Unit, functions: Functions | undefined, lines: LineTable | undefined) {
    this.code = code;
    this.functions = functions;
    this.lines = lines;
    this.fileIds = new Int32Array((lines?.fileCount ?? 0) + 1).fill(-2);
  }
}

/** Cached tables of a unit. */
class Loaded extends Tables<FunctionTable> {
  readonly unit: Unit;
  /** Memory at the last measurement. */
  memory = 0;

  constructor(
    unit: Unit,
    code: Unit,
    functions: FunctionTable | undefined,
    lines: LineTable | undefined,
  ) {
    super(code, functions, lines);
    this.unit = unit;
  }

  measure(): number {
    return this.unit.memory + (this.code === this.unit ? 0 : this.code.memory) +
      (this.functions?.memory ?? 0) + (this.lines?.bytes ?? 0) + this.fileIds.byteLength;
  }
}

/**
 * Looks up addresses in the DWARF of one file: function, source file and line, and inlined calls.
 * Supports DWARF 2 to 5, both offset sizes, both byte orders, split and supplementary files.
 *
 * Data is read on demand: first the headers of all units and their address ranges, then the line
 * table and the functions of the unit that covers the address, then the inlined calls of the
 * function.
 *
 * Addresses are virtual addresses in the file (`st_value` of its symbols), without a load address.
 *
 * @example
 * ```ts
 * import { DwarfContext, type DwarfSections } from "@perfdata/symbols/dwarf";
 *
 * const sections: DwarfSections = { littleEndian: true, get: () => undefined };
 * const context = DwarfContext.open(sections);
 * for (const frame of context.find(0x401136)) {
 *   console.log(`${frame.linkageName ?? frame.function} at ${frame.file}:${frame.line}`);
 * }
 * ```
 */
// One class: look-ups of one address, of many and of all share units, caches and budget.
export class DwarfContext {
  readonly #options: DwarfOptions;
  readonly #main: DwarfFile;
  readonly #report: (error: DwarfError) => void;
  /** Number of inlined frames that may still be added. */
  #callsLeft = INLINED_CALLS;
  /** Whether omitted inlined calls were reported. */
  #saidLeftOut = false;
  #index: Cells | undefined;
  readonly #loaded = new Map<Unit, Loaded>();
  /** Units that a batch looked up. A unit that is looked up again is cached. */
  readonly #met = new Set<Unit>();
  #memory = 0;
  readonly #splitUnits = new Map<Unit, Unit | undefined>();
  #package:
    | { sections: DwarfSections; index: PackageIndex; shared: Map<string, Section> }
    | undefined;
  #packageOpened = false;
  readonly #names = new FunctionNames();
  /** Functions with decoded names. */
  readonly #functions: FunctionName[] = [];
  readonly #files: string[] = [];
  readonly #fileIds = new Map<string, number>();
  #data: DataFinder | undefined;

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
   * Creates a context over the sections of a file. Nothing is read yet. Without DWARF, look-ups
   * find nothing.
   */
  static open(sections: DwarfSections, options: DwarfOptions = {}): DwarfContext {
    return new DwarfContext(sections, options);
  }

  /** Look-up of variables and types, which reads on demand. */
  get data(): VariableFinder {
    return this.#data ??= new DataFinder({
      file: this.#main,
      unitOf: (address) => {
        const number = this.#unitIndex().find(address);
        return number < 0 ? undefined : this.#entryUnit(this.#main.units.unit(number));
      },
      units: () => this.#codeUnits(),
      report: this.#report,
    });
  }

  /** The unit with the entries: the split unit of a skeleton, or the unit itself. */
  #entryUnit(unit: Unit): Unit {
    return this.#tolerant(() => this.#split(unit)) ?? unit;
  }

  *#codeUnits(): Generator<Unit> {
    const { units } = this.#main;
    for (let i = 0; i < units.length; i++) {
      const unit = units.unit(i);
      if (unit.hasCode) yield this.#entryUnit(unit);
    }
  }

  /** Every function that a look-up found; see {@linkcode FrameBatch.functions}. */
  get functions(): readonly FunctionName[] {
    for (let n = this.#functions.length; n < this.#names.count; n++) {
      this.#functions.push(this.#names.get(n, this.#report));
    }
    return this.#functions;
  }

  /** The names of function number `n`. Equals `functions[n]`, but does not decode the others. */
  functionName(n: number): FunctionName | undefined {
    const known = this.#functions[n];
    if (known !== undefined || n < 0 || n >= this.#names.count) return known;
    return this.#names.get(n, this.#report);
  }

  /**
   * The linkage name of function number `n` in UTF-8, for callers that do not need a string. The
   * bytes must not be changed.
   */
  linkageNameBytes(n: number): Uint8Array | undefined {
    return this.#names.linkageName(n);
  }

  /** Every source path that a look-up found; see {@linkcode FrameBatch.files}. */
  get files(): readonly string[] {
    return this.#files;
  }

  /**
   * The frames at an address, innermost first; empty if no unit covers the address.
   *
   * A `bigint` is the plain 64-bit value; a `number` is a signed {@linkcode Address}.
   *
   * Throws {@link DwarfError} if data is unreadable, unless there is a `diagnostics` callback.
   */
  find(address: Address | bigint): Frame[] {
    const sink = scratch;
    sink.count = 0;
    const at = typeof address === "bigint" ? addressFromBigInt(address) : address;
    const number = this.#unitIndex().find(at);
    if (number < 0) return [];
    this.#lookupLoaded(this.#load(this.#main.units.unit(number)), at, sink);
    this.#names.read(this.#report, true);
    const { functions } = this;
    const frames: Frame[] = [];
    for (let i = 0; i < sink.count; i++) {
      const name = functions[intAt(sink.function, i)];
      frames.push({
        ...(name ?? NAMELESS),
        file: this.#files[intAt(sink.file, i)],
        line: intAt(sink.line, i) >>> 0,
        column: intAt(sink.column, i) >>> 0,
        discriminator: intAt(sink.discriminator, i) >>> 0,
        inlined: i + 1 < sink.count,
      });
    }
    return frames;
  }

  /**
   * The frames of many addresses ({@linkcode Address}, signed), in any order.
   *
   * Addresses are looked up unit by unit, and only the needed part of each unit is read. A unit
   * that a later call looks up again is cached, unless `keep` is false.
   *
   * With `names: "linkage"`, the plain name of a function with a linkage name is not read until
   * {@link functions} or {@link functionName} is used. The file must still be open then, and errors
   * are reported or thrown at that time. Functions have no scope then.
   *
   * With `declLines`, frames have the line of the function's declaration.
   *
   * @example
   * ```ts
   * import { DwarfContext, type DwarfSections } from "@perfdata/symbols/dwarf";
   *
   * const sections: DwarfSections = { littleEndian: true, get: () => undefined };
   * const batch = DwarfContext.open(sections).findAll(Float64Array.of(0x1000, 0x1004));
   * console.assert(batch.count.length === 2 && batch.count[0] === 0);
   * ```
   */
  findAll(
    addresses: Float64Array,
    options: {
      readonly keep?: boolean;
      readonly names?: "all" | "linkage";
      readonly declLines?: boolean;
    } = {},
  ): FrameBatch {
    const n = addresses.length;
    const index = this.#unitIndex();
    const { units } = this.#main;
    // Sort by address, then group by unit in that order.
    const order = orderOf(addresses, 0, n).slice(0, n);
    const unitOf = new Int32Array(n);
    const next = new Uint32Array(units.length + 1);
    for (let i = 0; i < n; i++) {
      const unit = index.find(floatAt(addresses, uintAt(order, i)));
      unitOf[i] = unit;
      if (unit >= 0) next[unit + 1] = uintAt(next, unit + 1) + 1;
    }
    for (let u = 0; u < units.length; u++) {
      next[u + 1] = uintAt(next, u + 1) + uintAt(next, u);
    }
    const starts = next.slice();
    const numbers = new Uint32Array(uintAt(starts, units.length));
    const sorted = new Float64Array(numbers.length);
    for (let i = 0; i < n; i++) {
      const unit = intAt(unitOf, i);
      if (unit < 0) continue;
      const place = uintAt(next, unit);
      const number = uintAt(order, i);
      numbers[place] = number;
      sorted[place] = floatAt(addresses, number);
      next[unit] = place + 1;
    }
    const sink = new FrameSink(Math.max(16, 4 * n), options.declLines);
    const first = new Uint32Array(n), count = new Uint32Array(n);
    for (let u = 0; u < units.length; u++) {
      const from = uintAt(starts, u), to = uintAt(starts, u + 1);
      if (from === to) continue;
      const unit = units.unit(u);
      const wanted = sorted.subarray(from, to);
      const looked = this.#loaded.has(unit) || (options.keep !== false && this.#met.has(unit))
        ? this.#lookupKept(unit, wanted, sink)
        : this.#lookupWanted(unit, wanted, sink);
      for (let k = from; k < to; k++) {
        const number = uintAt(numbers, k);
        first[number] = uintAt(looked, k - from);
        count[number] = uintAt(looked, k - from + 1) - uintAt(looked, k - from);
      }
    }
    this.#names.read(this.#report, options.names !== "linkage");
    const total = sink.count;
    const functions = () => this.functions;
    return {
      first,
      count,
      function: sink.function.subarray(0, total),
      file: sink.file.subarray(0, total),
      line: sink.line.subarray(0, total),
      column: sink.column.subarray(0, total),
      discriminator: sink.discriminator.subarray(0, total),
      ...(sink.declLine === undefined ? {} : { declLine: sink.declLine.subarray(0, total) }),
      // Decoded on demand.
      get functions() {
        return functions();
      },
      files: this.#files,
    };
  }

  /**
   * The code of all functions of the units that cover one of these addresses, including parts that
   * the compiler moved elsewhere. Code shared by several functions is listed for each.
   */
  functionRanges(addresses: Float64Array): FunctionRanges {
    const index = this.#unitIndex();
    const ranges = new RangeList();
    for (const number of new Set(addresses.map((address) => index.find(address)))) {
      if (number < 0) continue;
      const unit = this.#main.units.unit(number);
      const code = this.#tolerant(() => this.#split(unit)) ?? unit;
      code.borrow();
      try {
        const first = ranges.count;
        this.#tolerant(() => {
          code.resetRangeBudget();
          const walk = new FunctionWalk(code);
          for (let at = walk.next(); at >= 0; at = walk.next()) code.ranges(walk.die, ranges, at);
        });
        for (let i = first; i < ranges.count; i++) {
          const entry = code.offset + intAt(ranges.owner, i);
          ranges.owner[i] = this.#functionId(code.file, entry);
        }
      } finally {
        code.giveBack();
      }
    }
    this.#names.read(this.#report, false);
    const order = orderOf(ranges.low, 0, ranges.count).slice(0, ranges.count);
    return {
      low: Float64Array.from(order, (i) => floatAt(ranges.low, i)),
      high: Float64Array.from(order, (i) => floatAt(ranges.high, i)),
      function: Int32Array.from(order, (i) => intAt(ranges.owner, i)),
    };
  }

  /** The line tables of all units, one after the other; nothing is cached. */
  *codeLines(): Generator<CodeLines> {
    const { units } = this.#main;
    for (let i = 0; i < units.length; i++) {
      const unit = units.unit(i);
      if (!unit.hasCode) continue;
      const table = this.#lines(unit);
      if (table === undefined) continue;
      const files: string[] = [];
      const rows: CodeLines = { low: [], high: [], line: [], file: [], files };
      const numbers = new Map<number, number>();
      table.each((row, low, high) => {
        const line = uintAt(table.line, row);
        const known = table.file[row] ?? 0;
        let file = numbers.get(known);
        if (file === undefined) {
          const path = table.path(known);
          numbers.set(known, file = path === undefined ? -1 : files.push(path) - 1);
        }
        // Line 0 is code that the compiler attributes to no line.
        if (line === 0 || file < 0) return;
        rows.low.push(low);
        rows.high.push(high);
        rows.line.push(line);
        rows.file.push(file);
      });
      yield rows;
    }
  }

  /**
   * Looks up addresses in a unit's complete, cached tables. Returns the start of each address's
   * frames in `sink`.
   */
  #lookupKept(unit: Unit, addresses: Float64Array, sink: FrameSink): Uint32Array {
    const starts = new Uint32Array(addresses.length + 1);
    let loaded: Loaded | undefined;
    try {
      loaded = this.#load(unit, true);
      for (let i = 0; i < addresses.length; i++) {
        starts[i] = sink.count;
        this.#lookupLoaded(loaded, floatAt(addresses, i), sink);
      }
      starts[addresses.length] = sink.count;
    } finally {
      unit.giveBack();
      loaded?.code.giveBack();
    }
    return starts;
  }

  /** Looks up addresses (ascending) in a unit and reads only the parts that they need. */
  #lookupWanted(unit: Unit, addresses: Float64Array, sink: FrameSink): Uint32Array {
    this.#met.add(unit);
    const starts = new Uint32Array(addresses.length + 1);
    const lines = this.#lines(unit, addresses);
    const code = this.#tolerant(() => this.#split(unit)) ?? unit;
    code.borrow();
    try {
      const functions = this.#tolerant(() =>
        new WantedFunctions(code, addresses, (read) => void this.#tolerant(read))
      );
      const tables = new Tables(code, functions, lines);
      for (let i = 0; i < addresses.length; i++) {
        starts[i] = sink.count;
        const f = functions === undefined ? -1 : functions.functionAt(i);
        const call = functions === undefined ? -1 : functions.callAt(i);
        this.#pushFrames(tables, floatAt(addresses, i), f, call, sink);
      }
      starts[addresses.length] = sink.count;
    } finally {
      code.giveBack();
      unit.release();
      code.release();
    }
    return starts;
  }

  #lines(unit: Unit, wanted?: Float64Array): LineTable | undefined {
    const stmtList = this.#tolerant(() => unit.root.stmtList) ?? -1;
    if (stmtList < 0) return undefined;
    return this.#tolerant(() => new LineTable(unit.file.line, stmtList, unit, wanted));
  }

  #unitIndex(): Cells {
    return this.#index ??= unitIndex(this.#main, this.#report);
  }

  /** Returns `read()`; `undefined` if it fails and there is a diagnostics callback. */
  #tolerant<T>(read: () => T): T | undefined {
    try {
      return read();
    } catch (error) {
      if (!(error instanceof DwarfError)) throw error;
      this.#report(error);
      return undefined;
    }
  }

  /**
   * Loads a unit's tables, or returns the cached ones. With `borrow`, the caller has to release the
   * bytes.
   */
  #load(unit: Unit, borrow = false): Loaded {
    const known = this.#loaded.get(unit);
    if (known !== undefined) {
      if (borrow) known.code.borrow();
      // A Map keeps insertion order: reinsert the used unit at the end.
      if (this.#loaded.size > 1) {
        this.#loaded.delete(unit);
        this.#loaded.set(unit, known);
      }
      return known;
    }
    const lines = this.#lines(unit);
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

  /** The split unit with the functions of `unit`; `undefined` if there is none. */
  #split(unit: Unit): Unit | undefined {
    if (this.#splitUnits.has(unit)) return this.#splitUnits.get(unit);
    this.#splitUnits.set(unit, undefined);
    const { dwoName: name, dwoId: id, compDir } = unit.root;
    if (name === undefined) return undefined;
    const split = (id === undefined ? undefined : this.#packaged(id)) ??
      this.#separate({ name, id, compDir });
    if (split === undefined) {
      // A missing file is not an error: it is reported only if there is a callback.
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
        const index = new PackageIndex(bytes, sections.littleEndian);
        this.#package = { sections, index, shared: new Map() };
      }
    }
    const contributions = this.#package?.index.find(id);
    if (this.#package === undefined || contributions === undefined) return undefined;
    return new DwarfFile(this.#package.sections, {
      split: true,
      contributions,
      shared: this.#package.shared,
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

  #lookupLoaded(loaded: Loaded, address: number, sink: FrameSink): void {
    const { functions } = loaded;
    const f = functions === undefined ? -1 : functions.find(address);
    let call = -1;
    if (functions !== undefined && f >= 0) {
      if (!functions.hasCalls(f)) {
        this.#tolerant(() => functions.readCalls(f));
        this.#account(loaded);
      }
      call = functions.findCall(f, address);
    }
    this.#pushFrames(loaded, address, f, call, sink);
  }

  /**
   * Adds the frames at an address within call `call` of function `f`; `call` is -1 outside of
   * inlined calls.
   */
  #pushFrames(
    tables: Tables<FunctionTable | WantedFunctions>,
    address: number,
    f: number,
    call: number,
    sink: FrameSink,
  ): void {
    const { lines, functions, code } = tables;
    let file = -1, line = 0, column = 0, discriminator = 0;
    const row = lines === undefined ? -1 : lines.find(address);
    if (lines !== undefined && row >= 0) {
      file = this.#fileId(tables, lines.file[row] as number);
      line = uintAt(lines.line, row);
      column = lines.column[row] as number;
      discriminator = lines.discriminator === undefined ? 0 : lines.discriminator[row] as number;
    }
    if (functions === undefined || f < 0) {
      if (row >= 0) sink.push(-1, file, line, column, discriminator);
      return;
    }
    const calls = functions.calls;
    this.#callsLeft += INLINED_CALLS_EACH;
    for (let depth = 0; call >= 0; depth++) {
      if (depth > DEEPEST_INLINING || this.#callsLeft-- <= 0) {
        this.#leaveOut(code);
        break;
      }
      let id = intAt(calls.function, call);
      if (id === -2) {
        id = this.#functionId(code.file, floatAt(calls.origin, call));
        calls.function[call] = id;
      }
      sink.push(id, file, line, column, discriminator);
      this.#declare(code.file, floatAt(calls.origin, call), sink);
      file = this.#fileId(tables, uintAt(calls.file, call));
      line = uintAt(calls.line, call);
      column = uintAt(calls.column, call);
      discriminator = uintAt(calls.discriminator, call);
      call = intAt(calls.parent, call);
    }
    const id = this.#functionId(code.file, functions.entryOffset(f));
    sink.push(id, file, line, column, discriminator);
    this.#declare(code.file, functions.entryOffset(f), sink);
  }

  /** Reports once that outer calls are omitted. A small file can have billions of frames. */
  #leaveOut(code: Unit): void {
    if (this.#saidLeftOut) return;
    this.#saidLeftOut = true;
    this.#report(
      code.error(
        `too large: inlined calls in each other: the outer ones are left out where there are more than ` +
          `${DEEPEST_INLINING}, or ${INLINED_CALLS_EACH} on average`,
      ),
    );
  }

  /** Sets the declaration line of the last frame, if lines were requested. */
  #declare(file: DwarfFile, origin: number, sink: FrameSink): void {
    if (sink.declLine === undefined) return;
    sink.declLine[sink.count - 1] = this.#declLine(file, origin);
  }

  /** The declaration line of the function that the entry at `origin` of `file` names, or 0. */
  #declLine(file: DwarfFile, origin: number): number {
    if (Number.isNaN(origin)) return 0;
    if (origin < 0) {
      const { supplementary } = file;
      return supplementary === undefined ? 0 : this.#declLine(supplementary, -1 - origin);
    }
    const known = file.declLines.get(origin);
    if (known >= 0) return known - 1;
    let line = 0;
    try {
      line = findName(file, origin).declLine;
    } catch (error) {
      if (!(error instanceof DwarfError)) throw error;
      // The error was reported when the name was read.
    }
    file.declLines.add(origin, line + 1);
    return line;
  }

  /** Id of file number `index` in the unit's line table, or -1. */
  #fileId(
    { fileIds: ids, lines }: Tables<FunctionTable | WantedFunctions>,
    index: number,
  ): number {
    if (index >= ids.length || lines === undefined) return -1;
    const known = intAt(ids, index);
    if (known !== -2) return known;
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

  /** Index of the function that the entry at `origin` of `file` names, or -1. */
  #functionId(file: DwarfFile, origin: number): number {
    if (origin < 0) {
      const { supplementary } = file;
      if (supplementary === undefined) return -1;
      file = supplementary;
      origin = -1 - origin;
    }
    if (Number.isNaN(origin)) return -1;
    const known = file.functionIds.get(origin);
    if (known >= 0) return known - 1;
    let id = -1;
    try {
      id = this.#names.number(findName(file, origin));
    } catch (error) {
      if (!(error instanceof DwarfError)) throw error;
      this.#report(error);
    }
    file.functionIds.add(origin, id + 1);
    return id;
  }
}

const NAMELESS: FunctionName = { function: undefined, linkageName: undefined };
const scratch = new FrameSink(64);
const die = new Die();

// Result of findName; overwritten by the next call.
const found: FoundName & { declLine: number } = {
  name: { unit: undefined, form: 0, value: 0 },
  linkageName: { unit: undefined, form: 0, value: 0 },
  unit: undefined,
  at: 0,
  external: false,
  artificial: false,
  declLine: 0,
};

/**
 * Follows `DW_AT_abstract_origin` and `DW_AT_specification` until both names are found, or to the
 * end of the chain.
 */
function findName(file: DwarfFile, origin: number): FoundName & { readonly declLine: number } {
  const { name, linkageName } = found;
  name.unit = linkageName.unit = found.unit = undefined;
  found.external = found.artificial = false;
  found.declLine = 0;
  let at = origin;
  for (let steps = 0; !Number.isNaN(at); steps++) {
    if (at < 0) {
      const supplementary = file.supplementary;
      if (supplementary === undefined) break;
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
    if (table.kind[a] === KIND.SKIPPED) break;
    die.read(c, table, a, unit);
    found.unit = unit;
    found.at = at - unit.offset;
    if (die.constant(SLOT.EXTERNAL) !== 0) found.external = true;
    if (die.constant(SLOT.ARTIFICIAL) !== 0) found.artificial = true;
    if (found.declLine === 0) found.declLine = die.constant(SLOT.DECL_LINE);
    if (linkageName.unit === undefined) place(linkageName, unit, SLOT.LINKAGE_NAME);
    if (name.unit === undefined) place(name, unit, SLOT.NAME);
    if (name.unit !== undefined && linkageName.unit !== undefined) break;
    const slot = die.has(SLOT.ABSTRACT_ORIGIN) ? SLOT.ABSTRACT_ORIGIN : SLOT.SPECIFICATION;
    if (!die.has(slot)) break;
    at = unit.reference(intAt(die.form, slot), floatAt(die.value, slot));
  }
  return found;
}

function place(to: StringPlace, unit: Unit, slot: number): void {
  if (!die.has(slot)) return;
  to.unit = unit;
  to.form = intAt(die.form, slot);
  to.value = floatAt(die.value, slot);
}
