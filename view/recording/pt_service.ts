import { PerfDataReader } from "@perfdata/format/records";
import { byteAt, floatAt, intAt, numberAt, type RandomAccessSource } from "@perfdata/format/bytes";
import { readAuxTrace } from "@perfdata/session/auxtrace";
import {
  CALL_ROW,
  decodePt,
  functionRows,
  type FunctionTime,
  functionTimes,
  type InsnText,
  lossText,
  missingCode,
  type OpenPtOptions,
  type PtBuffer,
  PtCalls,
  type PtCode,
  type PtCounts,
  type PtGrowth,
  PtList,
  PtNames,
  PtSeeker,
  type PtSink,
  ptSpan,
  PtTrace,
  ROW,
  unsureText,
} from "@perfdata/pt/decode";
import type { FlowDecoder } from "@perfdata/intel-pt";
import type { RecordedMachine } from "@perfdata/symbols/resolver";
import type { SymbolResolver } from "@perfdata/symbols";
import { PERF_AUXTRACE_INTEL_PT } from "@perfdata/user-records";
import { callBoxes } from "../data/call_boxes.ts";
import type { TimeBoxes } from "../data/open_boxes.ts";

/** Input of {@linkcode PtService}. */
export interface PtParts {
  readonly source: RandomAccessSource;
  readonly code: OpenPtOptions["code"];
  readonly resolver: (machine: RecordedMachine | undefined) => Promise<SymbolResolver>;
  /** Creates the formatter of instructions; `undefined` without a disassembler. */
  readonly text: () => Promise<InsnText | undefined>;
}

/** Properties of the whole trace, known without decoding. */
export interface PtFacts {
  /** Time of the start, in ns as decimal text. */
  readonly start: string;
  /** Duration in ns; 0 without times. */
  readonly duration: number;
  /** Reason why the trace has no times. */
  readonly untimed: string | undefined;
  /** The buffers; times count from the start of the trace. */
  readonly buffers: readonly (PtGrowth & {
    readonly label: string;
    /** The CPU or the thread that wrote the buffer; -1 for the other one. */
    readonly cpu: number;
    readonly tid: number;
  })[];
}

/** The part of the trace to decode: ns from its start. */
export interface PtQuery {
  readonly from: number;
  readonly to: number;
  /** Thread whose calls are laid out. If it is not in the part, the thread that ran longest. */
  readonly tid: number;
  /** Minimum share of the width for a box. */
  readonly least: number;
}

/** A function of a part of a trace. */
export type PtFunctionRow = FunctionTime;

/** Calls that ended in a part of a trace, in order of their ends. */
export interface PtCallRows {
  readonly length: number;
  /** Start of the call in ns from the start of the trace; -1 if unknown. */
  readonly time: Float64Array;
  /** Duration in ns; -1 if unknown. */
  readonly duration: Float64Array;
  readonly depth: Int32Array;
  readonly tid: Int32Array;
  /** Number of the function in {@linkcode PtPart.names}. */
  readonly fn: Int32Array;
  readonly insns: Float64Array;
  /** 1 if the return is in the trace. */
  readonly returned: Uint8Array;
}

export interface PtPart {
  /** Bytes of the trace that were decoded. */
  readonly bytes: number;
  readonly functions: readonly PtFunctionRow[];
  readonly calls: PtCallRows;
  /** Number of all calls, which may exceed the listed ones. */
  readonly callCount: number;
  /** Threads, by descending time of execution. */
  readonly threads: readonly {
    readonly tid: number;
    readonly name: string;
    readonly time: number;
  }[];
  /** The thread whose calls are laid out; -1 without one. */
  readonly tid: number;
  readonly boxes: TimeBoxes;
  /** Names and objects of functions, by index. */
  readonly names: readonly string[];
  readonly objects: readonly string[];
  /** Missing and unknown parts. */
  readonly notes: readonly string[];
}

/** Instructions of a part of a trace. */
export interface PtInsns {
  readonly rows: readonly {
    /** Time in ns from the start of the trace; -1 if unknown. */
    readonly time: number;
    readonly tid: number;
    /** Address in hex. */
    readonly ip: string;
    /** Function and the distance from its start. */
    readonly place: string;
    /** Text of the instruction; empty without a formatter. */
    readonly text: string;
  }[];
  readonly more: boolean;
  readonly notes: readonly string[];
}

/** Number of points of the histogram, over all buffers. */
const POINTS = 2048;
/** Maximum number of calls that are listed. */
const MOST_CALLS = 100_000;
/** Maximum number of instructions that are listed. */
const MOST_INSNS = 20_000;

/** A sink that passes everything to several sinks. */
class Sinks implements PtSink {
  readonly #sinks: readonly PtSink[];

  constructor(sinks: readonly PtSink[]) {
    this.#sinks = sinks;
  }

