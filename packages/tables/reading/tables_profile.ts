import { intAt, PerfDataError } from "@perfdata/format/bytes";
import {
  type BuilderFrame,
  CollectedRows,
  FUNCTION_KIND,
  type Profile,
  ProfileBuilder,
  type ProfileEvent,
} from "@perfdata/profile";
import { percent, shortName } from "@perfdata/session";
import { mapKind } from "@perfdata/symbols/resolver";
import { TABLES_VERSION } from "../schema/tables.ts";
import { readRows, type TableFile } from "./table_columns.ts";

/** Options of {@linkcode profileOfTables}. */
export interface TablesProfileOptions {
  /** Returns the files of a table; an empty list if it does not exist. */
  readonly files: (table: string) => readonly TableFile[];
  /** Title of the profile. */
  readonly title: string;
  /** Whether samples keep their time and CPU, if all are of one recording. */
  readonly timed?: boolean | undefined;
  /** Selects samples by column values; all samples by default. */
  readonly filter?: {
    readonly pids?: ReadonlySet<number> | undefined;
    readonly tids?: ReadonlySet<number> | undefined;
    readonly cpus?: ReadonlySet<number> | undefined;
  } | undefined;
}

/** The rows of `stacks`. */
interface Stacks {
  readonly rows: Map<bigint, number>;
  readonly parent: (bigint | undefined)[];
  readonly frame: bigint[];
}

/** A row of `frames`. */
interface Frame extends BuilderFrame {
  readonly object: string | undefined;
  readonly buildId: string | undefined;
  readonly isKernel: boolean;
  readonly offset: number;
}

/** A frame with the functions inlined in it. */
interface Code {
  outer: Frame | undefined;
  readonly inlined: { readonly depth: number; readonly frame: Frame }[];
}

/**
 * Builds a profile from tables: from `samples`, or from `weights`, which has sums over samples of many recordings.
 * With several recordings, threads are commands, since process ids of different recordings are unrelated.
 *
 * @throws {PerfDataError} If tables are missing, damaged, or of another version.
 * @throws {RangeError} If samples are selected from `weights`.
 */
export async function profileOfTables(options: TablesProfileOptions): Promise<Profile> {
  const { files, timed = false, filter = {} } = options;
  const isSum = files("weights").length > 0;
  if (isSum && Object.values(filter).some((numbers) => numbers !== undefined)) {
    throw new RangeError("weights have no processes, threads and CPUs to choose by");
  }
  const recordings = isSum ? 0 : await recordingsOf(options);
  const stacks = await readStacks(options);
  const codes = await readCodes(options);
  const events: ProfileEvent[] = [];
  const builder = new ProfileBuilder({ events, title: options.title });
  const reader = new SampleReader(builder, events, stacks, codes, recordings === 1);
  const read = isSum
    ? await reader.weights(options)
    : await reader.samples(options, timed && recordings === 1);
  const profile = builder.profile();
  const trust = [
    `tables of ${isSum ? "sums" : recordings === 1 ? "a recording" : `${recordings} recordings`}`,
    `${percent(read.named, read.samples)} of samples have a function`,
    `${percent(read.callers, read.samples)} have callers`,
  ].join("; ");
  return {
    ...profile,
    trust: read.named === 0 && read.samples > 0
      ? `${trust} (perfdata symbols table adds them)`
      : trust,
    epoch: read.epoch,
  };
}

function tableFiles({ files }: TablesProfileOptions, table: string): readonly TableFile[] {
  const found = files(table);
  if (found.length === 0) throw new PerfDataError(`no table ${table}`);
  return found;
}

async function recordingsOf(options: TablesProfileOptions): Promise<number> {
  const ids = new Set<unknown>();
  for (const file of tableFiles(options, "recordings")) {
    const names = ["recording_id", "version"];
    for await (const rows of readRows(file, names)) {
      const [id, version] = names.map((name) => rows.column(name));
      for (let i = 0; i < rows.count; i++) {
        checkVersion(version?.[i]);
        ids.add(id?.[i]);
      }
    }
  }
  return ids.size;
}

function checkVersion(version: unknown): void {
  if (Number(version) === TABLES_VERSION) return;
  throw new PerfDataError(
    `tables of version ${version}, expected ${TABLES_VERSION}: export them again`,
  );
}

