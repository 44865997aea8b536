import type { Diagnostics, PerfDataReader, RecordBatch } from "@perfdata/format";
import type { Payload } from "@perfdata/format/batch";
import { PERF_SAMPLE_STACK_USER } from "@perfdata/format/perf-event";
import {
  PERF_RECORD_EVENT_UPDATE,
  PERF_RECORD_USER_TYPE_START,
} from "@perfdata/format/record-types";
import { EventNames } from "./events/event_names.ts";
import { Machine } from "./machine/machine.ts";
import type { NameTable } from "./machine/machine_names.ts";
import { deliverRuns, type OrderOptions, type OrderStats } from "./order/order.ts";
import { Places } from "./places/places.ts";
import { RecordedObjects } from "./places/recorded_objects.ts";
import type { SampleFilter } from "./samples/resolve.ts";
import {
  readBlocks,
  readIndex,
  takesAnyOrder,
  takesWindows,
  windowsIn,
} from "./workers/any_order.ts";
import { bytesOf } from "./windows/plan.ts";
import { WindowReader } from "./windows/window_reader.ts";
import { type Applied, History, type HistoryIndex } from "./history/history.ts";
import type { RecordingIndex } from "./index/recording_index.ts";
import { openPass } from "./pass.ts";
import { isShareable, type Shareable } from "./workers/part.ts";
import type { MachineView } from "./machine/machine_view.ts";
import type { Run } from "./order/run.ts";
import { StackTable } from "./stacks/stacks.ts";
import type { UnwindCounts } from "./stacks/unwind_counts.ts";
import type { CodeFinder, UnwindStep } from "./stacks/unwind.ts";
import { DeferredChains } from "./stacks/user_chains.ts";

/** Fields that a consumer needs. */
export interface Needs {
  /**
   * `time`, the default; `file`: the order of the file will do, which needs no buffer; `any`: samples are
   * taken as they come, and records that are not samples only if they come by chance. What a thread was
   * called and saw is the same in all of them.
   */
  readonly order?: "time" | "file" | "any";
  /**
   * Whether only samples that count are looked at, in the order of time: what is of other times than are
   * asked for need not be read.
   */
  readonly samples?: boolean;
  /** `Run.thread`, `process`, `comm`, `period`, `chosen`; true by default. */
  readonly machine?: boolean;
  /** `Run.place`. */
  readonly places?: boolean;
  /** `Run.stack`; places as well. */
  readonly stacks?: boolean;
  /**
   * Says of which samples places and stacks are looked at; of all by default. Those of others may be -1. It is
   * asked when the columns up to `Run.chosen` are filled.
   */
  readonly looksAt?: (run: Run, i: number) => boolean;
  /**
   * Whether each address where nothing is mapped is a place of its own; true by default. `false` is
   * for what shows functions only: the callers that code without frame pointers seems to have are
   * addresses that nearly all differ, and with them stacks that say no more than one does.
   */
  readonly unmapped?: boolean;
  /**
   * Whether each address is a place of its own; true by default. `false` is for what asks for objects
   * only: each is one place.
   */
  readonly addresses?: boolean;
  /**
   * Callers in stacks are at their calls, the byte before the address that call chains have, which a
   * call returns to: for lines and inlined functions. It is so for all consumers of the pass.
   */
  readonly calls?: boolean;
  /** `Run.addr`; places as well. */
  readonly addr?: boolean;
  /** `Run.branches`; places as well. */
  readonly branches?: boolean;
  /** `Run.chains`; places as well. */
  readonly chains?: boolean;
  /**
   * `Run.chains` are whole stacks, wherever their user part was recorded; stacks as well. For one of
   * the consumers of a pass, where no other wants chains as they were recorded.
   */
  readonly joined?: boolean;
  /** `Run.frames`; places as well. */
  readonly frames?: boolean;
  /** `Run.map`. */
  readonly maps?: boolean;
}

