import { byteAt, enlarge, floatAt, intAt } from "@perfdata/format/bytes";
import {
  type CodeColumns,
  FUNCTION_KIND,
  functionAt,
  isUnverified,
  type SampledCode,
} from "@perfdata/profile";
import { PERF_RECORD_MISC_KERNEL, PERF_RECORD_MISC_USER } from "@perfdata/format/constants";
import { fieldAt } from "../data-types/data_field.ts";
import type { DataAccess } from "../data-types/data_types.ts";
import type { FineColumn, NameColumn } from "./function_columns.ts";
import { FunctionNumbers, LEVEL, levelOf, type NamedFunction } from "./function_numbers.ts";
import { Texts } from "../numbered_texts.ts";

/** All columns that few keys need. */
export const FINE_COLUMNS: readonly FineColumn[] = [
  "offset",
  "size",
  "type",
  "typeoff",
  "typecln",
];

/** A place whose function has several entries. */
interface FinePlace {
  readonly place: number;
  readonly symbol: NamedFunction | undefined;
  readonly dso: number;
  readonly inObject: number;
  readonly base: number;
}

/** Code at a place. */
interface CodeAt {
  readonly source: number;
  readonly dso: number;
  /** Added to the address when it is displayed. */
  readonly base: number;
  readonly inObject: number;
}

/** The needed names of places. */
export interface NameNeeds extends Readonly<Partial<Record<FineColumn, boolean>>> {
  /** Object. */
  readonly dso: boolean;
  /** Function. */
  readonly symbol: boolean;
  /** Source line. */
  readonly line: boolean;
  /** Source file: of the line, or of the function. */
  readonly file: "line" | "function" | false;
  /** Cache line of data. */
  readonly cacheline?: boolean;
  /** Whether a place counts for the function inlined there, instead of the function around it. */
  readonly inline: boolean;
}

/** Code whose places get names. */
export type CodeToList = CodeColumns & Pick<SampledCode, "show">;

/**
 * Indices of places' names in rows: object, function, line and file. An entry is a distinct
 * combination of the needed ones.
 */
export class PlaceNames {
  /** Names of objects. */
  readonly dsos: Texts = new Texts();
  /** The line with its whole path, if known, by index of the line's text. */
  readonly linePaths: string[] = [];
  /** Source lines and files. */
  readonly texts: Texts = new Texts();
  /** Functions. */
  readonly functions: FunctionNumbers;
  /** Functions whose files are not known to be the recorded ones. */
  readonly unverified: Set<number> = new Set();
  /** Object of each entry. */
  #dso: Int32Array<ArrayBuffer>;
  /** Function of each entry. */
  #symbol: Int32Array<ArrayBuffer>;
  /** Source line of each entry. */
  #line: Int32Array<ArrayBuffer>;
  /** Source file of each entry. */
  #file: Int32Array<ArrayBuffer>;
  /** Cache line of each entry. */
  #cacheline = new Int32Array(1);
  /** Numbers of the needed {@link FINE_COLUMNS}, by entry. */
  readonly #fine = new Map<FineColumn, Int32Array>();
  /** Entry of each data place. */
  readonly #data = new Map<number, number>();
  readonly #code: CodeToList;
  readonly #needs: NameNeeds;
  readonly #accesses: ReadonlyMap<number, DataAccess>;
  readonly #unknown: number;
  readonly #dsoOf: readonly number[];
  readonly #entries = new Map<string, number>();
  /** Entry of each function, plus one; 0 if there is none yet. */
  #bySymbol = new Int32Array(1 << 10);
  /** Entry of each object, plus one; 0 if there is none yet. */
  #byDso = new Int32Array(1 << 6);
  #count = 0;
  /** Unmapped addresses of user space that occur in another mode. */
  readonly #elsewhere = new Set<number>();
  /** Innermost entry of each place, or -1 if it is not determined yet. */
  readonly #inner: Int32Array;
  readonly #all: (Int32Array | undefined)[] = [];

