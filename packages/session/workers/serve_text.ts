import { type ByteSource, PerfDataReader } from "@perfdata/format";
import { OutOfMemory } from "@perfdata/format/memory";
import type { HistoryPart } from "../index/recording_index.ts";
import { Rounds, type RoundsPart } from "../index/rounds.ts";
import type { Window } from "../windows/plan.ts";
import { historyIndexOf } from "./open_engine.ts";
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

/** A window to make text of; nothing if there are no more. */
export interface TextOrder {
  /** Its number. */
  readonly number: number;
  /** The window. */
  readonly window: Window | undefined;
  /** Memory that its text may use. */
  readonly spare: ArrayBuffer[];
}

/** Answers of a worker. */
export type TextAnswer =
  | {
    readonly kind: "text";
    readonly number: number;
    readonly text: readonly Uint8Array<ArrayBuffer>[];
  }
  | { readonly kind: "part" } & TextPartAnswer
  | {
    readonly kind: "error";
    readonly message: string;
    /** Whether it is one of memory. */
    readonly memory: boolean;
  };

/** How a thread makes text. */
export interface TextService<About> {
  /** Opens a recording. */
  open(path: string): ByteSource;
  /** Makes the consumer. */
  readonly make: MakeText<About>;
}

/** Called by a worker's module: makes the text of windows as they are assigned. */
export function serveText<About>({ open, make }: TextService<About>): void {
  const scope = globalThis as unknown as {
    onmessage: ((event: { data: TextTask | TextOrder }) => void) | null;
    postMessage(message: TextAnswer, transfer?: ArrayBuffer[]): void;
  };
  const pieces = new TextPieces();
  let part: Promise<TextPart> | undefined;
  // One window after the other, in the order in which they were dealt out.
  let last: Promise<void> = Promise.resolve();
  const fail = (error: unknown) =>
    scope.postMessage({
      kind: "error",
      message: error instanceof Error ? error.message : String(error),
      memory: error instanceof OutOfMemory,
    });
  const begin = async ({ path, about, rounds, isTimed, past }: TextTask): Promise<TextPart> => {
    // What is damaged is reported by the thread that made the index.
    const reader = await PerfDataReader.open(open(path), { diagnostics: () => {} });
    const consumer = await make(reader, about as About, pieces.write);
    const machine = past && historyIndexOf(past);
    return await TextPart.open(
      reader,
      consumer,
      { rounds: Rounds.of(rounds), isTimed, machine },
      () => {},
    );
  };
  const take = async ({ number, window, spare }: TextOrder): Promise<void> => {
    pieces.reuse(spare);
    const own = await part as TextPart;
    if (window === undefined) {
      const { records } = own;
      scope.postMessage({ kind: "part", part: await own.part(), totals: own.totals(), records });
      return;
    }
    await own.take(window);
    const text = pieces.take();
    scope.postMessage({ kind: "text", number, text }, text.map(({ buffer }) => buffer));
  };
  scope.onmessage = ({ data }) => {
    if ("number" in data) last = last.then(() => take(data)).catch(fail);
    else {
      part = begin(data);
      // Who waits for it answers.
      part.catch(() => {});
    }
  };
}
