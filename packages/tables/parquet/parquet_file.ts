import { type ByteSink, intAt, numberAt } from "@perfdata/format/bytes";
import type { Column, ColumnValues, RowColumns, RowSink, Table } from "../schema/column_types.ts";
import {
  type Bounds,
  codedBounds,
  intBounds,
  putWord,
  textBounds,
  wordBounds,
} from "./column_bounds.ts";
import { bitWidth, PageBytes, putHybrid } from "./levels.ts";
import { ThriftWriter } from "./thrift.ts";
import { codedWords } from "./word_dictionary.ts";

const encoder = new TextEncoder();
const MAGIC = encoder.encode("PAR1");

// Constants of https://github.com/apache/parquet-format/blob/master/src/main/thrift/parquet.thrift.
const BOOLEAN = 0;
const INT32 = 1;
const INT64 = 2;
const BYTE_ARRAY = 6;
const REQUIRED = 0;
const OPTIONAL = 1;
const REPEATED = 2;
const UTF8 = 0;
const LIST = 3;
const TIMESTAMP_MICROS = 10;
const PLAIN = 0;
const RLE = 3;
const RLE_DICTIONARY = 8;
const UNCOMPRESSED = 0;
const ZSTD = 6;
const DATA_PAGE = 0;
const DICTIONARY_PAGE = 2;

/** Number of rows in a page, the unit that readers skip or decode. */
const PAGE_ROWS = 1 << 17;
/** Options of {@link ParquetFile}. */
export interface ParquetOptions {
  /** Compresses bytes to a zstd frame; without it, pages are not compressed. */
  readonly compress?: ((bytes: Uint8Array) => Uint8Array) | undefined;
  /** Key-value pairs for the footer. */
  readonly metadata?: Readonly<Record<string, string>> | undefined;
}

/** A written column of a group. */
interface Chunk {
  readonly column: Column;
  readonly values: number;
  readonly encodings: readonly number[];
  readonly inflated: number;
  readonly size: number;
  readonly firstPage: number;
  readonly dictionaryPage: number | undefined;
  readonly nulls: number;
  readonly bounds: Bounds | undefined;
}

interface Group {
  readonly rows: number;
  readonly start: number;
  readonly chunks: readonly Chunk[];
}

/** Presence of a column's values. */
interface Present {
  /** For optional columns, 1 for each row with a value. */
  readonly levels: Uint8Array | undefined;
  readonly nulls: number;
}

/** Content of a column's data pages. */
interface Pages {
  readonly present: Present;
  /** Encoding of the values; plain by default. */
  readonly encoding?: number;
  /** Writes the values of the rows in `[from, to)`. */
  readonly put: (page: PageBytes, from: number, to: number) => void;
  /** Minimum and maximum, if known. */
  readonly bounds?: Bounds | undefined;
  /** The dictionary page before the data pages, if any. */
  readonly dictionary?: { readonly inflated: number; readonly size: number; readonly at: number };
}

/**
 * Writes a Parquet file group by group. Equal rows give equal bytes.
 *
 * Pages have version 1; dictionaries are used if they save bytes; each column of a group has its minimum and
 * maximum; types are only those of {@link Column}. Spark, DuckDB, Arrow and Polars
 * can all read this.
 *
 * @example
 * ```ts
 * import { memorySink } from "@perfdata/format";
 * import { ParquetFile } from "@perfdata/tables";
 * import { assertEquals } from "@std/assert";
 *
 * const sink = memorySink();
 * const file = new ParquetFile(sink, {
 *   name: "points",
 *   about: "Points.",
 *   columns: [{ name: "x", type: "int32", required: true, about: "Where it is." }],
 * });
 * file.rows(3, { x: { kind: "ints", ints: Int32Array.of(1, 2, 3) } });
 * file.finish();
 * assertEquals(new TextDecoder().decode(sink.bytes().subarray(-4)), "PAR1");
 * ```
 */
