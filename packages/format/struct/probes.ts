import { ByteReader, ByteWriter } from "./cursor.ts";
import { NO_SCOPE, type Scope } from "./condition.ts";
import type { Codec, HiddenCodec } from "./codec.ts";

/**
 * Examines the bytes at the reader's position to find properties that the format does not state, such as the layout
 * or the number of elements. The reader's position does not change.
 */
export type Probe<T> = (r: ByteReader) => T;

/** Declares a hidden field without bytes, whose value is the result of a probe. Other fields depend on it. */
export function probe<T>(look: Probe<T>): HiddenCodec {
  return {
    type: "",
    size: 0,
    display: { as: "dec" },
    presence: "hidden",
    decode: (r) => look(r),
    encode() {},
  };
}

/** The two layouts of {@link probed}. */
export interface Layouts<A, B> {
  /** Layout if the probe returns true. */
  readonly yes: Codec<A>;
  /** Layout if the probe returns false. */
  readonly no: Codec<B>;
  /** Name of the field that only values of the layout `yes` have. */
  readonly mark: string;
}

/**
 * Declares a value with one of two layouts; a probe of the bytes chooses. The encoder uses the first layout if
 * the value has the field `mark`.
 */
export function probed<A extends object, B extends object>(
  look: Probe<boolean>,
  { yes, no, mark }: Layouts<A, B>,
): Codec<A | B> {
  const { size: _, shape: __, ...shown } = no as Codec<unknown>;
  return {
    ...shown,
    decode: (r, scope) => look(r) ? yes.decode(r, scope) : no.decode(r, scope),
    encode(w, value: A | B, scope) {
      if (mark in value) yes.encode(w, value as A, scope);
      else no.encode(w, value as B, scope);
    },
  };
}

/** A field without bytes that marks a layout; its value is `true`. */
export const mark: Codec<true> = {
  type: "",
  size: 0,
  display: { as: "dec" },
  decode: () => true,
  encode() {},
};

/** Declares a structure whose value is that of one field; the other fields only serve to decode it. */
export function unwrapped<T>(codec: Codec<unknown>, name: string): Codec<T> {
  const field = codec.parts?.[name] ?? codec;
  const { size: _, shape: __, ...shown } = field;
  return {
    ...shown,
    decode: (r, scope) => (codec.decode(r, scope) as Record<string, T>)[name] as T,
    encode: (w, value, scope) => codec.encode(w, { [name]: value }, scope),
  };
}

/** Declares a structure with its own byte order, which a probe detects and a field of the value repeats. */
export function ownByteOrder<T>(
  codec: Codec<T>,
  isBigEndian: Probe<boolean>,
  field: keyof T,
): Codec<T> {
  const { shape: _, ...shown } = codec;
  return {
    ...shown,
    decode(r, scope) {
      const own = new ByteReader(r.bytes, {
        littleEndian: !isBigEndian(r),
        context: r.context,
        base: r.base,
        trace: r.trace,
      });
      own.pos = r.pos;
      own.end = r.end;
      const value = codec.decode(own, scope);
      r.pos = own.pos;
      return value;
    },
    encode(w, value, scope) {
      const own = new ByteWriter({ littleEndian: Number(value[field]) === 0, context: w.context });
      codec.encode(own, value, scope);
      w.put(own.finish());
    },
  };
}

/** Declares a number that is the size of the enclosing structure; {@link selfSized} sets it. */
export function ownSize(codec: Codec<number> & { readonly size: number }): HiddenCodec {
  return {
    ...codec as Codec<unknown>,
    presence: "hidden",
    encode: (w) => void w.grow(codec.size),
  };
}

/**
 * Declares a structure whose size in bytes is in the u16 at the offset `at`.
 *
 * @param least Minimum size of the structure.
 */
export function selfSized<T>(codec: Codec<T>, at: number, least: number): Codec<T> {
  const { size: _, shape: __, ...shown } = codec;
  return {
    ...shown,
    decode(r, scope) {
      const start = r.take(least, codec.type);
      r.pos = start;
      const size = r.view.getUint16(start + at, r.littleEndian);
      const { end } = r;
      if (size < least || start + size > end) {
        throw r.error(`${codec.type}: size is ${size}, expected ${least} to ${end - start}`);
      }
      return within(r, size, codec, scope);
    },
    encode(w, value, scope) {
      const whole = new ByteWriter({ littleEndian: w.littleEndian, context: w.context });
      whole.residue = w.takeResidue();
      codec.encode(whole, value, scope);
      if (whole.length > 0xffff) {
        throw new RangeError(`${codec.type}: ${whole.length} bytes, at most 65535 fit`);
      }
      whole.view.setUint16(at, whole.length, w.littleEndian);
      w.put(whole.finish());
    },
  };
}

/** Decodes the next `size` bytes by `codec`; bytes that it does not read stay unread. */
export function within<T>(
  r: ByteReader,
  size: number,
  codec: Codec<T>,
  scope: Scope = NO_SCOPE,
): T {
  const { end } = r;
  r.end = r.pos + size;
  const value = codec.decode(r, scope);
  r.end = end;
  return value;
}
