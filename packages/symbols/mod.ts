/**
 * Symbols for addresses: ELF files, kernel symbols, JIT maps, and the demangling of their names.
 *
 * Everything here is runtime-neutral: readers take a {@linkcode BinarySource} or bytes. The one
 * file that opens files is exported as `@perfdata/symbols/file-source`.
 *
 * @module
 */

import "./elf/plain_decompressors.ts";

export { type Address, addressToHex } from "./address.ts";
export { type BinarySource, bytesSource } from "./binary_source.ts";
export { BundleError, SymbolBundle } from "./bundle.ts";
export { SymbolBundleWriter } from "./bundle_writer.ts";
export { demangle, Demangler } from "./demangle/demangler.ts";
export { DwarfContext, type Frame } from "./dwarf/dwarf_context.ts";
export { ElfFile } from "./elf/elf_file.ts";
export { readElfSymbols } from "./elf/elf_symbols.ts";
export { SymbolsError } from "./errors.ts";
export { openJitdump } from "./jitdump.ts";
export { readKallsyms } from "./kallsyms.ts";
export { readPerfMap } from "./perf_map.ts";
export type { Resolution, ResolvedFrame, SymbolObject } from "./resolution.ts";
export type { RecordedMachine, SymbolOptions } from "./resolver/options.ts";
export type { SymbolFiles } from "./symbol_files.ts";
export { SymbolResolver } from "./symbol_resolver.ts";
