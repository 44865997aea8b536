import { floatAt, intAt } from "@perfdata/format/bytes";
import { SLOT } from "./abbrev.ts";
import { Cursor } from "./bytes.ts";
import { DwarfError } from "./dwarf_error.ts";
import type { DwarfFile } from "./dwarf_file.ts";
import { Cells, paint, RangeList } from "./paint.ts";

/**
 * Builds the index from addresses to units: from `.debug_aranges`, and for units missing there,
 * from the ranges of their root entry. If several units claim an address, the first one wins.
 */
export function unitIndex(file: DwarfFile, report: (error: DwarfError) => void): Cells {
  const { units } = file;
  const ranges = new RangeList();
  const covered = new Uint8Array(units.length);
  try {
    readAranges(file, covered, ranges);
  } catch (error) {
    if (!(error instanceof DwarfError)) throw error;
    // Read the ranges of the units' root entries instead.
    report(error);
    ranges.count = 0;
    covered.fill(0);
  }
  for (let i = 0; i < units.length; i++) {
    if (covered[i] === 1) continue;
    const unit = units.peek(i);
    if (!unit.hasCode) continue;
    const before = ranges.count;
    try {
      unit.resetRangeBudget();
      const die = unit.rootDie();
      if (die.has(SLOT.LOW_PC) || die.has(SLOT.RANGES)) unit.ranges(die, ranges, i);
    } catch (error) {
      if (!(error instanceof DwarfError)) throw error;
      ranges.count = before;
      report(error);
    }
  }
  // Sort by unit, since paint prefers the first range, and the first unit is to win.
  const cells = new Cells();
  paint(byOwner(ranges), 0, false, cells);
  cells.trim();
  return cells;
}

function byOwner(ranges: RangeList): RangeList {
  let sorted = true;
  for (let i = 1; i < ranges.count && sorted; i++) {
    sorted = intAt(ranges.owner, i - 1) <= intAt(ranges.owner, i);
  }
  if (sorted) return ranges;
  const order = Uint32Array.from({ length: ranges.count }, (_, i) => i)
    .sort((a, b) => intAt(ranges.owner, a) - intAt(ranges.owner, b) || a - b);
  const result = new RangeList();
  for (const i of order) {
    result.push(floatAt(ranges.low, i), floatAt(ranges.high, i), intAt(ranges.owner, i));
  }
  return result;
}

/** Reads `.debug_aranges` (DWARF 5, 6.1.2). */
function readAranges(
  file: DwarfFile,
  covered: Uint8Array,
  ranges: RangeList,
): void {
  const section = file.aranges;
  if (section.size === 0) return;
  const c: Cursor = new Cursor(section.window(0, section.size), section.name, 0, section.le);
  const sectionEnd = c.end;
  while (c.pos < sectionEnd) {
    const start = c.pos;
    c.end = sectionEnd;
    const { length, offsetSize } = c.unitLength();
    const end = c.pos + length;
    if (end > sectionEnd) throw c.error(`a set of 0x${length.toString(16)} bytes`, start);
    c.end = end;
    const version = c.u16();
    if (version !== 2) throw c.error(`address ranges of version ${version}; 2 expected`, c.pos - 2);
    const unit = file.units.exactly(c.uint(offsetSize));
    const addressSize = c.u8();
    const selectorSize = c.u8();
    if (selectorSize !== 0) throw c.error("segment selectors are not known", c.pos - 1);
    const entry = 2 * addressSize;
    if (addressSize !== 8 && addressSize !== 4 && addressSize !== 2) {
      throw c.error(`addresses of ${addressSize} bytes; 2, 4 or 8 expected`, c.pos - 2);
    }
    // The first entry begins at a multiple of its size, relative to the set.
    c.pos = start + Math.ceil((c.pos - start) / entry) * entry;
    while (c.pos + entry <= end) {
      const low = c.address(addressSize);
      const size = c.address(addressSize);
      if (low === 0 && size === 0) break;
      if (unit < 0 || size <= 0) continue;
      covered[unit] = 1;
      if (low !== -1) ranges.push(low, low + size, unit);
    }
    c.pos = end;
  }
}
