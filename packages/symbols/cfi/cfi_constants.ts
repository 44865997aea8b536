/**
 * Call frame instructions (DWARF 5, 7.24) by the whole byte; `advance_loc`, `offset` and `restore`
 * by its high two bits.
 */
export const DW_CFA = {
  advance_loc: 0x40,
  offset: 0x80,
  restore: 0xc0,
  nop: 0x00,
  set_loc: 0x01,
  advance_loc1: 0x02,
  advance_loc2: 0x03,
  advance_loc4: 0x04,
  offset_extended: 0x05,
  restore_extended: 0x06,
  undefined: 0x07,
  same_value: 0x08,
  register: 0x09,
  remember_state: 0x0a,
  restore_state: 0x0b,
  def_cfa: 0x0c,
  def_cfa_register: 0x0d,
  def_cfa_offset: 0x0e,
  def_cfa_expression: 0x0f,
  expression: 0x10,
  offset_extended_sf: 0x11,
  def_cfa_sf: 0x12,
  def_cfa_offset_sf: 0x13,
  val_offset: 0x14,
  val_offset_sf: 0x15,
  val_expression: 0x16,
  MIPS_advance_loc8: 0x1d,
  AARCH64_negate_ra_state_with_pc: 0x2c,
  /** SPARC uses the same byte for `DW_CFA_GNU_window_save`. */
  AARCH64_negate_ra_state: 0x2d,
  GNU_args_size: 0x2e,
  GNU_negative_offset_extended: 0x2f,
} as const;

/** Encodings of pointers in `.eh_frame` (Linux Standard Base, DWARF extensions). */
export const DW_EH_PE = {
  absptr: 0x00,
  uleb128: 0x01,
  udata2: 0x02,
  udata4: 0x03,
  udata8: 0x04,
  signed: 0x08,
  sleb128: 0x09,
  sdata2: 0x0a,
  sdata4: 0x0b,
  sdata8: 0x0c,
  pcrel: 0x10,
  textrel: 0x20,
  datarel: 0x30,
  funcrel: 0x40,
  aligned: 0x50,
  indirect: 0x80,
  omit: 0xff,
} as const;

/** Rules for finding a register's value in the calling frame. */
export const RULE = {
  /** Not stated; treated as `SAME`. */
  NONE: 0,
  /** The value is lost. For the return address: there is no caller. */
  UNDEFINED: 1,
  /** The same value as in this frame. */
  SAME: 2,
  /** Stored in memory at CFA + value. */
  OFFSET: 3,
  /** The value is CFA + value. */
  VAL_OFFSET: 4,
  /** Stored in another register. */
  REGISTER: 5,
  /** Stored in memory at the address that an expression computes. */
  EXPRESSION: 6,
  /** Computed by an expression. */
  VAL_EXPRESSION: 7,
} as const;
