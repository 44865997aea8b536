import { settleable } from "@perfdata/format/bytes";
import { PERF_EVENT_HEADER_SIZE, PERF_RECORD_FINISHED_ROUND } from "@perfdata/format/constants";
import { type IndexBlock, RecordingIndex } from "@perfdata/session";
import type { Part } from "./merge_part.ts";
import type { RecordingOutput } from "../copy/recording_output.ts";

/** Size of a block in bytes. Inputs take turns block by block. */
const BLOCK_BYTES = 1 << 18;

/** Progress of an input. */
interface Progress {
  readonly blocks: readonly IndexBlock[];
  /** For each block, the oldest time after it, in times of the result. */
  readonly later: readonly bigint[];
  /** Offset added to the input's times. */
  readonly timeOffset: bigint;
  /** Index of the block being copied. */
  block: number;
  /** Continues the input, if it waits. */
  wake: (() => void) | undefined;
}

/**
 * Lets inputs that are copied side by side take turns, so that the output is nearly in order of time:
 * in rounds, each ending with a FINISHED_ROUND.
 *
 * At the end of a round, a reader delivers the records that are not younger than the youngest record of the
 * rounds before it. Therefore, a round ends when no input has older records left.
 *
 * ```text
 * input a   |1 2 3 | 4 5    | 8     |
 * input b   |2     | 3 4 6  | 7 9   |
 * result    |1 2 3 2 ROUND 4 5 3 4 6 ROUND 8 7 9 …
 * ```
 */
export class Turns {
  readonly #output: RecordingOutput;
  /** The bytes of a FINISHED_ROUND record. */
  readonly #round = new Uint8Array(PERF_EVENT_HEADER_SIZE);
  readonly #running = new Map<Part, Progress>();
  /** Time up to which the next round may deliver. */
  #limit = -1n;
  /** Youngest time written, as far as known from the blocks. */
  #youngest = 0n;

  private constructor(output: RecordingOutput, littleEndian: boolean) {
    this.#output = output;
    const view = new DataView(this.#round.buffer);
    view.setUint32(0, PERF_RECORD_FINISHED_ROUND, littleEndian);
    view.setUint16(6, PERF_EVENT_HEADER_SIZE, littleEndian);
  }

  /** Indexes all inputs; returns `undefined` if an input has no order of time. */
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
   * Waits until it is the input's turn: that of the input with the oldest records left.
   *
   * @param copied The count of the input's records written so far.
   */
  async wait(part: Part, copied: number): Promise<void> {
    const input = this.#running.get(part);
    if (input === undefined) return;
    const { blocks } = input;
    while (input.block < blocks.length) {
      const { first, records, youngest } = blocks[input.block] as IndexBlock;
      // A partly written block may have written its youngest record.
      if (first < copied && youngest > 0n && youngest + input.timeOffset > this.#youngest) {
        this.#youngest = youngest + input.timeOffset;
      }
      if (first + records > copied) break;
      input.block++;
    }
    const turn = settleable<void>();
    input.wake = turn.resolve;
    await this.#continueNext();
    await turn.promise;
  }

  /** Marks an input as completely written. */
  async leave(part: Part): Promise<void> {
    this.#running.delete(part);
    await this.#continueNext();
  }

  /** If all inputs wait, ends the round if possible and continues the next input. */
  async #continueNext(): Promise<void> {
    let first: Progress | undefined;
    let oldest = END;
    for (const input of this.#running.values()) {
      if (input.wake === undefined) return;
      const left = this.#oldestLeft(input);
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

  /** Returns the oldest time that an input has left, as far as known from the blocks. */
  #oldestLeft({ blocks, block, later, timeOffset }: Progress): bigint {
    const begun = blocks[block];
    if (begun === undefined) return END;
    const own = begun.oldest === NO_TIME ? END : begun.oldest + timeOffset;
    const after = later[block] as bigint;
    return own < after ? own : after;
  }
}

/** A time after all others. */
const END = 1n << 65n;
/** `oldest` of a block without times. */
const NO_TIME = (1n << 64n) - 1n;
