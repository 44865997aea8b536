import type { ByteSource } from "@perfdata/format/bytes";
import { PerfDataReader } from "@perfdata/format/records";
import type { HistoryPart } from "../index/recording_index.ts";
import { Rounds, type RoundsPart } from "../index/rounds.ts";
import type { Window } from "../windows/plan.ts";
import { historyIndexOf } from "./open_engine.ts";
import { servePool } from "./pool.ts";
import { type MakeText, TextPart, type TextPartAnswer } from "./text_part.ts";
import { TextPieces } from "./text_pieces.ts";

/** Input of a worker: the file, its past, and how to make the text. */
export interface TextTask {
  /** The recording. */
  readonly path: string;
  /** What the maker of the text is given. */
  readonly about: unknown;
  /** FINISHED_ROUND records. */
  readonly rounds: RoundsPart;
  /** Whether records are ordered by time. */
  readonly isTimed: boolean;
  /** What the past of the machine is made of, where that is needed. */
  readonly past: HistoryPart | undefined;
}

/** A window to make text of. */
export interface TextOrder {
  /** Its number. */
  readonly number: number;
  /** The window. */
  readonly window: Window;
  /** Memory that its text may use. */
  readonly spare: ArrayBuffer[];
}

/** How a thread makes text. */
export interface TextService<About> {
  /** Opens a recording. */
  open(path: string): ByteSource;
  /** Makes the consumer. */
  readonly make: MakeText<About>;
}

/** Serves the threads of `textOfFile` in a worker's module: makes the text of windows as they are dealt out. */
export function serveText<About>({ open, make }: TextService<About>): void {
  servePool(async ({ path, about, rounds, isTimed, past }: TextTask) => {
    // Damage is reported by the thread that made the index.
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
