import {
  blobSource,
  type ByteSource,
  bytesSource,
  type Diagnostics,
  EventLoopTurns,
  isRandomAccess,
  PerfDataError,
  type RandomAccessSource,
} from "@perfdata/format/bytes";
import { expandedStream, fileCompression, PerfDataReader } from "@perfdata/format/records";
import type { SymbolFiles } from "@perfdata/symbols";
import { type FilePath, pathSource, pathText } from "./files/path_source.ts";
import { Recording } from "./recording.ts";

/** Input of {@linkcode open}. */
export type RecordingInput =
  | string
  | URL
  | Blob
  | Uint8Array
  | ReadableStream<Uint8Array>
  | ByteSource;

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
  /** What the recording is called, in profiles of it; by default the name of the file. */
  readonly name?: string;
  /**
   * Called while all of it is read, with the share that was: from 0 to 1, which is the last; and with the bytes
   * that were read, and those that there are where that is known.
   */
  readonly progress?: (share: number, bytes: number, all: number | undefined) => void;
  /** Receives what is damaged; without it, damage throws. */
  readonly diagnostics?: Diagnostics;
}

/**
 * Opens a recording.
 *
 * @param input A path (in Deno, Node and Bun), a `file:` URL (also of a name that is not UTF-8, in Node and Bun), a `File`, bytes, or a stream; compressed by
 * gzip, bzip2, xz or zstd as well. Streams, and what is compressed, are held in memory as they are expanded. A
 * source of `@perfdata/format` is read as it is: one question can be asked if it cannot be read again.
 * @throws {TypeError} If it is none of these.
 * @throws {PerfDataError} If it is not a recording.
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
  const { symbols, bundle, signal, diagnostics = () => {} } = options;
  if (typeof symbols === "string" && symbols !== "machine" && symbols !== "none") {
    throw new TypeError(`open: symbols: expected machine, none or files, not ${symbols}`);
  }
  signal?.throwIfAborted();
  const path = pathOf(input);
  const source = isSource(input)
    ? input
    : await expanded(path === undefined ? await contentOf(input, signal) : pathSource(path));
  try {
    // What is wrong with the header is said now.
    const turns = new EventLoopTurns(signal);
    const read = isRandomAccess(source) ? turns.source(source) : source;
    const reader = await PerfDataReader.open(read, { diagnostics });
    const opened = bundle === undefined
      ? undefined
      : (await import("@perfdata/symbols")).SymbolBundle.open(bundle);
    return new Recording({
      source: read,
      // Without diagnostics, what is wrong with the header is thrown where something is asked.
      reader: options.diagnostics === undefined && isRandomAccess(read) ? undefined : reader,
      close: () => source.close?.(),
      turns,
      name: options.name ?? (path === undefined ? nameOf(input) : pathText(path)),
      options,
      bundle: opened,
    });
  } catch (error) {
    source.close?.();
    throw error;
  }
}

/** A source that can be read again. */
type Reopenable = RandomAccessSource & { close?(): void };

function isSource(input: RecordingInput): input is ByteSource & { close?(): void } {
  // Whatever was given: what is no recording is said below.
  const { read, readAt } = (input ?? {}) as { readonly read?: unknown; readonly readAt?: unknown };
  return typeof read === "function" || typeof readAt === "function";
}

/** The path that is given, as such or as a URL. */
function pathOf(input: unknown): FilePath | undefined {
  if (typeof input === "string") {
    if (input.includes("\0")) {
      throw new TypeError("open: a string is a path: give content as a Uint8Array or a Blob");
    }
    // A drive of Windows has one letter.
    if (!/^[a-z][a-z\d+.-]+:\/\//i.test(input)) return input;
    return pathOf(new URL(input));
  }
  if (!(input instanceof URL)) return undefined;
  if (input.protocol !== "file:") {
    throw new TypeError(`open: ${input.href}: fetch it, and give the body of the response`);
  }
  try {
    return decodeURIComponent(input.pathname);
  } catch {
    return percentDecoded(input.pathname);
  }
}

/** Bytes of a URL's path that is not UTF-8. */
function percentDecoded(path: string): Uint8Array {
  const binary = path.replaceAll(
    /%([\da-f]{2})/gi,
    (_, hex: string) => String.fromCharCode(parseInt(hex, 16)),
  );
  return Uint8Array.from(binary, (char) => char.charCodeAt(0));
}

/** The name of a `File`. */
function nameOf(input: unknown): string {
  const { name } = input as { readonly name?: unknown };
  return typeof name === "string" ? name : "";
}

/** What is no path. */
async function contentOf(input: unknown, signal?: AbortSignal): Promise<Reopenable> {
  if (input instanceof Uint8Array) return bytesSource(input);
  if (input instanceof Blob) return blobSource(input);
  if (input instanceof ReadableStream) {
    if (input.locked) throw new TypeError("open: the stream is locked: something else reads it");
    const ended = signal === undefined
      ? input
      : input.pipeThrough(new TransformStream(), { signal });
    return blobSource(await new Response(ended).blob());
  }
  throw new TypeError(
    `open: expected a path, URL, Blob, Uint8Array or ReadableStream, not ${kindOf(input)}`,
  );
}

/** The type or the class of a value. */
function kindOf(value: unknown): string {
  if (typeof value !== "object" || value === null) return value === null ? "null" : typeof value;
  return value.constructor?.name ?? "object";
}

async function expanded(source: Reopenable): Promise<Reopenable> {
  const start = new Uint8Array(6);
  const compression = fileCompression(start.subarray(0, await source.readAt(start, 0)));
  if (compression === undefined) return source;
  try {
    return blobSource(await new Response(await expandedStream(source, compression)).blob());
  } catch (error) {
    // Node 22 has no message where gzip ends too early.
    const why = error instanceof Error ? error.message : String(error);
    throw new PerfDataError(
      `${compression} data is damaged or cut${why === "" ? "" : `: ${why}`}`,
    );
  } finally {
    source.close?.();
  }
}
