import { floatAt } from "@perfdata/format/elements";
import { enlarge } from "@perfdata/format/enlarge";
import { DwarfError } from "./dwarf_error.ts";
import type { DwarfFile } from "./dwarf_file.ts";
import { Unit } from "./unit.ts";

/** Maximum number of units of a file. The largest programs have some hundred thousand. */
const MOST_UNITS = 1 << 20;
/** So many units that have fewer bytes than these each describe no program: a header has 11. */
const MANY_UNITS = 1 << 15, SMALL = 32;

/**
 * The units of a file, in the order of `.debug_info`: where each begins. A unit itself is made when it
 * is asked for, since a damaged file may have millions.
 */
export class UnitList {
  /** Number of units. */
  length = 0;
  /** Offset of the header of each. */
  offset: Float64Array<ArrayBuffer> = new Float64Array(64);
  readonly #file: DwarfFile;
  readonly #kept = new Map<number, Unit>();

  /**
   * Reads the lengths of all units.
   *
   * A unit of length zero ends the list: what comes after it is padding, or damage.
   *
   * @param report Receives what is wrong with a unit: those after it cannot be found.
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
        const unit = this.#at(offset);
        if (unit === undefined) {
          if (this.length === 0) throw new DwarfError(info.name, offset, "a unit of length 0");
          break;
        }
        size = unit.size;
      } catch (error) {
        if (!(error instanceof DwarfError)) throw error;
        // Without a length it is not known where the next unit begins.
        report(error);
        break;
      }
      const number = this.length++;
      if (number === this.offset.length) this.offset = enlarge(this.offset, number + 1);
      this.offset[number] = offset;
      offset += size;
    }
  }

  /** Reads the header at an offset; `undefined` if its length is zero. */
  #at(offset: number): Unit | undefined {
    const { info } = this.#file;
    const c = info.cursor(offset, Math.min(48, info.size - offset));
    if (c.unitLength().length === 0) return undefined;
    c.pos = 0;
    return new Unit(this.#file, c, info.size);
  }

  /** Unit number `i`, to be looked at once. */
  peek(i: number): Unit {
    return this.#kept.get(i) ?? this.#at(floatAt(this.offset, i)) as Unit;
  }

  /** Unit number `i`: the same one each time. */
  unit(i: number): Unit {
    let unit = this.#kept.get(i);
    if (unit === undefined) this.#kept.set(i, unit = this.peek(i));
    return unit;
  }

  /** The number of the unit whose header is at or before an offset; -1 if there is none. */
  before(offset: number): number {
    let low = 0, high = this.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (floatAt(this.offset, middle) <= offset) low = middle + 1;
      else high = middle;
    }
    return low - 1;
  }

  /** The number of the unit whose header is at an offset; -1 if there is none. */
  exactly(offset: number): number {
    const number = this.before(offset);
    return number >= 0 && this.offset[number] === offset ? number : -1;
  }
}
