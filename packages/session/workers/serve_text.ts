import type { ByteSource } from "@perfdata/format/bytes";
import { PerfDataReader } from "@perfdata/format/records";
import type { HistoryPart } from "../index/recording_index.ts";
import { Rounds, type RoundsPart } from "../index/rounds.ts";
import type { Window } from "../windows/plan.ts";
import { historyIndexOf } from "./open_engine.ts";
import { servePool } from "./pool.ts";
import { type MakeText, TextPart, type TextPartAnswer } from "./text_part.ts";
import { TextPieces } from "./text_pieces.ts";

/** Task of a worker: the file, its history, and the consumer to make. */
export interface TextTask {
  /** The recording. */
  readonly path: string;
  /** Argument of the consumer's maker. */
  readonly about: unknown;
  /** FINISHED_ROUND records. */
  readonly rounds: RoundsPart;
  /** Whether records are sorted by time. */
  readonly isTimed: boolean;
  /** Inputs of the machine's history, if needed. */
  readonly past: HistoryPart | undefined;
}

/** Order to make the text of a window. */
export interface TextOrder {
  /** Its index. */
  readonly number: number;
  /** The window. */
  readonly window: Window;
  /** Memory that can be reused for its text. */
  readonly spare: ArrayBuffer[];
}

/** Functions with which a worker makes text. */
export interface TextService<About> {
  /** Opens a recording. */
  open(path: string): ByteSource;
  /** Creates the consumer. */
  readonly make: MakeText<About>;
}

/**
 * Serves the threads of `textOfFile` in a worker's module: makes the text of the windows that it
 * receives.
 */
export function serveText<About>({ open, make }: TextService<About>): void {
  servePool(async ({ path, about, rounds, isTimed, past }: TextTask) => {
    // The thread that made the index reports damage.
    const reader = await PerfDataReader.open(open(path), { diagnostics: () => {} });
    const pieces = new TextPieces();
    const consumer = await make(reader, about as About, pieces.write);
    const machine = past && historyIndexOf(past);
    const own = await TextPart.open(
      reader,
      consumer,
      { rounds: Rounds.of(rounds), isTimed, machine },
      () => {},
    );
    const take = async ({ window, spare }: TextOrder): Promise<Uint8Array<ArrayBuffer>[]> => {
      pieces.reuse(spare);
      await own.take(window);
      return pieces.take();
    };
    const totals = async (): Promise<TextPartAnswer> => {
      const { records } = own;
      return { part: await own.part(), totals: own.totals(), records };
    };
    return { take, totals };
  });
}