/** Makes something of the records of a recording: text, statistics, another file. */
export interface Consumer {
  /** What it wants filled in. */
  readonly needs: Needs;
  /** Called before the first record; the names of events are known by now in a file. */
  start?(engine: Engine): void | Promise<void>;
  /** Called for each run, which is valid during the call only. */
  rows(run: Run): void;
  /**
   * Called, before `rows`, for each record of a run that is not a sample, once it is applied to the
   * machine: for what needs the state of the machine at that moment.
   */
  applied?(run: Run, row: number): void;
  /**
   * Called for each record that is neither a sample nor a FINISHED_ROUND, where samples are taken in any
   * order: while the file is looked through, before `start`. Both halves of its time are 0 where it has
   * none.
   */
  other?(batch: RecordBatch, i: number, hi: number, lo: number): void;
  /** Called after a record that a payload follows. At most one consumer of a pass may have it. */
  payload?(payload: Payload): Promise<void>;
  /** Called when the formats of tracepoints have come with a stream. */
  described?(): Promise<void>;
  /** Called after the rows of each batch: for what has to wait. */
  settle?(): Promise<void>;
  /** Says whether it has seen enough; asked after each batch. */
  done?(): boolean;
  /** Called after the last record, when all is known. */
  finish?(): void | Promise<void>;
}

/** How to run. */
export interface EngineOptions extends OrderOptions {
  /**
   * Finds the code of objects, so that stacks are unwound that were recorded as copies (`perf record
   * --call-graph dwarf`): asked once, where a recording has such. Without it they have their
   * innermost frame only.
   */
  readonly unwind?: ((engine: Engine) => CodeFinder | Promise<CodeFinder>) | undefined;
  /**
   * Finds jitdump files, so that an address has a place for each piece of code that a JIT compiler put
   * there: as `unwind` by default.
   */
  readonly jit?: ((engine: Engine) => CodeFinder | Promise<CodeFinder>) | undefined;
  /**
   * Whether call stacks from branch records (`perf record --call-graph lbr`) that are deeper than the
   * processor has registers are joined with those of the samples before.
   */
  readonly stitchLbr?: boolean | undefined;
  /** Which samples count: see `Run.chosen`. */
  readonly filter?: SampleFilter;
  /**
   * Called with the bytes that were read since the call before, and how many more there are to read than
   * the data has: where it is looked through first, all of it, and less once it is known what is needed.
   */
  readonly progress?: ((bytes: number, more?: number) => void) | undefined;
  /** Bytes of a block that a thread takes at a time, about; 1 MB by default. */
  readonly blockBytes?: number | undefined;
  /**
   * Other threads that take a part of the samples, where the consumer is one that can be shared, and
   * needs no order. The result is the same.
   */
  readonly workers?: Workers | undefined;
  /** Gets parts of the features that cannot be read; without it they are thrown. */
  readonly diagnostics?: Diagnostics;
}

/** The part of a `MessageEvent` that is read. Types of the DOM are not available in every runtime. */
export interface ThreadMessage<T> {
  /** The message. */
  readonly data: T;
}

/** The part of an `ErrorEvent` that is read. */
export interface ThreadError {
  /** Message of the error. */
  readonly message: string;
  /** Prevents the runtime from reporting the error, too. */
  preventDefault(): void;
}

/**
 * The needed part of a `Worker`, in any runtime. Handlers receive a {@linkcode ThreadMessage} or a
 * {@linkcode ThreadError}; their parameter is `never` so that a `Worker` of any runtime fits.
 */
export interface WorkerThread {
  /** Sends a message, and hands over the memory in it that is named. */
  postMessage(message: unknown, options?: { readonly transfer?: ArrayBuffer[] }): void;
  /** Gets messages. */
  onmessage: ((event: never) => void) | null;
  /** Gets errors that nobody caught. */
  onerror: ((event: never) => void) | null;
  /** Ends it. */
  terminate(): void;
}

