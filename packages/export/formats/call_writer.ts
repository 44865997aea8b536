import type { CallEvents } from "@perfdata/pt/decode";

/** Writes the calls of a trace as they begin and end. */
export interface CallWriter {
  /** Number of written calls. */
  readonly calls: number;
  /** Number of calls and values that were dropped because they have no time. */
  readonly untimed: number;
  /** Number of calls that were dropped because they began before the written part. */
  readonly headless: number;
  /** Writes rows, whose places' names are known. */
  rows(events: CallEvents, out: (bytes: Uint8Array) => void): void;
  /** Writes the end. */
  finish(out: (bytes: Uint8Array) => void): void;
}
