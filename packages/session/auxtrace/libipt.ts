import { MMAP, MMAP2, type PerfDataReader, RecordCodec } from "@perfdata/format/records";
import {
  PERF_RECORD_MISC_CPUMODE_MASK,
  PERF_RECORD_MISC_MMAP_DATA,
  PERF_RECORD_MISC_USER,
  PERF_RECORD_MMAP,
  PERF_RECORD_MMAP2,
  PERF_RECORD_SAMPLE,
  PERF_RECORD_USER_TYPE_START,
  PERF_SAMPLE_TIME,
} from "@perfdata/format/constants";
import type { AuxStream, AuxTrace } from "./aux_trace.ts";
import type { Consumer } from "../engine/engine_consumer.ts";
import type { Run } from "../order/run.ts";

/** Executable memory of a process to which a file is mapped. */
export interface MappedCode {
  /** The process. */
  readonly pid: number;
  /** The file, or a name such as `[vdso]` or `//anon`. */
  readonly path: string;
  /** First address. */
  readonly start: bigint;
  /** Bytes. */
  readonly length: bigint;
  /** Offset in the file. */
  readonly offset: bigint;
}

/** Bytes that are buffered before they are written. */
const BLOCK = 1 << 16;

/** PROT_EXEC of mmap(2). */
const PROT_EXEC = 4;

/** Buffered writer of one CPU's sideband. */
class Channel {
  readonly #write: (bytes: Uint8Array) => void;
  readonly #block = new Uint8Array(BLOCK);
  #held = 0;

  constructor(write: (bytes: Uint8Array) => void) {
    this.#write = write;
  }