/** Threads that take samples side by side: see `session/workers`. */
export interface Workers {
  /** How many threads, this one included. */
  readonly jobs: number;
  /** The recording: each thread opens it for itself. */
  readonly path: string;
  /** Starts another thread: a module that calls `serveBlocks` with the same maker. */
  readonly start: () => WorkerThread;
  /** What the maker is given: what can be sent to another thread. */
  readonly about: unknown;
  /** Nodes of stacks that another thread keeps from one stretch of the file to the next, about. */
  readonly keptNodes?: number | undefined;
  /** Makes a consumer like that of the pass. */
  readonly make: (about: never) => Shareable & Consumer;
}

/** How much there is of a recording. */
export interface Extent {
  /** Samples, those that do not count included. */
  readonly samples: number;
  /** The youngest time of a record, in ns; 0 if none has a time. */
  readonly youngest: bigint;
}

/** Shared state of all consumers of a pass. */
export class Engine {
  /** The recording. */
  readonly reader: PerfDataReader;
  /** The machine as it was recorded, at the present moment; where there is no order, after all of it. */
  readonly machine: Machine;
  /** What it was at any moment, where samples are taken in any order. */
  readonly past: History | undefined;
  /** The one of both by which samples are resolved: `Run.thread` is a number of it. */
  readonly view: MachineView;
  /** Names of the machine: comms and paths by number. */
  readonly names: NameTable;
  /** What the recording says of its objects. */
  readonly recorded: RecordedObjects;
  /** All places that were met; complete after the run. */
  readonly places: Places;
  /** All stacks that were met. */
  readonly stacks: StackTable = new StackTable();
  /** What the recording says of its events: their names, and the formats of tracepoints. */
  readonly described: EventNames;
  /** Names of the events by their numbers; in a stream, those that are known by now. */
  eventNames: readonly string[] = [];
  /** What was found about the order of the file. */
  order: OrderStats = { queued: 0, violations: 0, peakBytes: 0, spilledBytes: 0 };
  /** What unwound the stacks, where there were copies of them. */
  unwinding: UnwindStep | undefined;
  /** How unwinding went, where stacks were unwound. */
  unwound: UnwindCounts | undefined;
  /** Samples whose user callers were to come in a later record, which is not there. */
  unjoined: number = 0;
  /** Whether call stacks of branch records were to be stitched, and could not be. */
  unstitched: boolean = false;
  /** Samples of no known event, or damaged. */
  leftOut: number = 0;
  /** What a file has in all, known before its records are read: where it was looked through. */
  extent: Extent | undefined;

  /** Prepares for one recording, of which what it says of its objects and events is known. */
  constructor(
    reader: PerfDataReader,
    recorded: RecordedObjects = new RecordedObjects(reader),
    described: EventNames = new EventNames(reader),
    past?: History,
  ) {
    this.reader = reader;
    this.past = past;
    this.machine = past?.end ?? new Machine(reader.littleEndian);
    this.view = past ?? this.machine;
    this.names = this.view.names;
    this.recorded = recorded;
    this.places = new Places(this.view, recorded);
    this.described = described;
  }
}

/** An engine for a recording, with its past where the file was looked through. */
export function engineOf(
  reader: PerfDataReader,
  recorded: RecordedObjects,
  described: EventNames,
  index: RecordingIndex | undefined,
): Engine {
  const past = index && historyOf(index, reader, recorded, described);
  const engine = new Engine(reader, recorded, described, past);
  engine.extent = index && extentOf(index);
  return engine;
}

function extentOf({ blocks }: RecordingIndex): Extent {
  let [samples, youngest] = [0, 0n];
  for (const block of blocks) {
    samples += block.samples;
    if (block.youngest > youngest) youngest = block.youngest;
  }
  return { samples, youngest };
}

