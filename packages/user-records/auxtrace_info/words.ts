import {
  array,
  type Codec,
  type Count,
  counterOf,
  decider,
  doc,
  optional,
  type OptionalCodec,
  paddedText,
  type Scope,
  type Test,
  u64,
  within,
} from "@perfdata/format/struct";
import { type StructContext } from "@perfdata/format/cursor";

/** The words after the named ones: those of a later perf, or a number that disagrees with their count. */
export const restWords: OptionalCodec<bigint[]> = doc(
  "Words that have no name here.",
  optional(array(u64, "rest")),
);

/** Codec of one kind of `priv` words, with the fewest bytes that it needs. */
export interface PrivCodec<T> extends Codec<T> {
  /** Bytes without which the words are not of this kind. */
  readonly least: number;
}

/** A kind of the blocks that {@link cpuBlocks} declares. */
export interface BlockKind<T> {
  /** Whether the blocks are of this kind, as the fields before them say. */
  readonly test: Test;
  /** The declarations of the blocks by their first word. */
  readonly blocks: readonly {
    readonly magic: bigint;
    readonly codec: Codec<T>;
    /** Bytes of the block; where not given, its third word says how many words follow. */
    readonly size?: number;
  }[];
  /** The declaration of blocks that begin with another word; without it they are no blocks. */
  readonly otherwise?: Codec<T>;
}

/** Bytes up to the word that says how many words follow it. */
const COUNTED_FROM = 24;

/**
 * Declares the blocks of words that some traces have for each CPU, as many as there are whole ones.
 *
 * @param count How many blocks the fields before announce.
 * @param kinds The kinds of blocks; the first whose condition holds counts.
 */
export function cpuBlocks<T extends { readonly magic: bigint }>(
  count: Count,
  kinds: readonly BlockKind<T>[],
): Codec<T[]> {
  const countIn = counterOf(count, 8);
  const deciders = kinds.map(({ test }) => decider(test));
  const blockOf = (scope: Scope, context: StructContext, magic: bigint) => {
    const kind = kinds[deciders.findIndex((holds) => holds(scope, context, undefined))];
    return kind?.blocks.find((block) => block.magic === magic) ??
      (kind?.otherwise && { codec: kind.otherwise, size: undefined });
  };
  return {
    type: "u64[]",
    display: { as: "array" },
    alternatives: kinds.flatMap(({ blocks, otherwise }) =>
      [...blocks.map(({ codec }) => codec), ...(otherwise ? [otherwise] : [])] as Codec<unknown>[]
    ),
    decode(r, scope) {
      const value: T[] = [];
      const announced = countIn(scope, r.context, r);
      while (value.length < announced && r.left >= 8) {
        const magic = r.view.getBigUint64(r.pos, r.littleEndian);
        const block = blockOf(scope, r.context, magic);
        if (block === undefined || block.size === undefined && r.left < COUNTED_FROM) break;
        const size = block.size ??
          COUNTED_FROM +
            8 * Number(r.view.getBigUint64(r.pos + COUNTED_FROM - 8, r.littleEndian));
        if (size > r.left) break;
        r.trace?.begin(`[${value.length}]`, block.codec as Codec<unknown>, r.pos);
        const cpu = within(r, size, block.codec, scope);
        r.trace?.end(r.pos, cpu);
        value.push(cpu);
      }
      return value;
    },
    encode(w, value, scope) {
      for (const cpu of value) {
        const block = blockOf(scope, w.context, cpu.magic);
        if (block === undefined) throw new RangeError(`block of a CPU: magic is ${cpu.magic}`);
        block.codec.encode(w, cpu, scope);
      }
    },
  };
}

/**
 * Text whose length is in a field before it, NUL-terminated and padded to words; missing where its
 * length is 0 or does not fit.
 */
export function countedText(field: string): OptionalCodec<string> {
  const countIn = counterOf({ field }, 1);
  return {
    ...paddedText,
    presence: "optional",
    decode(r, scope) {
      const length = countIn(scope, r.context, r);
      const size = Math.floor(length / 8 + 1) * 8;
      return length === 0 || size > r.left ? undefined : within(r, size, paddedText, scope);
    },
    encode(w, value, scope) {
      if (value !== undefined) paddedText.encode(w, value, scope);
    },
  };
}