  /** Appends a record, which is smaller than a block. */
  take(bytes: Uint8Array, start: number, end: number): void {
    if (this.#held + end - start > BLOCK) this.flush();
    this.#block.set(bytes.subarray(start, end), this.#held);
    this.#held += end - start;
  }

  flush(): void {
    if (this.#held > 0) this.#write(this.#block.subarray(0, this.#held));
    this.#held = 0;
  }
}

/**
 * Separates the sideband of an Intel PT recording for libipt: the kernel's records about processes,
 * mappings and context switches, in order of time, for each CPU that they occurred on.
 *
 * A sideband file is a sequence of `perf_event` records, as `pevent` of libipt reads them and as
 * libipt's `script/perf-read-sideband.bash` makes them. perf's own records and samples are left out:
 * libipt skips them.
 *
 * @example
 * ```ts
 * import { bytesSource, PerfDataReader } from "@perfdata/format";
 * import { LibiptSideband } from "@perfdata/session/auxtrace";
 * import { runEngine } from "@perfdata/session";
 * import { assertEquals } from "@std/assert";
 *
 * const pipe = new Uint8Array(16);
 * pipe.set(new TextEncoder().encode("PERFILE2"));
 * pipe.set([16], 8);
 * const sideband = new LibiptSideband(() => () => {});
 * await runEngine(await PerfDataReader.open(bytesSource(pipe)), [sideband]);
 * assertEquals(sideband.cpus, []);
 * ```
 */
export class LibiptSideband implements Consumer {
  /** Records in order of time, without threads or places. */
  readonly needs = { machine: false } as const;
  /** Code that was mapped, in order of time. */
  readonly mapped: MappedCode[] = [];
  readonly #open: (cpu: number) => (bytes: Uint8Array) => void;
  readonly #channels = new Map<number, Channel>();
  readonly #codec = new RecordCodec([MMAP, MMAP2]);
  #littleEndian = true;

  /**
   * Prepares for one recording.
   *
   * @param open Called once for each CPU with records, and with -1 for records without a CPU.
   * Returns the function that writes their bytes, which are valid during the call only.
   */
  constructor(open: (cpu: number) => (bytes: Uint8Array) => void) {
    this.#open = open;
  }

  /** CPUs with sideband records, sorted; -1 means records without a CPU. */
  get cpus(): number[] {
    return [...this.#channels.keys()].sort((a, b) => a - b);
  }

  /** Notes the byte order. */
  start({ reader }: { readonly reader: PerfDataReader }): void {
    this.#littleEndian = reader.littleEndian;
  }

  /** Writes the records of a group to the channels of their CPUs. */
  rows(run: Run): void {
    const { count, type, cpu, start, end } = run;
    for (let i = 0; i < count; i++) {
      const kind = type[i] as number;
      if (kind >= PERF_RECORD_USER_TYPE_START || kind === PERF_RECORD_SAMPLE) continue;
      const { bytes } = run.at(i);
      const from = start[i] as number;
      const to = end[i] as number;
      this.#channel(cpu[i] as number).take(bytes, from, to);
      if (kind === PERF_RECORD_MMAP || kind === PERF_RECORD_MMAP2) {
        this.#map(bytes.subarray(from, to));
      }
    }
  }

  /** Writes the buffered records. */
  finish(): void {
    for (const channel of this.#channels.values()) channel.flush();
  }

  #channel(cpu: number): Channel {
    let channel = this.#channels.get(cpu);
    if (channel === undefined) {
      channel = new Channel(this.#open(cpu));
      this.#channels.set(cpu, channel);
    }
    return channel;
  }

  #map(bytes: Uint8Array): void {
    const record = this.#codec.decode(bytes, { littleEndian: this.#littleEndian });
    if (record.name !== "MMAP" && record.name !== "MMAP2") return;
    const { misc, body } = record;
    if ((misc & PERF_RECORD_MISC_CPUMODE_MASK) !== PERF_RECORD_MISC_USER) return;
    const executable = record.name === "MMAP2"
      ? (record.body.prot & PROT_EXEC) !== 0
      : (misc & PERF_RECORD_MISC_MMAP_DATA) === 0;
    if (!executable) return;
    const { pid, filename: path, addr: start, len: length, pgoff: offset } = body;
    this.mapped.push({ pid, path, start, length, offset });
  }
}

/**
 * The reason why libipt cannot use the sideband of a recording; `undefined` if it can.
 *
 * libipt needs a time in every record, the conversion of these times to TSC, and TSC packets in the
 * trace.
 */
export function noSidebandReason(reader: PerfDataReader, trace: AuxTrace): string | undefined {
  const [first] = reader.events.all;
  if (first === undefined) return "the file names no event";
  if (!first.attr.flags.sample_id_all) return "recorded without sample_id_all";
  if ((first.attr.sample_type & BigInt(PERF_SAMPLE_TIME)) === 0n) return "records have no time";
  if (!trace.intelPt?.time_mult) return "AUXTRACE_INFO does not relate times to the TSC";
  if (trace.intelPtConfig?.tsc === false) return "the trace was recorded without TSC packets";
  return undefined;
}

/**
 * The options for libipt's `ptxed` and `ptdump` that describe the processor, its clocks, and the
 * layout of sideband records. libipt's `script/perf-get-opts.bash` derives the same.
 *
 * They have to come before the trace and the sideband files. `--pevent:sample-config` needs libipt
 * 2.1 or later.
 *
 * @returns Words of a command line: each option, then its value.
 *
 * @example
 * ```ts
 * import { bytesSource, PerfDataReader } from "@perfdata/format";
 * import { libiptOptions, readAuxTrace } from "@perfdata/session/auxtrace";
 * import { assertEquals } from "@std/assert";
 *
 * const pipe = new Uint8Array(16);
 * pipe.set(new TextEncoder().encode("PERFILE2"));
 * pipe.set([16], 8);
 * const reader = await PerfDataReader.open(bytesSource(pipe));
 * const trace = await readAuxTrace(reader);
 * assertEquals(libiptOptions(reader, { ...trace, cpuid: "GenuineIntel,6,94,3" }), ["--cpu", "6/94/3"]);
 * ```
 */
export function libiptOptions(reader: PerfDataReader, trace: AuxTrace): string[] {
  const words: string[] = [];
  const cpu = /^GenuineIntel,(\d+),(\d+),(\d+)/.exec(trace.cpuid ?? "");
  if (cpu !== null) words.push("--cpu", `${cpu[1]}/${cpu[2]}/${cpu[3]}`);
  const { intelPt: info, intelPtConfig: config } = trace;
  const add = (name: string, value: bigint | number | undefined): void => {
    if (value) words.push(name, String(value));
  };
  // The ratio of TSC to core crystal clock: EBX / EAX of CPUID leaf 15H (Intel SDM, volume 2A).
  add("--cpuid-0x15.ebx", info?.tsc_ctc_n);
  add("--cpuid-0x15.eax", info?.tsc_ctc_d);
  add("--nom-freq", info?.max_nonturbo_ratio);
  add("--mtc-freq", config?.mtcPeriod);
  if (noSidebandReason(reader, trace) !== undefined) return words;
  add("--pevent:time-shift", info?.time_shift);
  add("--pevent:time-mult", info?.time_mult);
  add("--pevent:time-zero", info?.time_zero);
  const layout = (id: bigint, sampleType: bigint): void => {
    words.push("--pevent:sample-config", `${id}:0x${sampleType.toString(16)}`);
  };
  const events = reader.events.all;
  // Records that perf made have the id 0, and the layout of the first event.
  if (events[0] !== undefined) layout(0n, events[0].attr.sample_type);
  for (const { attr, ids } of events) for (const id of ids) layout(id, attr.sample_type);
  return words;
}

/**
 * The options that name sideband files: `--pevent:primary` for the file of the traced CPU,
 * `--pevent:secondary` for the others.
 *
 * @param stream The stream to decode. For the stream of a thread, all files are primary, since the
 * thread may have run on any CPU.
 * @param files Sideband files by CPU, with -1 for records without a CPU.
 *
 * @example
 * ```ts
 * import { libiptSidebandOptions } from "@perfdata/session/auxtrace";
 * import { assertEquals } from "@std/assert";
 *
 * const files = new Map([[0, "a"], [1, "b"]]);
 * assertEquals(libiptSidebandOptions({ cpu: 1 }, files), [
 *   "--pevent:secondary",
 *   "a",
 *   "--pevent:primary",
 *   "b",
 * ]);
 * ```
 */
export function libiptSidebandOptions(
  stream: Pick<AuxStream, "cpu">,
  files: ReadonlyMap<number, string>,
): string[] {
  return [...files].flatMap(([cpu, file]) => [
    stream.cpu === undefined || stream.cpu === cpu ? "--pevent:primary" : "--pevent:secondary",
    file,
  ]);
}

/**
 * The options that pass `ptxed` the code of one process without sideband: `--raw` for each mapped
 * file, with the part of the file and the address of the mapping.
 *
 * @param mapped The code of the process. If two mappings overlap, the later one counts.
 * @param symfs Directory with the files of the recorded machine.
 *
 * @example
 * ```ts
 * import { libiptImageOptions } from "@perfdata/session/auxtrace";
 * import { assertEquals } from "@std/assert";
 *
 * const code = { pid: 7, path: "/bin/true", start: 0x401000n, length: 0x2000n, offset: 0x1000n };
 * assertEquals(libiptImageOptions([code], "/mnt"), [
 *   "--raw",
 *   "/mnt/bin/true:0x1000-0x3000:0x401000",
 * ]);
 * ```
 */
export function libiptImageOptions(mapped: readonly MappedCode[], symfs = ""): string[] {
  const hex = (value: bigint): string => `0x${value.toString(16)}`;
  return mapped.filter(({ path }) => isFilePath(path)).flatMap((
    { path, start, length, offset },
  ) => [
    "--raw",
    `${symfs}${path}:${hex(offset)}-${hex(offset + length)}:${hex(start)}`,
  ]);
}

/** Whether the name of a mapping is a file's: not `[vdso]`, `//anon`, or a deleted file. */
export function isFilePath(path: string): boolean {
  return path.startsWith("/") && !path.startsWith("//") && !path.endsWith(" (deleted)");
}
