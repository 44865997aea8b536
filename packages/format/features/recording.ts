import {
  array,
  type Codec,
  countedBy,
  counter,
  doc,
  enumeration,
  hex,
  struct,
  type StructValue,
  u32,
  u64,
  x64,
} from "../struct.ts";

/** BRANCH_STACK and STAT: that they are there says it all. */
export type Mark = Record<never, never>;

/** BRANCH_STACK. */
export const branchStack: Codec<Mark> = struct("branch_stack", {});

/** STAT. */
export const stat: Codec<Mark> = struct("stat", {});

/** DIR_FORMAT. */
export const dirFormat: Codec<bigint> = doc(
  "Version of the directory that the file is the `data` of: 1 has a data file for each CPU.",
  u64,
);

const COMPRESSED_FIELDS = {
  version: doc("Version of the compressed records; 1 so far.", u32),
  type: doc("How they are compressed.", enumeration(u32, { 0: "NONE", 1: "ZSTD" })),
  level: doc("Level that was chosen with `-z`.", u32),
  ratio: doc("Bytes of records for each byte in the file, rounded; 0 where not known.", u32),
  mmap_len: doc("Bytes of the ring buffer: no COMPRESSED record unfolds into more.", u32),
};

/** COMPRESSED: how COMPRESSED records are to be unfolded. */
export type Compressed = StructValue<typeof COMPRESSED_FIELDS>;

/** COMPRESSED. */
export const compressed: Codec<Compressed> = struct("compressed", COMPRESSED_FIELDS);

const E_MACHINE_FIELDS = {
  e_machine: doc("`e_machine` of the ELF header: 62 is x86-64, 183 AArch64.", u32),
  e_flags: doc("`e_flags` of the ELF header, whose bits depend on the machine.", hex(u32)),
};

/** E_MACHINE: machine of the recorded programs, which may differ from the kernel's. */
export type EMachine = StructValue<typeof E_MACHINE_FIELDS>;

/** E_MACHINE. */
export const eMachine: Codec<EMachine> = struct("e_machine", E_MACHINE_FIELDS);

const INDEX_ENTRY_FIELDS = {
  file_offset: doc("Where the AUXTRACE record begins in the file.", x64),
  sz: doc("Bytes of the record; the trace data that follow it are not counted.", u64),
};
const AUXTRACE_FIELDS = {
  nr: doc("Number of records.", counter(u64, "entries")),
  entries: doc(
    "The AUXTRACE records in file order; they can be read without the records between.",
    array(struct("auxtrace_index_entry", INDEX_ENTRY_FIELDS), countedBy("nr")),
  ),
};

/** AUXTRACE: where the AUXTRACE records are. */
export type AuxtraceIndex = StructValue<typeof AUXTRACE_FIELDS>;

/** AUXTRACE. */
export const auxtraceIndex: Codec<AuxtraceIndex> = struct("auxtrace_index", AUXTRACE_FIELDS);
