import type { PerfDataReader } from "@perfdata/format";
import type { Blocks } from "@perfdata/session/blocks";
import { EventNames } from "@perfdata/session/event-names";
import type { Run } from "@perfdata/session/run";
import type { RecordsOptions } from "./records.ts";
import { RecordsText } from "./records_text.ts";
import { RecordsUnpacker } from "./records_blocks.ts";

/** How the records of blocks are written: the others are chosen before they come into blocks. */
export type LineOptions = Pick<RecordsOptions, "format" | "u64" | "order">;

/** Writes the lines of blocks. */
export class RecordsLines {
  readonly #unpacker: RecordsUnpacker;
  readonly #text: RecordsText;
  #write: (text: Uint8Array) => void = () => {};

  private constructor(
    reader: PerfDataReader,
    options: LineOptions,
    blocks: Pick<Blocks, "memory">,
  ) {
    this.#unpacker = new RecordsUnpacker(reader, blocks);
    // What is wrong with the file is reported by the thread that fills the blocks.
    const lines = { ...options, diagnostics: () => {} };
    this.#text = new RecordsText(reader, (text) => this.#write(text), lines);
  }

  /** Gets ready for blocks of records of a file. */
  static async open(
    reader: PerfDataReader,
    options: LineOptions,
    blocks: Pick<Blocks, "memory">,
  ): Promise<RecordsLines> {
    const lines = new RecordsLines(reader, options, blocks);
    await lines.#text.prepare();
    lines.#text.startNames(lines.#unpacker.comm, await new EventNames(reader).all());
    return lines;
  }

  /** Writes the lines of block `n`, in pieces that are valid during the call only. */
  put(n: number, write: (text: Uint8Array) => void): void {
    this.#write = write;
    this.#unpacker.put(n, this);
    this.#text.flush();
  }

  /** The rows of a block. */
  rows(run: Run): void {
    for (let row = 0; row < run.count; row++) this.#text.line(run, row);
  }

  /** Text of a block. */
  text(bytes: Uint8Array): void {
    this.#text.out.copy(bytes, 0, bytes.length);
  }
}
