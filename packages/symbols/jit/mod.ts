/**
 * Code made at run time: jitdump files, their symbols, and ELF files made from them.
 *
 * @module
 */
export * from "./jit_elf.ts";
export * from "./jit_files.ts";
export * from "./jit_symbols.ts";
export * from "./jitdump.ts";
