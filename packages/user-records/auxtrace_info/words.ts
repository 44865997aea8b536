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
} from "@perfdata/format/records";
import type { StructContext } from "@perfdata/format/bytes";

/** Words after the named ones: of a later perf, or beyond a count that disagrees. */
export const restWords: OptionalCodec<bigint[]> = doc(
  "Words that have no name here.",
  optional(array(u64, "rest")),
);

/** Codec of one kind of `priv` words. */
export interface PrivCodec<T> extends Codec<T> {
  /** Minimum size of words of this kind, in bytes. */
  readonly least: number;
}

/** Declarations of the blocks under a condition, for {@link cpuBlocks}. */
export interface BlockKind<T> {
  /** Condition on earlier fields. */
  readonly test: Test;
  /** Declarations of blocks by their first word. */
  readonly blocks: readonly {
    readonly magic: bigint;
    readonly codec: Codec<T>;
    /** Size of the block in bytes. By default, its third word is the number of words that follow. */
    readonly size?: number;
  }[];
  /** Declaration of blocks with another first word; without it, such words are no blocks. */
  readonly otherwise?: Codec<T>;
}

/** Offset after a block's third word, from which the counted words follow. */
const COUNTED_FROM = 24;

/**
 * Declares the blocks of words that some traces have for each CPU; stops at an incomplete block.
 *
 * @param count Number of blocks, from the fields before.
 * @param kinds Declarations of blocks; the first one whose condition holds applies.
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
 * Declares text with its length in an earlier field, NUL-terminated and padded to words. It is absent if the
 * length is 0 or exceeds the record.
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
