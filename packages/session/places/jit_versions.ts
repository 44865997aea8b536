import type { PerfDataReader } from "@perfdata/format/records";
import { addressFromHalves, perfMapPid, type SymbolObject } from "@perfdata/symbols/resolver";
import type { JitFiles, JitSymbols } from "@perfdata/symbols";
import type { RecordedObjects } from "./recorded_objects.ts";

/** `CLOCK_MONOTONIC`, the clock of the times in jitdump files. */
const CLOCK_MONOTONIC = 1;
/** Bit 0 of a jitdump's flags: times are those of the CPU's counter. */
const ARCH_TIMESTAMP = 1n;

/** Whether a recording has the clock of jitdump files: `perf record -k mono`. */
export function isMonotonic({ events }: Pick<PerfDataReader, "events">): boolean {
  return events.all.every(({ attr }) => attr.flags.use_clockid && attr.clockid === CLOCK_MONOTONIC);
}

/** The code of one process in a jitdump file, by address and time. */
export class JitVersions {
  readonly #symbols: JitSymbols;
  readonly #timeOf: (ns: number) => number;
  readonly #untilOf: (pid: number) => number;

  /**
   * Prepares for a file.
   *
   * @param untilOf returns the time of the recording up to which the file describes a process's
   * memory
   * @param timeOf converts a time of the recording to the clock of the file
   */
  constructor(
    symbols: JitSymbols,
    untilOf: (pid: number) => number,
    timeOf: (ns: number) => number = (ns) => ns,
  ) {
    this.#symbols = symbols;
    this.#untilOf = untilOf;
    this.#timeOf = timeOf;
  }

  /** `JitSymbols.version` of an address in a process at a time, both as halves. */
  find(pid: number, hi: number, lo: number, timeHi: number, timeLo: number): number {
    // deno-lint-ignore perfdata/halves -- compared with times of generated code, to 256 ns by the time of day
    const time = (timeHi >>> 0) * 2 ** 32 + (timeLo >>> 0);
    const seen = Math.min(time, this.#untilOf(pid));
    return this.#symbols.version(addressFromHalves(hi, lo), this.#timeOf(seen));
  }
}

/** Finds the code that a JIT compiler had put at an address when a record was written. */
export class JitRecorded {
  readonly #reader: PerfDataReader;
  readonly #recorded: RecordedObjects;
  readonly #files: JitFiles;

  /** Prepares to find code in files that the recording names. */
  constructor(reader: PerfDataReader, recorded: RecordedObjects, files: JitFiles) {
    this.#reader = reader;
    this.#recorded = recorded;
    this.#files = files;
  }

  /**
   * The versions of an object's code. `undefined` if it has no jitdump file, or if its times cannot
   * be compared with those of the recording; then the newest code counts.
   */
  of(object: SymbolObject): JitVersions | undefined {
    const file = this.#files.readable(object);
    if (file === undefined) return undefined;
    const { header: { flags }, symbols } = file;
    // A forked address space has a map with the name of the process that created the code.
    const owner = perfMapPid(object.path) ?? -1;
    const untilOf = (pid: number): number => this.#recorded.forkedAt(owner, pid);
    if ((flags & ARCH_TIMESTAMP) === 0n) {
      return isMonotonic(this.#reader) ? new JitVersions(symbols, untilOf) : undefined;
    }
    const { timeConv } = this.#recorded;
    if (timeConv === undefined) return undefined;
    const zero = Number(timeConv.time_zero);
    const scale = 2 ** Number(timeConv.time_shift) / Number(timeConv.time_mult);
    return new JitVersions(symbols, untilOf, (ns) => (ns - zero) * scale);
  }
}