async function readStacks(options: TablesProfileOptions): Promise<Stacks> {
  const stacks: Stacks = { rows: new Map(), parent: [], frame: [] };
  for (const file of tableFiles(options, "stacks")) {
    const names = ["stack_id", "frame_id", "parent_id"];
    for await (const rows of readRows(file, names)) {
      const ids = rows.column("stack_id");
      const frames = rows.column("frame_id");
      const parents = rows.column("parent_id");
      for (let i = 0; i < rows.count; i++) {
        const id = ids[i] as bigint;
        if (stacks.rows.has(id)) continue;
        stacks.rows.set(id, stacks.frame.length);
        stacks.frame.push(frames[i] as bigint);
        stacks.parent.push((parents[i] as bigint | null) ?? undefined);
      }
    }
  }
  return stacks;
}

async function readCodes(options: TablesProfileOptions): Promise<Map<bigint, Code>> {
  const codes = new Map<bigint, Code>();
  const names = [
    ...["frame_id", "build_id", "object", "kind", "offset"],
    ...["function", "file", "line", "inline_of", "inline_depth", "verified"],
  ];
  // If several files have a row, the one with names is kept. A file has all rows of a frame, or none.
  for (const file of tableFiles(options, "frames")) {
    const here = new Map<bigint, Code>();
    for await (const rows of readRows(file, names)) {
      const columns = names.map((name) => rows.column(name));
      for (let i = 0; i < rows.count; i++) {
        const [id, buildId, object, kind, offset, name, path, line, inlineOf, depth, verified] =
          columns
            .map((values) => values[i] ?? undefined);
        const isKernel = kind === "kernel" || kind === "module" || kind === "bpf";
        const isGuest = object !== undefined && mapKind(object as string) === "guest-kernel";
        const level = isGuest
          ? FUNCTION_KIND.OTHER
          : isKernel
          ? FUNCTION_KIND.KERNEL
          : kind === "jit"
          ? FUNCTION_KIND.JIT
          : FUNCTION_KIND.USER;
        const isUnverified = name !== undefined && verified !== true;
        const frame: Frame = {
          name: (name as string | undefined) ?? "",
          file: path as string | undefined,
          line: line === undefined ? undefined : Number(line),
          kind: level | (isUnverified ? FUNCTION_KIND.UNVERIFIED : 0) |
            (inlineOf === undefined ? 0 : FUNCTION_KIND.INLINED),
          object: object as string | undefined,
          buildId: buildId as string | undefined,
          isKernel,
          offset: Number((offset as bigint | undefined) ?? 0n),
        };
        const key = (inlineOf ?? id) as bigint;
        let code = here.get(key);
        if (code === undefined) here.set(key, code = { outer: undefined, inlined: [] });
        if (inlineOf === undefined) code.outer = frame;
        else code.inlined.push({ depth: Number(depth), frame });
      }
    }
    for (const [id, code] of here) {
      const known = codes.get(id);
      if (known === undefined || (known.outer?.name === "" && code.outer?.name !== "")) {
        codes.set(id, code);
      }
    }
  }
  return codes;
}

/** Statistics of the samples read. */
interface Read {
  samples: number;
  named: number;
  callers: number;
  epoch: bigint;
}

/** One second in ns. */
const SECOND = 1_000_000_000n;

/** Adds rows of samples to a profile. */
class SampleReader {
  readonly #builder: ProfileBuilder;
  readonly #events: ProfileEvent[];
  readonly #eventNumbers = new Map<string, number>();
  readonly #stacks: Stacks;
  readonly #codes: Map<bigint, Code>;
  readonly #places = new Map<bigint, number>();
  readonly #isNamed: boolean[] = [];
  /** Whether process ids are meaningful. */
  readonly #hasNumbers: boolean;
  /** Index in the profile of each row of `stacks`; -1 if not yet added. */
  readonly #numbers: Int32Array;
  readonly #read: Read = { samples: 0, named: 0, callers: 0, epoch: 0n };

  constructor(
    builder: ProfileBuilder,
    events: ProfileEvent[],
    stacks: Stacks,
    codes: Map<bigint, Code>,
    hasNumbers: boolean,
  ) {
    this.#builder = builder;
    this.#events = events;
    this.#stacks = stacks;
    this.#codes = codes;
    this.#hasNumbers = hasNumbers;
    this.#numbers = new Int32Array(stacks.frame.length).fill(-1);
  }

