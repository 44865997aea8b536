import {
  blobSource,
  type ByteSource,
  bytesSource,
  type Diagnostics,
  EventLoopTurns,
  isRandomAccess,
  PerfDataError,
  type RandomAccessSource,
  type TempFile,
} from "@perfdata/format/bytes";
import { expandedStream, fileCompression, PerfDataReader } from "@perfdata/format/records";
import type { LookUpProgress } from "@perfdata/session";
import type { SymbolBundle, SymbolFiles } from "@perfdata/symbols";
import type { OpenSymbols, ShareWork } from "./profile_question.ts";
import { inputKind, type InputOfKind } from "./input_kind.ts";
import { type FilePath, ownProcess, pathText } from "./files/node_fs.ts";
import { areTables, type TableFiles } from "./ready_profile.ts";
import { type OpenedTracing, Recording } from "./recording.ts";
import type { ShareText } from "./text/text_host.ts";
import type { Synthesis, Synthesized } from "./trace/synthesize.ts";
import type { DecodedBytes, OpenCode, ShareTrace } from "./trace/trace_question.ts";

/** Input of {@linkcode open}. */
export type RecordingInput =
  | string
  | URL
  | Blob
  | Uint8Array
  | ReadableStream<Uint8Array>
  | ByteSource
  | TableFiles;

/** Options of {@linkcode open}. */
export interface OpenOptions {
  /**
   * Location of files with symbols: `machine` for this machine (the default outside of browsers),
   * `none`, files by path, or a function that opens a resolver. The function is called when the
   * first stack is unwound or the first name is looked up.
   */
  readonly symbols?: "machine" | "none" | SymbolFiles | OpenSymbols;
  /**
   * Location of the code that Intel PT executed: as `symbols`, or a function that opens it. By
   * default, code is searched where symbols are, or on this machine if a function opens those.
   */
  readonly code?: "machine" | "none" | SymbolFiles | OpenCode;
  /**
   * The letters of perf's `--itrace`, such as `i100us` or `b`: the recording then has samples
   * synthesized from its Intel PT, for all methods. {@linkcode Recording.synthesized} tells what was
   * decoded. A copy with the samples is held in memory, or in a file of `temp`.
   */
  readonly itrace?: string | undefined;
  /** A bundle of `perfdata symbols bundle`, searched before other files. */
  readonly bundle?: Uint8Array;
  /** Aborts reading. */
  readonly signal?: AbortSignal;
  /** The name of the recording in profiles; by default its file name. */
  readonly name?: string;
  /**
   * Called while the recording is read: with the share from 0 to 1, the number of bytes read, and
   * the number of bytes in total if known. The last call has share 1.
   */
  readonly progress?: (share: number, bytes: number, all: number | undefined) => void;
  /** Called while names are looked up, after the recording was read. */
  readonly naming?: LookUpProgress;
  /** Receives errors in damaged recordings. Without it, they are thrown. */
  readonly diagnostics?: Diagnostics;
  /**
   * Starts other threads for samples, such as `collectWorkers` of `@perfdata/perfdata/workers` in
   * Deno. They are used if the order of samples does not matter. The result is the same.
   */
  readonly threads?: ShareWork;
  /** Starts other threads for text: `textThreads` of `@perfdata/perfdata/workers` in Deno. */
  readonly textThreads?: ShareText;
  /**
   * Opens a temporary file. {@linkcode Recording.span} and {@linkcode Recording.chosen} copy a source
   * that is not seekable to it, so that they can read it before other methods. The copy with the
   * samples of `itrace` is in another one. The default for that and for compressed records is memory.
   */
  readonly temp?: () => TempFile;
  /** Starts other threads that decode Intel PT. The result is the same. */
  readonly traceThreads?: ShareTrace | undefined;
  /** Called while Intel PT is decoded. */
  readonly decoding?: DecodedBytes;
  /** Yields to the event loop during long work; by default every 20 ms. */
  readonly turns?: EventLoopTurns;
}

