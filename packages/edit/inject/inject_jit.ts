import { joinBytes } from "@perfdata/format/bytes";
import {
  KERNEL_RECORDS,
  type PerfDataReader,
  PerfEvent,
  type RecordBatch,
  RecordCodec,
  type WriterFeature,
} from "@perfdata/format/records";
import {
  PERF_RECORD_FINISHED_ROUND,
  PERF_RECORD_MISC_USER,
  PERF_RECORD_MMAP,
  PERF_RECORD_MMAP2,
  PERF_RECORD_TIME_CONV,
} from "@perfdata/format/constants";
import { type BinarySource, machineOf, runsOn } from "@perfdata/symbols/resolver";
import {
  type JitCodeDebugInfo,
  type JitCodeLoad,
  type JitCodeUnwindingInfo,
  JitdumpError,
  jitElf,
  openJitdump,
} from "@perfdata/symbols";
import { TIME_CONV, type TimeConv } from "@perfdata/user-records/metadata";
import { AddBuildIds } from "../copy/build_ids.ts";
import { DROP, type Edit, KEEP, type Verdict } from "../copy/copy.ts";

/** `CLOCK_MONOTONIC`, the clock of jitdump files. */
const CLOCK_MONOTONIC = 1;
/** Bit 0 of a jitdump's flags: times are ticks of the CPU's counter. */
const ARCH_TIMESTAMP = 1n;
const JITDUMP = /(?:^|\/)jit-\d+\.dump$/;
// Constants of mmap(2).
const [PROT_READ, PROT_EXEC, MAP_SHARED] = [1, 4, 1];

/** A jitdump file that a recording maps. */
export interface NamedJitdump {
  /** Process that mapped the file. */
  readonly pid: number;
  /** Path of the file. */
  readonly path: string;
}

/** The jitdump files of a recording, and properties of the recording that they depend on. */
export interface JitdumpsOf {
  /** The files. */
  readonly files: readonly NamedJitdump[];
  /** Conversion of the CPU's counter, if the recording has it. */
  readonly timeConv: TimeConv | undefined;
  /** Whether samples have times of CLOCK_MONOTONIC (`perf record -k mono`). */
  readonly isMonotonic: boolean;
  /** Architecture of the recorded machine, if the recording has it. */
  readonly arch: string | undefined;
}

/**
 * Finds the jitdump files of a recording. A JIT compiler maps the file that it writes to announce it.
 *
 * @param reader The recording: a file, since it is read twice.
 * @throws {PerfDataError} In strict mode, if the recording is damaged.
 */
export async function findJitdumps(reader: PerfDataReader): Promise<JitdumpsOf> {
  const files = new Map<string, NamedJitdump>();
  const codec = new RecordCodec([...KERNEL_RECORDS, TIME_CONV]);
  let timeConv: TimeConv | undefined;
  for await (const batch of reader.batches({ quiet: true })) {
    for (let i = 0; i < batch.count; i++) {
      const type = batch.type(i);
      const isMap = type === PERF_RECORD_MMAP || type === PERF_RECORD_MMAP2;
      if (!isMap && type !== PERF_RECORD_TIME_CONV) continue;
      const record = codec.decode(batch.recordBytes(i), batch.context(i));
      if (record.name === "TIME_CONV") timeConv = record.body;
      if (record.name !== "MMAP" && record.name !== "MMAP2") continue;
      const { pid, filename: path } = record.body;
      if (JITDUMP.test(path)) files.set(`${pid} ${path}`, { pid, path });
    }
  }
  const isMonotonic = reader.events.all.every(({ attr }) =>
    attr.flags.use_clockid && attr.clockid === CLOCK_MONOTONIC
  );
  return { files: [...files.values()], timeConv, isMonotonic, arch: reader.arch };
}

/** An ELF file of compiled code, and its mapping. */
export interface JittedFile {
  /** Path beside the jitdump file: `jitted-PID-N.so`. */
  readonly path: string;
  /** Contents; `undefined` if code was moved, so that its file exists already. */
  readonly bytes: Uint8Array | undefined;
  /** Build id of the file. */
  readonly buildId: string;
  /** Address and time of the code. */
  readonly map: JittedMap;
}