export class ParquetFile implements RowSink {
  readonly #sink: ByteSink;
  readonly #table: Table;
  readonly #options: ParquetOptions;
  readonly #groups: Group[] = [];
  readonly #page = new PageBytes();
  #position = 0;

  /** Begins a file. */
  constructor(sink: ByteSink, table: Table, options: ParquetOptions = {}) {
    this.#sink = sink;
    this.#table = table;
    this.#options = options;
    this.#put(MAGIC);
  }

  /** Number of rows written. */
  get count(): number {
    return this.#groups.reduce((sum, { rows }) => sum + rows, 0);
  }

  /** Number of bytes written. */
  get bytes(): number {
    return this.#position;
  }

  #put(bytes: Uint8Array): void {
    this.#sink.write(bytes);
    this.#position += bytes.length;
  }

  /**
   * Writes a group of rows.
   *
   * @throws {TypeError} If a required column is missing, or has values of another kind.
   */
  rows(count: number, columns: RowColumns): void {
    if (count === 0) return;
    const start = this.#position;
    const chunks = this.#table.columns.map((column) => {
      const given = columns[column.name] ?? { kind: "none" };
      const values = typeof given === "function" ? given() : given;
      if (column.required && values.kind === "none") {
        throw new TypeError(`${this.#table.name}.${column.name}: no values, expected one a row`);
      }
      return this.#chunk(column, values, count);
    });
    this.#groups.push({ rows: count, start, chunks });
  }

  #chunk(column: Column, values: ColumnValues, count: number): Chunk {
    switch (values.kind) {
      case "none":
        return this.#noValues(column, count);
      case "words": {
        const coded = codedWords(values.words, count);
        if (coded === undefined) return this.#words(column, values.words, values.valid, count);
        const codes = values.valid === undefined ? coded.codes : masked(coded.codes, values.valid);
        return this.#codes(column, codes, coded.dictionary, count);
      }
      case "ints":
        return this.#ints(column, values.ints, values.valid, count);
      case "codes":
        return this.#codes(column, values.codes, values.dictionary, count);
      case "texts":
        return this.#texts(column, values.texts, count);
      case "lists":
        return this.#lists(column, values.starts, values.words, count);
    }
  }

  /** Writes a page: the levels of its rows, and its values. */
  #writePage(
    type: number,
    encoding: number,
    values: number,
    fill: (page: PageBytes) => void,
  ): { readonly inflated: number; readonly size: number } {
    const page = this.#page;
    page.length = 0;
    fill(page);
    const plain = page.view();
    const packed = this.#options.compress?.(plain) ?? plain;
    const head = new ThriftWriter();
    head.i32(1, type);
    head.i32(2, plain.length);
    head.i32(3, packed.length);
    if (type === DATA_PAGE) {
      head.struct(5, () => {
        head.i32(1, values);
        head.i32(2, encoding);
        head.i32(3, RLE);
        head.i32(4, RLE);
      });
    } else {
      head.struct(7, () => {
        head.i32(1, values);
        head.i32(2, encoding);
      });
    }
    head.stop();
    const before = head.bytes();
    this.#put(before);
    this.#put(packed);
    return { inflated: before.length + plain.length, size: before.length + packed.length };
  }

  /** Writes the data pages of a column other than a list. */
  #pages(
    column: Column,
    count: number,
    { present: { levels, nulls }, encoding = PLAIN, put, bounds, dictionary }: Pages,
  ): Chunk {
    const firstPage = this.#position;
    let [inflated, size] = [dictionary?.inflated ?? 0, dictionary?.size ?? 0];
    for (let from = 0; from < count; from += PAGE_ROWS) {
      const to = Math.min(count, from + PAGE_ROWS);
      const written = this.#writePage(DATA_PAGE, encoding, to - from, (page) => {
        if (!column.required) putLevels(page, to - from, levels?.subarray(from, to), 1);
        put(page, from, to);
      });
      inflated += written.inflated;
      size += written.size;
    }
    const encodings = dictionary === undefined ? [encoding, RLE] : [PLAIN, encoding, RLE];
    return {
      column,
      values: count,
      encodings,
      inflated,
      size,
      firstPage,
      dictionaryPage: dictionary?.at,
      nulls,
      bounds,
    };
  }

  #noValues(column: Column, count: number): Chunk {
    if (column.type === "int64[]") {
      return this.#lists(column, new Int32Array(count + 1), new Int32Array(0), count);
    }
    const levels = new Uint8Array(count);
    return this.#pages(column, count, { present: { levels, nulls: count }, put: () => {} });
  }

  #words(column: Column, words: Int32Array, valid: Uint8Array | undefined, count: number): Chunk {
    const present = this.#present(column, valid, count);
    const put = (page: PageBytes, from: number, to: number): void => {
      page.room(8 * (to - from));
      const { bytes } = page;
      let p = page.length;
      for (let i = from; i < to; i++) {
        if (valid !== undefined && valid[i] === 0) continue;
        p = putWord(bytes, p, intAt(words, 2 * i));
        p = putWord(bytes, p, intAt(words, 2 * i + 1));
      }
      page.length = p;
    };
    return this.#pages(column, count, { present, put, bounds: wordBounds(words, count, valid) });
  }

  #ints(column: Column, ints: Int32Array, valid: Uint8Array | undefined, count: number): Chunk {
    const present = this.#present(column, valid, count);
    if (column.type === "boolean") {
      const put = (page: PageBytes, from: number, to: number): void => {
        let [bits, used] = [0, 0];
        for (let i = from; i < to; i++) {
          if (valid !== undefined && valid[i] === 0) continue;
          bits |= (ints[i] === 0 ? 0 : 1) << used;
          if (++used < 8) continue;
          page.byte(bits);
          bits = used = 0;
        }
        if (used > 0) page.byte(bits);
      };
      return this.#pages(column, count, { present, put });
    }
    const put = (page: PageBytes, from: number, to: number): void => {
      page.room(4 * (to - from));
      const { bytes } = page;
      let p = page.length;
      for (let i = from; i < to; i++) {
        if (valid !== undefined && valid[i] === 0) continue;
        p = putWord(bytes, p, intAt(ints, i));
      }
      page.length = p;
    };
    return this.#pages(column, count, { present, put, bounds: intBounds(ints, count, valid) });
  }

  #texts(column: Column, texts: readonly (string | undefined)[], count: number): Chunk {
    const valid = Uint8Array.from(texts, (text) => text === undefined ? 0 : 1);
    const present = this.#present(column, valid, count);
    const put = (page: PageBytes, from: number, to: number): void => {
      for (let i = from; i < to; i++) {
        const text = texts[i];
        if (text !== undefined) putText(page, encoder.encode(text));
      }
    };
    return this.#pages(column, count, { present, put });
  }

  #codes(
    column: Column,
    codes: Int32Array,
    dictionary: Int32Array | readonly string[],
    count: number,
  ): Chunk {
    const valid = codes.includes(-1)
      ? Uint8Array.from(codes.subarray(0, count), (code) => code < 0 ? 0 : 1)
      : undefined;
    const present = this.#present(column, valid, count);
    const used = packedCodes(codes, count, present.nulls);
    const isWords = dictionary instanceof Int32Array;
    const texts = isWords ? [] : dictionary.map((text) => encoder.encode(text));
    const size = isWords ? dictionary.length / 2 : texts.length;
    const at = this.#position;
    const written = this.#writePage(DICTIONARY_PAGE, PLAIN, size, (page) => {
      if (isWords) {
        page.room(4 * dictionary.length);
        for (const word of dictionary) page.length = putWord(page.bytes, page.length, word);
      } else for (const text of texts) putText(page, text);
    });
    const width = bitWidth(Math.max(0, size - 1));
    const bounds = used.codes.length === 0
      ? undefined
      : isWords
      ? codedBounds(used.codes, dictionary)
      : textBounds(texts, used.codes);
    const put = (page: PageBytes, from: number, to: number): void => {
      page.byte(width);
      putHybrid(page, used.codes, used.before(from), used.before(to), width);
    };
    return this.#pages(column, count, {
      present,
      encoding: RLE_DICTIONARY,
      put,
      bounds,
      dictionary: { ...written, at },
    });
  }

  #lists(column: Column, starts: Int32Array, words: Int32Array, count: number): Chunk {
    const firstPage = this.#position;
    let [inflated, size, values] = [0, 0, 0];
    for (let from = 0; from < count; from += PAGE_ROWS) {
      const to = Math.min(count, from + PAGE_ROWS);
      const first = intAt(starts, from);
      const last = intAt(starts, to);
      // An empty list is written as null, which takes one entry of levels.
      let entries = 0;
      for (let i = from; i < to; i++) {
        entries += Math.max(1, intAt(starts, i + 1) - intAt(starts, i));
      }
      const repeated = new Uint8Array(entries);
      const defined = new Uint8Array(entries);
      let e = 0;
      for (let i = from; i < to; i++) {
        const length = intAt(starts, i + 1) - intAt(starts, i);
        if (length === 0) e++;
        for (let k = 0; k < length; k++) {
          repeated[e] = k === 0 ? 0 : 1;
          defined[e++] = 2;
        }
      }
      const written = this.#writePage(DATA_PAGE, PLAIN, entries, (page) => {
        putLevels(page, entries, repeated, 1);
        putLevels(page, entries, defined, 2);
        page.room(8 * (last - first));
        for (let i = 2 * first; i < 2 * last; i++) {
          page.length = putWord(page.bytes, page.length, intAt(words, i));
        }
      });
      inflated += written.inflated;
      size += written.size;
      values += entries;
    }
    const present = intAt(starts, count);
    const more = { nulls: values - present, bounds: undefined, dictionaryPage: undefined };
    return { column, values, encodings: [PLAIN, RLE], inflated, size, firstPage, ...more };
  }

  #present(column: Column, valid: Uint8Array | undefined, count: number): Present {
    let nulls = 0;
    if (valid !== undefined) { for (let i = 0; i < count; i++) if (valid[i] === 0) nulls++; }
    if (nulls > 0 && column.required) {
      throw new TypeError(`${this.#table.name}.${column.name}: ${nulls} rows have no value`);
    }
    return { levels: nulls === 0 ? undefined : valid, nulls };
  }

  /** Writes the footer, without which the file is invalid. */
  finish(): void {
    const footer = new ThriftWriter();
    const { columns } = this.#table;
    const { metadata = {}, compress } = this.#options;
    footer.i32(1, 1);
    const elements: (() => void)[] = [() => {
      footer.text(4, this.#table.name);
      footer.i32(5, columns.length);
    }];
    for (const column of columns) elements.push(...elementsOf(footer, column));
    footer.structs(2, elements, (element) => element());
    footer.i64(3, this.count);
    footer.structs(4, this.#groups, ({ rows, start, chunks }) => {
      const sum = (valueOf: (chunk: Chunk) => number) =>
        chunks.reduce((all, c) => all + valueOf(c), 0);
      footer.structs(1, chunks, (chunk) => {
        footer.i64(2, chunk.dictionaryPage ?? chunk.firstPage);
        footer.struct(3, () => putChunk(footer, chunk, compress === undefined));
      });
      footer.i64(2, sum(({ inflated }) => inflated));
      footer.i64(3, rows);
      footer.i64(5, start);
      footer.i64(6, sum(({ size }) => size));
    });
    footer.structs(5, Object.entries(metadata), ([key, value]) => {
      footer.text(1, key);
      footer.text(2, value);
    });
    footer.text(6, "perfdata");
    // Declares that the bounds are in the order of the type; otherwise, engines ignore them.
    footer.structs(7, columns, () => footer.struct(1, () => {}));
    footer.stop();
    const bytes = footer.bytes();
    this.#put(bytes);
    const end = new Uint8Array(8);
    new DataView(end.buffer).setUint32(0, bytes.length, true);
    end.set(MAGIC, 4);
    this.#put(end);
  }
}

