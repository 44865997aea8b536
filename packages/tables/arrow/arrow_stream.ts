import {
  type Batch,
  batchType,
  bool,
  Column as ArrowColumn,
  type DataType,
  field,
  int32,
  int64,
  list,
  Table as ArrowTable,
  tableToIPC,
  timestamp,
  TimeUnit,
  utf8,
} from "@uwdata/flechette";
import { byteAt, type ByteSink, intAt } from "@perfdata/format/bytes";
import type { Column, ColumnValues, RowColumns, RowSink, Table } from "../schema/column_types.ts";

const encoder = new TextEncoder();
const NOTHING = new Uint8Array(0);
/** Size of the end marker of a stream. */
const END = 8;

/** Options of {@link ArrowStream}. */
export interface ArrowOptions {
  /** Key-value pairs for the schema. */
  readonly metadata?: Readonly<Record<string, string>> | undefined;
}

/** Buffers of a column in one batch. */
interface Parts {
  readonly values: Uint8Array | Int32Array;
  readonly offsets?: Int32Array;
  readonly children?: Batch<unknown>[];
  /** 1 for each row with a value; `undefined` if all rows have one. */
  readonly valid?: Uint8Array | undefined;
}

/**
 * A table in Arrow's stream format (`.arrows`), written batch by batch: not compressed, so that readers take
 * columns as they are.
 *
 * @example
 * ```ts
 * import { memorySink } from "@perfdata/format";
 * import { ArrowStream } from "@perfdata/tables";
 * import { assertEquals } from "@std/assert";
 * import { tableFromIPC } from "@uwdata/flechette";
 *
 * const sink = memorySink();
 * const stream = new ArrowStream(sink, {
 *   name: "points",
 *   about: "Points.",
 *   columns: [{ name: "x", type: "int32", required: true, about: "Where it is." }],
 * });
 * stream.rows(3, { x: { kind: "ints", ints: Int32Array.of(1, 2, 3) } });
 * stream.finish();
 * assertEquals(tableFromIPC(sink.bytes()).toArray(), [{ x: 1 }, { x: 2 }, { x: 3 }]);
 * ```
 */
export class ArrowStream implements RowSink {
  /** Number of rows written. */
  count: number = 0;
  /** Number of bytes written. */
  bytes: number = 0;
  readonly #sink: ByteSink;
  readonly #table: Table;
  readonly #types: readonly DataType[];
  readonly #schema: ConstructorParameters<typeof ArrowTable>[0];
  readonly #end: Uint8Array;
  /** Size of the schema. The library writes it before each batch; the stream needs it once. */
  readonly #head: number;

  /** Begins a stream. */
  constructor(sink: ByteSink, table: Table, { metadata = {} }: ArrowOptions = {}) {
    this.#sink = sink;
    this.#table = table;
    this.#types = table.columns.map(typeOf);
    this.#schema = {
      fields: table.columns.map(({ name, required }, i) =>
        field(name, this.#types[i] as DataType, !required)
      ),
      metadata: new Map(Object.entries(metadata)),
    };
    const columns = this.#types.map((type) => new ArrowColumn([], type));
    const empty = tableToIPC(new ArrowTable(this.#schema, columns), { format: "stream" });
    if (empty === null) throw new TypeError("the library gave no bytes");
    this.#head = empty.length - END;
    this.#end = empty.subarray(this.#head);
    this.#put(empty.subarray(0, this.#head));
  }

  #put(bytes: Uint8Array): void {
    this.#sink.write(bytes);
    this.bytes += bytes.length;
  }

  /**
   * Writes a batch of rows.
   *
   * @throws {TypeError} If a required column is missing.
   */
  rows(count: number, columns: RowColumns): void {
    if (count === 0) return;
    const made = this.#table.columns.map((column, i) => {
      const given = columns[column.name] ?? { kind: "none" };
      const values = typeof given === "function" ? given() : given;
      if (column.required && values.kind === "none") {
        throw new TypeError(`${this.#table.name}.${column.name}: no values, expected one a row`);
      }
      const type = this.#types[i] as DataType;
      return new ArrowColumn([batchOf(type, count, partsOf(column, values, count))], type);
    });
    const table = new ArrowTable(this.#schema, made);
    const bytes = tableToIPC(table, { format: "stream" });
    if (bytes === null) throw new TypeError("the library gave no bytes");
    this.#put(bytes.subarray(this.#head, bytes.length - END));
    this.count += count;
  }

  /** Ends the stream. */
  finish(): void {
    this.#put(this.#end);
  }
}

