import type { Payload, RecordBatch } from "@perfdata/format/records";
import type { Run } from "../order/run.ts";
import type { ResolveNeeds } from "../samples/sample_shape.ts";
import type { Engine } from "./engine.ts";

/** Fields that a consumer needs. */
export interface Needs extends Partial<ResolveNeeds> {
  /**
   * Order of the samples. `time` is the default. `file`: the order of the file, which needs no
   * buffer. `any`: any order; `rows` may miss records that are not samples (see `other`).
   * Threads have the same names and mappings in all three.
   */
  readonly order?: "time" | "file" | "any";
  /**
   * Whether the consumer needs chosen samples only, in order of time. Blocks outside of the time
   * filter are then not read.
   */
  readonly samples?: boolean;
  /** `Run.thread`, `process`, `comm`, `period`, `chosen`; true by default. */
  readonly machine?: boolean;
  /**
   * Whether each unmapped address is a place of its own; true by default. Consumers that show
   * functions only say `false`: code without frame pointers gives call chains of nearly always
   * different unmapped addresses, each with a stack that shows nothing more.
   */
  readonly unmapped?: boolean;
  /**
   * Whether each address is a place of its own; true by default. Consumers that show objects only
   * say `false`: each object is then one place.
   */
  readonly addresses?: boolean;
  /**
   * Whether the consumer needs feature sections before the records, such as the formats of
   * tracepoints. A file has them at its end, so a stream of a file has to be held before it is read:
   * `Recording` of `@perfdata/perfdata` does so.
   */
  readonly features?: boolean;
}

/** Receives the records of a recording, and makes text, statistics or another file. */
export interface Consumer {
  /** Columns and order that the consumer needs. */
  readonly needs: Needs;
  /** Called before the first record. In a file, the names of events are known. */
  start?(engine: Engine): void | Promise<void>;
  /** Called for each group of records. The columns are valid during the call only. */
  rows(run: Run): void;
  /**
   * Called before `rows` for each record of the group that is not a sample, after the record was
   * applied to the machine. For consumers that need the state of the machine at that moment.
   */
  applied?(run: Run, row: number): void;
  /**
   * Called for each record that is neither a sample nor a FINISHED_ROUND, if samples are read in
   * any order: during the scan of the file, before `start`. Both halves of the time are 0 if the
   * record has none.
   */
  other?(batch: RecordBatch, i: number, hi: number, lo: number): void;
  /** Called after a record with a payload. At most one consumer of a pass may have this method. */
  payload?(payload: Payload): Promise<void>;
  /** Called after a pipe's TRACING_DATA record was read. */
  described?(): Promise<void>;
  /** Called after the rows of each batch, for asynchronous work. */
  settle?(): Promise<void>;
  /**
   * Returns whether the engine may clear its stacks, because the consumer keeps no index of a stack.
   * Called after each batch of a stream if there are many stacks.
   */
  releasesStacks?(): boolean;
  /** Returns whether to stop reading. Called after each batch. */
  done?(): boolean;
  /** Called after the last record. */
  finish?(): void | Promise<void>;
}