function elementsOf(out: ThriftWriter, { name, type, required }: Column): (() => void)[] {
  if (type === "int64[]") {
    return [
      () => {
        out.i32(3, OPTIONAL);
        out.text(4, name);
        out.i32(5, 1);
        out.i32(6, LIST);
        out.struct(10, () => out.struct(3, () => {}));
      },
      () => {
        out.i32(3, REPEATED);
        out.text(4, "list");
        out.i32(5, 1);
      },
      () => {
        out.i32(1, INT64);
        out.i32(3, REQUIRED);
        out.text(4, "element");
      },
    ];
  }
  return [() => {
    out.i32(1, physicalType(type));
    out.i32(3, required ? REQUIRED : OPTIONAL);
    out.text(4, name);
    if (type === "string") {
      out.i32(6, UTF8);
      out.struct(10, () => out.struct(1, () => {}));
    } else if (type === "timestamp") {
      out.i32(6, TIMESTAMP_MICROS);
      out.struct(10, () =>
        out.struct(8, () => {
          out.bool(1, true);
          out.struct(2, () => out.struct(2, () => {}));
        }));
    }
  }];
}

function physicalType(type: Column["type"]): number {
  switch (type) {
    case "int32":
      return INT32;
    case "boolean":
      return BOOLEAN;
    case "string":
      return BYTE_ARRAY;
    default:
      return INT64;
  }
}