/**
 * Reads a recording once, and hands its records, resolved, to consumers.
 *
 * ```text
 * bytes → RecordBatch → order of time → columns → machine → places, stacks → consumers
 * ```
 *
 * A file, a pipe, a directory, compressed records and either byte order are the same to consumers.
 * One function, so that the order of all steps can be read in one place.
 *
 * @returns What consumers made their results of.
 * @throws {PerfDataError} In strict mode, if the recording is damaged.
 * @throws {TypeError} If several consumers want payloads.
 *
 * @example
 * ```ts
 * import { bytesSource, PerfDataReader } from "@perfdata/format";
 * import { runEngine } from "@perfdata/session/engine";
 * import { assertEquals } from "@std/assert";
 *
 * const pipe = new Uint8Array(24);
 * pipe.set(new TextEncoder().encode("PERFILE2"));
 * pipe.set([16], 8);
 * pipe.set([68, 0, 0, 0, 0, 0, 8, 0], 16);
 * const types: number[] = [];
 * await runEngine(await PerfDataReader.open(bytesSource(pipe)), [{
 *   needs: {},
 *   rows: ({ count, type }) => types.push(...type.subarray(0, count)),
 * }]);
 * assertEquals(types, [68]);
 * ```
 */
export async function runEngine(
  reader: PerfDataReader,
  consumers: readonly Consumer[],
  options: EngineOptions = {},
): Promise<Engine> {
  const { filter = {}, stitchLbr, progress, diagnostics, workers } = options;
  const recorded = new RecordedObjects(reader, diagnostics);
  const described = new EventNames(reader, diagnostics);
  await recorded.readFeatures(reader);
  // What samples mean may depend on it.
  await described.all();
  const inAnyOrder = takesAnyOrder(reader, consumers, options);
  const [first, ...others] = consumers;
  if (inAnyOrder && workers !== undefined && workers.jobs > 1 && others.length === 0) {
    if (first !== undefined && isShareable(first)) {
      const { runWorkers } = await import("./workers/run_workers.ts");
      return await runWorkers(reader, { recorded, described }, first, workers, options);
    }
  }
  const found = inAnyOrder || takesWindows(reader, consumers, options)
    ? await readIndex(reader, consumers, options, !inAnyOrder)
    : undefined;
  const windows = found === undefined || inAnyOrder ? undefined : windowsIn(found, filter.time);
  const index = inAnyOrder || windows !== undefined ? found : undefined;
  const engine = engineOf(reader, recorded, described, index);
  const names = described;
  const takers = consumers.filter(({ payload }) => payload !== undefined);
  if (takers.length > 1) throw new TypeError("runEngine: several consumers want payloads");
  const waiting = consumers.filter(({ settle }) => settle !== undefined);
  const pass = await openPass(engine, consumers, options);
  const { resolver: { userChains }, whole } = pass;
  const inFileOrder = consumers.every(({ needs }) => needs.order === "file");
  const named = reader.isPipe ? undefined : (run: Run) => {
    if (takeUpdates(run, names)) engine.eventNames = names.current();
  };
  let taken = 0;
  // The features of a file that arrives as a stream come last.
  let isLate = reader.fileSize === undefined;
  const lateFeatures = async (): Promise<void> => {
    if (isLate) await recorded.readFeatures(reader);
    isLate = false;
  };
  if (index !== undefined && windows !== undefined) {
    const { rounds, isTimed } = index;
    const own = new WindowReader(reader, rounds, isTimed, (run) => pass.take(run));
    for (const window of windows) {
      await own.read(window);
      progress?.(bytesOf(window));
    }
    reader.stats = index.stats;
  } else if (index !== undefined) {
    await readBlocks(reader, index, { filter, run: (run) => pass.take(run), progress });
  } else {engine.order = await deliverRuns(reader, {
      batch: reader.isPipe
        ? async (batch) => {
          if (takeNames(batch, names)) engine.eventNames = await names.all();
          if (whole && DeferredChains.areAsked(reader)) userChains.deferred.take(batch);
        }
        : undefined,
      run(run) {
        pass.take(run, named);
      },
      async payload(payload) {
        const again = await names.payload(payload);
        if (again !== payload) {
          engine.eventNames = await names.all();
          for (const consumer of consumers) await consumer.described?.();
        }
        for (const taker of takers) await taker.payload?.(again);
      },
      waitsForEnd: () => whole && options.unwind !== undefined && mayLearnBuilds(reader),
      read: lateFeatures,
      settle: waiting.length === 0 ? undefined : async () => {
        for (const consumer of waiting) await consumer.settle?.();
      },
      done() {
        const { recordBytes, payloadBytes } = reader.stats;
        progress?.(recordBytes + payloadBytes - taken);
        taken = recordBytes + payloadBytes;
        return consumers.every((consumer) => consumer.done?.() === true);
      },
    }, { ...(inFileOrder ? { order: "file" } : {}), ...orderOptionsOf(options) });}
  engine.leftOut = pass.resolver.leftOut;
  engine.unjoined = userChains.unjoined;
  engine.unstitched = stitchLbr === true && !userChains.isStitching;
  await lateFeatures();
  engine.eventNames = await names.all();
  engine.places.finish();
  engine.stacks.seal();
  for (const consumer of consumers) await consumer.finish?.();
  return engine;
}

