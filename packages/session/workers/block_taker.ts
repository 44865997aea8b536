import { BlockReader } from "../any_order.ts";
import type { Consumer, Engine, EngineOptions } from "../engine.ts";
import type { IndexBlock } from "../index/recording_index.ts";
import { openPass, type Pass } from "../pass.ts";
import type { Shareable, ThreadPart } from "./part.ts";

/** Takes blocks of a file, in one thread. */
export class BlockTaker {
  readonly #engine: Engine;
  readonly #consumer: Shareable & Consumer;
  readonly #pass: Pass;
  readonly #reader: BlockReader;
  readonly #blocks: number[] = [];
  readonly #sizes: (readonly number[])[] = [];

  private constructor(engine: Engine, consumer: Shareable & Consumer, pass: Pass) {
    this.#engine = engine;
    this.#consumer = consumer;
    this.#pass = pass;
    this.#reader = new BlockReader(engine.reader);
  }

  /** Gets ready for blocks of an engine's recording. */
  static async open(
    engine: Engine,
    consumer: Shareable & Consumer,
    options: EngineOptions,
  ): Promise<BlockTaker> {
    return new BlockTaker(engine, consumer, await openPass(engine, [consumer], options));
  }

  /** Takes a block. */
  async take(
    number: number,
    block: Pick<IndexBlock, "from" | "to" | "first" | "round">,
  ): Promise<void> {
    await this.#reader.read(block, (run) => this.#pass.take(run));
    const { places, stacks } = this.#engine;
    this.#blocks.push(number);
    this.#sizes.push([places.count, stacks.count, ...this.#consumer.sizes()]);
  }

  /** What was found in all of them. */
  part(): ThreadPart {
    const { places, stacks, unwound } = this.#engine;
    const { resolver } = this.#pass;
    return {
      blocks: this.#blocks,
      sizes: this.#sizes,
      places: places.part(),
      stacks: stacks.part(),
      collected: this.#consumer.part(),
      leftOut: resolver.leftOut,
      unjoined: resolver.userChains.unjoined,
      unwound: unwound?.part(),
    };
  }
}
