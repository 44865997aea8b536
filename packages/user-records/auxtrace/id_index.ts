import {
  array,
  type Codec,
  countedBy,
  counter,
  type HiddenCodec,
  i64,
  optional,
  type OptionalCodec,
  record,
  type RecordDeclaration,
  struct,
  type StructCodec,
  type StructValue,
  u64,
} from "@perfdata/format/records";
import { PERF_RECORD_ID_INDEX } from "@perfdata/format/constants";

const ENTRY_FIELDS = {
  id: [u64, "Id of the counter, as in samples."],
  idx: [u64, "Index of the ring buffer, as in AUXTRACE records."],
  cpu: [i64, "CPU of the counter, or -1 for any."],
  tid: [i64, "Thread of the counter, or -1 for all."],
} as const;

/** The CPU and thread of a counter. */
export type IdIndexEntry = StructValue<typeof ENTRY_FIELDS>;

/** `id_index_entry` of `tools/lib/perf/include/perf/event.h`. */
export const idIndexEntry: StructCodec<typeof ENTRY_FIELDS> = struct(
  "id_index_entry",
  ENTRY_FIELDS,
);

const ENTRY_2_FIELDS = {
  machine_pid: [i64, "Process of the virtual machine that the counter ran in, 0 for the host."],
  vcpu: [i64, "CPU of the virtual machine, or -1."],
} as const;

const ID_INDEX_FIELDS = {
  nr: [counter(u64, "entries") as HiddenCodec, "Number of entries."],
  entries: [
    array(idIndexEntry, countedBy("nr")) as Codec<IdIndexEntry[]>,
    "One for each counter.",
  ],
  entries_2: [ // Present if the record is long enough for it; there is no flag.
    optional(array(struct("id_index_entry_2", ENTRY_2_FIELDS), countedBy("nr"))) as OptionalCodec<
      StructValue<typeof ENTRY_2_FIELDS>[]
    >,
    "If guests were recorded with the host (Linux 6.0): one for each of `entries`, in the same " +
    "order.",
  ],
} as const;

/** The body of ID_INDEX. */
export type IdIndex = StructValue<typeof ID_INDEX_FIELDS>;

/** ID_INDEX: CPU, thread and ring buffer of each event id. */
export const ID_INDEX: RecordDeclaration<"ID_INDEX", IdIndex> = record(
  PERF_RECORD_ID_INDEX,
  "ID_INDEX",
  struct("perf_record_id_index", ID_INDEX_FIELDS),
);
