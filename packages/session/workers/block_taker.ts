import type { Consumer } from "../engine/engine_consumer.ts";
import type { Engine } from "../engine/engine.ts";
import type { EngineOptions } from "../engine/engine_options.ts";
import { openPass, type Pass } from "../engine/pass.ts";
import type { BlockRange } from "../index/recording_index.ts";
import { BlockReader } from "../reading/blocks.ts";
import type { Shareable, StretchPart, ThreadTotals } from "./part.ts";
import type { PoolServer } from "./pool.ts";

/** The unit of work of a thread: up to 16 consecutive blocks of the file. */
export interface Stretch {
  /** Its index among the stretches of the file. */
  readonly number: number;
  readonly blocks: readonly BlockRange[];
}

/**
 * Maximum number of stack nodes that a thread keeps. If there are more at the end of a stretch,
 * they are cleared, and stacks that occur again are joined again. So the memory for stacks does not
 * grow with the number of threads.
 */
const KEPT_NODES = 1 << 19;

/** Reads stretches of a file in a worker, and returns the new results of each. */
export class BlockTaker implements PoolServer<Stretch, StretchPart, ThreadTotals> {
  readonly #engine: Engine;
  readonly #make: () => Shareable & Consumer;
  readonly #pass: Pass;
  readonly #reader: BlockReader;
  readonly #kept: number;
  /** Collects the samples of the current stretch. */
  #consumer: Shareable & Consumer;
  // Numbers of objects, places and stacks that were returned.
  #objects = 0;
  #places = 0;
  #stacks = 0;

  private constructor(
    engine: Engine,
    make: () => Shareable & Consumer,
    consumer: Shareable & Consumer,
    pass: Pass,
    kept: number,
  ) {
    this.#kept = kept;
    this.#engine = engine;
    this.#make = make;
    this.#consumer = consumer;
    this.#pass = pass;
    this.#reader = new BlockReader(engine.reader);
  }

  /**
   * Prepares for the stretches of an engine's recording.
   *
   * @param kept Approximate number of stack nodes to keep from one stretch to the next.
   */
  static async open(
    engine: Engine,
    make: () => Shareable & Consumer,
    options: EngineOptions,
    kept: number = KEPT_NODES,
  ): Promise<BlockTaker> {
    const consumer = make();
    const present: Consumer = {
      needs: consumer.needs,
      start: (engine) => consumer.start?.(engine),
      rows: (run) => taker.#consumer.rows(run),
    };
    const pass = await openPass(engine, [present], options);
    const taker: BlockTaker = new BlockTaker(engine, make, consumer, pass, kept);
    return taker;
  }

  async take({ blocks }: Stretch): Promise<StretchPart> {
    for (const block of blocks) await this.#reader.read(block, (run) => this.#pass.take(run));
    const { places, stacks } = this.#engine;
    const part = {
      places: places.part(this.#places, this.#objects),
      stacks: stacks.part(this.#stacks),
      collected: this.#consumer.part(),
    };
    this.#objects = places.objects.length;
    this.#places = places.count;
    this.#stacks = stacks.count;
    if (stacks.count > this.#kept) {
      this.#pass.resolver.resetStacks();
      this.#stacks = 0;
    }
    const before = this.#consumer;
    this.#consumer = this.#make();
    this.#consumer.reuse?.(before);
    await this.#consumer.start?.(this.#engine);
    return part;
  }

  totals(): ThreadTotals {
    const { resolver: { leftOut, userChains } } = this.#pass;
    return { leftOut, unjoined: userChains.unjoined, unwound: this.#engine.unwound?.part() };
  }
}
