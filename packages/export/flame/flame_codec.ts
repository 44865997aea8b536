import type { FlameData, FlameRows } from "./flame_data.ts";

/** Columns in the order in which they are packed. */
const COLUMNS = ["functionObject", "functionKind", "parent", "item", "file", "line"] as const;
const ROW_COLUMNS: readonly (keyof FlameRows)[] = [
  "side",
  "event",
  "slice",
  "thread",
  "node",
  "count",
  "period",
];

/**
 * Packs the data of a flame graph: a length, JSON with what is text, then each column as
 * differences in variable-length bytes, all through raw deflate.
 *
 * @returns the bytes as base64
 */
export async function packFlameData(data: FlameData): Promise<string> {
  const { rows, ...rest } = data;
  const text: Record<string, unknown> = { ...rest, rowCount: rows.node.length };
  for (const name of COLUMNS) text[name] = data[name].length;
  const head = new TextEncoder().encode(JSON.stringify(text));
  const out = new VarBytes();
  out.push(head.length);
  out.bytes(head);
  for (const name of COLUMNS) out.column(data[name]);
  for (const name of ROW_COLUMNS) out.column(rows[name]);
  const stream = new Blob([out.done()]).stream().pipeThrough(new CompressionStream("deflate-raw"));
  const packed = new Uint8Array(await new Response(stream).arrayBuffer());
  let binary = "";
  for (let i = 0; i < packed.length; i += 0x8000) {
    binary += String.fromCharCode(...packed.subarray(i, i + 0x8000));
  }
  return btoa(binary);
}

/** The data that {@linkcode packFlameData} packed. */
export async function unpackFlameData(base64: string): Promise<FlameData> {
  const packed = Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  const input = new VarReader(new Uint8Array(await new Response(stream).arrayBuffer()));
  const text = JSON.parse(new TextDecoder().decode(input.bytes(input.next()))) as
    & Omit<FlameData, "rows" | typeof COLUMNS[number]>
    & Record<typeof COLUMNS[number] | "rowCount", number>;
  const columns = COLUMNS.map((name) => [name, Int32Array.from(input.column(text[name]))] as const);
  const rows = ROW_COLUMNS.map((name) => {
    const column = input.column(text.rowCount);
    return [name, name === "count" || name === "period" ? column : Int32Array.from(column)];
  });
  const { rowCount: _, ...rest } = text;
  return {
    ...rest,
    ...Object.fromEntries(columns),
    rows: Object.fromEntries(rows) as unknown as FlameRows,
  } as unknown as FlameData;
}

/** Numbers of up to 53 bits, seven bits a byte, lowest first. */
class VarBytes {
  #bytes = new Uint8Array(1 << 16);
  #length = 0;

  push(value: number): void {
    if (this.#length + 8 > this.#bytes.length) this.#grow(8);
    while (value >= 0x80) {
      this.#bytes[this.#length++] = value % 0x80 | 0x80;
      value = Math.floor(value / 0x80);
    }
    this.#bytes[this.#length++] = value;
  }

  bytes(bytes: Uint8Array): void {
    if (this.#length + bytes.length > this.#bytes.length) this.#grow(bytes.length);
    this.#bytes.set(bytes, this.#length);
    this.#length += bytes.length;
  }

  /** Differences from the value before; odd numbers are negative ones. */
  column(values: ArrayLike<number>): void {
    let last = 0;
    for (let i = 0; i < values.length; i++) {
      const value = values[i] as number;
      const more = value - last;
      this.push(more < 0 ? -more * 2 - 1 : more * 2);
      last = value;
    }
  }

  done(): Uint8Array<ArrayBuffer> {
    return this.#bytes.slice(0, this.#length);
  }

  #grow(more: number): void {
    const larger = new Uint8Array(this.#bytes.length * 2 + more);
    larger.set(this.#bytes);
    this.#bytes = larger;
  }
}

class VarReader {
  readonly #bytes: Uint8Array;
  #at = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  next(): number {
    let value = 0;
    for (let scale = 1;; scale *= 0x80) {
      const byte = this.#bytes[this.#at++] ?? 0;
      value += (byte & 0x7f) * scale;
      if (byte < 0x80) return value;
    }
  }

  bytes(length: number): Uint8Array {
    return this.#bytes.subarray(this.#at, this.#at += length);
  }

  column(length: number): Float64Array {
    const values = new Float64Array(length);
    let last = 0;
    for (let i = 0; i < length; i++) {
      const coded = this.next();
      last += coded % 2 === 1 ? -(coded + 1) / 2 : coded / 2;
      values[i] = last;
    }
    return values;
  }
}
