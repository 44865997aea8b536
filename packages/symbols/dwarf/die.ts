import { type AbbrevTable, SLOT } from "./abbrev.ts";
import { type Cursor, u16, u32 } from "./bytes.ts";
import { fixedSize, indirect, READ, skipValue, type UnitFormat } from "./forms.ts";

/**
 * The needed attributes of one entry, as raw numbers. The object is reused.
 *
 * `form[slot]` determines the meaning of `value[slot]`: an index, an offset or a constant; for
 * strings and blocks within the entry, their position in the unit.
 */
export class Die {
  /** Bit `slot` is set if the entry has the attribute. */
  mask = 0;
  readonly form: Int32Array = new Int32Array(SLOT.COUNT);
  readonly value: Float64Array = new Float64Array(SLOT.COUNT);

  has(slot: number): boolean {
    return (this.mask & (1 << slot)) !== 0;
  }

  /** A constant attribute; 0 if it is missing. */
  constant(slot: number): number {
    return this.has(slot) ? this.value[slot] as number : 0;
  }

  /**
   * Reads the entry with abbreviation `a` whose attributes begin at `c.pos`, and advances after it.
   */
  read(c: Cursor, table: AbbrevTable, a: number, format: UnitFormat): void {
    const { plan, planStart } = table;
    const { bytes: b, le } = c;
    const { form: forms, value: values } = this;
    // Bytes after the end read as undefined. The error below discards such values.
    let p = c.pos;
    let mask = 0;
    for (let i = planStart[a] as number, end = planStart[a + 1] as number; i < end; i += 4) {
      const slot = plan[i] as number;
      const read = plan[i + 2] as number;
      if (slot < 0) {
        if (read < 0) p += plan[i + 3] as number;
        else if ((read === READ.ULEB || read === READ.SLEB) && (b[p] as number) < 0x80) p++;
        else {
          c.pos = p;
          skipValue(c, read, format);
          p = c.pos;
        }
        continue;
      }
      mask |= 1 << slot;
      forms[slot] = plan[i + 1] as number;
      if (read === READ.U8 || (read === READ.ULEB && (b[p] as number) < 0x80)) {
        values[slot] = b[p++] as number;
      } else if (read === READ.U16) {
        values[slot] = u16(b, p, le);
        p += 2;
      } else if (read === READ.U32) {
        values[slot] = u32(b, p, le);
        p += 4;
      } else {
        c.pos = p;
        this.#readRare(c, slot, read, plan[i + 3] as number, format);
        p = c.pos;
      }
    }
    if (p > c.end) throw c.error("an entry runs past the end of its unit");
    c.pos = p;
    this.mask = mask;
  }

  #readRare(c: Cursor, slot: number, read: number, constant: number, format: UnitFormat): void {
    if (read === READ.INDIRECT) {
      const named = indirect(c, format);
      this.form[slot] = named.form;
      read = named.read;
    }
    // A split unit's id has 64 significant bits, so its position is stored instead.
    this.value[slot] = slot === SLOT.DWO_ID && fixedSize(read) === 8
      ? c.take(8)
      : readNumber(c, read, constant, format);
  }
}

/** Reads a value. For strings and blocks, it is the position of the first byte. */
export function readNumber(c: Cursor, read: number, constant: number, format: UnitFormat): number {
  switch (read) {
    case READ.NOTHING:
      return 1;
    case READ.U8:
      return c.u8();
    case READ.U16:
      return c.u16();
    case READ.U24:
      return c.u24();
    case READ.U32:
      return c.u32();
    case READ.U64:
      return c.u64();
    case READ.I64:
      return c.address(8);
    case READ.ULEB:
      return c.uleb();
    case READ.SLEB:
      return c.sleb();
    case READ.IMPLICIT:
      return constant;
  }
  const at = c.pos;
  skipValue(c, read, format);
  return at;
}

/**
 * Skips the attributes of an entry from `p` on. Returns the position after them, which is beyond
 * the end if the unit is truncated.
 *
 * @param a The entry's abbreviation.
 */
export function stepOver(
  b: Uint8Array,
  p: number,
  { skip, skipStart }: AbbrevTable,
  a: number,
  c: Cursor,
  format: UnitFormat,
): number {
  const to = skipStart[a + 1] as number;
  for (let i = skipStart[a] as number; i < to; i++) {
    const step = skip[i] as number;
    if (step >= 0) p += step;
    else if (step === ~READ.STRING) {
      while (p < b.length && b[p] !== 0) p++;
      p++;
    } else if (step === ~READ.BLOCK && p < b.length && (b[p] as number) < 0x80) {
      p += 1 + (b[p] as number);
    } else if (step === ~READ.ULEB || step === ~READ.SLEB) {
      while (p < b.length && (b[p] as number) >= 0x80) p++;
      p++;
    } else {
      c.pos = Math.min(p, b.length);
      skipValue(c, ~step, format);
      p = c.pos;
    }
  }
  return p;
}