/** A mapping of compiled code. */
export interface JittedMap {
  /** Process of the mapping. */
  readonly pid: number;
  /** Thread that compiled it. */
  readonly tid: number;
  /** Time in ns of perf's clock. */
  readonly time: bigint;
  /** First address. */
  readonly start: bigint;
  /** Size in bytes. */
  readonly size: bigint;
  /** Offset of the code in the file. */
  readonly pgoff: bigint;
}

/**
 * Converts a jitdump file like `perf inject --jit`: yields an ELF file for each piece of code, with its
 * mapping.
 *
 * @param source The jitdump file.
 * @param dump Process that mapped the file, and its path.
 * @param recording Conversion of the CPU's counter, and architecture of the machine, which applies if the
 * jitdump file does not have one.
 * @throws {JitdumpError} If the file is malformed, its times cannot be converted, or its code is for another
 * architecture.
 */
export async function* jittedFiles(
  source: BinarySource,
  { pid, path }: NamedJitdump,
  { timeConv, arch }: Pick<JitdumpsOf, "timeConv" | "arch">,
): AsyncGenerator<JittedFile, void, void> {
  const { header: written, records } = openJitdump(source);
  const header = { ...written, machine: written.machine || (machineOf(arch) ?? 0) };
  if (header.machine === 0) {
    throw new JitdumpError(12, "elf_mach is 0, and the recording does not say its architecture");
  }
  if (!runsOn(arch, header)) {
    throw new JitdumpError(12, `elf_mach is ${header.machine}, and the recording is of ${arch}`);
  }
  const isArch = (header.flags & ARCH_TIMESTAMP) !== 0n;
  if (isArch && timeConv === undefined) {
    throw new JitdumpError(32, "times of the CPU's counter, and the recording has no TIME_CONV");
  }
  const timeOf = (time: bigint): bigint =>
    isArch && timeConv !== undefined
      ? BigInt.asUintN(64, timeConv.time_zero + (time * timeConv.time_mult >> timeConv.time_shift))
      : time;
  const folder = path.slice(0, path.lastIndexOf("/") + 1);
  const pathOf = (index: bigint) => `${folder}jitted-${header.pid}-${index}.so`;
  // In another pid namespace, a process has another number than in the kernel's records.
  const tidOf = (tid: number) => header.pid === pid ? tid : pid;
  const loads = new Map<bigint, { buildId: string; pgoff: bigint; size: bigint }>();
  let debug: JitCodeDebugInfo | undefined;
  let unwinding: JitCodeUnwindingInfo | undefined;
  for (const record of records()) {
    if (record.id === 2) debug = record;
    else if (record.id === 4) unwinding = record;
    else if (record.id === 0) {
      const made = await elfOf(source, header, record, debug, unwinding);
      // The mapped size includes the unwinding tables if they were mapped.
      const mapped = unwinding === undefined || unwinding.mappedSize === 0
        ? record.codeSize
        : Math.ceil(record.codeSize / 8) * 8 + unwinding.unwindingData.length;
      debug = unwinding = undefined;
      const kept = {
        buildId: made.buildId,
        pgoff: BigInt(made.textOffset),
        size: BigInt(mapped),
      };
      loads.set(record.codeIndex, kept);
      yield {
        path: pathOf(record.codeIndex),
        bytes: made.bytes,
        buildId: made.buildId,
        map: {
          pid,
          tid: tidOf(record.tid),
          time: timeOf(record.timestamp),
          start: BigInt(record.codeAddr),
          size: kept.size,
          pgoff: kept.pgoff,
        },
      };
    } else if (record.id === 1) {
      const load = loads.get(record.codeIndex);
      if (load === undefined) continue;
      const { buildId, pgoff } = load;
      yield {
        path: pathOf(record.codeIndex),
        bytes: undefined,
        buildId,
        map: {
          pid,
          tid: tidOf(record.tid),
          time: timeOf(record.timestamp),
          start: BigInt(record.newCodeAddr),
          size: BigInt(record.codeSize),
          pgoff,
        },
      };
    }
  }
}

