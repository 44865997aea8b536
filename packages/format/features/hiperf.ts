import {
  array,
  type Codec,
  countedBy,
  counter,
  doc,
  headerString,
  struct,
  type StructValue,
  u32,
  x64,
} from "../struct.ts";

const SYMBOL_FIELDS = {
  vaddr: doc("Virtual address of the symbol in the file, before it is loaded.", x64),
  len: doc("Bytes of code.", u32),
  name: doc("Name of the symbol, demangled.", headerString),
};
const FILE_FIELDS = {
  path: doc("Path of the file on the device.", headerString),
  type: doc("Kind of file: `SymbolsFileType` of hiperf.", u32),
  text_exec_vaddr: doc("Virtual address of the executable segment.", x64),
  text_exec_vaddr_file_offset: doc("File offset that is mapped there.", x64),
  build_id: doc("Build id in hexadecimal digits.", headerString),
  nr_symbols: doc("Number of symbols.", counter(u32, "symbols")),
  symbols: doc(
    "The symbols that were hit.",
    array(struct("SymbolStruct", SYMBOL_FIELDS), countedBy("nr_symbols")),
  ),
};
/** The fields of HI_FILES_SYMBOL. */
export const HIPERF_FILES_FIELDS = {
  nr_files: doc("Number of files.", counter(u32, "files")),
  files: doc(
    "The files that were hit.",
    array(struct("SymbolFileStruct", FILE_FIELDS), countedBy("nr_files")),
  ),
} as const;

/** HI_FILES_SYMBOL: files and their symbols. */
export type HiperfFiles = StructValue<typeof HIPERF_FILES_FIELDS>;

/** HI_FILES_SYMBOL. */
export const hiperfFiles: Codec<HiperfFiles> = struct(
  "PerfFileSectionSymbolsFiles",
  HIPERF_FILES_FIELDS,
);

/** HI_WORKLOAD_CMD. */
export const hiperfCommand: Codec<string> = doc(
  "The command that hiperf started; `[No workload]` stands for none.",
  headerString,
);

/** HI_RECORD_TIME. */
export const hiperfTime: Codec<string> = doc(
  "When the recording was made, in the words of `ctime`, local time of the device.",
  headerString,
);