  /**
   * Assigns indices to the names of places. Code without names is addresses.
   *
   * @param accesses The data that the instruction at each place accesses.
   */
  constructor(
    code: CodeToList,
    needs: NameNeeds,
    accesses: ReadonlyMap<number, DataAccess> = new Map(),
  ) {
    this.#accesses = accesses;
    this.#code = code;
    this.#needs = needs;
    for (const column of FINE_COLUMNS) {
      if (needs[column]) this.#fine.set(column, new Int32Array(1));
    }
    this.functions = new FunctionNumbers(code.show ?? ((name) => name));
    this.#unknown = this.dsos.numberOf("[unknown]");
    this.#dsoOf = code.objects.map(({ name }) => this.dsos.numberOf(name));
    const { object, address } = code.places;
    const count = object.length;
    this.#inner = new Int32Array(count).fill(-1);
    for (let place = 0; place < count; place++) {
      if (intAt(object, place) >= 0 || floatAt(address, place) < 0) continue;
      if (this.#mode(place) !== PERF_RECORD_MISC_USER) this.#elsewhere.add(floatAt(address, place));
    }
    // Most places have their own entry. Columns that are not needed stay 0, and take no memory,
    // since their pages are never written.
    const columns = Array.from({ length: 4 }, () => new Int32Array(count + 1));
    [this.#dso, this.#symbol, this.#line, this.#file] = columns as [
      Int32Array<ArrayBuffer>,
      Int32Array<ArrayBuffer>,
      Int32Array<ArrayBuffer>,
      Int32Array<ArrayBuffer>,
    ];
  }

  /**
   * A column of names by entry.
   *
   * @throws {Error} If the column was not collected.
   */
  column(name: NameColumn): Int32Array {
    if (!(this.#needs[name] ?? false)) {
      throw new Error(`${name} of places was not collected: a key that reads it says so (needs)`);
    }
    return name === "dso"
      ? this.#dso
      : name === "symbol"
      ? this.#symbol
      : name === "line"
      ? this.#line
      : name === "file"
      ? this.#file
      : name === "cacheline"
      ? this.#cacheline
      : this.#fine.get(name) ?? new Int32Array(0);
  }

  /** Entry of a place's innermost function. */
  entry(place: number): number {
    if (place < 0) return this.#find(place, 0);
    const known = intAt(this.#inner, place);
    return known >= 0 ? known : this.#inner[place] = this.#find(place, 0);
  }

  /** Entry of a data place. Each address has its own, even within a variable. */
  datum(place: number): number {
    const known = this.#data.get(place);
    if (known !== undefined) return known;
    const { source, dso, base, inObject: address } = this.#at(place);
    const level = this.#mode(place) === PERF_RECORD_MISC_KERNEL ? LEVEL.KERNEL : LEVEL.USER;
    const exact = this.#exact(place, base);
    let symbol = 0;
    if (this.#needs.symbol) {
      const named = this.#functionOf(source);
      symbol = named === undefined
        ? this.functions.address(dso, address + base, exact, level)
        : this.functions.datum(dso, named, address, level);
      this.#mark(symbol, source);
    }
    let line = 0;
    if (this.#needs.cacheline) {
      const start = address + base;
      line = this.functions.address(dso, start - modulo(start, CACHE_LINE), undefined, level);
    }
    const key = `data ${dso} ${symbol} ${line}`;
    let entry = this.#entries.get(key);
    if (entry === undefined) {
      entry = this.#add(dso, symbol, 0, 0);
      this.#entries.set(key, entry);
      if (entry >= this.#cacheline.length) this.#cacheline = enlarge(this.#cacheline, entry + 1);
      this.#cacheline[entry] = line;
    }
    this.#data.set(place, entry);
    return entry;
  }

  /** All entries of a place, innermost first: several if functions are inlined there. */
  entries(place: number): Int32Array {
    const known = this.#all[place];
    if (known !== undefined) return known;
    const frames = this.#needs.inline ? Math.max(this.#frameCount(place), 1) : 1;
    return this.#all[place] = Int32Array.from(
      { length: frames },
      (_, frame) => frame === 0 ? this.entry(place) : this.#find(place, frame),
    );
  }

  #find(place: number, number: number): number {
    const needs = this.#needs;
    const { source, dso, base, inObject } = this.#at(place);
    const named = this.#functionOf(source);
    const address = inObject + base;
    const line = needs.line ? this.#lineOf(place, number, named, inObject) : 0;
    let symbol = 0;
    if (needs.symbol) {
      const level = levelOf(this.#mode(place));
      const inlined = needs.inline ? this.#inlined(place, number) : undefined;
      symbol = inlined !== undefined
        ? this.functions.inlined(dso, inlined, address, level)
        : named === undefined
        ? this.functions.address(
          place >= 0 && this.#isAlone(place) ? -1 : dso,
          address,
          this.#exact(place, base),
          level,
        )
        : this.functions.symbol(dso, source, named, { address: inObject, level });
      this.#mark(symbol, source);
    }
    const file = needs.file === false ? 0 : this.texts.numberOf(this.#fileOf(place, number));
    const entry = this.#entry(needs.dso ? dso : 0, symbol, line, file);
    return this.#fine.size === 0
      ? entry
      : this.#finer(entry, { place, symbol: named, dso, inObject, base });
  }

  /** The function, object and address at a place; the function is -1 if it has no name. */
  #at(place: number): CodeAt {
    const { places, objects } = this.#code;
    const object = place < 0 ? -1 : intAt(places.object, place);
    return {
      source: functionAt(this.#code, place),
      dso: this.#dsoOf[object] ?? this.#unknown,
      base: objects[object]?.base ?? 0,
      inObject: place < 0 ? 0 : floatAt(places.address, place),
    };
  }

  /** CPU mode of a place. */
  #mode(place: number): number {
    if (place < 0) return PERF_RECORD_MISC_USER;
    const { places, frames, functions } = this.#code;
    if (places.mode !== undefined) return byteAt(places.mode, place);
    const outer = intAt(places.frames, intAt(places.start, place + 1) - 1);
    const kind = byteAt(functions.kind, intAt(frames.function, outer));
    return (kind & FUNCTION_KIND.LEVEL) === FUNCTION_KIND.KERNEL
      ? PERF_RECORD_MISC_KERNEL
      : PERF_RECORD_MISC_USER;
  }

  /** All digits of an address that a double cannot represent. */
  #exact(place: number, base: number): string | undefined {
    return base === 0 ? this.#code.places.exact?.get(place) : undefined;
  }

  /** A function by index in the names of all places. */
  #functionOf(source: number): NamedFunction | undefined {
    if (source < 0) return undefined;
    const { symbol, name } = this.#code.functions;
    return symbol?.[source] ?? { name: name[source] ?? "" };
  }

  /** Marks a name of a function whose file is not known to be the recorded one. */
  #mark(symbol: number, source: number): void {
    if (source >= 0 && isUnverified(this.#code, source)) {
      this.unverified.add(symbol);
    }
  }

  #frameCount(place: number): number {
    const { start } = this.#code.places;
    if (place < 0) return 0;
    return intAt(start, place + 1) - intAt(start, place);
  }

