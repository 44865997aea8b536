import { Cursor } from "./bytes.ts";
import { DW_FORM } from "./dwarf_constants.ts";

/**
 * Encodings of forms' values. Forms are translated when an abbreviation table is parsed, so that
 * loops over entries switch over a few small constants.
 */
export const READ = {
  NOTHING: 0,
  U8: 1,
  U16: 2,
  U24: 3,
  U32: 4,
  U64: 5,
  /** An address of 8 bytes, signed. */
  I64: 6,
  ULEB: 7,
  SLEB: 8,
  STRING: 9,
  BLOCK1: 10,
  BLOCK2: 11,
  BLOCK4: 12,
  BLOCK: 13,
  IMPLICIT: 14,
  INDIRECT: 15,
  BYTES16: 16,
  ULEB_U32: 17,
} as const;

const FIXED = [0, 1, 2, 3, 4, 8, 8, -1, -1, -1, -1, -1, -1, -1, 0, -1, 16, -1];

/** Size of a value in bytes; -1 if it varies. */
export function fixedSize(read: number): number {
  return FIXED[read] ?? -1;
}

/** Version and sizes that determine the encoding of forms. */
export interface UnitFormat {
  readonly version: number;
  readonly offsetSize: 4 | 8;
  readonly addressSize: number;
}

/** The `READ` of a form in units of that format; -1 if the form is unknown. */
export function readOf(form: number, format: UnitFormat): number {
  switch (form) {
    case DW_FORM.addr:
      return sized(format.addressSize);
    case DW_FORM.data1:
    case DW_FORM.ref1:
    case DW_FORM.flag:
    case DW_FORM.strx1:
    case DW_FORM.addrx1:
      return READ.U8;
    case DW_FORM.data2:
    case DW_FORM.ref2:
    case DW_FORM.strx2:
    case DW_FORM.addrx2:
      return READ.U16;
    case DW_FORM.strx3:
    case DW_FORM.addrx3:
      return READ.U24;
    case DW_FORM.data4:
    case DW_FORM.ref4:
    case DW_FORM.strx4:
    case DW_FORM.addrx4:
    case DW_FORM.ref_sup4:
      return READ.U32;
    case DW_FORM.data8:
    case DW_FORM.ref8:
    case DW_FORM.ref_sup8:
    case DW_FORM.ref_sig8:
      return READ.U64;
    case DW_FORM.data16:
      return READ.BYTES16;
    case DW_FORM.sec_offset:
    case DW_FORM.strp:
    case DW_FORM.line_strp:
    case DW_FORM.strp_sup:
    case DW_FORM.GNU_strp_alt:
    case DW_FORM.GNU_ref_alt:
      return format.offsetSize === 4 ? READ.U32 : READ.U64;
    case DW_FORM.ref_addr: // An address in DWARF 2
      if (format.version > 2) return format.offsetSize === 4 ? READ.U32 : READ.U64;
      return format.addressSize === 8 ? READ.U64 : sized(format.addressSize);
    case DW_FORM.udata:
    case DW_FORM.ref_udata:
    case DW_FORM.strx:
    case DW_FORM.addrx:
    case DW_FORM.loclistx:
    case DW_FORM.rnglistx:
    case DW_FORM.GNU_addr_index:
    case DW_FORM.GNU_str_index:
      return READ.ULEB;
    case DW_FORM.sdata:
      return READ.SLEB;
    case DW_FORM.string:
      return READ.STRING;
    case DW_FORM.block1:
      return READ.BLOCK1;
    case DW_FORM.block2:
      return READ.BLOCK2;
    case DW_FORM.block4:
      return READ.BLOCK4;
    case DW_FORM.block:
    case DW_FORM.exprloc:
      return READ.BLOCK;
    case DW_FORM.flag_present:
      return READ.NOTHING;
    case DW_FORM.implicit_const:
      return READ.IMPLICIT;
    case DW_FORM.indirect:
      return READ.INDIRECT;
    case DW_FORM.LLVM_addrx_offset:
      return READ.ULEB_U32;
  }
  return -1;
}

function sized(bytes: number): number {
  switch (bytes) {
    case 1:
      return READ.U8;
    case 2:
      return READ.U16;
    case 4:
      return READ.U32;
    case 8:
      return READ.I64;
  }
  return -1;
}

/** Skips a value. `format` is needed for indirect forms, whose form precedes the value. */
export function skipValue(c: Cursor, read: number, format: UnitFormat): void {
  switch (read) {
    case READ.ULEB:
    case READ.SLEB:
      while (c.u8() >= 0x80);
      return;
    case READ.STRING:
      c.skipString();
      return;
    case READ.BLOCK1:
      c.take(c.u8());
      return;
    case READ.BLOCK2:
      c.take(c.u16());
      return;
    case READ.BLOCK4:
      c.take(c.u32());
      return;
    case READ.BLOCK:
      c.take(c.uleb());
      return;
    case READ.ULEB_U32:
      while (c.u8() >= 0x80);
      c.take(4);
      return;
    case READ.INDIRECT:
      skipValue(c, indirect(c, format).read, format);
      return;
  }
  c.take(fixedSize(read));
}

export function indirect(c: Cursor, format: UnitFormat): { form: number; read: number } {
  const at = c.pos;
  const form = c.uleb();
  const read = readOf(form, format);
  // Indirect forms must not be nested: a long run of 0x16 would recurse without end.
  if (read < 0 || read === READ.INDIRECT || read === READ.IMPLICIT) {
    throw c.error(`indirect form 0x${form.toString(16)}, which is not known`, at);
  }
  return { form, read };
}