/**
 * Opens a recording, tables of recordings (`perfdata export parquet`), or a profile of another tool: text
 * of `perf script`, folded stacks, pprof or a `.cpuprofile`, told apart by content. Tables and profiles have
 * no records: only `profile`, `functions`, `samples`, `callTree` and `exportAs` work, other methods throw a
 * `PerfDataError`.
 *
 * @param input A path (in Deno, Node and Bun), a `file:` URL (in Node and Bun also of a name that is not
 * UTF-8), a `File`, bytes, or a stream. It may be compressed by gzip, bzip2, xz or zstd. Streams and
 * compressed input are held in memory, decompressed. A source of `@perfdata/format` is read directly; if
 * it is not seekable, only one method of the recording can be called. Tables are the path of a directory,
 * or their files: see {@linkcode TableFiles}.
 * @throws {TypeError} If the input is of another type.
 * @throws {PerfDataError} If the input is not a recording, or has no Intel PT for `itrace`.
 * @throws {RangeError} If a letter of `itrace` is unknown.
 * @throws {Error} If the operating system cannot open the file.
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
  const { symbols, code, bundle, signal, itrace, diagnostics = () => {} } = options;
  checkPlace("symbols", symbols);
  checkPlace("code", code);
  signal?.throwIfAborted();
  const path = pathOf(input);
  const whole = isSource(input) || areTables(input)
    ? input
    : path === undefined
    ? await expanded(await contentOf(input, signal))
    : await inputAt(path);
  try {
    const { turns = new EventLoopTurns(signal) } = options;
    const found = await inputKind(whole);
    const inTurns = (source: ByteSource) => isRandomAccess(source) ? turns.source(source) : source;
    const recorded = found.kind === "tables" ? found : { ...found, source: inTurns(found.source) };
    const opened = bundle === undefined
      ? undefined
      : (await import("@perfdata/symbols")).SymbolBundle.open(bundle);
    const tracing: OpenedTracing = {
      code: codeOpener(options, opened, typeof path === "string" ? path : undefined),
      async decoding(bytes, all) {
        signal?.throwIfAborted();
        await options.decoding?.(bytes, all);
        await turns.turn();
      },
    };
    const made = itrace === undefined
      ? undefined
      : await synthesized(recorded, { letters: itrace, ...options, ...tracing });
    const read = made === undefined
      ? recorded
      : { source: turns.source(made.source), kind: undefined };
    // Read the header now, to report its errors. The first method call opens a stream, since only
    // some have to hold it.
    const reader = read.kind === undefined && isRandomAccess(read.source)
      ? await PerfDataReader.open(read.source, { diagnostics })
      : undefined;
    return new Recording({
      input: read,
      // Without diagnostics, the first method call reads the header again and throws its errors.
      reader: options.diagnostics === undefined ? undefined : reader,
      close: () => whole.close?.(),
      turns,
      name: options.name ?? (path === undefined ? nameOf(input) : pathText(path)),
      options,
      bundle: opened,
      tracing,
      synthesized: made,
    });
  } catch (error) {
    whole.close?.();
    throw error;
  }
}

/** Throws if the location of files is a word that is not known. */
function checkPlace(option: "symbols" | "code", place: unknown): void {
  if (typeof place !== "string" || place === "machine" || place === "none") return;
  throw new TypeError(`open: ${option}: expected machine, none or files, not ${place}`);
}

/** Copies the recording with samples from its Intel PT. */
async function synthesized(
  { source, kind }: InputOfKind<ByteSource>,
  how: Synthesis,
): Promise<Synthesized> {
  if (kind !== undefined) {
    const what = kind === "tables" ? "tables have" : "a profile of another tool has";
    throw new PerfDataError(`${what} no Intel PT`, { code: "no-aux-data" });
  }
  return await (await import("./trace/synthesize.ts")).synthesize(source, how);
}

/** Opens the code that Intel PT executed, from the location that the options name. */
function codeOpener(
  { symbols, code }: OpenOptions,
  bundle: SymbolBundle | undefined,
  folder: string | undefined,
): OpenCode {
  const machine = ownProcess() === undefined ? "none" : "machine";
  const place = code ?? (typeof symbols === "function" ? machine : symbols ?? machine);
  if (typeof place === "function") return place;
  return async (recorded) => {
    const [{ codeIn }, { machineFiles, machinePlaces }] = await Promise.all([
      import("./files/code_places.ts"),
      import("./files/machine_files.ts"),
    ]);
    const isMachine = place === "machine";
    return codeIn(recorded, {
      files: isMachine
        ? machineFiles
        : place === "none"
        ? { open: () => undefined, read: () => undefined }
        : place,
      places: isMachine ? machinePlaces() : undefined,
      bundle,
      folder: isMachine ? folder : undefined,
    });
  };
}

/** Opens tables or a file. What opens them is loaded on demand: a page has no paths. */
async function inputAt(path: FilePath): Promise<Reopenable | TableFiles> {
  const { tableFolder } = await import("./files/table_folder.ts");
  const tables = tableFolder(path);
  if (tables !== undefined) return tables;
  const { pathSource } = await import("./files/path_source.ts");
  return await expanded(pathSource(path));
}

/** A source that can be read again. */
type Reopenable = RandomAccessSource & { close?(): void };

function isSource(input: RecordingInput): input is ByteSource & { close?(): void } {
  // `input` may be any value; unsuitable ones are rejected below.
  const { read, readAt } = (input ?? {}) as { readonly read?: unknown; readonly readAt?: unknown };
  return typeof read === "function" || typeof readAt === "function";
}

/** The path in `input`, given as text or URL. */
function pathOf(input: unknown): FilePath | undefined {
  if (typeof input === "string") {
    if (input.includes("\0")) {
      throw new TypeError("open: a string is a path: give content as a Uint8Array or a Blob");
    }
    // A single letter before the colon is a Windows drive.
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

/** Decodes a URL path whose bytes are not UTF-8. */
function percentDecoded(path: string): Uint8Array {
  const binary = path.replaceAll(
    /%([\da-f]{2})/gi,
    (_, hex: string) => String.fromCharCode(parseInt(hex, 16)),
  );
  return Uint8Array.from(binary, (char) => char.charCodeAt(0));
}

function nameOf(input: unknown): string {
  const { name } = input as { readonly name?: unknown };
  return typeof name === "string" ? name : "";
}

/** The bytes of an input other than a path. */
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

/** The type or class of a value, for messages. */
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
    // Node 22 throws an error without message if gzip data is truncated.
    const why = error instanceof Error ? error.message : String(error);
    throw new PerfDataError(
      `${compression} data is damaged or cut${why === "" ? "" : `: ${why}`}`,
    );
  } finally {
    source.close?.();
  }
}