  flow(buffer: PtBuffer, run: FlowDecoder): void {
    for (const sink of this.#sinks) sink.flow(buffer, run);
  }

  thread(buffer: PtBuffer): void {
    for (const sink of this.#sinks) sink.thread?.(buffer);
  }

  forget(): void {
    for (const sink of this.#sinks) sink.forget?.();
  }

  async idle(): Promise<void> {
    for (const sink of this.#sinks) await sink.idle?.();
  }
}

/** State that is read once. */
interface Opened {
  readonly trace: PtTrace;
  readonly names: PtNames;
  /** Start of the trace in ns since the clock's origin. */
  readonly first: number;
  readonly facts: PtFacts;
}

/** Decodes the viewed parts of an Intel PT trace. */
export class PtService {
  readonly #parts: PtParts;
  #opened: Promise<Opened | undefined> | undefined;

  /** Creates the service; reads nothing. */
  constructor(parts: PtParts) {
    this.#parts = parts;
  }

  /** Returns the properties of the whole trace; `undefined` if the recording has none. */
  async facts(): Promise<PtFacts | undefined> {
    return (await this.#open())?.facts;
  }

  /** Decodes a part and returns its functions, calls and threads. */
  async part({ from, to, tid, least }: PtQuery): Promise<PtPart> {
    const { trace, names, first } = await this.#needed();
    const range = { from: first + from, to: first + to };
    const clocked = trace.aux.intelPtConfig?.cyc === true;
    const sums = new PtCalls(trace, { filter: range, rows: functionRows(names) });
    // Calls still open at the end of the part are drawn, too, and cut there.
    const drawn = new PtCalls(trace, { tree: true, timeline: true });
    const kept = new KeptCalls(names, first);
    const listed: PtCalls = new PtCalls(trace, {
      filter: range,
      idle: async () => {
        await names.resolve();
        if (listed.events !== undefined) kept.take(listed.events);
        listed.events?.clear();
      },
    });
    const sinks = new Sinks([sums, drawn, listed]);
    const counts = await this.#decode(sinks, range);
    for (const sink of [sums, drawn, listed]) sink.finish();
    await sinks.idle();
    await names.resolve();
    const { tree, timeline } = drawn;
    if (tree === undefined || timeline === undefined) throw new TypeError("no calls were kept");
    const times = new Map<number, number>();
    for (let i = 0; i < timeline.count; i++) {
      const [start, end] = [floatAt(timeline.from, i), floatAt(timeline.to, i)];
      const time = Math.min(end, range.to) - Math.max(start, range.from);
      const of = intAt(timeline.tid, i);
      // Skip idle tasks (tid 0 on every CPU) and calls without a thread (tid -1).
      if (time > 0 && of > 0) times.set(of, (times.get(of) ?? 0) + time);
    }
    const threads = [...times].sort(([a, timeA], [b, timeB]) => timeB - timeA || a - b)
      .map(([tid, time]) => ({ tid, time, name: nameOf(trace, tid, range.to) }));
    const chosen = times.has(tid) ? tid : threads[0]?.tid ?? -1;
    const boxes = callBoxes(tree, timeline, names.functions, { tid: chosen, ...range, least });
    const zero = { ...boxes, from: boxes.from.map((time) => time - first) };
    return {
      bytes: counts.bytes,
      functions: functionTimes(sums, names, clocked),
      calls: kept.rows(),
      callCount: kept.count,
      threads,
      tid: chosen,
      boxes: { ...zero, to: boxes.to.map((time) => time - first) },
      names: names.functionNames.map(({ name, verified }) =>
        verified === false ? `${name}?` : name
      ),
      objects: names.functionNames.map(({ object }) => object),
      notes: notesOf(counts, trace.code, names, kept.count),
    };
  }

  /** Decodes a part and returns its instructions. */
  async insns({ from, to }: Pick<PtQuery, "from" | "to">): Promise<PtInsns> {
    const { trace, names, first } = await this.#needed();
    const range = { from: first + from, to: first + to };
    const rows: PtInsns["rows"][number][] = [];
    let more = false;
    const list: PtList = new PtList(trace, {
      insns: true,
      filter: range,
      text: await this.#parts.text(),
      idle: async () => {
        await names.resolve();
        const { count, row, time, tid, a, b, high, low } = list.rows;
        for (let i = 0; i < count; i++) {
          if (row[i] !== ROW.INSN) continue;
          if (rows.length === MOST_INSNS) {
            more = true;
            break;
          }
          const ip = BigInt(intAt(high, i) >>> 0) << 32n | BigInt(intAt(low, i) >>> 0);
          rows.push({
            time: floatAt(time, i) < 0 ? -1 : floatAt(time, i) - first,
            tid: intAt(tid, i),
            ip: ip.toString(16),
            place: names.text(intAt(a, i)),
            text: list.texts[intAt(b, i)] ?? "",
          });
        }
        list.rows.clear();
      },
    });
    const counts = await this.#decode(list, range, () => more);
    return { rows, more, notes: notesOf(counts, trace.code, names, 0) };
  }

  async #decode(
    sink: PtSink,
    range: { readonly from: number; readonly to: number },
    done: () => boolean = () => false,
  ): Promise<PtCounts> {
    const { trace } = await this.#needed();
    const ending: PtSink = {
      flow: (buffer, run) => sink.flow(buffer, run),
      thread: (buffer) => sink.thread?.(buffer),
      forget: () => sink.forget?.(),
      idle: () => sink.idle?.(),
      done,
    };
    return await decodePt(trace, ending, range);
  }

  async #needed(): Promise<Opened> {
    const opened = await this.#open();
    if (opened === undefined) throw new Error("the recording has no Intel PT");
    return opened;
  }

  #open(): Promise<Opened | undefined> {
    return this.#opened ??= this.#read();
  }

  async #read(): Promise<Opened | undefined> {
    const { source } = this.#parts;
    const quiet = { diagnostics: () => {} };
    const aux = await readAuxTrace(await PerfDataReader.open(source, quiet), quiet);
    if (aux.streams.length === 0 || aux.type !== PERF_AUXTRACE_INTEL_PT) return undefined;
    const trace = await PtTrace.open(source, { ...quiet, aux, code: this.#parts.code });
    const names = new PtNames(trace.code, await this.#parts.resolver(trace.engine.recorded));
    const { clock } = trace;
    const span = await ptSpan(trace);
    const [first, last] = span ?? [0, 0];
    const most = Math.max(16, Math.floor(POINTS / aux.streams.length));
    const buffers: PtFacts["buffers"][number][] = [];
    for (const stream of aux.streams) {
      const { at, time, size } = await new PtSeeker(stream, source, clock).growth(most);
      const label = stream.cpu === undefined ? `thread ${stream.tid ?? "?"}` : `CPU ${stream.cpu}`;
      // Data after the last known PSB was written by the end.
      buffers.push({
        label,
        cpu: stream.cpu ?? -1,
        tid: stream.cpu === undefined ? stream.tid ?? -1 : -1,
        at: Float64Array.from([...at, size]),
        time: Float64Array.from([...time, Math.max(last, time.at(-1) ?? last)], (ns) => ns - first),
        size,
      });
    }
    const facts: PtFacts = {
      start: String(clock.origin.exact(first)),
      duration: last - first,
      untimed: span === undefined ? clock.known ? "no packet has one" : clock.why : undefined,
      buffers,
    };
    return { trace, names, first, facts };
  }
}

function nameOf({ sideband: { threads } }: PtTrace, tid: number, time: number): string {
  return threads.name(tid, time) ?? threads.name(threads.pid(tid, time), time) ?? "";
}

function notesOf(
  counts: PtCounts,
  code: PtCode,
  names: PtNames,
  calls: number,
): readonly string[] {
  const missing = missingCode(code);
  const causes = names.causes();
  return [
    lossText(counts),
    unsureText(counts),
    missing === "" ? undefined : `no code of ${missing}`,
    causes === "" ? undefined : `places without a function: ${causes}`,
    calls > MOST_CALLS ? `the first ${MOST_CALLS} of ${calls} calls are listed` : undefined,
  ].filter((note) => note !== undefined);
}

/** Collects ended calls in the page's columns. */
class KeptCalls {
  count = 0;
  readonly #names: PtNames;
  readonly #first: number;
  readonly #rows: number[][] = [];

  constructor(names: PtNames, first: number) {
    this.#names = names;
    this.#first = first;
  }

  take(events: NonNullable<PtCalls["events"]>): void {
    for (let i = 0; i < events.count; i++) {
      const kind = byteAt(events.kind, i);
      if (kind === CALL_ROW.CALL || kind === CALL_ROW.PTWRITE || this.count++ >= MOST_CALLS) {
        continue;
      }
      const [end, duration] = [floatAt(events.time, i), floatAt(events.duration, i)];
      this.#rows.push([
        end < 0 || duration < 0 ? -1 : end - duration - this.#first,
        duration,
        intAt(events.depth, i),
        intAt(events.tid, i),
        this.#names.functions[intAt(events.place, i)] ?? -1,
        floatAt(events.insns, i),
        kind === 1 ? 1 : 0,
      ]);
    }
  }

  rows(): PtCallRows {
    const column = (number: number) => this.#rows.map((row) => numberAt(row, number));
    return {
      length: this.#rows.length,
      time: Float64Array.from(column(0)),
      duration: Float64Array.from(column(1)),
      depth: Int32Array.from(column(2)),
      tid: Int32Array.from(column(3)),
      fn: Int32Array.from(column(4)),
      insns: Float64Array.from(column(5)),
      returned: Uint8Array.from(column(6)),
    };
  }
}
