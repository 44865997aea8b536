import {
  array,
  bytes,
  type Codec,
  countedBy,
  counter,
  cString,
  doc,
  enumeration,
  type FixedCodec,
  type HiddenCodec,
  optional,
  type OptionalCodec,
  repeated,
  sized,
  struct,
  type StructValue,
  u32,
  u64,
  unwrapped,
  when,
  x64,
} from "../struct/mod.ts";

/** The fields of a line of SP_META_INFO. */
export const SIMPLEPERF_META_FIELDS = {
  key: [cString, "Name of the entry: `simpleperf_version`, `clockid`, `app_package_name`."],
  value: [cString, "Its value; lists are separated by newlines."],
} as const;

/** A line of the META_INFO section of simpleperf. */
export type SimpleperfMeta = StructValue<typeof SIMPLEPERF_META_FIELDS>;

/** SP_META_INFO: pairs of strings up to the end of the section. */
export const simpleperfMeta: Codec<SimpleperfMeta[]> = repeated(
  struct("meta_info", SIMPLEPERF_META_FIELDS),
  2,
);

const DSO_DEX_FILE = 3;

const SYMBOL_FIELDS = {
  start_vaddr: [x64, "Virtual address of the symbol in the file, before it is loaded."],
  len: [u32, "Bytes of code."],
  name: [cString, "Name of the symbol, mangled."],
} as const;
const countedU64s: Codec<bigint[]> = unwrapped(
  struct("dex_file_offsets", {
    nr: counter(u32, "offsets"),
    offsets: array(u64, countedBy("nr")),
  }) as Codec<unknown>,
  "offsets",
);

/** The fields of a file of SP_FILE. */
export const SIMPLEPERF_FILE_FIELDS = {
  path: [cString, "Path of the file on the device."],
  type: [
    enumeration(u32, {
      0: "KERNEL",
      1: "KERNEL_MODULE",
      2: "ELF_FILE",
      3: "DEX_FILE",
      4: "SYMBOL_MAP_FILE",
      5: "UNKNOWN_FILE",
    }) as FixedCodec<number>,
    "Kind of file.",
  ],
  min_vaddr: [x64, "Virtual address of the first executable segment."],
  nr_symbols: [counter(u32, "symbols") as HiddenCodec, "Number of symbols."],
  symbols: [
    array(struct("symbol", SYMBOL_FIELDS), countedBy("nr_symbols")) as Codec<
      StructValue<typeof SYMBOL_FIELDS>[]
    >,
    "The symbols that were hit.",
  ],
  dex_file_offsets: [
    when({ field: "type", is: DSO_DEX_FILE }, countedU64s) as OptionalCodec<bigint[]>,
    "Offsets of the dex files in a file that holds several.",
  ],
  file_offset_of_min_vaddr: [
    optional(x64) as OptionalCodec<bigint>,
    "File offset that is mapped at `min_vaddr`; missing in older files.",
  ],
  rest: [
    optional(bytes("rest")) as OptionalCodec<Uint8Array>,
    "Remaining bytes of a longer structure than is known here.",
  ],
} as const;

/** A file of the FILE section of simpleperf, with the symbols that were hit. */
export type SimpleperfFile = StructValue<typeof SIMPLEPERF_FILE_FIELDS>;

/** SP_FILE: length-prefixed structures up to the end of the section. */
export const simpleperfFiles: Codec<SimpleperfFile[]> = repeated(
  sized(u32, struct("file_struct", SIMPLEPERF_FILE_FIELDS)),
  4,
);

/** SP_FILE2: length-prefixed `FileFeature` messages of protobuf, as bytes. */
export const simpleperfFiles2: Codec<Uint8Array[]> = doc(
  "The files, each a `FileFeature` message of simpleperf's `record_file.proto`.",
  repeated(sized(u32, bytes("rest")), 4),
);
