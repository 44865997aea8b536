import {
  array,
  chars,
  type Codec,
  countedBy,
  counter,
  type FixedCodec,
  type HiddenCodec,
  record,
  type RecordDeclaration,
  struct,
  type StructValue,
  u64,
} from "@perfdata/format/records";
import { PERF_RECORD_BPF_METADATA } from "@perfdata/format/constants";

/** `BPF_PROG_NAME_LEN`: the maximum length of a kernel symbol's name. */
const BPF_PROG_NAME_LEN = 512;
const BPF_METADATA_KEY_LEN = 64;
const BPF_METADATA_VALUE_LEN = 256;

const ENTRY_FIELDS = {
  key: [
    chars(BPF_METADATA_KEY_LEN) as FixedCodec<string>,
    "Name of the variable without its `bpf_metadata_` prefix.",
  ],
  value: [chars(BPF_METADATA_VALUE_LEN) as FixedCodec<string>, "Value as text."],
} as const;

const BPF_METADATA_FIELDS = {
  prog_name: [
    chars(BPF_PROG_NAME_LEN) as FixedCodec<string>,
    "Symbol of the program, as in KSYMBOL: `bpf_prog_<tag>_<name>`.",
  ],
  nr_entries: [counter(u64, "entries") as HiddenCodec, "Number of variables."],
  entries: [
    array(struct("perf_record_bpf_metadata_entry", ENTRY_FIELDS), countedBy("nr_entries")) as Codec<
      StructValue<typeof ENTRY_FIELDS>[]
    >,
    "The variables.",
  ],
} as const;

/** The body of BPF_METADATA. */
export type BpfMetadata = StructValue<typeof BPF_METADATA_FIELDS>;

/** BPF_METADATA: the variables named `bpf_metadata_*` of a BPF program, such as its version. */
export const BPF_METADATA: RecordDeclaration<"BPF_METADATA", BpfMetadata> = record(
  PERF_RECORD_BPF_METADATA,
  "BPF_METADATA",
  struct("perf_record_bpf_metadata", BPF_METADATA_FIELDS),
);
