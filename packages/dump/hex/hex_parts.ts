import type { PerfDataError } from "@perfdata/format/bytes";
import type { PerfDataReader } from "@perfdata/format/records";
import { type HexOptions, type HexRun, PART } from "./hex_run.ts";
import type { Origin } from "./hex_source.ts";
import { type Leaf, type LeafTrace, leafValueText } from "./hex_tree.ts";

/** Splits structures into runs, so that each byte is in one run. */
export class HexParts {
  readonly reader: PerfDataReader;
  /** Source of the file's bytes. */
  readonly origin: Origin;
  /** The requested bytes. */
  readonly options: HexOptions;
  /** Problems that were not reported yet, with offsets. */
  readonly #problems: { offset: number; message: string }[];

  /** @param problems Errors with their offsets. */
  constructor(
    reader: PerfDataReader,
    origin: Origin,
    options: HexOptions,
    problems: { offset: number; message: string }[],
  ) {
    this.reader = reader;
    this.origin = origin;
    this.options = options;
    this.#problems = problems;
  }

  /** Whether a requested byte is in `[from, to)`. */
  touches(from: number, to: number): boolean {
    return to > (this.options.from ?? 0) && from < (this.options.to ?? Infinity);
  }

  /** Removes and returns the problems in `[from, to)`. */
  takeProblems(from: number, to: number): string[] {
    const found: string[] = [];
    for (let i = 0; i < this.#problems.length;) {
      const { offset, message } = this.#problems[i] as { offset: number; message: string };
      if (offset >= from && offset < to) {
        found.push(message);
        this.#problems.splice(i, 1);
      } else {
        i++;
      }
    }
    return found;
  }

  /** The runs of a string: length (if stored), characters, padding. */
  #textLeaves(leaf: Leaf, bytes: Uint8Array, base: number): Leaf[] {
    const parts: Leaf[] = [];
    let from = leaf.from;
    const part = (to: number, name: string, type: string, value: unknown) => {
      if (to <= from) return;
      const path = name === "" ? leaf.path : [...leaf.path, name];
      parts.push({ from, to, path, type, codec: undefined, value });
      from = to;
    };
    if (leaf.type === "perf_header_string" && leaf.to - leaf.from >= 4) {
      const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
      const length = view.getUint32(from - base, this.reader.littleEndian);
      part(from + 4, ".len", "u32", length);
    }
    const stop = bytes.indexOf(0, from - base);
    const textEnd = stop < 0 ? leaf.to : Math.min(leaf.to, stop + base);
    part(textEnd, "", `char[${textEnd - from}]`, leaf.value);
    part(leaf.to, ".padding", `u8[${leaf.to - from}]`, undefined);
    return parts;
  }

  /**
   * The runs of a structure: its fields, then its remaining bytes.
   *
   * @param bytes All bytes of the structure.
   * @param base Offset of `bytes`.
   * @param rest Name of the remaining bytes.
   * @param error Reason for remaining bytes.
   */
  *structure(
    owner: string,
    bytes: Uint8Array,
    base: number,
    trace: LeafTrace,
    options: { rest?: string; error?: PerfDataError | undefined; inflated?: boolean } = {},
  ): Generator<HexRun, void, void> {
    const { rest = ".tail", error, inflated = false } = options;
    const end = base + bytes.length;
    let at = base;
    const own = error === undefined ? [] : [error.message];
    const place = error?.offset === undefined ? -1 : Number(error.offset);
    const run = (leaf: Leaf): HexRun => {
      at = leaf.to;
      const problems = inflated ? [] : this.takeProblems(leaf.from, leaf.to);
      if (own.length > 0 && place >= leaf.from && place < leaf.to) problems.push(...own.splice(0));
      return {
        offset: leaf.from,
        size: leaf.to - leaf.from,
        bytes: bytes.subarray(leaf.from - base, leaf.to - base),
        owner,
        field: leaf.path.join(""),
        depth: leaf.path.length,
        type: leaf.type,
        value: leafValueText(leaf),
        problems,
        inflated,
      };
    };
    const unnamed = (to: number, name: string): Leaf => ({
      from: at,
      to,
      path: name === "" ? [] : [name],
      type: `u8[${to - at}]`,
      codec: undefined,
      value: undefined,
    });
    for (const leaf of trace.leaves()) {
      const from = Math.max(leaf.from, at);
      const to = Math.min(leaf.to, end);
      if (to <= from) continue;
      if (from > at) yield* this.#parts(run(unnamed(from, ".between")));
      const clipped = { ...leaf, from, to };
      const parts = leaf.codec?.display.as === "text"
        ? this.#textLeaves(clipped, bytes, base)
        : [clipped];
      for (const part of parts) yield* this.#parts(run(part));
    }
    if (at < end) {
      const last = run(unnamed(end, own.length > 0 ? ".undecoded" : rest));
      yield* this.#parts({ ...last, problems: [...last.problems, ...own.splice(0)] });
    } else if (own.length > 0) {
      yield* this.#parts({ ...run(unnamed(end, ".undecoded")), problems: own });
    }
  }

  *#parts(run: HexRun): Generator<HexRun, void, void> {
    const { bytes } = run;
    if (bytes === undefined || run.size <= PART) {
      const end = run.offset + Math.max(1, run.size);
      if (run.inflated || this.touches(run.offset, end)) yield run;
      return;
    }
    for (let at = 0; at < run.size; at += PART) {
      const part = bytes.subarray(at, at + PART);
      const offset = run.offset + at;
      if (!run.inflated && !this.touches(offset, offset + part.length)) continue;
      yield { ...run, offset, size: part.length, bytes: part, problems: at ? [] : run.problems };
    }
  }

  /** The runs of bytes that are not split into fields. */
  async *plain(
    owner: string,
    field: string,
    from: number,
    to: number,
  ): AsyncGenerator<Iterable<HexRun>, void, void> {
    for (let at = from; at < to;) {
      const size = Math.min(PART, to - at);
      if (this.touches(at, at + size)) {
        const bytes = await this.origin.read(at, size);
        // The file shrank while it was read.
        if (bytes !== undefined && bytes.length < size) return;
        yield [{
          offset: at,
          size,
          bytes,
          owner,
          field,
          depth: field === "" ? 0 : 1,
          type: `u8[${to - from}]`,
          value: undefined,
          problems: this.takeProblems(at, at + size),
          inflated: false,
        }];
      }
      at += size;
    }
  }

  /** Runs without bytes, for problems outside of all runs. */
  *left(): Generator<HexRun, void, void> {
    for (const { offset, message } of this.#problems.splice(0)) {
      if (!this.touches(offset, offset + 1)) continue;
      yield {
        offset,
        size: 0,
        bytes: undefined,
        owner: "file",
        field: "",
        depth: 0,
        type: "",
        value: undefined,
        problems: [message],
        inflated: false,
      };
    }
  }
}
