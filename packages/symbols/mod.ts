/**
 * Symbols for addresses: ELF files, kernel symbols, JIT maps, and demangling.
 *
 * This module runs in any JavaScript runtime: readers take a {@linkcode BinarySource} or bytes.
 * `@perfdata/symbols/binary-file` opens files.
 *
 * @module
 */

import "./elf/plain_decompressors.ts";

export { type Address, addressToHex } from "./resolver/address.ts";
export { type BinarySource, bytesSource } from "./files/binary_source.ts";
export { BundleError, SymbolBundle } from "./bundle/bundle.ts";
export { SymbolBundleWriter } from "./bundle/bundle_writer.ts";
export { demangle, Demangler } from "./demangle/demangler.ts";
export { DwarfContext, type Frame } from "./dwarf/dwarf_context.ts";
export { ElfFile } from "./elf/elf_file.ts";
export { readElfSymbols } from "./elf/elf_symbols.ts";
export { SymbolsError } from "./errors.ts";
export { openJitdump } from "./jit/jitdump.ts";
export { readKallsyms } from "./table/kallsyms.ts";
export { readPerfMap } from "./jit/perf_map.ts";
export type { Resolution, ResolvedFrame, SymbolObject } from "./resolver/resolution.ts";
export type { RecordedMachine, SymbolOptions } from "./resolver/options.ts";
export type { SymbolFiles } from "./files/symbol_files.ts";
export { SymbolResolver } from "./resolver/symbol_resolver.ts";
