/**
 * Readers for parts of an ELF file: symbols, notes, extents, MiniDebugInfo.
 *
 * @module
 */
export * from "./crc32.ts";
export * from "./elf_constants.ts";
export * from "./elf_extent.ts";
export * from "./mini_debug_info.ts";
export * from "./notes.ts";
export * from "./raw_symbols.ts";
export * from "./decompress.ts";
export * from "./elf_file.ts";
export * from "./elf_symbols.ts";
