import type { ProgressState } from "../worker/protocol.ts";

/** Minimum time between two reports, in ms. */
const REPORTED_MS = 100;

/** Reports the progress of reading and naming, at most as often as drawing makes sense. */
export class ProgressSteps {
  readonly #report: (state: ProgressState) => void;
  #done = 0;
  #more = 0;
  #what = "";
  #reading = "";
  #last = 0;

  /** @param report Receives each report; may throw to end the work. */
  constructor(report: (state: ProgressState) => void) {
    this.#report = report;
  }

  /**
   * Adds bytes that were read.
   *
   * @param total Size of the file; 0 if unknown.
   * @param more Bytes to read in addition to those known so far: see `EngineOptions.progress`.
   */
  read(what: string, bytes: number, total: number, more: number = 0): void {
    if (what !== this.#reading) [this.#reading, this.#done, this.#more] = [what, 0, 0];
    this.#done += bytes;
    this.#more += more;
    this.reached(what, this.#done, total === 0 ? 0 : total + this.#more);
  }

  /** Sets the number of bytes that were read, and the number in total if known. */
  reached(what: string, done: number, total: number = 0): void {
    this.#say({ what, unit: "bytes", done: total === 0 ? done : Math.min(done, total), total });
  }

  /** Sets the number of addresses that were looked up. */
  named(what: string, done: number, total: number): void {
    this.#say({ what, unit: "addresses", done, total });
  }

  #say(state: ProgressState): void {
    const now = performance.now();
    if (state.what === this.#what && now - this.#last < REPORTED_MS) return;
    this.#what = state.what;
    this.#last = now;
    this.#report(state);
  }
}
