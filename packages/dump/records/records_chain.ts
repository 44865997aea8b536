import { piece, putHex } from "@perfdata/format/text-bytes";

const SEPARATOR = piece('","0x');
const OPEN = piece('"0x');
const CLOSE = piece('"]');
const EMPTY = piece("]");

/**
 * Writes addresses of a call chain as the items of a JSON array, and the bracket after them.
 *
 * @param words Hold the addresses in `[from, to)`, low halves first.
 */
export function putChain(
  words: Int32Array,
  from: number,
  to: number,
  out: DataView,
  pos: number,
): number {
  if (from >= to) return EMPTY.put(out, pos);
  for (let i = from; i < to; i += 2) {
    pos = (i === from ? OPEN : SEPARATOR).put(out, pos);
    pos = putHex(out, pos, words[i + 1] as number, words[i] as number);
  }
  return CLOSE.put(out, pos);
}