  /** The frame at a level of a place (0: innermost); -1 if the place has fewer frames. */
  #frame(place: number, number: number): number {
    if (number >= this.#frameCount(place)) return -1;
    const { start, frames } = this.#code.places;
    return intAt(frames, intAt(start, place) + number);
  }

  /** Name of the function that is inlined at a place. */
  #inlined(place: number, number: number): string | undefined {
    if (number + 1 >= this.#frameCount(place)) return undefined;
    const { functions, frames } = this.#code;
    return functions.name[intAt(frames.function, this.#frame(place, number))] || "??";
  }

  #path(frame: number): string | undefined {
    return this.#code.files[this.#code.frames.file[frame] ?? -1];
  }

  /** The entry with the values of the rarely used columns. */
  #finer(entry: number, at: FinePlace): number {
    const values = Array.from(this.#fine.keys(), (column) => this.#fineValue(column, at));
    const key = `finer ${entry} ${values.join(" ")}`;
    let finer = this.#entries.get(key);
    if (finer === undefined) {
      const [dsos, symbols, lines, files] = [this.#dso, this.#symbol, this.#line, this.#file];
      finer = this.#add(
        intAt(dsos, entry),
        intAt(symbols, entry),
        intAt(lines, entry),
        intAt(files, entry),
      );
      this.#entries.set(key, finer);
      let n = 0;
      for (const [column, numbers] of this.#fine) {
        const large = finer < numbers.length ? numbers : enlarge(numbers, finer + 1);
        large[finer] = values[n++] ?? 0;
        this.#fine.set(column, large);
      }
    }
    return finer;
  }

  /** The value, or the index of its text, of a rarely used column at a place. */
  #fineValue(column: FineColumn, at: FinePlace): number {
    const { place, symbol } = at;
    switch (column) {
      case "offset":
        return this.#point(at);
      case "size":
        return Math.max(0, (symbol?.end ?? 0) - (symbol?.start ?? 0));
      case "type":
        return this.texts.numberOf(typeText(this.#access(place)));
      case "typeoff":
        return this.texts.numberOf(typeOffsetText(this.#access(place)));
      case "typecln":
        return this.texts.numberOf(typeLineText(this.#access(place)));
    }
  }

  /** Index of a place's function and offset. */
  #point({ place, symbol, dso, inObject, base }: FinePlace): number {
    const level = levelOf(this.#mode(place));
    if (symbol === undefined) {
      return this.functions.address(dso, inObject + base, this.#exact(place, base), level);
    }
    const number = this.functions.point(dso, symbol, inObject, level);
    this.#mark(number, functionAt(this.#code, place));
    return number;
  }

  /** The data that an instruction accesses. */
  #access(place: number): DataAccess {
    return this.#accesses.get(place) ?? { cause: "no code" };
  }

  /**
   * Whether no other place without a function can have the same address and object: a user address
   * that is unmapped and occurs in one mode only. Most addresses of code without frame pointers are
   * like this, and need not be stored.
   */
  #isAlone(place: number): boolean {
    const { object, address } = this.#code.places;
    const at = floatAt(address, place);
    return intAt(object, place) < 0 && at >= 0 && this.#mode(place) === PERF_RECORD_MISC_USER &&
      !this.#elsewhere.has(at);
  }

  /** A frame's line with its file's base name, as in perf. One path is stored for it. */
  #lineOf(
    place: number,
    number: number,
    named: NamedFunction | undefined,
    inObject: number,
  ): number {
    const frame = this.#frame(place, number);
    const file = this.#path(frame);
    const line = this.#code.frames.line[frame] ?? 0;
    if (file === undefined || line === 0) {
      return this.texts.numberOf(this.functions.offsetText(named, inObject));
    }
    const text = this.texts.numberOf(`${baseName(file)}:${line}`);
    this.linePaths[text] ??= `${file}:${line}`;
    return text;
  }

  /** Source file of a frame, or of its function. */
  #fileOf(place: number, number: number): string {
    const file = this.#path(this.#frame(place, number));
    if (file === undefined) return "";
    if (this.#needs.file === "line") return baseName(file);
    return this.#path(this.#frame(place, this.#frameCount(place) - 1)) ?? file;
  }

  #entry(dso: number, symbol: number, line: number, file: number): number {
    if (line !== 0 || file !== 0) {
      const key = `${dso} ${symbol} ${line} ${file}`;
      const known = this.#entries.get(key);
      if (known !== undefined) return known;
      const entry = this.#add(dso, symbol, line, file);
      this.#entries.set(key, entry);
      return entry;
    }
    // A function belongs to one object.
    if (this.#needs.symbol) {
      if (symbol >= this.#bySymbol.length) this.#bySymbol = enlarge(this.#bySymbol, symbol + 1);
      return (this.#bySymbol[symbol] ||= this.#add(dso, symbol, line, file) + 1) - 1;
    }
    if (dso >= this.#byDso.length) this.#byDso = enlarge(this.#byDso, dso + 1);
    return (this.#byDso[dso] ||= this.#add(dso, symbol, line, file) + 1) - 1;
  }

  #add(dso: number, symbol: number, line: number, file: number): number {
    const entry = this.#count++;
    if (entry >= this.#dso.length) {
      this.#dso = enlarge(this.#dso, entry + 1);
      this.#symbol = enlarge(this.#symbol, entry + 1);
      this.#line = enlarge(this.#line, entry + 1);
      this.#file = enlarge(this.#file, entry + 1);
    }
    this.#dso[entry] = dso;
    this.#symbol[entry] = symbol;
    if (line !== 0) this.#line[entry] = line;
    if (file !== 0) this.#file[entry] = file;
    return entry;
  }
}

/** Assumed size of a cache line. perf uses that of the machine it runs on. */
const CACHE_LINE = 64;

/** Name of the accessed type, in perf's notation. */
function typeText(access: DataAccess): string {
  if ("type" in access) return access.type.name;
  return access.cause === "stack operation" ? "(stack operation)" : "(unknown)";
}

/** Type, offset and field. */
function typeOffsetText(access: DataAccess): string {
  const { offset, field } = "type" in access
    ? { offset: access.offset, field: fieldAt(access.type, access.offset) }
    : { offset: 0, field: "" };
  const at = offset === 0 ? "0" : `0x${offset.toString(16)}`;
  return `${typeText(access)} +${at} (${field === "" ? "no field" : field})`;
}

/** Type and number of the cache line within it, if it begins at one. */
function typeLineText(access: DataAccess): string {
  const offset = "type" in access ? access.offset : 0;
  return `${typeText(access)}: cache-line ${Math.floor(offset / CACHE_LINE)}`;
}

/** Remainder of an address, whose sign may be negative. */
function modulo(address: number, by: number): number {
  return (address % by + by) % by;
}

function baseName(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1);
}
