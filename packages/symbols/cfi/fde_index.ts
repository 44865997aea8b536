import { Cursor } from "../dwarf/bytes.ts";
import { DwarfError } from "../dwarf/dwarf_error.ts";
import { DW_EH_PE } from "./cfi_constants.ts";
import { type FrameSection, plainPointer } from "./frame_section.ts";

/** The `.eh_frame_hdr` section. */
export interface EhFrameHdr {
  /** Bytes of the section. */
  readonly bytes: Uint8Array;
  /** Address of the section. Entries of its table are relative to it. */
  readonly address: number;
}

/** Look-up of the last FDE that begins at or before an address. */
export interface FdeIndex {
  readonly count: number;
  /** Offset in `.eh_frame` of the FDE of entry `i`; −1 if it is outside of the section. */
  offset(i: number): number;
  /** The last entry that begins at or before `address`; −1 if there is no such entry. */
  find(address: number): number;
}

/** The fields of the `.eh_frame_hdr` header that look-ups need. */
interface HdrFields {
  readonly ehFrame: number;
  readonly count: number;
  readonly table: number;
}

/**
 * Reads the header of `.eh_frame_hdr` (Linux Standard Base, 10.6.2).
 *
 * @returns `undefined` unless the table is of the kind that linkers make: sorted pairs of signed
 * 4-byte numbers relative to the section
 * @throws {DwarfError} if the section is truncated
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
 * Reads the linker's index, `.eh_frame_hdr`.
 *
 * @returns `undefined` if it is missing or unusable
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
 * Builds an index from all FDEs of the section, for files without `.eh_frame_hdr`. Unreadable FDEs
 * are skipped and reported to `onDamage`. Functions that the linker discarded (address 0) are
 * skipped too.
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
