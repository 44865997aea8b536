import { record, type RecordDeclaration } from "@perfdata/format/record";
import { struct } from "@perfdata/format/struct";
import {
  PERF_RECORD_FINISHED_INIT,
  PERF_RECORD_FINISHED_ROUND,
} from "@perfdata/format/record-types";

/** The body of a record that has no fields. */
export type Empty = Record<never, never>;

/**
 * FINISHED_ROUND: perf has emptied all ring buffers once.
 *
 * Whatever comes later is younger than the youngest record of the round before this one, so that a
 * reader may sort and let go of all that is older.
 */
export const FINISHED_ROUND: RecordDeclaration<"FINISHED_ROUND", Empty> = record(
  PERF_RECORD_FINISHED_ROUND,
  "FINISHED_ROUND",
  struct("perf_record_finished_round", {}),
);

/**
 * FINISHED_INIT: what was there when the recording began (processes, maps, modules) is described.
 */
export const FINISHED_INIT: RecordDeclaration<"FINISHED_INIT", Empty> = record(
  PERF_RECORD_FINISHED_INIT,
  "FINISHED_INIT",
  struct("perf_record_finished_init", {}),
);
