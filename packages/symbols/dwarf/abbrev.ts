import { Cursor } from "./bytes.ts";
import { DW_AT, DW_FORM, DW_TAG } from "./dwarf_constants.ts";
import { DwarfError } from "./dwarf_error.ts";
import { fixedSize, READ, readOf, type UnitFormat } from "./forms.ts";

/** Kinds of entries by abbreviation. The walk over a unit handles entries by their kind. */
export const KIND = {
  OTHER: 0,
  /** A subprogram with code addresses. */
  FUNCTION: 1,
  /** A subprogram without code: a declaration or an abstract instance. */
  SUBPROGRAM: 2,
  INLINED: 3,
  /** An entry whose children cannot hold code, with `DW_AT_sibling` to skip them. */
  SKIPPED: 4,
} as const;

/** Indices of the needed attributes in `Die.form` and `Die.value`. */
export const SLOT = {
  NAME: 0,
  LINKAGE_NAME: 1,
  LOW_PC: 2,
  HIGH_PC: 3,
  RANGES: 4,
  ABSTRACT_ORIGIN: 5,
  SPECIFICATION: 6,
  CALL_FILE: 7,
  CALL_LINE: 8,
  CALL_COLUMN: 9,
  DISCRIMINATOR: 10,
  STMT_LIST: 11,
  COMP_DIR: 12,
  STR_OFFSETS_BASE: 13,
  ADDR_BASE: 14,
  RNGLISTS_BASE: 15,
  GNU_RANGES_BASE: 16,
  DWO_NAME: 17,
  DWO_ID: 18,
  SIBLING: 19,
  LANGUAGE: 20,
  EXTERNAL: 21,
  ARTIFICIAL: 22,
  DECL_LINE: 23,
  DECL_COLUMN: 24,
  COUNT: 25,
} as const;

const SLOT_OF = new Map<number, number>([
  [DW_AT.name, SLOT.NAME],
  [DW_AT.linkage_name, SLOT.LINKAGE_NAME],
  [DW_AT.MIPS_linkage_name, SLOT.LINKAGE_NAME],
  [DW_AT.low_pc, SLOT.LOW_PC],
  [DW_AT.high_pc, SLOT.HIGH_PC],
  [DW_AT.ranges, SLOT.RANGES],
  [DW_AT.abstract_origin, SLOT.ABSTRACT_ORIGIN],
  [DW_AT.specification, SLOT.SPECIFICATION],
  // A continued namespace has no specification; its extension is the first part.
  [DW_AT.extension, SLOT.SPECIFICATION],
  [DW_AT.call_file, SLOT.CALL_FILE],
  [DW_AT.call_line, SLOT.CALL_LINE],
  [DW_AT.call_column, SLOT.CALL_COLUMN],
  [DW_AT.GNU_discriminator, SLOT.DISCRIMINATOR],
  [DW_AT.stmt_list, SLOT.STMT_LIST],
  [DW_AT.comp_dir, SLOT.COMP_DIR],
  [DW_AT.str_offsets_base, SLOT.STR_OFFSETS_BASE],
  [DW_AT.addr_base, SLOT.ADDR_BASE],
  [DW_AT.GNU_addr_base, SLOT.ADDR_BASE],
  [DW_AT.rnglists_base, SLOT.RNGLISTS_BASE],
  [DW_AT.GNU_ranges_base, SLOT.GNU_RANGES_BASE],
  [DW_AT.dwo_name, SLOT.DWO_NAME],
  [DW_AT.GNU_dwo_name, SLOT.DWO_NAME],
  [DW_AT.GNU_dwo_id, SLOT.DWO_ID],
  [DW_AT.sibling, SLOT.SIBLING],
  [DW_AT.language, SLOT.LANGUAGE],
  [DW_AT.external, SLOT.EXTERNAL],
  [DW_AT.artificial, SLOT.ARTIFICIAL],
  [DW_AT.decl_line, SLOT.DECL_LINE],
  [DW_AT.decl_column, SLOT.DECL_COLUMN],
]);

