import {
  chars,
  type Codec,
  either,
  enumeration,
  type FixedCodec,
  i32,
  type OptionalCodec,
  paddedText,
  record,
  type RecordDeclaration,
  struct,
  type StructValue,
  type Test,
  u32,
  u64,
  when,
  x64,
} from "@perfdata/format/records";
import { PERF_RECORD_AUXTRACE_ERROR } from "@perfdata/format/constants";

/** First `fmt` with `machine_pid`, `vcpu` and a message of fixed size. */
const FMT_GUEST = 2;

const message: Codec<string> = chars(64);
const isGuestFormat: Test = { field: "fmt", least: FMT_GUEST };

const AUXTRACE_ERROR_FIELDS = {
  type: [
    enumeration(u32, { 1: "ITRACE" }) as FixedCodec<number>,
    "Decoder that reports the error.",
  ],
  code: [u32, "The decoder's number for the error."],
  cpu: [i32, "CPU whose trace it is, or -1."],
  pid: [i32, "Process that ran, or -1."],
  tid: [i32, "Thread that ran, or -1."],
  fmt: [u32, "Layout: 0 has no time, 1 has one, 2 has `machine_pid` and `vcpu` as well."],
  ip: [x64, "Address that the decoder had reached."],
  time: [
    when({ field: "fmt", least: 1 }, u64) as OptionalCodec<bigint>,
    "Time in ns of perf's clock, 0 if not known; missing before Linux 5.1.",
  ],
  msg: [
    either("char[]", isGuestFormat, message, paddedText) as Codec<string>,
    "Message of at most 63 bytes.",
  ],
  machine_pid: [
    when(isGuestFormat, i32) as OptionalCodec<number>,
    "Process of the virtual machine that was traced, 0 for the host.",
  ],
  vcpu: [when(isGuestFormat, i32) as OptionalCodec<number>, "CPU of the virtual machine, or -1."],
} as const;

/** The body of AUXTRACE_ERROR. */
export type AuxtraceError = StructValue<typeof AUXTRACE_ERROR_FIELDS>;

/** AUXTRACE_ERROR: a decoding error in an AUX area trace. `perf inject --itrace` writes these records. */
export const AUXTRACE_ERROR: RecordDeclaration<"AUXTRACE_ERROR", AuxtraceError> = record(
  PERF_RECORD_AUXTRACE_ERROR,
  "AUXTRACE_ERROR",
  struct("perf_record_auxtrace_error", AUXTRACE_ERROR_FIELDS),
);