  async samples(options: TablesProfileOptions, timed: boolean): Promise<Read> {
    const { filter = {} } = options;
    const names = ["event", "period", "pid", "tid", "cpu", "comm", "stack_id", "ts"];
    const samples = new CollectedRows(this.#builder, timed);
    for (const file of tableFiles(options, "samples")) {
      for await (const rows of readRows(file, names)) {
        const columns = names.map((name) => rows.column(name));
        for (let i = 0; i < rows.count; i++) {
          const [event, period, pid, tid, cpu, comm, id, ts] = columns.map((column) =>
            column[i] ?? undefined
          );
          const number = (value: unknown) => value === undefined ? -1 : Number(value);
          const [process, thread, processor] = [number(pid), number(tid), number(cpu)];
          if (
            filter.pids?.has(process) === false || filter.tids?.has(thread) === false ||
            filter.cpus?.has(processor) === false
          ) continue;
          const time = ts as bigint | undefined;
          samples.add({
            stack: this.#stackOf(id as bigint | undefined, 1),
            event: this.#event(event as string),
            thread: this.#hasNumbers
              ? this.#builder.thread(process, thread, (comm as string | undefined) ?? `:${thread}`)
              : this.#builder.thread(-1, -1, (comm as string | undefined) ?? "[unnamed]"),
            period: Number(period),
            cpu: processor,
            seconds: time === undefined ? undefined : Number(time / SECOND),
            nanoseconds: time === undefined ? 0 : Number(time % SECOND),
          });
        }
      }
    }
    return { ...this.#read, epoch: samples.finish() };
  }

  async weights(options: TablesProfileOptions): Promise<Read> {
    const names = ["version", "event", "stack_id", "samples", "period"];
    const sums = new CollectedRows(this.#builder, false);
    for (const file of tableFiles(options, "weights")) {
      for await (const rows of readRows(file, names, ["comm"])) {
        const columns = [...names, "comm"].map((name) => rows.column(name));
        for (let i = 0; i < rows.count; i++) {
          const [version, event, id, samples, period, comm] = columns.map((column) =>
            column[i] ?? undefined
          );
          checkVersion(version);
          const count = Number(samples);
          sums.add({
            stack: this.#stackOf(id as bigint | undefined, count),
            event: this.#event(event as string),
            thread: this.#builder.thread(-1, -1, (comm as string | undefined) ?? "[unnamed]"),
            count,
            period: Number(period),
          });
        }
      }
    }
    sums.finish();
    return this.#read;
  }

  #event(name: string): number {
    let number = this.#eventNumbers.get(name);
    if (number === undefined) {
      const unit = /^(cpu|task)-clock\b/.test(name) ? "nanoseconds" : "count";
      this.#eventNumbers.set(name, number = this.#events.push({ name, unit }) - 1);
    }
    return number;
  }

  /** Returns the index in the profile of a sample's stack; -1 without a stack. */
  #stackOf(id: bigint | undefined, samples: number): number {
    this.#read.samples += samples;
    if (id === undefined) return -1;
    const row = this.#row(id);
    if (this.#stacks.parent[row] !== undefined) this.#read.callers += samples;
    const way: number[] = [];
    let at = row;
    let number = intAt(this.#numbers, at);
    while (number < 0) {
      way.push(at);
      if (way.length > this.#stacks.frame.length) {
        throw new PerfDataError(`stacks: ${id} is its own caller`);
      }
      const parent = this.#stacks.parent[at];
      if (parent === undefined) break;
      at = this.#row(parent);
      number = intAt(this.#numbers, at);
    }
    for (let row = way.pop(); row !== undefined; row = way.pop()) {
      number = this.#builder.stack(number, this.#place(this.#stacks.frame[row] as bigint));
      this.#numbers[row] = number;
    }
    const place = this.#places.get(this.#stacks.frame[row] as bigint) as number;
    if (this.#isNamed[place] === true) this.#read.named += samples;
    return number;
  }

  #row(id: bigint): number {
    const row = this.#stacks.rows.get(id);
    if (row === undefined) throw new PerfDataError(`stacks: no row of ${id}`);
    return row;
  }

  #place(id: bigint): number {
    let place = this.#places.get(id);
    if (place !== undefined) return place;
    const code = this.#codes.get(id);
    if (code?.outer === undefined) throw new PerfDataError(`frames: no row of ${id}`);
    const { outer, inlined } = code;
    const path = outer.object;
    const object = path === undefined ? -1 : this.#builder.object({
      name: shortName({ name: path, kernel: outer.isKernel }),
      path,
      buildId: outer.buildId,
    });
    const frames = inlined.toSorted((a, b) => b.depth - a.depth).map(({ frame }) => frame);
    place = this.#builder.place(object, outer.offset, [...frames, outer]);
    this.#places.set(id, place);
    this.#isNamed[place] = outer.name !== "";
    return place;
  }
}
