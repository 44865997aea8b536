import type { Codec } from "../struct/codec.ts";
import { layoutOf } from "../struct/layout.ts";
import { struct, u16, u32, x16 } from "../struct/mod.ts";

/** `perf_event_header` (`include/uapi/linux/perf_event.h`): the first 8 bytes of each record. */
export const perfEventHeader: Codec<{ type: number; misc: number; size: number }> = struct(
  "perf_event_header",
  { type: u32, misc: x16, size: u16 },
);

const { type: TYPE_AT, misc: MISC_AT, size: SIZE_AT } = layoutOf(perfEventHeader);

/** Returns `misc` of the record that begins at `start`. */
export function recordMisc(view: DataView, start: number, littleEndian: boolean): number {
  return view.getUint16(start + MISC_AT, littleEndian);
}

/** Returns `size` in bytes, including the header, of the record that begins at `start`. */
export function recordSize(view: DataView, start: number, littleEndian: boolean): number {
  return view.getUint16(start + SIZE_AT, littleEndian);
}

/** Sets the size of the record that begins at `start`. */
export function setRecordSize(
  view: DataView,
  start: number,
  size: number,
  littleEndian: boolean,
): void {
  view.setUint16(start + SIZE_AT, size, littleEndian);
}

/** Writes the header of the record that begins at `start`. */
export function setRecordHeader(
  view: DataView,
  start: number,
  { type, misc, size }: { readonly type: number; readonly misc: number; readonly size: number },
  littleEndian: boolean,
): void {
  view.setUint32(start + TYPE_AT, type, littleEndian);
  view.setUint16(start + MISC_AT, misc, littleEndian);
  setRecordSize(view, start, size, littleEndian);
}
