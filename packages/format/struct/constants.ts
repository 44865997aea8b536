import { decodeText, encodeText } from "../text/text.ts";
import type { Codec, HiddenCodec } from "./codec.ts";

/**
 * Declares a number that has to be `expected`, since other values mean another layout of the following fields.
 *
 * @param codec Codec of the number.
 * @param expected The only accepted value.
 * @param what Names the field in the error message.
 */
export function exactly<T extends number | bigint>(
  codec: Codec<T>,
  expected: T,
  what: string,
): Codec<T> {
  return {
    ...codec,
    decode(r, scope) {
      const value = codec.decode(r, scope);
      if (value !== expected) throw r.error(`${what}: found ${value}, expected ${expected}`);
      return value;
    },
  };
}

/**
 * Declares constant bytes.
 *
 * @param text The bytes as text.
 * @param what Names the structure in the error message.
 */
export function literal(text: string, what: string): HiddenCodec {
  const expected = encodeText(text);
  return {
    type: `char[${expected.length}]`,
    size: expected.length,
    display: { as: "text" },
    presence: "hidden",
    decode(r) {
      const at = r.take(expected.length, JSON.stringify(text));
      const found = r.bytes.subarray(at, r.pos);
      if (found.some((byte, i) => byte !== expected[i])) {
        r.pos = at;
        throw r.error(
          `${what}: found ${JSON.stringify(decodeText(found))}, expected ${JSON.stringify(text)}`,
        );
      }
      return text;
    },
    encode: (w) => w.put(expected),
  };
}
