import { type FixedCodec, flags, i32, struct, type StructValue, u64, x64 } from "../struct/mod.ts";
import { record, type RecordDeclaration } from "./record.ts";
import { PERF_AUX_FLAG_NAMES } from "../header/perf_event.ts";
import {
  PERF_RECORD_AUX,
  PERF_RECORD_AUX_OUTPUT_HW_ID,
  PERF_RECORD_ITRACE_START,
} from "./record_types.ts";

const AUX_FIELDS = {
  aux_offset: [x64, "Offset of the data in the stream of the AUX area."],
  aux_size: [x64, "Bytes of data."],
  flags: [
    flags(u64, PERF_AUX_FLAG_NAMES) as FixedCodec<bigint>,
    "State of the data (`PERF_AUX_FLAG_*`).",
  ],
} as const;

/** The body of AUX. */
export type Aux = StructValue<typeof AUX_FIELDS>;

/** AUX: new data was written to the AUX area. */
export const AUX: RecordDeclaration<"AUX", Aux> = record(
  PERF_RECORD_AUX,
  "AUX",
  struct("perf_record_aux", AUX_FIELDS),
);

const ITRACE_START_FIELDS = {
  pid: [i32, "Process id."],
  tid: [i32, "Thread id."],
} as const;

/** The body of ITRACE_START. */
export type ItraceStart = StructValue<typeof ITRACE_START_FIELDS>;

/** ITRACE_START: an instruction trace begins while this thread runs. */
export const ITRACE_START: RecordDeclaration<"ITRACE_START", ItraceStart> = record(
  PERF_RECORD_ITRACE_START,
  "ITRACE_START",
  struct("perf_record_itrace_start", ITRACE_START_FIELDS),
);

const AUX_OUTPUT_HW_ID_FIELDS = {
  hw_id: [x64, "The hardware's id of the event in the AUX data."],
} as const;

/** The body of AUX_OUTPUT_HW_ID. */
export type AuxOutputHwId = StructValue<typeof AUX_OUTPUT_HW_ID_FIELDS>;

/** AUX_OUTPUT_HW_ID: maps the hardware's id in AUX data to an event. */
export const AUX_OUTPUT_HW_ID: RecordDeclaration<"AUX_OUTPUT_HW_ID", AuxOutputHwId> = record(
  PERF_RECORD_AUX_OUTPUT_HW_ID,
  "AUX_OUTPUT_HW_ID",
  struct("perf_record_aux_output_hw_id", AUX_OUTPUT_HW_ID_FIELDS),
);