/**
 * Makes the past of a recording's machine; what its records say of objects and events is noted.
 *
 * @param applied Called after each record of the kernel.
 */
export function historyOf(
  index: HistoryIndex,
  reader: PerfDataReader,
  recorded: RecordedObjects,
  described: EventNames,
  applied?: Applied,
): History {
  return new History(index, {
    littleEndian: reader.littleEndian,
    arch: reader.arch,
    known: recorded.known,
    record(bytes, view, start, end) {
      recorded.record(bytes, view, start, end);
      described.record(bytes, view, start, end);
    },
    applied,
  });
}

/**
 * Whether stacks are to be unwound with files whose builds the end of a stream names: other files must not
 * be used. Where records of mappings have build ids, they are known in time.
 */
function mayLearnBuilds({ isPipe, fileSize, events }: PerfDataReader): boolean {
  return (isPipe || fileSize === undefined) &&
    events.all.some(({ attr, layout }) =>
      (layout.sampleType & PERF_SAMPLE_STACK_USER) !== 0 && !attr.flags.build_id
    );
}

/** Of the options of a run, those of the order. */
function orderOptionsOf(
  { from, to, inflate, lookAhead, hold, order }: EngineOptions,
): OrderOptions {
  return {
    ...(from === undefined ? {} : { from }),
    ...(to === undefined ? {} : { to }),
    ...(inflate === undefined ? {} : { inflate }),
    ...(lookAhead === undefined ? {} : { lookAhead }),
    ...(hold === undefined ? {} : { hold }),
    ...(order === undefined ? {} : { order }),
  };
}

/** Takes what gives events of a file another name, as perf follows it; says whether there was some. */
function takeUpdates(run: Run, names: EventNames): boolean {
  const { count, type } = run;
  let some = false;
  for (let i = 0; i < count; i++) {
    if (type[i] !== PERF_RECORD_EVENT_UPDATE) continue;
    const { bytes, view } = run.at(i);
    names.record(bytes, view, run.start[i] as number, run.end[i] as number);
    some = true;
  }
  return some;
}

/** Takes what names events; says whether there may be some. */
function takeNames(batch: RecordBatch, names: EventNames): boolean {
  const { bytes, view } = batch;
  let some = false;
  for (let i = 0; i < batch.count; i++) {
    if (batch.type(i) < PERF_RECORD_USER_TYPE_START) continue;
    names.record(bytes, view, batch.start(i), batch.start(i) + batch.size(i));
    some = true;
  }
  return some;
}
