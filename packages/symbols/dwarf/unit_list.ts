import { enlarge, floatAt } from "@perfdata/format/bytes";
import { DwarfError } from "./dwarf_error.ts";
import type { DwarfFile } from "./dwarf_file.ts";
import { Unit } from "./unit.ts";

/** Limit of the units of a file. The largest programs have some hundred thousand. */
const MOST_UNITS = 1 << 20;
/** More units than this must have a mean size of at least `SMALL` bytes; a header has 11. */
const MANY_UNITS = 1 << 15, SMALL = 32;

/**
 * The units of a file, in the order of `.debug_info`. Only offsets are stored, and units are
 * created on demand, since a damaged file may have millions.
 */
export class UnitList {
  length = 0;
  /** Offset of each unit's header. */
  offset: Float64Array<ArrayBuffer> = new Float64Array(64);
  readonly #file: DwarfFile;
  readonly #kept = new Map<number, Unit>();

  /**
   * Reads the lengths of all units.
   *
   * A unit of length zero ends the list: padding or damage follows.
   *
   * @param report Receives the error in a unit. The units after it cannot be found.
   */
  constructor(file: DwarfFile, report: (error: DwarfError) => void) {
    this.#file = file;
    const { info } = file;
    for (let offset = 0; offset < info.size;) {
      let size: number;
      try {
        if (this.length === MOST_UNITS) {
          throw new DwarfError(info.name, offset, `too large: more than ${MOST_UNITS} units`);
        }
        if (this.length > 0 && this.length % MANY_UNITS === 0 && offset < SMALL * this.length) {
          const bytes = Math.round(offset / this.length);
          throw new DwarfError(
            info.name,
            offset,
            `too large: more than ${this.length} units of ${bytes} bytes on average`,
          );
        }
        const unit = this.#read(offset);
        if (unit === undefined) {
          if (this.length === 0) throw new DwarfError(info.name, offset, "a unit of length 0");
          break;
        }
        size = unit.size;
      } catch (error) {
        if (!(error instanceof DwarfError)) throw error;
        // The length is unknown, and with it the start of the next unit.
        report(error);
        break;
      }
      const number = this.length++;
      if (number === this.offset.length) this.offset = enlarge(this.offset, number + 1);
      this.offset[number] = offset;
      offset += size;
    }
  }

  /** Reads the header at an offset; `undefined` if the length is zero. */
  #read(offset: number): Unit | undefined {
    const { info } = this.#file;
    const c = info.cursor(offset, Math.min(48, info.size - offset));
    if (c.unitLength().length === 0) return undefined;
    c.pos = 0;
    return new Unit(this.#file, c, info.size);
  }

  /** Unit number `i`, without caching it. */
  peek(i: number): Unit {
    return this.#kept.get(i) ?? this.#read(floatAt(this.offset, i)) as Unit;
  }

  /** Unit number `i`. The same object is returned each time. */
  unit(i: number): Unit {
    let unit = this.#kept.get(i);
    if (unit === undefined) this.#kept.set(i, unit = this.peek(i));
    return unit;
  }

  /** Index of the last unit whose header is at or before an offset; -1 if there is none. */
  before(offset: number): number {
    let low = 0, high = this.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (floatAt(this.offset, middle) <= offset) low = middle + 1;
      else high = middle;
    }
    return low - 1;
  }

  /** Index of the unit whose header is at an offset; -1 if there is none. */
  exactly(offset: number): number {
    const number = this.before(offset);
    return number >= 0 && this.offset[number] === offset ? number : -1;
  }
}
