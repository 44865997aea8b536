import { settleable } from "@perfdata/format/es2024";
import { PERF_EVENT_HEADER_SIZE, PERF_RECORD_FINISHED_ROUND } from "@perfdata/format/record-types";
import { type IndexBlock, RecordingIndex } from "@perfdata/session/index";
import type { Part } from "./merge_part.ts";
import type { RecordingOutput } from "../copy/recording_output.ts";

/** Bytes of a block. Inputs take turns block by block. */
const BLOCK_BYTES = 1 << 18;

/** How far an input is. */
interface Progress {
  /** Its blocks. */
  readonly blocks: readonly IndexBlock[];
  /** By block: no record after it is older, in the times of the result. */
  readonly later: readonly bigint[];
  /** What is added to its times. */
  readonly timeOffset: bigint;
  /** The block that is being copied. */
  block: number;
  /** Lets it go on, where it waits. */
  wake: (() => void) | undefined;
}

/**
 * Has inputs that are copied side by side take turns, so that what is written is nearly in the order of
 * time: rounds, each of which ends with a FINISHED_ROUND.
 *
 * A reader delivers, at the end of a round, what is not younger than the youngest record of the rounds
 * before it. So a round ends when no input has anything left that is older than that.
 *
 * ```text
 * input a   |1 2 3 | 4 5    | 8     |
 * input b   |2     | 3 4 6  | 7 9   |
 * result    |1 2 3 2 ROUND 4 5 3 4 6 ROUND 8 7 9 …
 * ```
 */
export class Turns {
  readonly #output: RecordingOutput;
  /** A FINISHED_ROUND. */
  readonly #round = new Uint8Array(PERF_EVENT_HEADER_SIZE);
  readonly #running = new Map<Part, Progress>();
  /** What the next round may deliver. */
  #limit = -1n;
  /** The youngest time that was written, as far as blocks tell. */
  #youngest = 0n;

  private constructor(output: RecordingOutput, littleEndian: boolean) {
    this.#output = output;
    const view = new DataView(this.#round.buffer);
    view.setUint32(0, PERF_RECORD_FINISHED_ROUND, littleEndian);
    view.setUint16(6, PERF_EVENT_HEADER_SIZE, littleEndian);
  }

  /** Looks through all inputs; `undefined` if one of them has no order of time. */
  static async of(
    parts: readonly Part[],
    output: RecordingOutput,
  ): Promise<Turns | undefined> {
    const turns = new Turns(output, parts[0]?.input.reader.littleEndian ?? true);
    for (const part of parts) {
      const index = await RecordingIndex.read(part.input.reader, {
        blockBytes: BLOCK_BYTES,
        quiet: true,
      });
      if (!index.isTimed) return undefined;
      const { blocks } = index;
      const later: bigint[] = [];
      let oldest = END;
      for (let i = blocks.length - 1; i >= 0; i--) {
        later[i] = oldest;
        const own = (blocks[i] as IndexBlock).oldest;
        if (own !== NO_TIME && own + part.timeOffset < oldest) oldest = own + part.timeOffset;
      }
      const { timeOffset } = part;
      turns.#running.set(part, {
        blocks,
        later,
        timeOffset,
        block: 0,
        wake: undefined,
      });
    }
    return turns;
  }

  /**
   * Waits until it is an input's turn to go on: that of the one with the oldest records left.
   *
   * @param copied How many of its records are written.
   */
  async wait(part: Part, copied: number): Promise<void> {
    const input = this.#running.get(part);
    if (input === undefined) return;
    const { blocks } = input;
    while (input.block < blocks.length) {
      const { first, records, youngest } = blocks[input.block] as IndexBlock;
      // What is written of a block may be as young as it gets.
      if (first < copied && youngest > 0n && youngest + input.timeOffset > this.#youngest) {
        this.#youngest = youngest + input.timeOffset;
      }
      if (first + records > copied) break;
      input.block++;
    }
    const turn = settleable<void>();
    input.wake = turn.resolve;
    await this.#next();
    await turn.promise;
  }

  /** Says that all of an input is written. */
  async leave(part: Part): Promise<void> {
    this.#running.delete(part);
    await this.#next();
  }

  /** Lets the next input go on, where all of them wait; ends the round before it, where it may end. */
  async #next(): Promise<void> {
    let first: Progress | undefined;
    let oldest = END;
    for (const input of this.#running.values()) {
      if (input.wake === undefined) return;
      const left = this.#left(input);
      if (first !== undefined && left >= oldest) continue;
      first = input;
      oldest = left;
    }
    if (first === undefined) return;
    const { wake } = first;
    first.wake = undefined;
    if (oldest >= this.#limit && this.#youngest > this.#limit) {
      this.#limit = this.#youngest;
      await this.#output.write(this.#round);
    }
    wake?.();
  }

  /** The oldest time that an input has left, as far as blocks tell. */
  #left({ blocks, block, later, timeOffset }: Progress): bigint {
    const begun = blocks[block];
    if (begun === undefined) return END;
    const own = begun.oldest === NO_TIME ? END : begun.oldest + timeOffset;
    const after = later[block] as bigint;
    return own < after ? own : after;
  }
}

/** A time after all others. */
const END = 1n << 65n;
/** What a block without times says. */
const NO_TIME = (1n << 64n) - 1n;
