import {
  bytes,
  countedBy,
  doc,
  enumeration,
  paddedText,
  struct,
  type StructValue,
  u16,
  u32,
  x16,
  x64,
} from "../struct.ts";
import { record, type RecordDeclaration } from "../record.ts";
import {
  PERF_RECORD_BPF_EVENT,
  PERF_RECORD_KSYMBOL,
  PERF_RECORD_TEXT_POKE,
} from "../record_types.ts";

const KSYMBOL_FIELDS = {
  addr: doc("First address of the code.", x64),
  len: doc("Bytes of code.", u32),
  ksym_type: doc(
    "Where the code comes from (`PERF_RECORD_KSYMBOL_TYPE_*`).",
    enumeration(u16, { 0: "UNKNOWN", 1: "BPF", 2: "OOL" }),
  ),
  flags: doc("Bit 0: the code went away.", x16),
  name: doc("Name of the symbol.", paddedText),
} as const;

/** The body of KSYMBOL. */
export type Ksymbol = StructValue<typeof KSYMBOL_FIELDS>;

/** KSYMBOL: code appeared in the kernel, or went away: a BPF program, a trampoline. */
export const KSYMBOL: RecordDeclaration<"KSYMBOL", Ksymbol> = record(
  PERF_RECORD_KSYMBOL,
  "KSYMBOL",
  struct("perf_record_ksymbol", KSYMBOL_FIELDS),
);

const BPF_EVENT_FIELDS = {
  type: doc(
    "What happened (`PERF_BPF_EVENT_*`).",
    enumeration(u16, { 0: "UNKNOWN", 1: "PROG_LOAD", 2: "PROG_UNLOAD" }),
  ),
  flags: doc("Zero so far.", x16),
  id: doc("Id of the BPF program.", u32),
  tag: doc("Hash of the program's instructions.", bytes(8)),
} as const;

/** The body of BPF_EVENT. */
export type BpfEvent = StructValue<typeof BPF_EVENT_FIELDS>;

/** BPF_EVENT: a BPF program was loaded or unloaded. */
export const BPF_EVENT: RecordDeclaration<"BPF_EVENT", BpfEvent> = record(
  PERF_RECORD_BPF_EVENT,
  "BPF_EVENT",
  struct("perf_record_bpf_event", BPF_EVENT_FIELDS),
);

const TEXT_POKE_FIELDS = {
  addr: doc("Where the kernel changed its code.", x64),
  old_len: doc("Bytes of old code.", u16),
  new_len: doc("Bytes of new code.", u16),
  old_bytes: doc("The old code.", bytes(countedBy("old_len"))),
  new_bytes: doc("The new code.", bytes(countedBy("new_len"))),
  padding: doc("Zeros up to a multiple of 8.", bytes("rest")),
} as const;

/** The body of TEXT_POKE. */
export type TextPoke = StructValue<typeof TEXT_POKE_FIELDS>;

/** TEXT_POKE: the kernel changed its own code. */
export const TEXT_POKE: RecordDeclaration<"TEXT_POKE", TextPoke> = record(
  PERF_RECORD_TEXT_POKE,
  "TEXT_POKE",
  struct("perf_record_text_poke_event", TEXT_POKE_FIELDS),
);
