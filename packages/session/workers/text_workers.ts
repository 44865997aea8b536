import { settleable } from "@perfdata/format/es2024";
import { type Diagnostics, PerfDataError, type PerfDataReader } from "@perfdata/format";
import { OutOfMemory } from "@perfdata/format/memory";
import type { Engine, EngineOptions, ThreadError, ThreadMessage, WorkerThread } from "../engine.ts";
import { PERF_RECORD_EVENT_UPDATE } from "@perfdata/format/record-types";
import { EventNames } from "../events/event_names.ts";
import { RecordingIndex } from "../index/recording_index.ts";
import { bytesOf, type Window, WINDOW_BYTES, windowsOf } from "../windows/plan.ts";
import type { TextAnswer, TextOrder, TextTask } from "./serve_text.ts";
import { TextPieces } from "./text_pieces.ts";
import {
  type MakeText,
  type TextConsumer,
  TextPart,
  type TextPartAnswer,
  type WriteText,
} from "./text_part.ts";

/** Number of windows that another thread gets before its first text arrives. */
const AHEAD = 2;
/** Windows, for each thread, that may be made before it is the turn of the first of them. */
const WAITING = 2;

/** Which text is made of a file, and by whom. */
export interface TextWork<About> {
  /** The recording; what is wrong with it is reported by this reader. */
  readonly reader: PerfDataReader;
  /** The same: other threads open it for themselves. */
  readonly path: string;
  /** How many threads, this one included. */
  readonly jobs: number;
  /** Starts another one: a module that calls `serveText` with the same maker. */
  readonly start: () => WorkerThread;
  /** What the maker is given: what can be sent to another thread. */
  readonly about: About;
  /** Makes the consumer of this thread. */
  readonly make: MakeText<About>;
  /** Called before the first text. */
  readonly begin?: ((consumer: TextConsumer) => void) | undefined;
  /** Takes the text, in order. */
  readonly write: WriteText;
  /** Types of records with which text depends on what comes before: one thread has to make all of it. */
  readonly notWith: readonly number[];
  /** Whether the text depends on the machine. */
  readonly machine: boolean;
  /** The order of the records; by time by default. */
  readonly order?: "time" | "file" | undefined;
  /** File offset of the first record. */
  readonly from?: number | undefined;
  /** First and last time in ns of the records that are wanted; others may be left out. */
  readonly time?: readonly [bigint, bigint] | undefined;
  /** Bytes of a window, about. */
  readonly windowBytes?: number | undefined;
  /** As for the engine. */
  readonly progress?: EngineOptions["progress"];
  /** Gets parts of the features that cannot be read. */
  readonly diagnostics: Diagnostics;
}

/** Result of the workers. */
export interface TextMade {
  /** The consumer that all counts were added to. */
  readonly consumer: TextConsumer;
  /** What this thread resolved samples with. */
  readonly engine: Engine;
  /** What one look through the file found. */
  readonly index: RecordingIndex;
}

/**
 * Makes text of a file, by windows, and writes it in order. Where there are several threads each takes
 * windows as it can, this one too.
 *
 * ```text
 * windows   0  1  2  3  4  5  6 …
 * this         1     3        6     ─┐
 * others    0     2     4  5     …  ─┴▶ 0 1 2 3 4 …  written by this one
 * ```
 *
 * @returns `undefined`, with nothing written, if the file has to be gone through by one thread: it is
 *   damaged, compressed, in no order at all, or has records of the types that do not go with it.
 * @throws {Error} What went wrong in one of the threads.
 */
export async function textOfFile<About>(work: TextWork<About>): Promise<TextMade | undefined> {
  const { reader, jobs, start, progress, windowBytes = WINDOW_BYTES, time } = work;
  // They load what they need while the file is looked through.
  const threads = Array.from({ length: jobs - 1 }, start);
  try {
    const { size } = reader.data;
    progress?.(0, size);
    const index = await indexOf(work, Math.max(1, windowBytes >> 3));
    const windows = index && windowsOf(index, { windowBytes, time });
    if (index === undefined || windows === undefined) return undefined;
    progress?.(0, windows.reduce((bytes, window) => bytes + bytesOf(window), -size));
    const own = await textInOrder(work, index, windows, threads);
    const all = index.blocks.reduce((sum, { records }) => sum + records, 0);
    if (time === undefined && own.records !== all) {
      throw new Error("the file changed while it was read");
    }
    reader.stats = index.stats;
    return { consumer: own.consumer, engine: own.engine, index };
  } finally {
    for (const thread of threads) thread.terminate();
  }
}

/** Looks through a file; `undefined` if one thread has to go through it. */
async function indexOf<About>(
  { reader, notWith, order, from, progress }: TextWork<About>,
  blockBytes: number,
): Promise<RecordingIndex | undefined> {
  let index: RecordingIndex;
  try {
    index = await RecordingIndex.read(reader, { blockBytes, order, from, progress, quiet: true });
  } catch (error) {
    // It comes again, after the text of what is before it.
    if (error instanceof PerfDataError) return undefined;
    throw error;
  }
  const isWhole = index.stats.damages === 0 && !index.isCompressed;
  const isWanted = isWhole && notWith.every((type) => !index.types.has(type));
  return isWanted && !await renamesEvents(reader, index) ? index : undefined;
}

/** Whether an event is called otherwise from some record on. */
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

