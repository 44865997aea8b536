import type { Cursor } from "../bytes.ts";
import { DW_AT, DW_FORM, DW_LLE, DW_OP } from "../dwarf_constants.ts";
import type { Entries } from "./entries.ts";
import type { Unit } from "../unit.ts";
import type { Location, VariablePlace } from "./variables.ts";

/** Limit of the location list of a variable. */
const MOST_PIECES = 1 << 16;

/** Locations of an entry's variable: one that is always valid, or those of a list. */
export function locationsOf(entries: Entries, entry: number): Location[] {
  const { unit } = entries;
  const block = entries.block(entry, DW_AT.location);
  if (block !== undefined) {
    return [{ low: -Infinity, high: Infinity, place: placeOf(block, unit) }];
  }
  const found = entries.attribute(entry, DW_AT.location);
  if (found === undefined) return [];
  return unit.version >= 5
    ? locationList5(entries, found.form, found.value)
    : locationList4(unit, found.value);
}

/**
 * Reads `.debug_loc` (DWARF 2 to 4). The different form in split units of these versions is not
 * supported.
 */
function locationList4(unit: Unit, offset: number): Location[] {
  if (unit.skeleton !== undefined) return [];
  const section = unit.file.loc;
  const size = unit.addressSize;
  const selector = size === 8 ? -1 : 2 ** (8 * size) - 1;
  const found: Location[] = [];
  let base = unit.baseAddress, at = offset;
  while (found.length < MOST_PIECES) {
    const low = unit.file.address(section, at, size);
    const high = unit.file.address(section, at + size, size);
    at += 2 * size;
    if (low === 0 && high === 0) break;
    if (low === selector) {
      base = high;
      continue;
    }
    const length = section.uint(at, 2);
    at += 2;
    if (low < high) {
      const place = placeOf(section.cursor(at, length), unit);
      found.push({ low: base + low, high: base + high, place });
    }
    at += length;
  }
  return found;
}

/** Reads `.debug_loclists` (DWARF 5). */
function locationList5(entries: Entries, form: number, value: number): Location[] {
  const { unit } = entries;
  const section = unit.file.loclists;
  let at = value;
  if (form === DW_FORM.loclistx) {
    // Split units do not have the attribute: the base is after the header of the only contribution.
    const base = entries.constant(0, DW_AT.loclists_base) ?? (unit.offsetSize === 4 ? 12 : 20);
    at = base + section.uint(base + value * unit.offsetSize, unit.offsetSize);
  }
  const c = section.cursor(at, section.size - at);
  const size = unit.addressSize;
  const found: Location[] = [];
  let base = unit.baseAddress;
  while (found.length < MOST_PIECES) {
    const entryAt = c.pos;
    const kind = c.u8();
    let low: number, high: number;
    switch (kind) {
      case DW_LLE.end_of_list:
        return found;
      case DW_LLE.base_addressx:
        base = unit.indexedAddress(c.uleb());
        continue;
      case DW_LLE.base_address:
        base = c.address(size);
        continue;
      case DW_LLE.startx_endx:
        low = unit.indexedAddress(c.uleb());
        high = unit.indexedAddress(c.uleb());
        break;
      case DW_LLE.startx_length:
        low = unit.indexedAddress(c.uleb());
        high = low + c.uleb();
        break;
      case DW_LLE.offset_pair:
        low = base + c.uleb();
        high = base + c.uleb();
        break;
      case DW_LLE.default_location:
        low = -Infinity;
        high = Infinity;
        break;
      case DW_LLE.start_end:
        low = c.address(size);
        high = c.address(size);
        break;
      case DW_LLE.start_length:
        low = c.address(size);
        high = low + c.uleb();
        break;
      default:
        throw c.error(`location list entry of kind ${kind}, which is not known`, entryAt);
    }
    const length = c.uleb();
    const start = c.take(length);
    if (low < high) {
      found.push({ low, high, place: placeOf(section.cursor(at + start, length), unit) });
    }
  }
  return found;
}

/** Decodes a location expression, if it is a simple location of a whole variable. */
export function placeOf(c: Cursor, unit: Unit): VariablePlace | undefined {
  if (c.pos >= c.end) return undefined;
  const op = c.u8();
  const isWhole = () => c.pos === c.end;
  if (op >= DW_OP.reg0 && op <= DW_OP.reg31) {
    return isWhole() ? { kind: "value", register: op - DW_OP.reg0, offset: 0 } : undefined;
  }
  if (op === DW_OP.regx) {
    const register = c.uleb();
    return isWhole() ? { kind: "value", register, offset: 0 } : undefined;
  }
  if ((op >= DW_OP.breg0 && op <= DW_OP.breg31) || op === DW_OP.bregx) {
    const register = op === DW_OP.bregx ? c.uleb() : op - DW_OP.breg0;
    const offset = c.sleb();
    if (isWhole()) return { kind: "memory", register, offset };
    const isValue = c.u8() === DW_OP.stack_value && isWhole();
    return isValue ? { kind: "value", register, offset } : undefined;
  }
  switch (op) {
    case DW_OP.fbreg: {
      const offset = c.sleb();
      return isWhole() ? { kind: "frame", offset } : undefined;
    }
    case DW_OP.call_frame_cfa:
      return isWhole() ? { kind: "cfa", offset: 0 } : undefined;
    case DW_OP.addr: {
      const address = c.address(unit.addressSize);
      return isWhole() ? { kind: "address", address } : undefined;
    }
    case DW_OP.addrx:
    case DW_OP.GNU_addr_index: {
      const address = unit.indexedAddress(c.uleb());
      return isWhole() ? { kind: "address", address } : undefined;
    }
  }
  return undefined;
}