function putChunk(out: ThriftWriter, chunk: Chunk, plain: boolean): void {
  const { column, values, encodings, inflated, size, firstPage, dictionaryPage } = chunk;
  const isList = column.type === "int64[]";
  out.i32(1, physicalType(column.type));
  out.i32s(2, encodings);
  out.texts(3, isList ? [column.name, "list", "element"] : [column.name]);
  out.i32(4, plain ? UNCOMPRESSED : ZSTD);
  out.i64(5, values);
  out.i64(6, inflated);
  out.i64(7, size);
  out.i64(9, firstPage);
  if (dictionaryPage !== undefined) out.i64(11, dictionaryPage);
  out.struct(12, () => {
    out.i64(3, chunk.nulls);
    if (chunk.bounds === undefined) return;
    out.binary(5, chunk.bounds.max);
    out.binary(6, chunk.bounds.min);
  });
}

/** Writes the levels of `count` values, up to `most`; without `levels`, all have the level `most`. */
function putLevels(
  page: PageBytes,
  count: number,
  levels: Uint8Array | undefined,
  most: number,
): void {
  const at = page.length;
  page.u32(0);
  const width = bitWidth(most);
  if (levels === undefined) {
    page.varint(count * 2);
    page.byte(most);
  } else putHybrid(page, levels, 0, count, width);
  new DataView(page.bytes.buffer).setUint32(at, page.length - at - 4, true);
}

function putText(page: PageBytes, bytes: Uint8Array): void {
  page.u32(bytes.length);
  page.add(bytes);
}

/** Sets the codes of rows without a value to -1. */
function masked(codes: Int32Array, valid: Uint8Array): Int32Array {
  for (let i = 0; i < codes.length; i++) if (valid[i] === 0) codes[i] = -1;
  return codes;
}

/** Returns the codes of the rows with a value, and the number of such rows before a row. */
function packedCodes(
  codes: Int32Array,
  count: number,
  nulls: number,
): { readonly codes: Int32Array; before(row: number): number } {
  if (nulls === 0) return { codes: codes.subarray(0, count), before: (row) => row };
  const packed = new Int32Array(count - nulls);
  // Only rows at which pages start are requested.
  const starts: number[] = [];
  let at = 0;
  for (let i = 0; i < count; i++) {
    if (i % PAGE_ROWS === 0) starts.push(at);
    if (intAt(codes, i) >= 0) packed[at++] = intAt(codes, i);
  }
  return {
    codes: packed,
    before: (row) => row === count ? at : numberAt(starts, row / PAGE_ROWS),
  };
}
