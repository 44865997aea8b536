import type { ByteReader } from "../struct/cursor.ts";
import {
  array,
  type Codec,
  countedBy,
  counter,
  doc,
  enumeration,
  type FixedCodec,
  hex,
  mark,
  probed,
  repeated,
  struct,
  type StructValue,
  u32,
  u64,
  x64,
} from "../struct/mod.ts";

/** BRANCH_STACK and STAT have no contents; their presence is the information. */
export type EmptyFeature = Record<never, never>;

export const branchStack: Codec<EmptyFeature> = struct("branch_stack", {});

export const stat: Codec<EmptyFeature> = struct("stat", {});

export const dirFormat: Codec<bigint> = doc(
  "Version of the directory layout, if the file is the `data` of a directory: 1 has a data file for each CPU.",
  u64,
);

/** The fields of COMPRESSED. */
export const COMPRESSED_FIELDS = {
  version: [u32, "Version of the compressed records; 1 so far."],
  type: [
    enumeration(u32, { 0: "NONE", 1: "ZSTD" }) as FixedCodec<number>,
    "Method of compression.",
  ],
  level: [u32, "Level given with `-z`."],
  ratio: [u32, "Bytes of records for each byte in the file, rounded; 0 if not known."],
  mmap_len: [u32, "Bytes of the ring buffer: the upper limit for a COMPRESSED record, inflated."],
} as const;

/** COMPRESSED: compression method of the COMPRESSED records. */
export type Compressed = StructValue<typeof COMPRESSED_FIELDS>;

export const compressed: Codec<Compressed> = struct("compressed", COMPRESSED_FIELDS);

/** The fields of E_MACHINE. */
export const E_MACHINE_FIELDS = {
  e_machine: [u32, "`e_machine` of the ELF header: 62 is x86-64, 183 AArch64."],
  e_flags: [
    hex(u32) as FixedCodec<number>,
    "`e_flags` of the ELF header, whose bits depend on the machine.",
  ],
} as const;

/** E_MACHINE: machine of the recorded programs, which may differ from the kernel's. */
export type EMachine = StructValue<typeof E_MACHINE_FIELDS>;

export const eMachine: Codec<EMachine> = struct("e_machine", E_MACHINE_FIELDS);

/** The fields of an entry of AUXTRACE. */
export const AUXTRACE_INDEX_ENTRY_FIELDS = {
  file_offset: [x64, "File offset of the AUXTRACE record."],
  sz: [u64, "Bytes of the record, without the trace data that follow it."],
} as const;

/** File offset and size of an AUXTRACE record. */
export type AuxtraceIndexEntry = StructValue<typeof AUXTRACE_INDEX_ENTRY_FIELDS>;

/** AUXTRACE: index of the AUXTRACE records. */
export interface AuxtraceIndex {
  /** The AUXTRACE records in file order, for reading them without the records in between. */
  entries: AuxtraceIndexEntry[];
  /** Set if the entries have no count before them, as simpleperf writes them. */
  uncounted?: true;
}

/** `sizeof(struct auxtrace_index_entry)`. */
const ENTRY_SIZE = 16;

const entry = struct("auxtrace_index_entry", AUXTRACE_INDEX_ENTRY_FIELDS);
const counted: Codec<AuxtraceIndex> = struct("auxtrace_index", {
  nr: doc("Number of records.", counter(u64, "entries")),
  entries: doc(
    "The AUXTRACE records in file order, so that they are found without reading the others.",
    array(entry, countedBy("nr")),
  ),
});
const uncounted: Codec<AuxtraceIndex> = struct("auxtrace_index", {
  entries: doc("The AUXTRACE records in file order, up to the end.", repeated(entry)),
  uncounted: mark,
});

/** A count of 8 bytes and entries of 16 bytes never add up to a multiple of 16. */
function isUncounted(r: ByteReader): boolean {
  return r.left > 0 && r.left % ENTRY_SIZE === 0;
}

export const auxtraceIndex: Codec<AuxtraceIndex> = probed(isUncounted, {
  yes: uncounted,
  no: counted,
  mark: "uncounted",
});
