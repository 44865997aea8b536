import { type Diagnostics, PerfDataError } from "@perfdata/format/bytes";
import type { PerfDataReader } from "@perfdata/format/records";
import type { Engine } from "../engine/engine.ts";
import type { EngineOptions } from "../engine/engine_options.ts";
import type { WorkerThread } from "./thread.ts";
import { PERF_RECORD_EVENT_UPDATE } from "@perfdata/format/constants";
import { EventNames } from "../events/event_names.ts";
import { RecordingIndex } from "../index/recording_index.ts";
import { bytesOf, type Window, WINDOW_BYTES, windowsOf } from "../windows/plan.ts";
import { Pool, type PoolQueue } from "./pool.ts";
import type { TextOrder, TextTask } from "./serve_text.ts";
import { TextPieces } from "./text_pieces.ts";
import {
  type MakeText,
  type TextConsumer,
  TextPart,
  type TextPartAnswer,
  type WriteText,
} from "./text_part.ts";

/**
 * Number of windows that another thread has at a time, so that it need not wait for the next one.
 */
const AHEAD = 2;
/** Number of windows per thread that may be finished before the first of them is written. */
const WAITING = 2;

/** The threads of {@linkcode textOfFile}. */
export interface TextThreads {
  /** Number of threads, including this one. */
  readonly jobs: number;
  /** Starts a thread: a module that calls `serveText` with the same maker. */
  readonly start: () => WorkerThread;
  /** Approximate bytes of a window; 2 MB by default. */
  readonly windowBytes?: number | undefined;
}

/** Inputs of {@linkcode textOfFile}. */
export interface TextWork<About> extends TextThreads {
  /** The recording, with the reader that reports its damage. */
  readonly reader: PerfDataReader;
  /** Path of the recording, which each other thread opens. */
  readonly path: string;
  /** Argument of the maker, for sending to other threads. */
  readonly about: About;
  /** Creates the consumer of this thread. */
  readonly make: MakeText<About>;
  /** Called before the first text. */
  readonly begin?: ((consumer: TextConsumer) => void) | undefined;
  /** Receives the text, in order. */
  readonly write: WriteText;
  /**
   * Types of records that make text depend on earlier records: a file with one needs a single
   * thread.
   */
  readonly notWith: readonly number[];
  /** Whether the text depends on the machine. */
  readonly machine: boolean;
  /** The order of the records; by time by default. */
  readonly order?: "time" | "file" | undefined;
  /** File offset of the first record. */
  readonly from?: number | undefined;
  /** First and last time in ns of the needed records; others may be left out. */
  readonly time?: readonly [bigint, bigint] | undefined;
  /** See {@linkcode EngineOptions.progress}. */
  readonly progress?: EngineOptions["progress"];
  /** Receives errors in feature sections. */
  readonly diagnostics: Diagnostics;
}

/** Result of the workers. */
export interface TextMade {
  /** The consumer that all counts were added to. */
  readonly consumer: TextConsumer;
  /** The engine of this thread. */
  readonly engine: Engine;
  /** The index of the file. */
  readonly index: RecordingIndex;
}

/**
 * Makes the text of a file, window by window, and writes it in order. Each thread, including this
 * one, makes the next free window.
 *
 * ```text
 * windows   0  1  2  3  4  5  6 …
 * this         1     3        6     ─┐
 * others    0     2     4  5     …  ─┴▶ 0 1 2 3 4 …  written by this thread
 * ```
 *
 * @returns `undefined`, with nothing written, if a single thread has to read the file: it is
 * damaged, compressed, not sorted at all, or has records of `notWith`.
 * @throws {Error} The error of a thread.
 */
export async function textOfFile<About>(work: TextWork<About>): Promise<TextMade | undefined> {
  const { reader, jobs, start, progress, windowBytes = WINDOW_BYTES, time } = work;
  using pool: TextPool = new Pool(jobs - 1, start);
  const { size } = reader.data;
  progress?.(0, size);
  const index = await indexOf(work, Math.max(1, windowBytes >> 3));
  const windows = index && windowsOf(index, { windowBytes, time });
  if (index === undefined || windows === undefined) return undefined;
  progress?.(0, windows.reduce((bytes, window) => bytes + bytesOf(window), -size));
  const own = await textInOrder(work, index, windows, pool);
  const all = index.blocks.reduce((sum, { records }) => sum + records, 0);
  if (time === undefined && own.records !== all) {
    throw new Error("the file changed while it was read");
  }
  reader.stats = index.stats;
  return { consumer: own.consumer, engine: own.engine, index };
}

type TextPool = Pool<TextTask, TextOrder, Text, TextPartAnswer>;

