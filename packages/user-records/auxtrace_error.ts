import {
  chars,
  type Codec,
  doc,
  either,
  enumeration,
  i32,
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
} from "@perfdata/format";
import { PERF_RECORD_AUXTRACE_ERROR } from "./names.ts";

/** `fmt` that brought `machine_pid` and `vcpu`, and with them a message of fixed size. */
const FMT_GUEST = 2;

const message: Codec<string> = chars(64);
const isGuestFormat: Test = { field: "fmt", least: FMT_GUEST };

const AUXTRACE_ERROR_FIELDS = {
  type: doc("Which decoder complains.", enumeration(u32, { 1: "ITRACE" })),
  code: doc("The decoder's number of the error.", u32),
  cpu: doc("CPU whose trace it is, or -1.", i32),
  pid: doc("Process that ran, or -1.", i32),
  tid: doc("Thread that ran, or -1.", i32),
  fmt: doc("Layout: 0 has no time, 1 has one, 2 has `machine_pid` and `vcpu` as well.", u32),
  ip: doc("Address that the decoder had come to.", x64),
  time: doc(
    "Time in ns of perf's clock, 0 where it is not known; before Linux 5.1 there was none.",
    when({ field: "fmt", least: 1 }, u64),
  ),
  msg: doc(
    "What is wrong, in words of at most 63 bytes.",
    either("char[]", isGuestFormat, message, paddedText),
  ),
  machine_pid: doc(
    "Process of the virtual machine that was traced, 0 for the host.",
    when(isGuestFormat, i32),
  ),
  vcpu: doc("CPU of the virtual machine, or -1.", when(isGuestFormat, i32)),
} as const;

/** The body of AUXTRACE_ERROR. */
export type AuxtraceError = StructValue<typeof AUXTRACE_ERROR_FIELDS>;

/**
 * AUXTRACE_ERROR: where a decoder lost its way in an AUX area trace; `perf inject --itrace` leaves
 * them behind.
 */
export const AUXTRACE_ERROR: RecordDeclaration<"AUXTRACE_ERROR", AuxtraceError> = record(
  PERF_RECORD_AUXTRACE_ERROR,
  "AUXTRACE_ERROR",
  struct("perf_record_auxtrace_error", AUXTRACE_ERROR_FIELDS),
);
