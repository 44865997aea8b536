import { intAt, visible } from "@perfdata/format/bytes";
import {
  HEADER_NRCPUS,
  PERF_RECORD_COMM,
  PERF_RECORD_FORK,
  PERF_RECORD_HEADER_FEATURE,
  PERF_RECORD_SAMPLE,
} from "@perfdata/format/constants";
import { COMM, FORK, layoutOf } from "@perfdata/format/records";
import { type ContextSwitch, type Engine, type Run, streamFeature } from "@perfdata/session";
import { SchedulerConsumer } from "./consumer.ts";

const NAME = layoutOf(COMM);
const TASK = layoutOf(FORK);
/** Limit of the columns. More indicate a damaged recording. */
const MOST_CPUS = 4096;

/** A context switch, with the threads on all CPUs. */
export interface SchedulerMapRow {
  /** Time in ns. */
  readonly time: bigint;
  /** The CPU that switched. */
  readonly cpu: number;
  /** Thread on each CPU: the map's short name, `.` if idle, "" if unknown. */
  readonly cpus: readonly string[];
  /** The thread that got the CPU. */
  readonly tid: number;
  /** Name of the thread. */
  readonly comm: string;
  /** Whether the thread is new in the map, or has a new name. */
  readonly isNew: boolean;
}

class Thread {
  short = "";
  isRenamed = false;

  /** @param comm Name of the thread; undefined if its records were lost. */
  constructor(public comm: string | undefined) {}
}

/** The thread on each CPU after each context switch, as in `perf sched map`. */
export class SchedulerMap extends SchedulerConsumer {
  readonly #threads = new Map<number, Thread>([[0, new Thread("swapper")]]);
  readonly #cpus: (Thread | undefined)[] = [];
  readonly #take: (row: SchedulerMapRow) => void;
  #first = "A";
  #second = "0";

  /** Creates a map. `take` receives rows in time order. */
  constructor(take: (row: SchedulerMapRow) => void) {
    super();
    this.#take = take;
  }

  /** Reads the number of CPUs. */
  override async start(engine: Engine): Promise<void> {
    await super.start(engine);
    const { reader } = engine;
    const section = reader.features.find(({ id }) => id === HEADER_NRCPUS)?.section;
    if (section === undefined) return;
    const { offset, size } = section;
    const bytes = await reader.readSection(Number(offset), Number(size), "NRCPUS");
    this.#learnCpus(bytes, reader.littleEndian);
  }

  /** Reads NRCPUS, whose first word is the number of available CPUs. */
  #learnCpus(bytes: Uint8Array, littleEndian: boolean): void {
    if (bytes.length < 4) return;
    const count = new DataView(bytes.buffer, bytes.byteOffset).getUint32(0, littleEndian);
    this.#cpus.length = Math.max(this.#cpus.length, Math.min(MOST_CPUS, count));
  }

  /** Stores names of threads at their time. The machine has the names at the end of the group. */
  protected override record(run: Run, i: number): void {
    const type = run.type[i];
    const { reader } = this.engine ?? {};
    if (type === PERF_RECORD_SAMPLE || reader === undefined) return;
    const { view, bytes } = run.at(i);
    const start = intAt(run.start, i);
    const le = reader.littleEndian;
    if (type === PERF_RECORD_HEADER_FEATURE) {
      const feature = streamFeature(reader, bytes, view, start, intAt(run.end, i));
      if (feature?.id === HEADER_NRCPUS) this.#learnCpus(feature.payload, le);
      return;
    }
    if (type !== PERF_RECORD_COMM && type !== PERF_RECORD_FORK) return;
    if (type === PERF_RECORD_FORK) {
      const tid = view.getInt32(start + TASK.tid, le);
      const parent = this.#threads.get(view.getInt32(start + TASK.ptid, le));
      this.#threads.set(tid, new Thread(parent?.comm));
      return;
    }
    const text = bytes.subarray(start + NAME.comm, intAt(run.end, i));
    const nul = text.indexOf(0);
    const thread = this.#thread(view.getInt32(start + NAME.tid, le));
    thread.comm = new TextDecoder().decode(nul < 0 ? text : text.subarray(0, nul));
    thread.isRenamed = true;
  }

  /** Handles a context switch. */
  switched({ time, cpu, to }: ContextSwitch): void {
    if (cpu < 0 || cpu >= MOST_CPUS) return;
    const thread = this.#thread(to);
    if (this.#cpus.length <= cpu) this.#cpus.length = cpu + 1;
    this.#cpus[cpu] = thread;
    const isNew = thread.short === "";
    if (isNew) thread.short = thread.comm === "swapper" ? "." : this.#nextName();
    this.#take({
      time: this.base + BigInt(time),
      cpu,
      cpus: Array.from(this.#cpus, (of) => of?.short ?? ""),
      tid: to,
      comm: thread.comm ?? `:${to}`,
      isNew: isNew || thread.isRenamed,
    });
    thread.isRenamed = false;
  }

  #thread(tid: number): Thread {
    let thread = this.#threads.get(tid);
    if (thread === undefined) this.#threads.set(tid, thread = new Thread(undefined));
    return thread;
  }

  /** `A0` to `Z0`, then `A1`, and so on. After `Z9`, names are reused as in perf. */
  #nextName(): string {
    const name = this.#first + this.#second;
    if (this.#first !== "Z") this.#first = String.fromCharCode(this.#first.charCodeAt(0) + 1);
    else {
      this.#first = "A";
      this.#second = this.#second === "9" ? "0" : String(Number(this.#second) + 1);
    }
    return name;
  }
}

/**
 * Formats a line of the map: a column per CPU, with `*` before the one that switched.
 *
 * @example
 * ```ts
 * import { mapLine } from "@perfdata/report/contention";
 * import { assertEquals } from "@std/assert";
 *
 * const row = { time: 1_500_000_000n, cpu: 1, cpus: ["A0", "."], tid: 0, comm: "swapper", isNew: true };
 * assertEquals(mapLine(row), "   A0 *.        1.500000 secs .  => swapper:0");
 * ```
 */
export function mapLine({ time, cpu, cpus, tid, comm, isNew }: SchedulerMapRow): string {
  const columns = cpus.map((short, i) => {
    const name = short === "." ? ". " : short;
    return `${i === cpu ? "*" : " "}${short === "" ? "   " : `${name.padStart(2)} `}`;
  }).join("");
  const short = cpus[cpu] ?? "";
  const legend = isNew ? `${short === "." ? ". " : short} => ${visible(comm)}:${tid}` : "";
  const us = time / 1000n;
  const moment = `${us / 1000000n}.${String(us % 1000000n).padStart(6, "0")}`.padStart(12);
  return `  ${columns}  ${moment} secs ${legend}`;
}
