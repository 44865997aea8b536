/** `e_type` of the ELF header (elf.h). */
export const ET = { NONE: 0, REL: 1, EXEC: 2, DYN: 3, CORE: 4 } as const;

/** `e_machine` of the ELF header: the machines that this package distinguishes (elf.h). */
export const EM = {
  SPARC: 2,
  I386: 3,
  MIPS: 8,
  PPC: 20,
  PPC64: 21,
  S390: 22,
  ARM: 40,
  SPARC32PLUS: 18,
  SPARCV9: 43,
  X86_64: 62,
  AARCH64: 183,
  RISCV: 243,
  LOONGARCH: 258,
} as const;

/** `sh_type` of a section header (elf.h). */
export const SHT = {
  NULL: 0,
  PROGBITS: 1,
  SYMTAB: 2,
  STRTAB: 3,
  RELA: 4,
  NOTE: 7,
  NOBITS: 8,
  REL: 9,
  DYNSYM: 11,
  SYMTAB_SHNDX: 18,
} as const;

/** `sh_flags` of a section header (elf.h). */
export const SHF = { WRITE: 1, ALLOC: 2, EXECINSTR: 4, COMPRESSED: 0x800 } as const;

/** Special section indexes in `st_shndx`, `e_shnum` and `e_shstrndx` (elf.h). */
export const SHN = {
  UNDEF: 0,
  LORESERVE: 0xff00,
  ABS: 0xfff1,
  COMMON: 0xfff2,
  XINDEX: 0xffff,
} as const;

/** `p_type` of a program header (elf.h). */
export const PT = { NULL: 0, LOAD: 1, DYNAMIC: 2, INTERP: 3, NOTE: 4 } as const;

/** `p_flags` of a program header (elf.h). */
export const PF = { X: 1, W: 2, R: 4 } as const;

/** Symbol type: low four bits of `st_info` (elf.h). */
export const STT = {
  NOTYPE: 0,
  OBJECT: 1,
  FUNC: 2,
  SECTION: 3,
  FILE: 4,
  COMMON: 5,
  TLS: 6,
  GNU_IFUNC: 10,
} as const;

/** Symbol binding: high four bits of `st_info` (elf.h). */
export const STB = { LOCAL: 0, GLOBAL: 1, WEAK: 2, GNU_UNIQUE: 10 } as const;

/** Symbol visibility: low two bits of `st_other` (elf.h). */
export const STV = { DEFAULT: 0, INTERNAL: 1, HIDDEN: 2, PROTECTED: 3 } as const;

/** `ch_type` of a compressed section (elf.h). */
export const ELFCOMPRESS = { ZLIB: 1, ZSTD: 2 } as const;

/** Note type of a build id, in a note whose owner is `GNU` (elf.h). */
export const NT_GNU_BUILD_ID = 3;
