import type { Codec } from "../struct.ts";

/**
 * A number that has to be `expected`: with another one, what follows has another layout.
 *
 * @param codec Reads and writes the number.
 * @param expected The only value that is read.
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
