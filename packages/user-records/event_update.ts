import {
  bytes,
  doc,
  enumeration,
  f64,
  paddedText,
  padding,
  record,
  type RecordDeclaration,
  struct,
  type StructValue,
  type Test,
  u64,
  when,
} from "@perfdata/format";
import { cpuMapData } from "./cpu_map.ts";
import { PERF_RECORD_EVENT_UPDATE } from "./names.ts";

/** `type` of an update that tells the event's unit. */
export const PERF_EVENT_UPDATE__UNIT = 0;
/** `type` of an update that tells the event's scale. */
export const PERF_EVENT_UPDATE__SCALE = 1;
/** `type` of an update that tells the event's name. */
export const PERF_EVENT_UPDATE__NAME = 2;
/** `type` of an update that tells the event's CPUs. */
export const PERF_EVENT_UPDATE__CPUS = 3;

/** The condition that the update is of a type. */
function is(type: number): Test {
  return { field: "type", is: BigInt(type) };
}

const EVENT_UPDATE_FIELDS = {
  type: doc(
    "What is told of the event.",
    enumeration(u64, {
      [PERF_EVENT_UPDATE__UNIT]: "UNIT",
      [PERF_EVENT_UPDATE__SCALE]: "SCALE",
      [PERF_EVENT_UPDATE__NAME]: "NAME",
      [PERF_EVENT_UPDATE__CPUS]: "CPUS",
    }),
  ),
  id: doc("First id of the event, by which it is found.", u64),
  unit: doc(
    "Unit of the scaled values, such as `Joules`.",
    when(is(PERF_EVENT_UPDATE__UNIT), paddedText),
  ),
  scale: doc(
    "What a count is multiplied by to give the unit.",
    when(is(PERF_EVENT_UPDATE__SCALE), f64),
  ),
  name: doc(
    "Name of the event, as the command line has it.",
    when(is(PERF_EVENT_UPDATE__NAME), paddedText),
  ),
  cpus: doc("CPUs that the event counts on.", when(is(PERF_EVENT_UPDATE__CPUS), cpuMapData)),
  padding: doc(
    "Zeros up to a multiple of 8 after `cpus`.",
    when(is(PERF_EVENT_UPDATE__CPUS), padding),
  ),
  data: doc(
    "What a `type` that is not known tells.",
    when({ field: "type", least: PERF_EVENT_UPDATE__CPUS + 1 }, bytes("rest")),
  ),
} as const;

/** The body of EVENT_UPDATE. */
export type EventUpdate = StructValue<typeof EVENT_UPDATE_FIELDS>;

/** EVENT_UPDATE: what the attr of an event does not say: its unit, scale, name or CPUs. */
export const EVENT_UPDATE: RecordDeclaration<"EVENT_UPDATE", EventUpdate> = record(
  PERF_RECORD_EVENT_UPDATE,
  "EVENT_UPDATE",
  struct("perf_record_event_update", EVENT_UPDATE_FIELDS),
);
