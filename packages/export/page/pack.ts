/**
 * Values with columns as bytes: JSON with a reference for each column, then the columns. Integer
 * columns are stored as differences in as few bytes as they need, which compress well.
 */
import { floatAt, intAt } from "@perfdata/format/bytes";

/** The reference to a column in the JSON. */
interface Packed {
  /** Type of the column. */
  readonly $: "Int32Array" | "Float64Array" | "Uint8Array";
  /** Bytes of a value; negative for differences from the previous value. */
  readonly size: number;
  readonly length: number;
}

/** Whole numbers up to this one are exact. */
const MOST_EXACT = Number.MAX_SAFE_INTEGER;

const WIDTHS = { 1: Int8Array, 2: Int16Array, 4: Int32Array } as const;

type Column = Int32Array | Float64Array | Uint8Array;

function isColumn(value: unknown): value is Column {
  return value instanceof Int32Array || value instanceof Float64Array ||
    value instanceof Uint8Array;
}

/** Encodes a value. */
export function pack(value: unknown): Uint8Array<ArrayBuffer> {
  const columns: ArrayBufferView[] = [];
  const text = JSON.stringify(value, (_, member) => {
    if (typeof member === "bigint") return `${member}`;
    if (!isColumn(member)) return member;
    const { packed, bytes } = packColumn(member);
    columns.push(bytes);
    return packed;
  });
  const head = new TextEncoder().encode(text);
  let size = aligned(4 + head.length);
  for (const { byteLength } of columns) size += aligned(byteLength);
  const out = new Uint8Array(size);
  new DataView(out.buffer).setUint32(0, head.length, true);
  out.set(head, 4);
  let at = aligned(4 + head.length);
  for (const { buffer, byteOffset, byteLength } of columns) {
    out.set(new Uint8Array(buffer, byteOffset, byteLength), at);
    at += aligned(byteLength);
  }
  return out;
}

/** Decodes the bytes of {@linkcode pack}. */
export function unpack<T>(bytes: Uint8Array<ArrayBuffer>): T {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const length = view.getUint32(0, true);
  const text = new TextDecoder().decode(bytes.subarray(4, 4 + length));
  let at = aligned(4 + length);
  return JSON.parse(text, function (_, member) {
    if (typeof member !== "object" || member === null || !("$" in member)) return member;
    const { $, size, length } = member as Packed;
    const byteLength = Math.abs(size) * length;
    // A copy, for the alignment of the values.
    const buffer = bytes.slice(at, at + byteLength).buffer;
    at += aligned(byteLength);
    if (size === 8) return new Float64Array(buffer);
    if ($ === "Uint8Array") return new Uint8Array(buffer);
    const of = new WIDTHS[Math.abs(size) as 1 | 2 | 4](buffer);
    const column = $ === "Int32Array" ? new Int32Array(length) : new Float64Array(length);
    for (let i = 0, last = 0; i < length; i++) {
      column[i] = last = size < 0 ? last + (of[i] as number) : of[i] as number;
    }
    return column;
  }) as T;
}

function aligned(size: number): number {
  return size + 7 & ~7;
}

function packColumn(column: Column): { packed: Packed; bytes: ArrayBufferView } {
  const { length } = column;
  if (column instanceof Uint8Array) {
    return { packed: { $: "Uint8Array", size: 1, length }, bytes: column };
  }
  return column instanceof Int32Array ? packIntegers(column) : packFloats(column);
}

/** A function for each type of column: a loop over columns of one type is several times as fast. */
function packIntegers(column: Int32Array): { packed: Packed; bytes: ArrayBufferView } {
  const { length } = column;
  let [least, most, leastStep, mostStep, last] = [0, 0, 0, 0, 0];
  for (let i = 0; i < length; i++) {
    const value = intAt(column, i);
    const step = value - last;
    if (value < least) least = value;
    if (value > most) most = value;
    if (step < leastStep) leastStep = step;
    if (step > mostStep) mostStep = step;
    last = value;
  }
  const { size, bytes } = room(length, width(least, most), width(leastStep, mostStep));
  last = 0;
  for (let i = 0; i < length; i++) {
    const value = intAt(column, i);
    bytes[i] = size < 0 ? value - last : value;
    last = value;
  }
  return { packed: { $: "Int32Array", size, length }, bytes };
}

function packFloats(column: Float64Array): { packed: Packed; bytes: ArrayBufferView } {
  const { length } = column;
  let [least, most, leastStep, mostStep, last] = [0, 0, 0, 0, 0];
  let isWhole = true;
  for (let i = 0; i < length && isWhole; i++) {
    const value = floatAt(column, i);
    const step = value - last;
    isWhole = Math.floor(value) === value && value <= MOST_EXACT && value >= -MOST_EXACT &&
      (value !== 0 || 1 / value > 0);
    if (value < least) least = value;
    if (value > most) most = value;
    if (step < leastStep) leastStep = step;
    if (step > mostStep) mostStep = step;
    last = value;
  }
  const own = width(least, most);
  const steps = width(leastStep, mostStep);
  const $ = "Float64Array";
  if (!isWhole || Math.min(own, steps) > 4) {
    return { packed: { $, size: 8, length }, bytes: column };
  }
  const { size, bytes } = room(length, own, steps);
  last = 0;
  for (let i = 0; i < length; i++) {
    const value = floatAt(column, i);
    bytes[i] = size < 0 ? value - last : value;
    last = value;
  }
  return { packed: { $, size, length }, bytes };
}

/** Creates the column for values or for differences, whichever are narrower. */
function room(
  length: number,
  own: number,
  steps: number,
): { size: number; bytes: Int8Array | Int16Array | Int32Array } {
  const bytes = new WIDTHS[Math.min(own, steps) as 1 | 2 | 4](length);
  return { size: steps < own ? -steps : own, bytes };
}

/** Bytes for a signed number between two bounds; 8 if four are not enough. */
function width(least: number, most: number): number {
  for (const bytes of [1, 2, 4]) {
    const half = 2 ** (8 * bytes - 1);
    if (least >= -half && most < half) return bytes;
  }
  return 8;
}

/** Compresses bytes with raw deflate. */
export async function deflate(bytes: Uint8Array<ArrayBuffer>): Promise<Uint8Array<ArrayBuffer>> {
  const stream = new Blob([bytes]).stream().pipeThrough(new CompressionStream("deflate-raw"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

/** Decompresses the bytes of {@linkcode deflate}. */
export async function inflate(bytes: Uint8Array<ArrayBuffer>): Promise<Uint8Array<ArrayBuffer>> {
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

/** Encodes bytes as base64. */
export function toBase64(bytes: Uint8Array): string {
  let binary = "";
  for (let i = 0; i < bytes.length; i += 0x8000) {
    binary += String.fromCharCode(...bytes.subarray(i, i + 0x8000));
  }
  return btoa(binary);
}

/** Decodes the text of {@linkcode toBase64}. */
export function fromBase64(text: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(atob(text.trim()), (character) => character.charCodeAt(0));
}