function elfOf(
  source: BinarySource,
  header: ReturnType<typeof openJitdump>["header"],
  load: JitCodeLoad,
  debug: JitCodeDebugInfo | undefined,
  unwinding: JitCodeUnwindingInfo | undefined,
): ReturnType<typeof jitElf> {
  return jitElf({
    header,
    load,
    code: source.read(load.codeOffset, load.codeSize),
    lines: debug?.codeAddr === load.codeAddr ? debug.lines : undefined,
    unwinding,
  });
}

/** A mapping to inject, with its file's inode and device. */
export interface JitInjection extends Omit<JittedFile, "bytes"> {
  /** Inode of the file. */
  readonly ino: bigint;
  /** Major number of the file's device. */
  readonly maj: number;
  /** Minor number of the file's device. */
  readonly min: number;
}

/**
 * Injects mappings of compiled code in place of the mapping of the jitdump file.
 *
 * Like `perf inject --jit`, drops mappings of anonymous memory of such a process, which contain
 * the code, and FINISHED_ROUND records, since all mappings are at one position. Build ids are added to the table.
 */
export class InjectJit implements Edit {
  readonly #byDump = new Map<string, JitInjection[]>();
  readonly #pids = new Set<number>();
  readonly #codec = new RecordCodec(KERNEL_RECORDS);
  readonly #event: PerfEvent | undefined;
  readonly #buildIds: AddBuildIds;

  /**
   * Creates the edit.
   *
   * @param reader The recording.
   * @param injections Mappings to inject, by jitdump file.
   */
  constructor(
    reader: PerfDataReader,
    injections: ReadonlyMap<NamedJitdump, readonly JitInjection[]>,
  ) {
    const ids = new Map<string, string>();
    for (const [{ pid, path }, maps] of injections) {
      this.#byDump.set(`${pid} ${path}`, [...maps]);
      this.#pids.add(pid);
      for (const { path, buildId } of maps) ids.set(path, buildId);
    }
    this.#event = reader.events.all[0];
    this.#buildIds = new AddBuildIds(reader, ids);
  }

  /** Replaces record `i` of a batch. */
  record(batch: RecordBatch, i: number): Verdict {
    const type = batch.type(i);
    if (type === PERF_RECORD_FINISHED_ROUND) return DROP;
    if (type !== PERF_RECORD_MMAP && type !== PERF_RECORD_MMAP2) return KEEP;
    const record = this.#codec.decode(batch.recordBytes(i), batch.context(i));
    if (record.name !== "MMAP" && record.name !== "MMAP2") return KEEP;
    const { pid, filename } = record.body;
    const key = `${pid} ${filename}`;
    const maps = this.#byDump.get(key);
    if (maps !== undefined) {
      // A forked child maps the file once more.
      this.#byDump.set(key, []);
      return this.#encode(maps, batch.littleEndian);
    }
    const isAnonymous = filename.startsWith("//anon") || filename.startsWith("[anon");
    return isAnonymous && this.#pids.has(pid) ? DROP : KEEP;
  }

  #encode(maps: readonly JitInjection[], littleEndian: boolean): Uint8Array {
    const records = maps.map(({ path, map, ino, maj, min }) =>
      this.#codec.encode({
        type: PERF_RECORD_MMAP2,
        name: "MMAP2",
        misc: PERF_RECORD_MISC_USER,
        body: {
          pid: map.pid,
          tid: map.tid,
          addr: map.start,
          len: map.size,
          pgoff: map.pgoff,
          maj,
          min,
          ino,
          ino_generation: 1n,
          prot: PROT_READ | PROT_EXEC,
          flags: MAP_SHARED,
          filename: path,
        },
        // perf marks synthesized records with id 0.
        sample_id: {
          pid: map.pid,
          tid: map.tid,
          time: map.time,
          id: 0n,
          stream_id: 0n,
          cpu: 0,
          identifier: 0n,
        },
      }, { littleEndian, event: this.#event })
    );
    return joinBytes(records);
  }

  /** Removes the table of build ids and keeps it. */
  feature(id: number, bytes: Uint8Array): Uint8Array | undefined {
    return this.#buildIds.feature(id, bytes);
  }

  /** Returns the table with the build ids of the new files. */
  newFeatures(): readonly WriterFeature[] {
    return this.#buildIds.newFeatures();
  }
}
