import { record, type RecordDeclaration, struct } from "@perfdata/format/records";
import { PERF_RECORD_FINISHED_INIT, PERF_RECORD_FINISHED_ROUND } from "@perfdata/format/constants";

/** The body of a record without fields. */
export type Empty = Record<never, never>;

/**
 * FINISHED_ROUND: perf has emptied all ring buffers once.
 *
 * All later records are younger than the youngest record of the round before this one, so a
 * reader can sort and process all older records.
 */
export const FINISHED_ROUND: RecordDeclaration<"FINISHED_ROUND", Empty> = record(
  PERF_RECORD_FINISHED_ROUND,
  "FINISHED_ROUND",
  struct("perf_record_finished_round", {}),
);

/** FINISHED_INIT: ends the records about the state before the recording (processes, maps, modules). */
export const FINISHED_INIT: RecordDeclaration<"FINISHED_INIT", Empty> = record(
  PERF_RECORD_FINISHED_INIT,
  "FINISHED_INIT",
  struct("perf_record_finished_init", {}),
);
