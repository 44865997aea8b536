// How text is written into a byte array: eight bytes a store where they are known beforehand, held
// as the float64 of the same bits. ASCII bytes are never the bits of a NaN, so that none are lost.
// Stores may run past the end of what they write; the next one overwrites the excess.

/** Bytes that a store may write after the text it is for. */
export const OVERSHOOT = 24;

/** Three hexadecimal digits as the low 24 bits of a number, for each number below 4096. */
export const HEX3: Uint32Array = new Uint32Array(4096);
for (let value = 0; value < 4096; value++) {
  const text = value.toString(16).padStart(3, "0");
  HEX3[value] = text.charCodeAt(0) | text.charCodeAt(1) << 8 | text.charCodeAt(2) << 16;
}

/** The bytes of an ASCII text, as numbers to store with `setFloat64(…, true)`. */
export function float64sOf(text: string): number[] {
  const bytes = new Uint8Array(Math.ceil(text.length / 8) * 8).fill(0x20);
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
  const view = new DataView(bytes.buffer);
  return Array.from({ length: bytes.length / 8 }, (_, i) => view.getFloat64(8 * i, true));
}

/** Texts of at most 16 bytes, by a small number; two stores each. */
export class ShortTexts {
  private readonly words = new Float64Array(2 * 64);
  private readonly lengths = new Uint8Array(64);

  /** Keeps the texts of an object whose keys are numbers below 64. */
  constructor(texts: Readonly<Record<number, string>>) {
    for (const [key, text] of Object.entries(texts)) {
      this.words.set(float64sOf(text), 2 * Number(key));
      this.lengths[Number(key)] = text.length;
    }
  }

  /** Writes a text; returns the position after it. */
  put(view: DataView, at: number, key: number): number {
    view.setFloat64(at, this.words[2 * key] as number, true);
    view.setFloat64(at + 8, this.words[2 * key + 1] as number, true);
    return at + (this.lengths[key] as number);
  }
}
