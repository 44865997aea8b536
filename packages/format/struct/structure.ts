import type { ByteReader, Residue } from "./cursor.ts";
import type { Scope } from "./condition.ts";
import { type Codec, codecsOf, type Fields, type StructCodec, type StructValue } from "./codec.ts";

/** Decodes a field of a structure, and reports its byte range to the reader's `Trace`. */
export function decodeField<T>(r: ByteReader, name: string, codec: Codec<T>, scope: Scope): T {
  const trace = r.trace;
  if (trace === undefined) return codec.decode(r, scope);
  trace.begin(name, codec as Codec<unknown>, r.pos);
  const value = codec.decode(r, scope);
  trace.end(r.pos, value);
  return value;
}

/**
 * Declares a structure from its fields, in disk order and without implicit padding.
 *
 * @param type The structure's name in the kernel's or perf's headers.
 * @param fields The fields, each a codec, or a codec and a sentence for the documentation.
 *
 * @example
 * ```ts
 * import { decode, encode, struct, u32, u64 } from "@perfdata/format/records";
 * import { assertEquals } from "@std/assert";
 *
 * const fork = struct("perf_record_fork", { pid: u32, ppid: u32, time: u64 });
 * const bytes = encode(fork, { pid: 2, ppid: 1, time: 7n });
 * assertEquals(bytes, Uint8Array.of(2, 0, 0, 0, 1, 0, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0));
 * assertEquals(decode(fork, bytes).value, { pid: 2, ppid: 1, time: 7n });
 * ```
 */
export function struct<const F extends Fields>(type: string, fields: F): StructCodec<F> {
  const parts = codecsOf(fields);
  const names = Object.keys(parts);
  const codecs: Codec<unknown>[] = Object.values(parts);
  let size: number | undefined = 0;
  for (const codec of codecs) {
    size = size === undefined || codec.size === undefined ? undefined : size + codec.size;
  }
  return {
    type,
    ...(size === undefined ? {} : { size }),
    display: { as: "struct" },
    parts,
    shape: { kind: "struct" },
    decode(r, outer) {
      const found: Record<string, unknown> = {};
      const scope: Scope = { fields: found, outer };
      const value: Record<string, unknown> = {};
      for (let i = 0; i < codecs.length; i++) {
        const codec = codecs[i] as Codec<unknown>;
        const name = names[i] as string;
        const part = decodeField(r, name, codec, scope);
        found[name] = part;
        const residue = r.takeResidue();
        if (codec.presence === "hidden") {
          if (residue !== undefined) throw r.error(`${type}.${name}: bytes outside of the value`);
          continue;
        }
        if (part !== undefined || codec.presence !== "optional") value[name] = part;
        if (residue !== undefined) value[`${name}_pad`] = residue;
      }
      return value as StructValue<F>;
    },
    encode(w, value, outer) {
      const given = value as Record<string, unknown>;
      const scope: Scope = { fields: given, outer };
      for (let i = 0; i < codecs.length; i++) {
        const name = names[i] as string;
        w.residue = given[`${name}_pad`] as Residue | undefined;
        (codecs[i] as Codec<unknown>).encode(w, given[name], scope);
        w.residue = undefined;
      }
    },
  };
}