/** Makes text of windows by several threads, this one included, and writes it in order. */
async function textInOrder<About>(
  { reader, path, about, make, machine, begin, write, progress, diagnostics }: TextWork<About>,
  index: RecordingIndex,
  windows: readonly Window[],
  threads: readonly WorkerThread[],
): Promise<TextPart> {
  const { rounds, isTimed } = index;
  const turn = new Turn(windows.length, threads.length + 1, write);
  const deal = (): Dealt | undefined => {
    const number = turn.deal();
    if (number === undefined) return undefined;
    const window = windows[number];
    if (window !== undefined) progress?.(bytesOf(window));
    return { number, window };
  };
  const pieces = new TextPieces();
  let now = -1;
  const consumer = await make(reader, about, (text) => {
    if (turn.isNow(now)) write(text);
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
  const others = threads.map((worker) => new TextThread(worker, task, turn, deal));
  const past = { rounds, isTimed, machine: machine ? index : undefined };
  const own = await TextPart.open(reader, consumer, past, diagnostics);
  for (let order = deal(); order?.window !== undefined || order === undefined; order = deal()) {
    if (order === undefined) await turn.changed();
    else {
      now = order.number;
      await own.take(order.window as Window);
      turn.take(now, pieces.take(), (spare) => pieces.reuse(spare));
    }
    await events();
    for (const other of others) other.check();
  }
  for (const other of others) other.check();
  const parts: TextPartAnswer[] = [];
  for (const other of others) parts.push(await other.part);
  await own.finish(parts);
  return own;
}

/** Lets messages of other threads arrive. */
function events(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 0));
}

/** A window that is dealt out. */
type Dealt = Omit<TextOrder, "spare">;

/** Deals out windows, and writes their text in order. */
class Turn {
  readonly #count: number;
  readonly #most: number;
  readonly #write: WriteText;
  #next = 0;
  /** The window whose text is written. */
  #written = 0;
  /** Windows whose turn has not come. */
  readonly #waiting = new Map<number, () => void>();
  #change = settleable<void>();

  constructor(count: number, threads: number, write: WriteText) {
    this.#count = count;
    this.#most = WAITING * threads;
    this.#write = write;
  }

  /** The number of a window, or of none after the last one; nothing where others have to be written first. */
  deal(): number | undefined {
    if (this.#next === this.#count) return this.#count;
    return this.#next < this.#written + this.#most ? this.#next++ : undefined;
  }

  /** Whether what comes before a window is written. */
  isNow(number: number): boolean {
    return number <= this.#written;
  }

  /**
   * Takes what is left of the text of a window.
   *
   * @param done Gets its memory when it is written.
   */
  take(
    number: number,
    text: readonly Uint8Array<ArrayBuffer>[],
    done: (spare: ArrayBuffer[]) => void,
  ): void {
    this.#waiting.set(number, () => {
      for (const piece of text) this.#write(piece);
      done(text.map(({ buffer }) => buffer));
    });
    for (let now = this.#waiting.get(this.#written); now !== undefined;) {
      now();
      this.#waiting.delete(this.#written++);
      now = this.#waiting.get(this.#written);
    }
    this.wake();
  }

  /** Waits until something has happened. */
  changed(): Promise<void> {
    return this.#change.promise;
  }

  /** Says that something has happened. */
  wake(): void {
    this.#change.resolve();
    this.#change = settleable<void>();
  }
}

/** Another thread. */
class TextThread {
  /** What it counted. */
  readonly part: Promise<TextPartAnswer>;
  readonly #worker: WorkerThread;
  readonly #turn: Turn;
  readonly #deal: () => Dealt | undefined;
  /** Windows that it may be dealt. */
  #room = AHEAD;
  /** Memory of its text that is written. */
  #spare: ArrayBuffer[] = [];
  #failed: unknown;

  constructor(
    worker: WorkerThread,
    task: TextTask,
    turn: Turn,
    deal: () => Dealt | undefined,
  ) {
    this.#worker = worker;
    this.#turn = turn;
    this.#deal = deal;
    const part = settleable<TextPartAnswer>();
    this.part = part.promise;
    // It may fail before somebody asks.
    this.part.catch(() => {});
    const fail = (error: unknown) => {
      this.#failed = error;
      part.reject(error);
      turn.wake();
    };
    worker.onmessage = ({ data }: ThreadMessage<TextAnswer>) => {
      if (data.kind === "error") fail(new (data.memory ? OutOfMemory : Error)(data.message));
      else if (data.kind === "part") part.resolve(data);
      else {
        this.#room++;
        try {
          turn.take(data.number, data.text, (spare) => this.#spare.push(...spare));
        } catch (error) {
          // Nobody reads the text any more.
          return fail(error);
        }
        this.#fill();
      }
    };
    worker.onerror = (event: ThreadError) => {
      event.preventDefault();
      fail(new Error(event.message));
    };
    worker.postMessage(task);
    this.#fill();
  }

  /** Deals it what it has room for. */
  check(): void {
    if (this.#failed !== undefined) throw this.#failed;
    this.#fill();
  }

  #fill(): void {
    while (this.#room > 0) {
      const order = this.#deal();
      if (order === undefined) return;
      const spare = this.#spare;
      this.#spare = [];
      this.#worker.postMessage({ ...order, spare } satisfies TextOrder, {
        transfer: spare,
      });
      this.#room = order.window === undefined ? -Infinity : this.#room - 1;
    }
  }
}
