import {
  blobSource,
  bytesSource,
  type Diagnostics,
  PerfDataError,
  PerfDataReader,
  type RandomAccessSource,
} from "@perfdata/format";
import { expandedStream, fileCompression } from "@perfdata/format/compressed-source";
import type { SymbolFiles } from "@perfdata/symbols";
import { pathSource } from "./files/path_source.ts";
import { Recording } from "./recording.ts";

/** What {@linkcode open} takes. */
export type RecordingInput =
  | string
  | URL
  | Blob
  | Uint8Array
  | ReadableStream<Uint8Array>;

/** How {@linkcode open} opens, and what is asked later reads. */
export interface OpenOptions {
  /**
   * Where symbols are looked for: `machine` for the files of this machine (the default where there are
   * any), `none`, or files by their paths.
   */
  readonly symbols?: "machine" | "none" | SymbolFiles;
  /** A bundle that `perfdata symbols bundle` made, which is asked first. */
  readonly bundle?: Uint8Array;
  /** Ends what is being read. */
  readonly signal?: AbortSignal;
  /** Called while all of it is read, with the share that was: 0 to 1. */
  readonly progress?: (share: number) => void;
  /** Receives what is damaged; without it, damage throws. */
  readonly diagnostics?: Diagnostics;
}

/**
 * Opens a recording.
 *
 * @param input A path (in Deno, Node and Bun), a `file:` URL, a `File`, bytes, or a stream; compressed by
 * gzip, bzip2, xz or zstd as well. Streams, and what is compressed, are held in memory as they are expanded.
 * @throws {TypeError} Where it is nothing of that.
 * @throws {PerfDataError} Where it is no recording.
 * @throws {Error} Of the operating system, where a file cannot be opened.
 *
 * @example
 * ```ts
 * import { open } from "@perfdata/perfdata";
 * import { assertRejects } from "@std/assert";
 *
 * const recording = await open("fixtures/recorded/callchain.perf.data");
 * for (const { overhead, sym, dso } of await recording.functions({ limit: 3 })) {
 *   console.log(`${(100 * overhead).toFixed(2)}% ${sym} ${dso}`);
 * }
 * recording.close();
 * await assertRejects(() => open(new Uint8Array(9)), Error, "file header: 9 bytes");
 * ```
 */
export async function open(input: RecordingInput, options: OpenOptions = {}): Promise<Recording> {
  const source = await expanded(await sourceOf(input));
  try {
    // What is wrong with the header is said now.
    await PerfDataReader.open(source, { diagnostics: options.diagnostics ?? (() => {}) });
    return new Recording(source, typeof input === "string" ? input : "", options);
  } catch (error) {
    source.close?.();
    throw error;
  }
}

/** A source that can be read again. */
export type Reopenable = RandomAccessSource & { close?(): void };

async function sourceOf(input: RecordingInput): Promise<Reopenable> {
  if (typeof input === "string") return pathSource(input);
  if (input instanceof URL) {
    if (input.protocol !== "file:") {
      throw new TypeError(`open: ${input.href}: fetch it, and give the body of the response`);
    }
    return pathSource(decodeURIComponent(input.pathname));
  }
  if (input instanceof Uint8Array) return bytesSource(input);
  if (input instanceof Blob) return blobSource(input);
  if (input instanceof ReadableStream) return blobSource(await new Response(input).blob());
  const given = input === null ? "null" : typeof input;
  throw new TypeError(`open: expected a path, URL, Blob, bytes or a stream, not ${given}`);
}

async function expanded(source: Reopenable): Promise<Reopenable> {
  const start = new Uint8Array(6);
  const compression = fileCompression(start.subarray(0, await source.readAt(start, 0)));
  if (compression === undefined) return source;
  try {
    return blobSource(await new Response(await expandedStream(source, compression)).blob());
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new PerfDataError(`${compression} data is damaged or cut: ${why}`);
  } finally {
    source.close?.();
  }
}
