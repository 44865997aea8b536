import { Cursor } from "../dwarf/bytes.ts";
import { DwarfError } from "../dwarf/dwarf_error.ts";
import { DW_EH_PE } from "./cfi_constants.ts";
import { type FrameSection, plainPointer } from "./frame_section.ts";

/** `.eh_frame_hdr`: its bytes and its address. */
export interface EhFrameHdr {
  /** Its bytes. */
  readonly bytes: Uint8Array;
  /** Its address, which the entries of its table are relative to. */
  readonly address: number;
}

/** Which FDE begins last at or before an address. */
export interface FdeIndex {
  /** Number of entries. */
  readonly count: number;
  /** Offset in the section of the FDE of entry `i`; −1 if it lies outside. */
  offset(i: number): number;
  /** The entry whose first address is the last at or before `address`; −1 if there is none. */
  find(address: number): number;
}

/** The header of `.eh_frame_hdr`, as far as it is needed. */
interface HdrFields {
  readonly ehFrame: number;
  readonly count: number;
  readonly table: number;
}

/**
 * Reads the header of `.eh_frame_hdr` (Linux Standard Base, 10.6.2).
 *
 * @returns `undefined` if it has no table of the one kind that linkers make: sorted pairs of signed
 * 4-byte numbers relative to the section
 * @throws {DwarfError} if it is cut short
 */
export function readEhFrameHdr(
  hdr: EhFrameHdr,
  littleEndian: boolean,
  addressSize: number,
): HdrFields | undefined {
  const c = new Cursor(hdr.bytes, ".eh_frame_hdr", 0, littleEndian);
  if (c.u8() !== 1) return undefined;
  const ehFrameEncoding = c.u8(), countEncoding = c.u8(), tableEncoding = c.u8();
  const pointer = (encoding: number): number => {
    const at = hdr.address + c.pos;
    const value = plainPointer(c, encoding & 0x0f, addressSize);
    const how = encoding & 0x70;
    return how === DW_EH_PE.pcrel
      ? at + value
      : how === DW_EH_PE.datarel
      ? hdr.address + value
      : value;
  };
  if (ehFrameEncoding === DW_EH_PE.omit) return undefined;
  const ehFrame = pointer(ehFrameEncoding);
  if (countEncoding === DW_EH_PE.omit || tableEncoding !== (DW_EH_PE.datarel | DW_EH_PE.sdata4)) {
    return { ehFrame, count: 0, table: c.pos };
  }
  const count = plainPointer(c, countEncoding & 0x0f, addressSize);
  return { ehFrame, count: Math.min(count, Math.floor((c.end - c.pos) / 8)), table: c.pos };
}

/**
 * The index that the linker made.
 *
 * @returns `undefined` if it has none that can be used
 */
export function hdrIndex(hdr: EhFrameHdr, section: FrameSection): FdeIndex | undefined {
  const { littleEndian: le, address: sectionAddress, bytes } = section.source;
  let fields: HdrFields | undefined;
  try {
    fields = readEhFrameHdr(hdr, le, section.machine.addressSize);
  } catch (error) {
    if (!(error instanceof DwarfError)) throw error;
  }
  if (fields === undefined || fields.count <= 0 || fields.ehFrame !== sectionAddress) {
    return undefined;
  }
  const { count, table } = fields;
  const view = new DataView(hdr.bytes.buffer, hdr.bytes.byteOffset + table, count * 8);
  const base = hdr.address;
  return {
    count,
    offset(i) {
      const offset = base + view.getInt32(i * 8 + 4, le) - sectionAddress;
      return offset >= 0 && offset < bytes.length ? offset : -1;
    },
    find(address) {
      const wanted = address - base;
      let low = 0, high = count;
      while (low < high) {
        const middle = (low + high) >>> 1;
        if (view.getInt32(middle * 8, le) <= wanted) low = middle + 1;
        else high = middle;
      }
      return low - 1;
    },
  };
}

/**
 * An index made by going through the whole section, for one that has none. FDEs that cannot be read
 * are left out, and `onDamage` is called with the reason; of functions that the linker discarded,
 * which are left at address 0, too.
 */
export function scannedIndex(
  section: FrameSection,
  onDamage: (error: DwarfError) => void,
): FdeIndex {
  const lows: number[] = [], offsets: number[] = [];
  const tolerant = (step: () => void): void => {
    try {
      step();
    } catch (error) {
      if (!(error instanceof DwarfError)) throw error;
      onDamage(error);
    }
  };
  tolerant(() =>
    section.forEachFde((offset) =>
      tolerant(() => {
        const fde = section.fde(offset);
        if (fde.low === 0 || fde.high === fde.low) return;
        lows.push(fde.low);
        offsets.push(offset);
      })
    )
  );
  const order = Uint32Array.from(lows, (_, i) => i);
  order.sort((a, b) => (lows[a] as number) - (lows[b] as number) || a - b);
  const starts = Float64Array.from(order, (i) => lows[i] as number);
  return {
    count: order.length,
    offset: (i) => offsets[order[i] as number] as number,
    find(address) {
      let low = 0, high = starts.length;
      while (low < high) {
        const middle = (low + high) >>> 1;
        if ((starts[middle] as number) <= address) low = middle + 1;
        else high = middle;
      }
      return low - 1;
    },
  };
}
