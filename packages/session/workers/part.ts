import type { PlacesPart } from "../places.ts";
import type { StacksPart } from "../stacks.ts";
import { UnwindCounts, type UnwindPart } from "../unwind_counts.ts";
import type { Engine } from "../engine.ts";

/** Numbers of what one thread found, where all of it is joined. */
export interface JoinedNumbers {
  /** By place of the part. */
  readonly place: Int32Array;
  /** By stack of the part. */
  readonly stack: Int32Array;
}

/**
 * A consumer whose work can be shared by several threads. What is collected while a block is read stands
 * together, in the order in which it was met, so that parts can be joined block by block: the result is
 * then the same, numbers included, as if one thread had read all blocks.
 */
export interface Shareable<Part = unknown> {
  /** How much it has collected, of each kind that {@link Shareable.join} joins. */
  sizes(): readonly number[];
  /** What it collected: what can be sent to another thread. */
  part(): Part;
  /**
   * Joins what a thread collected while it read one block.
   *
   * @param part What its consumer collected in all.
   * @param from How much it had collected before the block.
   * @param to How much after it.
   * @param numbers Numbers of its places and stacks: those that were met up to that block are joined.
   * @param memory Of this part: an object that is kept from call to call.
   */
  join(
    part: Part,
    from: readonly number[],
    to: readonly number[],
    numbers: JoinedNumbers,
    memory: Record<string, unknown>,
  ): void;
  /** Joins what does not belong to a block: totals. Called once for each part, after all blocks. */
  joinTotals(part: Part): void;
}

/** What one thread found in the blocks that it read. */
export interface ThreadPart {
  /** The blocks, by number, in the order in which they were read. */
  readonly blocks: readonly number[];
  /** After each: how many places, how many stacks, then what the consumer collected. */
  readonly sizes: readonly (readonly number[])[];
  /** The places. */
  readonly places: PlacesPart;
  /** The stacks. */
  readonly stacks: StacksPart;
  /** What its consumer collected. */
  readonly collected: unknown;
  /** Samples of no known event, or damaged. */
  readonly leftOut: number;
  /** Samples whose user callers were to come in a later record, which is not there. */
  readonly unjoined: number;
  /** How unwinding went. */
  readonly unwound: UnwindPart | undefined;
}

/** Whether a consumer's work can be shared. */
export function isShareable(consumer: object): consumer is Shareable {
  return "part" in consumer && "join" in consumer;
}

/**
 * Joins what several threads found: places and stacks into those of an engine, what was counted into its
 * consumer, which have nothing yet.
 */
export function joinParts(engine: Engine, consumer: Shareable, parts: readonly ThreadPart[]): void {
  const { places, stacks } = engine;
  const threads = parts.map((part) => ({
    part,
    numbers: {
      place: new Int32Array(part.places.object.length),
      stack: new Int32Array(part.stacks.parent.length),
    },
    objects: new Int32Array(part.places.objects.length).fill(-1),
    memory: {},
  }));
  const blocks = threads.flatMap((thread) =>
    thread.part.blocks.map((block, nth) => ({ block, nth, thread }))
  ).sort((a, b) => a.block - b.block);
  for (const { nth, thread } of blocks) {
    const { part, numbers, objects, memory } = thread;
    const none = part.sizes[0]?.map(() => 0) ?? [];
    const [placeFrom = 0, stackFrom = 0, ...from] = part.sizes[nth - 1] ?? none;
    const [placeTo = 0, stackTo = 0, ...to] = part.sizes[nth] ?? none;
    places.join(part.places, placeFrom, placeTo, numbers.place, objects);
    stacks.join(part.stacks, stackFrom, stackTo, numbers.place, numbers.stack);
    consumer.join(part.collected, from, to, numbers, memory);
  }
  for (const { part, objects } of threads) {
    consumer.joinTotals(part.collected);
    engine.leftOut += part.leftOut;
    engine.unjoined += part.unjoined;
    if (part.unwound !== undefined) {
      (engine.unwound ??= new UnwindCounts()).join(part.unwound, objects);
    }
  }
}
