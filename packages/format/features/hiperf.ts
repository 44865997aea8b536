import {
  array,
  type Codec,
  countedBy,
  counter,
  doc,
  headerString,
  type HiddenCodec,
  struct,
  type StructValue,
  u32,
  x64,
} from "../struct/mod.ts";

const SYMBOL_FIELDS = {
  vaddr: [x64, "Virtual address of the symbol in the file, before it is loaded."],
  len: [u32, "Bytes of code."],
  name: [headerString, "Name of the symbol, demangled."],
} as const;
const FILE_FIELDS = {
  path: [headerString, "Path of the file on the device."],
  type: [u32, "Kind of file: `SymbolsFileType` of hiperf."],
  text_exec_vaddr: [x64, "Virtual address of the executable segment."],
  text_exec_vaddr_file_offset: [x64, "File offset that is mapped there."],
  build_id: [headerString, "Build id in hexadecimal digits."],
  nr_symbols: [counter(u32, "symbols") as HiddenCodec, "Number of symbols."],
  symbols: [
    array(struct("SymbolStruct", SYMBOL_FIELDS), countedBy("nr_symbols")) as Codec<
      StructValue<typeof SYMBOL_FIELDS>[]
    >,
    "The symbols that were hit.",
  ],
} as const;
/** The fields of HI_FILES_SYMBOL. */
export const HIPERF_FILES_FIELDS = {
  nr_files: [counter(u32, "files") as HiddenCodec, "Number of files."],
  files: [
    array(struct("SymbolFileStruct", FILE_FIELDS), countedBy("nr_files")) as Codec<
      StructValue<typeof FILE_FIELDS>[]
    >,
    "The files that were hit.",
  ],
} as const;

/** HI_FILES_SYMBOL: files and their symbols. */
export type HiperfFiles = StructValue<typeof HIPERF_FILES_FIELDS>;

export const hiperfFiles: Codec<HiperfFiles> = struct(
  "PerfFileSectionSymbolsFiles",
  HIPERF_FILES_FIELDS,
);

export const hiperfCommand: Codec<string> = doc(
  "The command that hiperf started, or `[No workload]`.",
  headerString,
);

export const hiperfTime: Codec<string> = doc(
  "Time of the recording as `ctime` prints it, in the local time of the device.",
  headerString,
);
