import type { Payload, RecordBatch } from "@perfdata/format/records";
import type { Run } from "../order/run.ts";
import type { Engine } from "./engine.ts";

/** Fields that a consumer needs. */
export interface Needs {
  /**
   * `time`, the default; `file`: the order of the file will do, which needs no buffer; `any`: samples are
   * taken as they come, and records that are not samples only if they come by chance. What a thread was
   * called and saw is the same in all of them.
   */
  readonly order?: "time" | "file" | "any";
  /**
   * Whether only samples that count are looked at, in the order of time: what is of other times than are
   * asked for need not be read.
   */
  readonly samples?: boolean;
  /** `Run.thread`, `process`, `comm`, `period`, `chosen`; true by default. */
  readonly machine?: boolean;
  /** `Run.place`. */
  readonly places?: boolean;
  /** `Run.stack`; places as well. */
  readonly stacks?: boolean;
  /**
   * Says of which samples places and stacks are looked at; of all by default. Those of others may be -1. It is
   * asked when the columns up to `Run.chosen` are filled.
   */
  readonly looksAt?: (run: Run, i: number) => boolean;
  /**
   * Whether each address where nothing is mapped is a place of its own; true by default. `false` is
   * for what shows functions only: the callers that code without frame pointers seems to have are
   * addresses that nearly all differ, and with them stacks that say no more than one does.
   */
  readonly unmapped?: boolean;
  /**
   * Whether each address is a place of its own; true by default. `false` is for what asks for objects
   * only: each is one place.
   */
  readonly addresses?: boolean;
  /**
   * Callers in stacks are at their calls, the byte before the address that call chains have, which a
   * call returns to: for lines and inlined functions. It is so for all consumers of the pass.
   */
  readonly calls?: boolean;
  /** `Run.addr`; places as well. */
  readonly addr?: boolean;
  /** `Run.branches`; places as well. */
  readonly branches?: boolean;
  /** `Run.chains`; places as well. */
  readonly chains?: boolean;
  /**
   * `Run.chains` are whole stacks, wherever their user part was recorded; stacks as well. For one of
   * the consumers of a pass, where no other wants chains as they were recorded.
   */
  readonly joined?: boolean;
  /** `Run.frames`; places as well. */
  readonly frames?: boolean;
  /** `Run.map`. */
  readonly maps?: boolean;
}

/** Makes something of the records of a recording: text, statistics, another file. */
export interface Consumer {
  /** What it wants filled in. */
  readonly needs: Needs;
  /** Called before the first record; the names of events are known by now in a file. */
  start?(engine: Engine): void | Promise<void>;
  /** Called for each run, which is valid during the call only. */
  rows(run: Run): void;
  /**
   * Called, before `rows`, for each record of a run that is not a sample, once it is applied to the
   * machine: for what needs the state of the machine at that moment.
   */
  applied?(run: Run, row: number): void;
  /**
   * Called for each record that is neither a sample nor a FINISHED_ROUND, where samples are taken in any
   * order: while the file is looked through, before `start`. Both halves of its time are 0 where it has
   * none.
   */
  other?(batch: RecordBatch, i: number, hi: number, lo: number): void;
  /** Called after a record that a payload follows. At most one consumer of a pass may have it. */
  payload?(payload: Payload): Promise<void>;
  /** Called when the formats of tracepoints have come with a stream. */
  described?(): Promise<void>;
  /** Called after the rows of each batch: for what has to wait. */
  settle?(): Promise<void>;
  /** Says whether it has seen enough; asked after each batch. */
  done?(): boolean;
  /** Called after the last record, when all is known. */
  finish?(): void | Promise<void>;
}
