import {
  bytes,
  enumeration,
  f64,
  type FixedCodec,
  type OptionalCodec,
  paddedText,
  padding,
  record,
  type RecordDeclaration,
  struct,
  type StructValue,
  type Test,
  u64,
  when,
} from "@perfdata/format/records";
import { type CpuMapData, cpuMapData } from "./cpu_map.ts";
import { PERF_RECORD_EVENT_UPDATE } from "@perfdata/format/constants";

/** `type` of an update of the event's unit. */
export const PERF_EVENT_UPDATE__UNIT = 0;
/** `type` of an update of the event's scale. */
export const PERF_EVENT_UPDATE__SCALE = 1;
/** `type` of an update of the event's name. */
export const PERF_EVENT_UPDATE__NAME = 2;
/** `type` of an update of the event's CPUs. */
export const PERF_EVENT_UPDATE__CPUS = 3;

function ifType(type: number): Test {
  return { field: "type", is: BigInt(type) };
}

const EVENT_UPDATE_FIELDS = {
  type: [
    enumeration(u64, {
      [PERF_EVENT_UPDATE__UNIT]: "UNIT",
      [PERF_EVENT_UPDATE__SCALE]: "SCALE",
      [PERF_EVENT_UPDATE__NAME]: "NAME",
      [PERF_EVENT_UPDATE__CPUS]: "CPUS",
    }) as FixedCodec<bigint>,
    "What the update changes.",
  ],
  id: [u64, "First id of the event, by which it is found."],
  unit: [
    when(ifType(PERF_EVENT_UPDATE__UNIT), paddedText) as OptionalCodec<string>,
    "Unit of the scaled values, such as `Joules`.",
  ],
  scale: [
    when(ifType(PERF_EVENT_UPDATE__SCALE), f64) as OptionalCodec<number>,
    "Factor that converts a count to the unit.",
  ],
  name: [
    when(ifType(PERF_EVENT_UPDATE__NAME), paddedText) as OptionalCodec<string>,
    "Name of the event, as on the command line.",
  ],
  cpus: [
    when(ifType(PERF_EVENT_UPDATE__CPUS), cpuMapData) as OptionalCodec<CpuMapData>,
    "CPUs that the event counts on.",
  ],
  padding: [
    when(ifType(PERF_EVENT_UPDATE__CPUS), padding) as OptionalCodec<Uint8Array>,
    "Zeros up to a multiple of 8 after `cpus`.",
  ],
  data: [
    when({ field: "type", least: PERF_EVENT_UPDATE__CPUS + 1 }, bytes("rest")) as OptionalCodec<
      Uint8Array
    >,
    "The content of an update whose `type` is not known.",
  ],
} as const;

/** The body of EVENT_UPDATE. */
export type EventUpdate = StructValue<typeof EVENT_UPDATE_FIELDS>;

/** EVENT_UPDATE: a property of an event that its attr lacks: unit, scale, name or CPUs. */
export const EVENT_UPDATE: RecordDeclaration<"EVENT_UPDATE", EventUpdate> = record(
  PERF_RECORD_EVENT_UPDATE,
  "EVENT_UPDATE",
  struct("perf_record_event_update", EVENT_UPDATE_FIELDS),
);
