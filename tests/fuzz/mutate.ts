/** Changes to an input: those in declared fields, and random ones. */
import type { Field, Seed } from "./kinds/kind.ts";
import type { Random } from "./random.ts";

/** A change that can be applied, or left out when a finding is reduced. */
export type Change =
  | { readonly kind: "set"; readonly at: number; readonly bytes: Uint8Array }
  | { readonly kind: "cut"; readonly at: number }
  | { readonly kind: "remove"; readonly at: number; readonly size: number }
  | { readonly kind: "insert"; readonly at: number; readonly bytes: Uint8Array };

/** Values that break most code: ends of ranges and their neighbours. */
const VALUES: readonly bigint[] = [
  0n,
  1n,
  7n,
  8n,
  9n,
  0x7fn,
  0x80n,
  0xffn,
  0x7fffn,
  0x8000n,
  0xffffn,
  0x10000n,
  0x7fff_ffffn,
  0x8000_0000n,
  0xffff_ffffn,
  0x1_0000_0000n,
  (1n << 53n) - 1n,
  (1n << 53n) + 1n,
  1n << 60n,
  (1n << 63n) - 1n,
  1n << 63n,
  (1n << 64n) - 1n,
];

const TEXTS = ["\x1b[2J", "\n", "=cmd()", "../../", "\0", "%s%n", "\xff\xfe", "-", '"', ","];

/** Makes the changes of one input. */
export function changesOf(
  seed: Seed,
  fields: readonly Field[],
  others: readonly Seed[],
  random: Random,
): Change[] {
  const changes: Change[] = [];
  const count = 1 + random.below(random.once(4) ? 12 : 4);
  for (let i = 0; i < count; i++) changes.push(change(seed, fields, others, random));
  return changes;
}

function change(
  { bytes, kind }: Seed,
  fields: readonly Field[],
  others: readonly Seed[],
  random: Random,
): Change {
  const at = random.below(bytes.length);
  const roll = random.below(20);
  if (fields.length > 0 && roll < 12) {
    const steering = fields.filter(({ steers }) => steers);
    const field = random.pick(steering.length > 0 && !random.once(4) ? steering : fields);
    return { kind: "set", at: field.offset, bytes: value(bytes, field, random) };
  }
  if (roll < 14) return { kind: "set", at, bytes: Uint8Array.of(random.next()) };
  if (roll === 14) return { kind: "cut", at };
  if (roll === 15) return { kind: "remove", at, size: 1 + random.below(64) };
  if (roll === 16) {
    const text = Uint8Array.from(random.pick(TEXTS), (letter) => letter.charCodeAt(0));
    return { kind: random.once(2) ? "set" : "insert", at, bytes: text };
  }
  if (roll === 17) {
    const size = 1 + random.below(64);
    return { kind: "set", at, bytes: new Uint8Array(size).fill(random.once(2) ? 0 : 0xff) };
  }
  // A part of another input of the same kind, or of this one, as repeated records are.
  const same = others.filter((other) => other.kind === kind);
  const from = random.once(2) || same.length === 0 ? bytes : random.named(same).bytes;
  const start = fields.length > 0 && from === bytes
    ? random.pick(fields).offset
    : random.below(from.length);
  const part = from.slice(start, start + 1 + random.below(512));
  return { kind: random.once(2) ? "set" : "insert", at: at & ~7, bytes: part };
}

/** A value for a field: an extreme one, or a neighbour of the current one. */
function value(bytes: Uint8Array, field: Field, random: Random): Uint8Array {
  let number = random.pick(VALUES);
  if (random.once(3)) {
    number = numberAt(bytes, field) + BigInt(random.pick([-8, -1, 1, 8, 16, 256]));
  }
  const { size, form = "bytes" } = field;
  const out = new Uint8Array(size);
  if (form === "varint") {
    for (let i = 0; i < size; i++) {
      const more = i < size - 1 ? 0x80 : 0;
      out[i] = Number(BigInt.asUintN(7, number >> BigInt(7 * i))) | more;
    }
    return out;
  }
  if (form !== "bytes") {
    const digits = BigInt.asUintN(64, number).toString(BASES[form]).padStart(size, "0");
    return out.map((_, i) => digits.charCodeAt(digits.length - size + i));
  }
  const little = !random.once(8);
  for (let i = 0; i < size; i++) {
    out[little ? i : size - 1 - i] = Number(BigInt.asUintN(8, number >> BigInt(8 * i)));
  }
  return out;
}

const BASES = { octal: 8, hex: 16 } as const;

/** The number in a field. */
function numberAt(bytes: Uint8Array, { offset, size, form = "bytes" }: Field): bigint {
  const own = bytes.subarray(offset, offset + size);
  if (form === "octal" || form === "hex") {
    return BigInt(parseInt(new TextDecoder().decode(own), BASES[form]) || 0);
  }
  const [bits, mask] = form === "varint" ? [7n, 0x7f] : [8n, 0xff];
  return own.reduceRight((number, byte) => number << bits | BigInt(byte & mask), 0n);
}

/** Applies all changes to the input. */
export function applied(bytes: Uint8Array, changes: readonly Change[]): Uint8Array<ArrayBuffer> {
  let out = bytes.slice();
  for (const change of changes) {
    if (change.kind === "cut") out = out.slice(0, change.at);
    else if (change.kind === "set") {
      if (change.at < out.length) {
        out.set(change.bytes.subarray(0, out.length - change.at), change.at);
      }
    } else {
      const at = Math.min(change.at, out.length);
      const middle = change.kind === "insert" ? change.bytes : new Uint8Array(0);
      const rest = out.subarray(at + (change.kind === "remove" ? change.size : 0));
      const joined = new Uint8Array(at + middle.length + rest.length);
      joined.set(out.subarray(0, at));
      joined.set(middle, at);
      joined.set(rest, at + middle.length);
      out = joined;
    }
  }
  return out;
}

/** Removes changes, as long as the error remains the same. */
export async function smaller(
  changes: readonly Change[],
  isWrong: (changes: readonly Change[]) => Promise<boolean>,
): Promise<readonly Change[]> {
  let best = changes;
  for (let i = 0; i < best.length && best.length > 1;) {
    const fewer = best.filter((_, k) => k !== i);
    if (await isWrong(fewer)) best = fewer;
    else i++;
  }
  return best;
}
