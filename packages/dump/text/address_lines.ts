import { DECIMAL4, hex4, putDecimal, putHex16At } from "@perfdata/format/text-bytes";

/** Writes `..... %2d: `, the beginning of a line of a list. */
export function putIndex(out: DataView, p: number, i: number): number {
  if (i < 100) {
    out.setFloat64(p, INDEX[i] as number, true);
    out.setUint16(p + 8, 0x203a, true);
    return p + 10;
  }
  out.setInt32(p, 0x2e2e2e2e, true);
  out.setUint16(p + 4, 0x202e, true);
  p = putDecimal(out, p + 6, i);
  out.setUint16(p, 0x203a, true);
  return p + 2;
}

/** `..... %2d` as eight bytes, for a single store: ASCII is never the bits of a NaN. */
const INDEX = new Float64Array(100);
{
  const view = new DataView(new ArrayBuffer(8));
  view.setInt32(0, 0x2e2e2e2e, true);
  for (let i = 0; i < 100; i++) {
    view.setInt32(4, 0x202e | ((DECIMAL4[i] as number) >>> 16) << 16, true);
    if (i < 10) view.setUint8(6, 0x20);
    INDEX[i] = view.getFloat64(0, true);
  }
}

/** Writes `n` addresses of a record, a line each: `.....  0: ffffffff81000000`. */
export function putAddressLines(
  out: DataView,
  p: number,
  from: DataView,
  at: number,
  n: number,
  le: boolean,
): number {
  // putIndex and putHex16At, written out: this is where a dump of deep call chains spends its time.
  const highAt = le ? 4 : 0;
  const lowAt = 4 - highAt;
  const short = n < 100 ? n : 100;
  for (let i = 0; i < short; i++, at += 8, p += 27) {
    const hi = from.getInt32(at + highAt, le);
    const lo = from.getInt32(at + lowAt, le);
    out.setFloat64(p, INDEX[i] as number, true);
    out.setUint16(p + 8, 0x203a, true);
    out.setInt32(p + 10, hex4(hi >>> 16), true);
    out.setInt32(p + 14, hex4(hi & 0xffff), true);
    out.setInt32(p + 18, hex4(lo >>> 16), true);
    out.setInt32(p + 22, hex4(lo & 0xffff), true);
    out.setUint8(p + 26, 0x0a);
  }
  for (let i = short; i < n; i++, at += 8) {
    p = putHex16At(out, putIndex(out, p, i), from, at, le);
    out.setUint8(p++, 0x0a);
  }
  return p;
}
