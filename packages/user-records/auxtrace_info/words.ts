import {
  array,
  type ByteReader,
  type Codec,
  doc,
  optional,
  type Scope,
  u64,
} from "@perfdata/format";

/** What comes after the words that have a name: a later perf's, or not what their count says. */
export const restWords = doc(
  "Words that have no name here.",
  optional(array(u64, "rest")),
);

/** Codec of one kind of `priv` words, which tells the bytes that it needs at least. */
export interface PrivCodec<T> extends Codec<T> {
  /** Bytes without which the words are not of this kind. */
  readonly least: number;
}

/** Decodes by `codec` what is in the next `size` bytes; what it leaves is left. */
export function within<T>(r: ByteReader, size: number, codec: Codec<T>, scope: Scope): T {
  const end = r.end;
  r.end = r.pos + size;
  const value = codec.decode(r, scope);
  r.end = end;
  return value;
}

/**
 * Declares the blocks of words that some traces have for each CPU, as many as there are whole ones.
 *
 * @param block The declaration of a block, by its first word and whether it says how long it is.
 * @param count How many blocks the fields before announce.
 * @param sizeOf Bytes of the block that begins where the reader is, or `undefined` for none.
 */
export function cpuBlocks<T extends { readonly magic: bigint }>(
  block: (magic: bigint, scope: Scope) => Codec<T>,
  count: (scope: Scope) => number,
  sizeOf: (r: ByteReader, scope: Scope) => number | undefined,
  alternatives: readonly Codec<unknown>[],
): Codec<T[]> {
  return {
    type: "u64[]",
    display: { as: "array" },
    alternatives,
    decode(r, scope) {
      const value: T[] = [];
      const announced = count(scope);
      while (value.length < announced && r.left >= 8) {
        const size = sizeOf(r, scope);
        if (size === undefined || size > r.left) break;
        const codec = block(r.view.getBigUint64(r.pos, r.littleEndian), scope);
        r.trace?.begin(`[${value.length}]`, codec as Codec<unknown>, r.pos);
        const cpu = within(r, size, codec, scope);
        r.trace?.end(r.pos, cpu);
        value.push(cpu);
      }
      return value;
    },
    encode(w, value, scope) {
      for (const cpu of value) block(cpu.magic, scope).encode(w, cpu, scope);
    },
  };
}
