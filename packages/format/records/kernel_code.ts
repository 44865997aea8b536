import {
  bytes,
  type Codec,
  countedBy,
  enumeration,
  type FixedCodec,
  paddedText,
  struct,
  type StructValue,
  u16,
  u32,
  x16,
  x64,
} from "../struct/mod.ts";
import { record, type RecordDeclaration } from "./record.ts";
import {
  PERF_RECORD_BPF_EVENT,
  PERF_RECORD_KSYMBOL,
  PERF_RECORD_TEXT_POKE,
} from "./record_types.ts";

const KSYMBOL_FIELDS = {
  addr: [x64, "First address of the code."],
  len: [u32, "Bytes of code."],
  ksym_type: [
    enumeration(u16, { 0: "UNKNOWN", 1: "BPF", 2: "OOL" }) as FixedCodec<number>,
    "Origin of the code (`PERF_RECORD_KSYMBOL_TYPE_*`).",
  ],
  flags: [x16, "Bit 0: the code was removed."],
  name: [paddedText, "Name of the symbol."],
} as const;

/** The body of KSYMBOL. */
export type Ksymbol = StructValue<typeof KSYMBOL_FIELDS>;

/** KSYMBOL: code appeared in or disappeared from the kernel: a BPF program, a trampoline. */
export const KSYMBOL: RecordDeclaration<"KSYMBOL", Ksymbol> = record(
  PERF_RECORD_KSYMBOL,
  "KSYMBOL",
  struct("perf_record_ksymbol", KSYMBOL_FIELDS),
);

const BPF_EVENT_FIELDS = {
  type: [
    enumeration(u16, { 0: "UNKNOWN", 1: "PROG_LOAD", 2: "PROG_UNLOAD" }) as FixedCodec<number>,
    "What happened (`PERF_BPF_EVENT_*`).",
  ],
  flags: [x16, "Zero so far."],
  id: [u32, "Id of the BPF program."],
  tag: [bytes(8) as Codec<Uint8Array>, "Hash of the program's instructions."],
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
  addr: [x64, "Address at which the kernel changed its code."],
  old_len: [u16, "Bytes of old code."],
  new_len: [u16, "Bytes of new code."],
  old_bytes: [bytes(countedBy("old_len")) as Codec<Uint8Array>, "The old code."],
  new_bytes: [bytes(countedBy("new_len")) as Codec<Uint8Array>, "The new code."],
  padding: [bytes("rest") as Codec<Uint8Array>, "Zeros up to a multiple of 8."],
} as const;

/** The body of TEXT_POKE. */
export type TextPoke = StructValue<typeof TEXT_POKE_FIELDS>;

/** TEXT_POKE: the kernel changed its own code. */
export const TEXT_POKE: RecordDeclaration<"TEXT_POKE", TextPoke> = record(
  PERF_RECORD_TEXT_POKE,
  "TEXT_POKE",
  struct("perf_record_text_poke_event", TEXT_POKE_FIELDS),
);
