import { byteAt, enlarge, floatAt, intAt, numberAt, uintAt } from "@perfdata/format/bytes";
import { text } from "./bytes.ts";
import { DwarfError } from "./dwarf_error.ts";
import type { DwarfFile } from "./dwarf_file.ts";
import { NumberMap } from "./number_map.ts";
import { orderOf } from "./paint.ts";
import { type Declared, Scopes } from "./scopes.ts";
import type { Section } from "./section.ts";
import type { Unit } from "./unit.ts";

/** Location of an attribute's string; `unit` is `undefined` if the attribute is missing. */
export interface StringPlace {
  unit: Unit | undefined;
  form: number;
  value: number;
}

/** The names of a function in DWARF. */
export interface FunctionName {
  /** `DW_AT_name`: `push_back`, without scopes. */
  readonly function: string | undefined;
  /** `DW_AT_linkage_name`: the mangled name, if there is one. */
  readonly linkageName: string | undefined;
  /**
   * Namespaces, classes and functions around it, such as `shop::(anonymous namespace)`. Missing if
   * the function has a linkage name, which contains them.
   */
  readonly scope?: string;
}

/** Locations of a function's names, and the entry that declares it. */
export interface FoundName {
  readonly name: StringPlace;
  readonly linkageName: StringPlace;
  /** Unit and position of the declaring entry. */
  unit: Unit | undefined;
  at: number;
  /** {@link Declared.external}. */
  external: boolean;
  /** {@link Declared.artificial}. */
  artificial: boolean;
}

/**
 * Numbers functions by their names. Linkers merge equal strings, so an offset identifies a name,
 * and the strings are read later in file order.
 */
export class FunctionNames {
  readonly #strings = new Strings();
  /** For each function, the indices of its two strings; -1 for a missing one. */
  #name = new Int32Array(256);
  #linkageName = new Int32Array(256);
  #count = 0;
  /** Names not yet in `#strings`, by section: offsets and function numbers. */
  readonly #later = new Map<Section, { offsets: number[]; functions: number[] }>();
  readonly #byLinkageName = new Map<Section, NumberMap>();
  readonly #byName = new Map<Section, NumberMap>();
  readonly #byText = new Map<string, number>();
  /** Functions that differ only in their scope, by declaring entry. */
  readonly #byEntry = new Map<DwarfFile, NumberMap>();
  readonly #scopes = new Scopes();
  readonly #scope = new Map<number, string>();
  /** Functions whose scope was not determined yet. */
  #unscoped: { functions: number[]; declared: Declared[] } = { functions: [], declared: [] };

  get count(): number {
    return this.#count;
  }

  /** Index of the function with these names; -1 without a name. */
  number(found: FoundName): number {
    const { name, linkageName, unit, at, external, artificial } = found;
    const number = linkageName.unit === undefined ? -1 : this.#number(name, linkageName);
    if (number >= 0 || name.unit === undefined) return number;
    if (unit === undefined || !unit.hasScopes) return this.#number(name, NOWHERE);
    let numbers = this.#byEntry.get(unit.file);
    if (numbers === undefined) this.#byEntry.set(unit.file, numbers = new NumberMap());
    let scoped = numbers.get(unit.offset + at);
    if (scoped < 0) {
      scoped = this.#add(name, NOWHERE);
      numbers.add(unit.offset + at, scoped);
      this.#unscoped.functions.push(scoped);
      this.#unscoped.declared.push({ unit, at, external, artificial });
    }
    return scoped;
  }

