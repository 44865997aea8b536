import { Run, RUN_ROWS } from "./run.ts";

/** Appends rows to a run, and hands it on when it is full. */
export class RunWriter {
  /** The run. */
  readonly run: Run = new Run();
  readonly #deliver: (run: Run) => void;

  /** @param deliver Gets runs, of which block to time are filled. */
  constructor(deliver: (run: Run) => void) {
    this.#deliver = deliver;
  }

  /** Appends a record; without a time it does not wait. */
  add(
    block: number,
    start: number,
    offset: number,
    event: number,
    timeHi: number = 0,
    timeLo: number = 0,
  ): void {
    const { run } = this;
    const to = run.count === RUN_ROWS ? this.flush() : run.count;
    run.block[to] = block;
    run.start[to] = start;
    run.offset[to] = offset;
    run.event[to] = event;
    run.timeHi[to] = timeHi;
    run.timeLo[to] = timeLo;
    run.count = to + 1;
  }

  /** Hands on what there is; returns the number of rows that are left: none. */
  flush(): 0 {
    const { run } = this;
    if (run.count > 0) this.#deliver(run);
    run.count = 0;
    return 0;
  }
}