/** Tags whose attributes are read. Entries with other tags are only skipped. */
const READ_TAGS = new Set<number>([
  DW_TAG.compile_unit,
  DW_TAG.partial_unit,
  DW_TAG.skeleton_unit,
  DW_TAG.type_unit,
  DW_TAG.subprogram,
  DW_TAG.inlined_subroutine,
  DW_TAG.entry_point,
  DW_TAG.namespace,
]);

/** Types that can contain functions. Their name and declaration are read too. */
const SCOPE_TYPE_TAGS = new Set<number>([
  DW_TAG.class_type,
  DW_TAG.structure_type,
  DW_TAG.union_type,
  DW_TAG.interface_type,
  DW_TAG.enumeration_type,
]);

/** Attributes that are read only for types. */
const OF_TYPES = new Set<number>([DW_AT.decl_column]);

/**
 * Tags whose children hold no function with code. Classes are not among them: GCC puts a lambda's
 * function into its closure type.
 */
const CODELESS_TAGS = new Set<number>([
  DW_TAG.array_type,
  DW_TAG.enumeration_type,
  DW_TAG.subroutine_type,
  DW_TAG.call_site,
  DW_TAG.GNU_call_site,
]);

/**
 * An abbreviation table (DWARF 5, 7.5.3) in typed arrays, prepared for skipping entries fast and
 * for reading the few needed attributes of the few needed tags.
 *
 * Columns are indexed by `a = index(code)`.
 */
export class AbbrevTable {
  readonly tag: number[] = [];
  readonly kind: number[] = [];
  readonly hasChildren: boolean[] = [];
  /** Size of all attributes in bytes, or -1 if it varies. */
  readonly size: number[] = [];
  /**
   * `skip[skipStart[a] .. skipStart[a + 1]]`: numbers of bytes to skip, or `~READ` for a value of
   * variable size.
   */
  readonly skip: number[] = [];
  readonly skipStart: number[] = [0];
  /**
   * For `KIND.SKIPPED`: the `READ` of `DW_AT_sibling`, which follows the bytes that `skip` covers.
   */
  readonly sibling: number[] = [];
  /**
   * Offset of a four-byte `DW_AT_sibling` from the first attribute, for inlined calls and for
   * entries whose children cannot hold code; -1 if it varies, and for other entries.
   */
  readonly jump: number[] = [];
  /**
   * `plan[planStart[a] .. planStart[a + 1]]`: slot, form, read, constant. Slot -1 means skip; if
   * its read is -1 too, the constant is the number of bytes.
   */
  readonly plan: number[] = [];
  readonly planStart: number[] = [0];
  /**
   * Largest code if codes are 1, 2, 3, … in this order, so that the index is `code - 1`. Otherwise
   * -1.
   */
  readonly dense: number;
  readonly #byCode: Map<number, number> | undefined;

  /**
   * Parses the table at `offset`, for units of `format`. With `only`, parsing ends after that code,
   * since a unit's root entry comes first in nearly every table.
   */
  constructor(
    bytes: Uint8Array,
    section: string,
    offset: number,
    le: boolean,
    format: UnitFormat,
    only = -1,
  ) {
    if (offset >= bytes.length) {
      throw new DwarfError(
        section,
        offset,
        `no abbreviation table here, the section ends at 0x${bytes.length.toString(16)}`,
      );
    }
    const c = new Cursor(bytes, section, 0, le, offset);
    const codes: number[] = [];
    let dense = true;
    for (;;) {
      const code = c.uleb();
      if (code === 0) break;
      codes.push(code);
      if (code !== codes.length) dense = false;
      this.#parse(c, format);
      if (code === only) break;
    }
    this.dense = dense ? codes.length : -1;
    if (!dense) {
      this.#byCode = new Map();
      // The first of two abbreviations with one code counts, as in other readers.
      for (let i = codes.length - 1; i >= 0; i--) this.#byCode.set(codes[i] as number, i);
    }
  }

  /** Index of the abbreviation with that code, or -1. */
  index(code: number): number {
    if (this.dense >= 0) return code <= this.dense ? code - 1 : -1;
    return this.#byCode?.get(code) ?? -1;
  }