/** Scans a file; returns `undefined` if a single thread has to read it. */
async function indexOf<About>(
  { reader, notWith, order, from, progress }: TextWork<About>,
  blockBytes: number,
): Promise<RecordingIndex | undefined> {
  let index: RecordingIndex;
  try {
    index = await RecordingIndex.read(reader, { blockBytes, order, from, progress, quiet: true });
  } catch (error) {
    // The single thread will meet the error again, after it has written the text before.
    if (error instanceof PerfDataError) return undefined;
    throw error;
  }
  const isWhole = index.stats.damages === 0 && !index.isCompressed;
  const isWanted = isWhole && notWith.every((type) => !index.types.has(type));
  return isWanted && !await renamesEvents(reader, index) ? index : undefined;
}

/** Whether an EVENT_UPDATE record changes the name of an event. */
async function renamesEvents(
  reader: PerfDataReader,
  { types, records: { bytes, view, start, end, count } }: RecordingIndex,
): Promise<boolean> {
  if (!types.has(PERF_RECORD_EVENT_UPDATE)) return false;
  const names = new EventNames(reader, () => {});
  const before = await names.all();
  for (let i = 0; i < count; i++) {
    const at = start[i] as number;
    if (view.getUint32(at, reader.littleEndian) !== PERF_RECORD_EVENT_UPDATE) continue;
    names.record(bytes, view, at, end[i] as number);
  }
  return (await names.all()).some((name, i) => name !== before[i]);
}

/** Makes the text of windows by several threads, including this one, and writes it in order. */
async function textInOrder<About>(
  work: TextWork<About>,
  index: RecordingIndex,
  windows: readonly Window[],
  pool: TextPool,
): Promise<TextPart> {
  const { reader, jobs, path, about, make, machine, begin, write, progress, diagnostics } = work;
  const { rounds, isTimed } = index;
  const queue = new TextQueue(windows, jobs, write, progress);
  const pieces = new TextPieces();
  let now = -1;
  const consumer = await make(reader, about, (text) => {
    if (queue.isNow(now)) write(text);
    else pieces.write(text);
  });
  if (begin !== undefined) {
    begin(consumer);
    await consumer.flush();
  }
  const task: TextTask = {
    path,
    about,
    rounds: rounds.part(),
    isTimed,
    past: machine ? index.historyPart() : undefined,
  };
  pool.begin(task, queue, { ahead: AHEAD, transfer: ({ spare }) => spare });
  const past = { rounds, isTimed, machine: machine ? index : undefined };
  const own = await TextPart.open(reader, consumer, past, diagnostics);
  for (;;) {
    const number = await pool.until(() => queue.isEmpty ? "end" : queue.deal());
    if (number === "end") break;
    now = number;
    await own.take(windows[number] as Window);
    queue.write(now, pieces.take(), (spare) => pieces.reuse(spare));
    await pool.turn();
  }
  await own.finish([...(await pool.totals()).values()]);
  return own;
}

/** Text of a window. */
type Text = readonly Uint8Array<ArrayBuffer>[];

/** Deals out windows, and writes their text in order. */
class TextQueue implements PoolQueue<TextOrder, Text> {
  readonly #windows: readonly Window[];
  readonly #most: number;
  readonly #write: WriteText;
  readonly #progress: EngineOptions["progress"];
  #next = 0;
  /** Index of the window that is written next. */
  #written = 0;
  /** Finished windows that wait for earlier ones, with the function that writes them. */
  readonly #waiting = new Map<number, () => void>();
  /** Buffers of written text, by thread. */
  readonly #spare: ArrayBuffer[][] = [];

  constructor(
    windows: readonly Window[],
    threads: number,
    write: WriteText,
    progress: EngineOptions["progress"],
  ) {
    this.#windows = windows;
    this.#most = WAITING * threads;
    this.#write = write;
    this.#progress = progress;
  }

  get isEmpty(): boolean {
    return this.#next === this.#windows.length;
  }

  /**
   * The index of the next window; `undefined` if all are dealt out, or earlier windows have to be
   * written first.
   */
  deal(): number | undefined {
    if (this.isEmpty || this.#next >= this.#written + this.#most) return undefined;
    this.#progress?.(bytesOf(this.#windows[this.#next] as Window));
    return this.#next++;
  }

  next(thread: number): TextOrder | undefined {
    const number = this.deal();
    if (number === undefined) return undefined;
    const spare = this.#spare[thread] ?? [];
    this.#spare[thread] = [];
    return { number, window: this.#windows[number] as Window, spare };
  }

  found(text: Text, { number }: TextOrder, thread: number): void {
    this.write(number, text, (spare) => (this.#spare[thread] ??= []).push(...spare));
  }

  isNow(number: number): boolean {
    return number <= this.#written;
  }

  /**
   * Writes the rest of a window's text after all earlier windows.
   *
   * @param done Receives its buffers afterwards.
   */
  write(number: number, text: Text, done: (spare: ArrayBuffer[]) => void): void {
    this.#waiting.set(number, () => {
      for (const piece of text) this.#write(piece);
      done(text.map(({ buffer }) => buffer));
    });
    for (let now = this.#waiting.get(this.#written); now !== undefined;) {
      now();
      this.#waiting.delete(this.#written++);
      now = this.#waiting.get(this.#written);
    }
  }
}
