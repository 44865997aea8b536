import type { PerfDataReader } from "@perfdata/format/records";
import type { EngineOptions } from "@perfdata/session";
import type { TextThreads, WriteText } from "@perfdata/session/workers";
import type { OpenSymbols } from "../profile_question.ts";

/** Text that several threads can write. */
export type TextKind = "dump" | "records" | "script";

/** Other threads for text. */
export interface SharedText extends TextThreads {
  /** For `script`: sent to each thread, which finds symbols and code with it. */
  readonly given?: unknown;
}

/**
 * Starts other threads for text; `undefined` to write in one thread. `reader` has read the header of
 * the recording.
 */
export type ShareText = (text: TextKind, reader: PerfDataReader) => SharedText | undefined;

/** Inputs of text. */
export interface TextHost extends Pick<EngineOptions, "progress" | "diagnostics"> {
  readonly reader: PerfDataReader;
  /** Receives the text; the bytes are valid during the call only. */
  readonly write: WriteText;
  /** Path of the recording, which other threads open. */
  readonly path: string;
  /** Opens the symbols. */
  readonly symbols: OpenSymbols;
  readonly textThreads: ShareText | undefined;
}

/** The threads of a host; this one alone by default. */
export function threadsFor({ textThreads, reader }: TextHost, text: TextKind): TextThreads {
  return textThreads?.(text, reader) ?? ALONE;
}

const ALONE: TextThreads = {
  jobs: 1,
  start: () => {
    throw new TypeError("one thread starts no other");
  },
};
