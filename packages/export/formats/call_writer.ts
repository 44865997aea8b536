import type { CallEvents } from "@perfdata/pt/calls";

/** Writes calls of a trace as they begin and end. */
export interface CallWriter {
  /** Calls that were written. */
  readonly calls: number;
  /** Calls without a time, which are left out. */
  readonly untimed: number;
  /** Calls that are left out because they began before the part that is written. */
  readonly headless: number;
  /** Writes some rows; the names of their places are known. */
  rows(events: CallEvents, out: (bytes: Uint8Array) => void): void;
  /** Writes the rest. */
  finish(out: (bytes: Uint8Array) => void): void;
}
