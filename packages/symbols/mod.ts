/**
 * Symbols for addresses: ELF files, kernel symbols, JIT maps, and the demangling of their names.
 *
 * Everything here is runtime-neutral: readers take a {@linkcode BinarySource} or bytes. The one
 * file that opens files is exported as `@perfdata/symbols/file-source`.
 *
 * @module
 */

import "./elf/plain_decompressors.ts";

export * from "./address.ts";
export * from "./architecture.ts";
export * from "./archive_files.ts";
export * from "./binary_source.ts";
export * from "./build_id_folder.ts";
export * from "./code_file.ts";
export * from "./compressed_file.ts";
export * from "./errors.ts";
export * from "./elf/elf_constants.ts";
export * from "./elf/decompress.ts";
export * from "./elf/elf_error.ts";
export * from "./elf/elf_extent.ts";
export * from "./elf/elf_file.ts";
export * from "./elf/notes.ts";
export * from "./symbol_table.ts";
export * from "./symbol_table_builder.ts";
export type { OverlapRule } from "./symbol_segments.ts";
export * from "./elf/elf_symbols.ts";
export * from "./elf/plt.ts";
export * from "./elf/raw_symbols.ts";
export * from "./elf/section_address.ts";
export * from "./elf/crc32.ts";
export * from "./elf/mini_debug_info.ts";
export * from "./elf/relocate.ts";
export * from "./demangle/demangler.ts";
export * from "./demangle/itanium.ts";
export * from "./demangle/rust_legacy.ts";
export * from "./demangle/rust_v0.ts";
export * from "./jit_symbols.ts";
export * from "./jitdump.ts";
export * from "./jit_elf.ts";
export * from "./kallsyms.ts";
export * from "./perf_map.ts";
export * from "./address_map.ts";
export * from "./file_search.ts";
export * from "./map_name.ts";
export * from "./trust_report.ts";
export * from "./dwarf/mod.ts";
export * from "./resolution.ts";
export * from "./bundle.ts";
export * from "./bundle_code.ts";
export * from "./bundle_frames.ts";
export * from "./bundle_writer.ts";
export * from "./symbol_files.ts";
export type {
  RecordedMachine,
  RecordedSymbolsOf,
  ResolverOptions,
  SymbolOptions,
} from "./resolver/options.ts";
export type { ObjectSymbols } from "./resolver/object_symbols.ts";
export * from "./symbol_resolver.ts";
