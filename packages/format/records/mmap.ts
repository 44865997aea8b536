import {
  bytes,
  doc,
  i32,
  type OptionalCodec,
  paddedText,
  struct,
  type StructValue,
  type Test,
  u16,
  u32,
  u64,
  u8,
  when,
  x32,
  x64,
} from "../struct/mod.ts";
import { record, type RecordDeclaration } from "./record.ts";
import { PERF_RECORD_MISC_MMAP_BUILD_ID } from "../header/perf_event.ts";
import { PERF_RECORD_MMAP, PERF_RECORD_MMAP2 } from "./record_types.ts";

const MMAP_FIELDS = {
  pid: [i32, "Process id; -1 for the kernel's own maps."],
  tid: [i32, "Thread id."],
  addr: [x64, "First address of the mapping."],
  len: [x64, "Length of the mapping in bytes."],
  pgoff: [x64, "Offset in the mapped file, in bytes."],
  filename: [paddedText, "Mapped object: a path, or a name such as `[vdso]` or `//anon`."],
} as const;

/** The body of MMAP. */
export type Mmap = StructValue<typeof MMAP_FIELDS>;

/** MMAP: a new mapping in an address space. */
export const MMAP: RecordDeclaration<"MMAP", Mmap> = record(
  PERF_RECORD_MMAP,
  "MMAP",
  struct("perf_record_mmap", MMAP_FIELDS),
);

const hasBuildId: Test = { misc: PERF_RECORD_MISC_MMAP_BUILD_ID };
const hasInode: Test = { noMisc: PERF_RECORD_MISC_MMAP_BUILD_ID };

const MMAP2_FIELDS = {
  pid: MMAP_FIELDS.pid,
  tid: MMAP_FIELDS.tid,
  addr: MMAP_FIELDS.addr,
  len: MMAP_FIELDS.len,
  pgoff: MMAP_FIELDS.pgoff,
  maj: when(hasInode, doc("Major number of the file's device.", u32)) as OptionalCodec<number>,
  min: when(hasInode, doc("Minor number of the file's device.", u32)) as OptionalCodec<number>,
  ino: when(hasInode, doc("Inode number of the file.", u64)) as OptionalCodec<bigint>,
  ino_generation: when(hasInode, doc("Generation of the inode.", u64)) as OptionalCodec<bigint>,
  build_id_size: when(hasBuildId, doc("Length of the build id.", u8)) as OptionalCodec<
    number
  >,
  __reserved_1: when(hasBuildId, doc("Zero.", u8)) as OptionalCodec<number>,
  __reserved_2: when(hasBuildId, doc("Zero.", u16)) as OptionalCodec<number>,
  build_id: when(
    hasBuildId,
    doc("Build id of the file, padded with zeros.", bytes(20)),
  ) as OptionalCodec<Uint8Array>,
  prot: [x32, "Protection (`PROT_*` of mmap(2))."],
  flags: [x32, "Flags (`MAP_*` of mmap(2))."],
  filename: MMAP_FIELDS.filename,
} as const;

/** The body of MMAP2. */
export type Mmap2 = StructValue<typeof MMAP2_FIELDS>;

/** MMAP2: like MMAP, plus the file's identity: its inode, or its build id if `misc` has the bit. */
export const MMAP2: RecordDeclaration<"MMAP2", Mmap2> = record(
  PERF_RECORD_MMAP2,
  "MMAP2",
  struct("perf_record_mmap2", MMAP2_FIELDS),
);