function typeOf({ type }: Column): DataType {
  switch (type) {
    case "int64":
      return int64();
    case "int32":
      return int32();
    case "string":
      return utf8();
    case "boolean":
      return bool();
    case "timestamp":
      return timestamp(TimeUnit.MICROSECOND, "UTC");
    case "int64[]":
      return list(field("element", int64(), false));
  }
}

function batchOf(
  type: DataType,
  length: number,
  { values, offsets, children, valid }: Parts,
): Batch<unknown> {
  const nullCount = valid === undefined
    ? 0
    : valid.subarray(0, length).reduce((sum, is) => sum - is, length);
  const make = batchType(type, {}) as unknown as new (parts: unknown) => Batch<unknown>;
  const validity = nullCount === 0 ? NOTHING : bitsOf(valid as Uint8Array, length);
  return new make({ type, length, nullCount, validity, values, offsets, children });
}

/** Packs one bit per row, lowest first. */
function bitsOf(ones: ArrayLike<number>, count: number): Uint8Array {
  const bits = new Uint8Array(count + 7 >> 3);
  for (let i = 0; i < count; i++) {
    if (ones[i] !== 0) bits[i >> 3] = byteAt(bits, i >> 3) | 1 << (i & 7);
  }
  return bits;
}

function partsOf(column: Column, values: ColumnValues, count: number): Parts {
  switch (values.kind) {
    case "none":
      return noneOf(column, count);
    case "words":
      return { values: values.words.subarray(0, 2 * count), valid: values.valid };
    case "ints": {
      const { ints, valid } = values;
      return {
        values: column.type === "boolean" ? bitsOf(ints, count) : ints.subarray(0, count),
        valid,
      };
    }
    case "codes": {
      const { codes, dictionary } = values;
      return dictionary instanceof Int32Array
        ? decodedWords(codes, dictionary, count)
        : encodedTexts(codes, dictionary, count);
    }
    case "texts": {
      const codes = Int32Array.from(values.texts, (text, i) => text === undefined ? -1 : i);
      return encodedTexts(codes, values.texts, count);
    }
    case "lists":
      return listsOf(values.starts, values.words, count);
  }
}

function noneOf({ type }: Column, count: number): Parts {
  const valid = new Uint8Array(count);
  switch (type) {
    case "string":
      return { values: NOTHING, offsets: new Int32Array(count + 1), valid };
    case "int64[]":
      return listsOf(new Int32Array(count + 1), new Int32Array(0), count);
    case "boolean":
      return { values: new Uint8Array(count + 7 >> 3), valid };
    case "int32":
      return { values: new Int32Array(count), valid };
    case "int64":
    case "timestamp":
      return { values: new Int32Array(2 * count), valid };
  }
}

function decodedWords(codes: Int32Array, dictionary: Int32Array, count: number): Parts {
  const words = new Int32Array(2 * count);
  const valid = new Uint8Array(count);
  for (let i = 0; i < count; i++) {
    const code = intAt(codes, i);
    if (code < 0) continue;
    valid[i] = 1;
    words[2 * i] = intAt(dictionary, 2 * code);
    words[2 * i + 1] = intAt(dictionary, 2 * code + 1);
  }
  return { values: words, valid };
}

function encodedTexts(
  codes: Int32Array,
  dictionary: readonly (string | undefined)[],
  count: number,
): Parts {
  const texts = dictionary.map((text) => encoder.encode(text ?? ""));
  const offsets = new Int32Array(count + 1);
  const valid = new Uint8Array(count);
  for (let i = 0; i < count; i++) {
    const code = intAt(codes, i);
    if (code >= 0) valid[i] = 1;
    offsets[i + 1] = intAt(offsets, i) + (code < 0 ? 0 : (texts[code] as Uint8Array).length);
  }
  const values = new Uint8Array(intAt(offsets, count));
  for (let i = 0; i < count; i++) {
    const code = intAt(codes, i);
    if (code >= 0) values.set(texts[code] as Uint8Array, intAt(offsets, i));
  }
  return { values, offsets, valid };
}

/** Lists; an empty list is null, as in Parquet files. */
function listsOf(starts: Int32Array, words: Int32Array, count: number): Parts {
  const first = intAt(starts, 0);
  const offsets = starts.slice(0, count + 1).map((start) => start - first);
  const valid = new Uint8Array(count);
  for (let i = 0; i < count; i++) valid[i] = offsets[i] === offsets[i + 1] ? 0 : 1;
  const length = intAt(offsets, count);
  const values = words.subarray(2 * first, 2 * (first + length));
  return { values: NOTHING, offsets, children: [batchOf(int64(), length, { values })], valid };
}
