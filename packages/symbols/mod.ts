/**
 * Symbols for addresses: ELF files, kernel symbols, JIT maps, and demangling.
 *
 * This module runs in any JavaScript runtime: readers take a {@linkcode BinarySource} or bytes.
 * `@perfdata/symbols/files` opens files.
 *
 * @module
 */

import "./elf/plain_decompressors.ts";

export { SymbolBundle } from "./bundle/bundle.ts";
export { type BundledFile, bundledText, partsSource } from "./bundle/bundle_code.ts";
export { BundleError } from "./bundle/bundle_format.ts";
export { BundleFrames } from "./bundle/bundle_frames.ts";
export { type BundleEntry, BundleObject } from "./bundle/bundle_object.ts";
export { entryJson, entryText } from "./bundle/bundle_text.ts";
export { type CodeFile, type CodeFilePlaces, openCodeFile } from "./code/code_file.ts";
export {
  type CodeRules,
  type CodeSearch,
  miniDebugInfos,
  type ObjectCode,
  openObjectCode,
} from "./code/object_code.ts";
export { demangle, type DemangleOptions, Demangler } from "./demangle/demangler.ts";
export { demangleItanium, type ItaniumOptions } from "./demangle/itanium.ts";
export { demangleRustLegacy, type RustOptions } from "./demangle/rust_legacy.ts";
export { demangleRustV0 } from "./demangle/rust_v0.ts";
export { crc32 } from "./elf/crc32.ts";
export { type Decompress, type Decompressors } from "./elf/decompress.ts";
export {
  ELFCOMPRESS,
  EM,
  ET,
  NT_GNU_BUILD_ID,
  PF,
  PT,
  SHF,
  SHN,
  SHT,
  STB,
  STT,
  STV,
} from "./elf/elf_constants.ts";
export { elfExtent } from "./elf/elf_extent.ts";
export {
  type DebugAltLink,
  type DebugLink,
  ElfFile,
  type ElfOpenOptions,
  type ElfSection,
  type ElfSegment,
} from "./elf/elf_file.ts";
export { type ElfSymbols, type ElfSymbolsOptions, readElfSymbols } from "./elf/elf_symbols.ts";
export { readMiniDebugInfo } from "./elf/mini_debug_info.ts";
export { buildIdOfNotes } from "./elf/notes.ts";
export { rawSymbolName, type RawSymbols, readRawSymbols } from "./elf/raw_symbols.ts";
export { dataRanges } from "./elf/mapping_symbols.ts";
export { archiveFiles, type ArchiveOptions } from "./files/archive_files.ts";
export { BuildIdFolder } from "./files/build_id_folder.ts";
export { expandElf, expandFile, fileCompression } from "./files/compressed_file.ts";
export type { ClosableSource, FolderEntry, SymbolFiles } from "./files/symbol_files.ts";
export { type JitElf, jitElf, type JitElfInput } from "./jit/jit_elf.ts";
export { type JitFile, JitFiles, type JitObject } from "./jit/jit_files.ts";
export { type JitCode, JitSymbols, type JitUnwinding } from "./jit/jit_symbols.ts";
export {
  type JitCodeClose,
  type JitCodeDebugInfo,
  type JitCodeLoad,
  type JitCodeMove,
  type JitCodeUnwindingInfo,
  type Jitdump,
  JitdumpError,
  type JitdumpHeader,
  type JitLine,
  type JitRecord,
  type JitRecordPrefix,
  type JitUnknownRecord,
  openJitdump,
} from "./jit/jitdump.ts";
export { type PerfMap, readPerfMap } from "./jit/perf_map.ts";
export { SymbolResolver } from "./resolver/symbol_resolver.ts";
export { type Kallsyms, readKallsyms, readKallsymsAt } from "./table/kallsyms.ts";
export type { OverlapRule } from "./table/symbol_segments.ts";
export { type SymbolInfo, SymbolTable } from "./table/symbol_table.ts";
export { type SymbolNameBytes, SymbolTableBuilder } from "./table/symbol_table_builder.ts";