  #number(name: StringPlace, linkageName: StringPlace): number {
    // A linkage name determines the plain name.
    const deciding = linkageName.unit === undefined ? name : linkageName;
    const { unit, form, value } = deciding;
    if (unit === undefined) return -1;
    const section = unit.stringSection(form);
    if (section === undefined) {
      const written = unit.string(form, value);
      if (written === undefined) return -1;
      const key = deciding === name ? ` ${written}` : written;
      let number = this.#byText.get(key);
      if (number === undefined) {
        number = this.#add(name, linkageName);
        this.#byText.set(key, number);
      }
      return number;
    }
    const maps = deciding === name ? this.#byName : this.#byLinkageName;
    let numbers = maps.get(section);
    if (numbers === undefined) {
      numbers = new NumberMap();
      maps.set(section, numbers);
    }
    const offset = unit.stringOffset(form, value);
    let number = numbers.get(offset);
    if (number < 0) {
      number = this.#add(name, linkageName);
      numbers.add(offset, number);
    }
    return number;
  }

  #add(name: StringPlace, linkageName: StringPlace): number {
    const linkage = this.#strings.number(linkageName);
    const section = linkage < 0 ? undefined : name.unit?.stringSection(name.form);
    const offset = section === undefined ? -1 : this.#strings.offset(section, name);
    const string = section === undefined ? this.#strings.number(name) : LATER;
    const n = this.#count;
    if (n === this.#name.length) {
      this.#name = enlarge(this.#name, n + 1);
      this.#linkageName = enlarge(this.#linkageName, n + 1);
    }
    this.#name[n] = string;
    this.#linkageName[n] = linkage;
    if (section !== undefined) {
      let later = this.#later.get(section);
      if (later === undefined) this.#later.set(section, later = { offsets: [], functions: [] });
      later.offsets.push(offset);
      later.functions.push(n);
    }
    return this.#count++;
  }

  /**
   * Reads the collected strings. Unless `all`, skips scopes, and the plain names of functions with
   * a linkage name. Errors are passed to `report`.
   */
  read(report: (error: DwarfError) => void, all: boolean): void {
    const errors: DwarfError[] = [];
    if (all) {
      for (const [section, { offsets, functions }] of this.#later) {
        for (let i = 0; i < functions.length; i++) {
          const string = this.#strings.numberAt(section, numberAt(offsets, i));
          this.#name[numberAt(functions, i)] = string;
        }
      }
      this.#later.clear();
      const { functions, declared } = this.#unscoped;
      this.#unscoped = { functions: [], declared: [] };
      const scopes = this.#scopes.scopesOf(declared, (error) => errors.push(error));
      scopes.forEach((scope, i) => {
        if (scope !== "") this.#scope.set(numberAt(functions, i), scope);
      });
    }
    this.#strings.read(report);
    errors.forEach(report);
  }

  /** The names of function `n`. Errors are passed to `report`, as in {@link read}. */
  get(n: number, report: (error: DwarfError) => void): FunctionName {
    if (this.#name[n] === LATER) this.read(report, true);
    const decoded = (string: number): string | undefined => {
      const bytes = this.#strings.get(string);
      return bytes === undefined ? undefined : text(bytes, 0, bytes.length);
    };
    const scope = this.#scope.get(n);
    return {
      function: decoded(intAt(this.#name, n)),
      linkageName: decoded(intAt(this.#linkageName, n)),
      ...(scope === undefined ? {} : { scope }),
    };
  }

  /** The linkage name of function `n` in UTF-8. */
  linkageName(n: number): Uint8Array | undefined {
    return this.#strings.get(n < 0 ? -1 : intAt(this.#linkageName, n));
  }
}

/** Strings of a section that were not read yet. */
interface Pending {
  offsets: Float64Array;
  numbers: Int32Array;
  count: number;
  /** Indices of strings by offset. */
  readonly met: NumberMap;
}

/**
 * Size of a block that is read for many strings, and limit of the gap between two strings in it.
 */
const BLOCK = 1 << 19;
const GAP = 1 << 14;
/** Fewer strings than this are read one by one. */
const FEW = 32;

/** Smallest and largest allocation for the bytes of strings. */
const LEAST = 1 << 12, MOST = 1 << 20;

/** Strings by index. Their bytes are stored in pieces of memory that never move. */
class Strings {
  #bytes = new Uint8Array(LEAST);
  readonly #pieces: Uint8Array[] = [this.#bytes];
  #used = 0;
  /** Piece and offset of each string. */
  #piece = new Int32Array(256);
  #from = new Int32Array(256);
  /** Length; -1 for strings that were not read, or are unreadable. */
  #length = new Int32Array(256);
  #count = 0;
  readonly #pending = new Map<Section, Pending>();
  #block = new Uint8Array(0);

  /** Index of the string at a place; -1 if there is none. */
  number(place: StringPlace): number {
    const { unit, form, value } = place;
    if (unit === undefined) return -1;
    const section = unit.stringSection(form);
    if (section === undefined) {
      const written = unit.string(form, value);
      if (written === undefined) return -1;
      const number = this.#add();
      const bytes = encoder.encode(written);
      this.#room(bytes.length);
      this.#bytes.set(bytes, this.#used);
      this.#finish(number, bytes.length);
      return number;
    }
    return this.numberAt(section, this.offset(section, place));
  }

  /** Section offset of the string at a place. */
  offset(section: Section, { unit, form, value }: StringPlace): number {
    const offset = unit === undefined ? NaN : unit.stringOffset(form, value);
    if (!(offset < section.size)) {
      throw new DwarfError(section.name, offset, "a string after the end of the section");
    }
    return offset;
  }

  /** Index of the string at `offset` of `section`. The caller has checked the offset. */
  numberAt(section: Section, offset: number): number {
    let pending = this.#pending.get(section);
    if (pending === undefined) {
      pending = {
        offsets: new Float64Array(256),
        numbers: new Int32Array(256),
        count: 0,
        met: new NumberMap(),
      };
      this.#pending.set(section, pending);
    }
    let number = pending.met.get(offset);
    if (number < 0) {
      number = this.#add();
      pending.met.add(offset, number);
      const n = pending.count++;
      if (n === pending.numbers.length) {
        pending.offsets = enlarge(pending.offsets, n + 1);
        pending.numbers = enlarge(pending.numbers, n + 1);
      }
      pending.offsets[n] = offset;
      pending.numbers[n] = number;
    }
    return number;
  }

  get(number: number): Uint8Array | undefined {
    const length = number < 0 ? -1 : intAt(this.#length, number);
    if (length < 0) return undefined;
    const from = intAt(this.#from, number);
    return this.#pieces[intAt(this.#piece, number)]?.subarray(from, from + length);
  }

  read(report: (error: DwarfError) => void): void {
    const errors: DwarfError[] = [];
    for (const [section, pending] of this.#pending) {
      const { count, offsets, numbers } = pending;
      if (count === 0) continue;
      pending.count = 0;
      const order = orderOf(offsets, 0, count);
      for (let i = 0; i < count;) {
        // Strings that lie close together and fit into one block.
        const start = floatAt(offsets, uintAt(order, i));
        let j = i + 1, last = start;
        while (j < count) {
          const offset = floatAt(offsets, uintAt(order, j));
          if (offset - last > GAP || offset - start > BLOCK) break;
          last = offset;
          j++;
        }
        const block = count < FEW ? EMPTY : this.#read(section, start, last + GAP - start);
        for (; i < j; i++) {
          const at = uintAt(order, i);
          const offset = floatAt(offsets, at), number = intAt(numbers, at);
          if (this.#take(number, block, offset - start)) continue;
          try {
            const whole = section.stringBytes(offset);
            this.#room(whole.length);
            this.#bytes.set(whole, this.#used);
            this.#finish(number, whole.length);
          } catch (error) {
            if (!(error instanceof DwarfError)) throw error;
            errors.push(error);
          }
        }
      }
    }
    // Report last, since it can throw.
    errors.forEach(report);
  }

  #read(section: Section, offset: number, length: number): Uint8Array {
    const size = Math.min(length, section.size - offset);
    if (this.#block.length < size) this.#block = new Uint8Array(BLOCK + 2 * GAP);
    return section.windowIn(offset, size, this.#block);
  }

  /** Stores the string at `block[p]`. Returns false if the block ends before the string. */
  #take(number: number, block: Uint8Array, p: number): boolean {
    const rest = block.length - p;
    if (rest <= 0) return false;
    this.#room(rest > GAP ? GAP : rest);
    const bytes = this.#bytes;
    const start = this.#used;
    const end = Math.min(block.length, p + GAP);
    let at = start;
    for (; p < end; p++) {
      const byte = byteAt(block, p);
      if (byte === 0) {
        this.#finish(number, at - start);
        return true;
      }
      bytes[at++] = byte;
    }
    return false;
  }

  #add(): number {
    const n = this.#count;
    if (n === this.#length.length) {
      this.#piece = enlarge(this.#piece, n + 1);
      this.#from = enlarge(this.#from, n + 1);
      this.#length = enlarge(this.#length, n + 1);
    }
    this.#length[n] = -1;
    return this.#count++;
  }

  #finish(number: number, length: number): void {
    this.#piece[number] = this.#pieces.length - 1;
    this.#from[number] = this.#used;
    this.#length[number] = length;
    this.#used += length;
  }

  #room(length: number): void {
    if (length <= this.#bytes.length - this.#used) return;
    this.#bytes = new Uint8Array(Math.max(length, Math.min(MOST, 2 * this.#bytes.length)));
    this.#pieces.push(this.#bytes);
    this.#used = 0;
  }
}

/** In place of a name's number: the name is in `#later`. */
const LATER = -2;
const NOWHERE: StringPlace = { unit: undefined, form: 0, value: 0 };
const encoder = new TextEncoder();
const EMPTY = new Uint8Array(0);
