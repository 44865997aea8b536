// The numbers of DWARF that this room acts on, under the names of the standard (DWARF 5, section 7)
// and of the GNU and LLVM extensions.

/** Tags of debugging information entries (DWARF 5, table 7.3). */
export const DW_TAG = {
  array_type: 0x01,
  class_type: 0x02,
  entry_point: 0x03,
  enumeration_type: 0x04,
  compile_unit: 0x11,
  structure_type: 0x13,
  subroutine_type: 0x15,
  union_type: 0x17,
  inlined_subroutine: 0x1d,
  subprogram: 0x2e,
  interface_type: 0x38,
  namespace: 0x39,
  partial_unit: 0x3c,
  type_unit: 0x41,
  call_site: 0x48,
  skeleton_unit: 0x4a,
  GNU_call_site: 0x4109,
} as const;

/** Attributes (DWARF 5, table 7.5). */
export const DW_AT = {
  sibling: 0x01,
  name: 0x03,
  stmt_list: 0x10,
  low_pc: 0x11,
  high_pc: 0x12,
  language: 0x13,
  comp_dir: 0x1b,
  abstract_origin: 0x31,
  artificial: 0x34,
  decl_column: 0x39,
  decl_line: 0x3b,
  declaration: 0x3c,
  external: 0x3f,
  specification: 0x47,
  extension: 0x54,
  ranges: 0x55,
  call_column: 0x57,
  call_file: 0x58,
  call_line: 0x59,
  linkage_name: 0x6e,
  str_offsets_base: 0x72,
  addr_base: 0x73,
  rnglists_base: 0x74,
  dwo_name: 0x76,
  MIPS_linkage_name: 0x2007,
  GNU_dwo_name: 0x2130,
  GNU_dwo_id: 0x2131,
  GNU_ranges_base: 0x2132,
  GNU_addr_base: 0x2133,
  GNU_discriminator: 0x2136,
} as const;

/** Forms (DWARF 5, table 7.6). */
export const DW_FORM = {
  addr: 0x01,
  block2: 0x03,
  block4: 0x04,
  data2: 0x05,
  data4: 0x06,
  data8: 0x07,
  string: 0x08,
  block: 0x09,
  block1: 0x0a,
  data1: 0x0b,
  flag: 0x0c,
  sdata: 0x0d,
  strp: 0x0e,
  udata: 0x0f,
  ref_addr: 0x10,
  ref1: 0x11,
  ref2: 0x12,
  ref4: 0x13,
  ref8: 0x14,
  ref_udata: 0x15,
  indirect: 0x16,
  sec_offset: 0x17,
  exprloc: 0x18,
  flag_present: 0x19,
  strx: 0x1a,
  addrx: 0x1b,
  ref_sup4: 0x1c,
  strp_sup: 0x1d,
  data16: 0x1e,
  line_strp: 0x1f,
  ref_sig8: 0x20,
  implicit_const: 0x21,
  loclistx: 0x22,
  rnglistx: 0x23,
  ref_sup8: 0x24,
  strx1: 0x25,
  strx2: 0x26,
  strx3: 0x27,
  strx4: 0x28,
  addrx1: 0x29,
  addrx2: 0x2a,
  addrx3: 0x2b,
  addrx4: 0x2c,
  GNU_addr_index: 0x1f01,
  GNU_str_index: 0x1f02,
  GNU_ref_alt: 0x1f20,
  GNU_strp_alt: 0x1f21,
  LLVM_addrx_offset: 0x2001,
} as const;

/** Languages: C++, C++03, 11, 14 (DWARF 5, table 7.17), 17 and 20 (assigned since). */
export const DW_LANG_C_PLUS_PLUS: ReadonlySet<number> = new Set([
  0x04,
  0x19,
  0x1a,
  0x21,
  0x2a,
  0x2b,
]);

/** Languages without namespaces and classes: C of all years, assembler, Go, whose names have them. */
export const DW_LANG_UNSCOPED: ReadonlySet<number> = new Set([
  0x01,
  0x02,
  0x0c,
  0x1d,
  0x2c,
  0x16,
  0x8001,
]);

/** Unit types (DWARF 5, table 7.2). */
export const DW_UT = {
  compile: 0x01,
  type: 0x02,
  partial: 0x03,
  skeleton: 0x04,
  split_compile: 0x05,
  split_type: 0x06,
} as const;

/** Range list entries (DWARF 5, table 7.30). */
export const DW_RLE = {
  end_of_list: 0,
  base_addressx: 1,
  startx_endx: 2,
  startx_length: 3,
  offset_pair: 4,
  base_address: 5,
  start_end: 6,
  start_length: 7,
} as const;

/** Content types of line table entries (DWARF 5, table 7.27). */
export const DW_LNCT = { path: 1, directory_index: 2 } as const;