  #parse(c: Cursor, format: UnitFormat): void {
    const tag = c.uleb();
    const hasChildren = c.u8() !== 0;
    const readTag = READ_TAGS.has(tag), isType = SCOPE_TYPE_TAGS.has(tag);
    const { skip, plan } = this;
    const skipFrom = skip.length;
    const planFrom = plan.length;
    let size = 0, seen = 0, hasCode = false, isDeclaration = false;
    let sibling = -1, siblingFrom = -1;
    for (;;) {
      const at = c.pos;
      const attribute = c.uleb();
      const form = c.uleb();
      const constant = form === DW_FORM.implicit_const ? c.sleb() : 0;
      if (attribute === 0 && form === 0) break;
      const read = readOf(form, format);
      if (read < 0) {
        throw c.error(
          `form 0x${form.toString(16)} of attribute 0x${attribute.toString(16)} is not known`,
          at,
        );
      }
      if (attribute === DW_AT.declaration) isDeclaration = true;
      if (attribute === DW_AT.low_pc || attribute === DW_AT.ranges) hasCode = true;
      if (attribute === DW_AT.sibling && sibling < 0 && siblingForm(read)) {
        sibling = read;
        if (hasChildren && read === READ.U32) siblingFrom = size;
        // The attributes after the sibling are not needed, since the reader jumps to the sibling.
        if (hasChildren && CODELESS_TAGS.has(tag)) {
          this.#finish(tag, KIND.SKIPPED, hasChildren, -1, sibling, siblingFrom);
          skipRest(c);
          return;
        }
      }
      const bytes = fixedSize(read);
      if (bytes < 0) size = -1;
      else if (size >= 0) size += bytes;
      pushSkip(skip, skipFrom, bytes, read);
      // Skip a repeated attribute, which bounds the length of plans.
      const slot = isType || (readTag && !OF_TYPES.has(attribute))
        ? SLOT_OF.get(attribute) ?? -1
        : -1;
      if (slot >= 0 && (seen & (1 << slot)) === 0) {
        seen |= 1 << slot;
        plan.push(slot, form, read, constant);
      } else if (bytes >= 0) {
        const last = plan.length - 4;
        if (last >= planFrom && plan[last] === -1 && plan[last + 2] === -1) {
          plan[last + 3] = (plan[last + 3] as number) + bytes;
        } else plan.push(-1, 0, -1, bytes);
      } else plan.push(-1, form, read, 0);
    }
    const kind = tag === DW_TAG.inlined_subroutine
      ? KIND.INLINED
      : tag !== DW_TAG.subprogram
      ? KIND.OTHER
      : hasCode && !isDeclaration
      ? KIND.FUNCTION
      : KIND.SUBPROGRAM;
    // The children of a declaration are its parameters.
    const jumps = kind === KIND.INLINED || (kind === KIND.SUBPROGRAM && isDeclaration);
    this.#finish(tag, kind, hasChildren, size, sibling, jumps ? siblingFrom : -1);
  }

  #finish(
    tag: number,
    kind: number,
    hasChildren: boolean,
    size: number,
    sibling: number,
    jump: number,
  ): void {
    this.tag.push(tag);
    this.kind.push(kind);
    this.hasChildren.push(hasChildren);
    this.size.push(size);
    this.sibling.push(sibling);
    this.jump.push(jump);
    this.skipStart.push(this.skip.length);
    this.planStart.push(this.plan.length);
  }
}

function siblingForm(read: number): boolean {
  return read === READ.U8 || read === READ.U16 || read === READ.U32 || read === READ.ULEB;
}

function pushSkip(skip: number[], from: number, bytes: number, read: number): void {
  if (bytes < 0) {
    skip.push(~read);
  } else if (bytes > 0) {
    const last = skip.length - 1;
    if (last >= from && (skip[last] as number) >= 0) skip[last] = (skip[last] as number) + bytes;
    else skip.push(bytes);
  }
}

function skipRest(c: Cursor): void {
  for (;;) {
    const attribute = c.uleb();
    const form = c.uleb();
    if (form === DW_FORM.implicit_const) c.sleb();
    if (attribute === 0 && form === 0) return;
  }
}
