import {
  PERF_FORMAT_GROUP,
  PERF_FORMAT_ID,
  PERF_FORMAT_LOST,
  PERF_FORMAT_TOTAL_TIME_ENABLED,
  PERF_FORMAT_TOTAL_TIME_RUNNING,
} from "./perf_event.ts";
import {
  array,
  type AttrMask,
  type Codec,
  countedBy,
  counter,
  doc,
  either,
  gathered,
  type OptionalCodec,
  specialized,
  struct,
  u64,
  when,
} from "../struct/mod.ts";

/** The value of one event in a `read_format`. */
export interface ReadValue {
  /** Count of the event. */
  value: bigint;
  /** `PERF_FORMAT_ID`. */
  id?: bigint;
  /** Samples lost; `PERF_FORMAT_LOST`. */
  lost?: bigint;
}

/**
 * Counter values of one event or a group.
 *
 * With `PERF_FORMAT_GROUP`, `values` has one entry for each event of the group; otherwise, one entry.
 */
export interface ReadFormat {
  /** Time for which the event was enabled, in ns; `PERF_FORMAT_TOTAL_TIME_ENABLED`. */
  time_enabled?: bigint;
  /** Time for which the event was counting, in ns; `PERF_FORMAT_TOTAL_TIME_RUNNING`. */
  time_running?: bigint;
  /** The values. */
  values: ReadValue[];
}

const READ_VALUE_FIELDS = {
  value: [u64, "Events counted."],
  id: when(
    { attr: "read_format", bits: PERF_FORMAT_ID },
    doc("Id of the event.", u64),
  ) as OptionalCodec<bigint>,
  lost: when(
    { attr: "read_format", bits: PERF_FORMAT_LOST },
    doc("Samples lost by the event.", u64),
  ) as OptionalCodec<bigint>,
} as const;

const READ_TIME_FIELDS = {
  time_enabled: when(
    { attr: "read_format", bits: PERF_FORMAT_TOTAL_TIME_ENABLED },
    doc("Time the event was enabled, ns.", u64),
  ) as OptionalCodec<bigint>,
  time_running: when(
    { attr: "read_format", bits: PERF_FORMAT_TOTAL_TIME_RUNNING },
    doc("Time the event was counting, ns.", u64),
  ) as OptionalCodec<bigint>,
} as const;

const readGroup = struct("read_format", {
  nr: counter(u64, "values"),
  ...READ_TIME_FIELDS,
  values: array(struct("read_value", READ_VALUE_FIELDS), countedBy("nr")),
});

/** One value. The kernel writes the times between the value and its id. */
const readOne: Codec<ReadFormat> = gathered(
  struct("read_format", {
    value: READ_VALUE_FIELDS.value,
    ...READ_TIME_FIELDS,
    id: READ_VALUE_FIELDS.id,
    lost: READ_VALUE_FIELDS.lost,
  }) as Codec<unknown>,
  "values",
  Object.keys(READ_VALUE_FIELDS),
);

/** `struct read_format` of `include/uapi/linux/perf_event.h`, for all combinations of bits. */
export const readFormatDeclaration: Codec<ReadFormat> = either(
  "read_format",
  { attr: "read_format", bits: PERF_FORMAT_GROUP },
  readGroup,
  readOne,
);

/** Attr masks without any bit that affects the layout of records. */
export const NO_MASKS: Readonly<Record<AttrMask, bigint>> = {
  sample_type: 0n,
  read_format: 0n,
  branch_sample_type: 0n,
  sample_regs_user: 0n,
  sample_regs_intr: 0n,
};

/**
 * `struct read_format` for the bits in `format`.
 *
 * @param format `read_format` of the event's attr.
 */
export function readFormat(format: number): Codec<ReadFormat> {
  const attr = { ...NO_MASKS, read_format: BigInt(format) };
  return specialized(readFormatDeclaration, { attr, arch: undefined }) as Codec<ReadFormat>;
}
