// One module, since lines, accesses and their sums are columns that refer to each other by index, and
// parts of other threads are joined by these numbers.
import { type PerfEvent, SampleFields } from "@perfdata/format/records";
import { enlarge, floatAt, intAt, numberAt } from "@perfdata/format/bytes";
import { PERF_RECORD_SAMPLE, PERF_SAMPLE_DATA_SRC } from "@perfdata/format/constants";
import { codeColumns, nameCode, NodeTable } from "@perfdata/profile";
import {
  ADDRESS_USE,
  CHOSEN,
  type Consumer,
  type Engine,
  type JoinedNumbers,
  type Needs,
  PlaceUses,
  recordedMemory,
  recordedNodes,
  type Run,
  type Shareable,
  streamFeature,
  type SymbolTrust,
} from "@perfdata/session";
import type { SymbolResolver } from "@perfdata/symbols";
import { addressToHex } from "@perfdata/symbols/resolver";
import { PlaceNames } from "../functions/function_names.ts";
import {
  ACCESS_COUNTERS,
  ACCESS_WEIGHTS,
  type AccessCounter,
  countAccess,
  counterOf,
} from "./access_stats.ts";

/** Keys that distinguish accesses to one offset of a line. */
export const COALESCED = ["iaddr", "dso", "pid", "tid"] as const;

/** Counters of accesses, by name. */
export type AccessSums = Readonly<Record<AccessCounter, number>>;

/** Accesses of one kind to one offset of a cache line. */
export interface LineAccess {
  /** Offset in the line in bytes. */
  readonly offset: number;
  /** Variable and offset, or address in the object. */
  readonly data: string;
  /** `false` if the variable's name is unverified. */
  readonly verified_data?: false;
  /** Address of the code in its object, if it is a key. */
  readonly address: string | undefined;
  /** Function of the code, if the address is a key. */
  readonly sym: string | undefined;
  /** `false` if the function's name is unverified. */
  readonly verified?: false;
  /** Source line of the code, if requested. */
  readonly srcline: string | undefined;
  /** Object of the code, if code or object is a key. */
  readonly dso: string | undefined;
  /** Process, if it is a key. */
  readonly pid: number | undefined;
  /** Thread, if it is a key. */
  readonly tid: number | undefined;
  /** CPUs with such accesses. */
  readonly cpus: readonly number[];
  /** NUMA nodes of the CPUs; empty if they are not recorded. */
  readonly nodes: readonly number[];
  /** Counters of the accesses. */
  readonly counts: AccessSums;
  /** Mean weights of each kind in {@link ACCESS_WEIGHTS}; 0 without accesses. */
  readonly weights: Readonly<Record<typeof ACCESS_WEIGHTS[number], number>>;
}

/** A cache line. */
export interface CacheLine {
  /** Object of the line. */
  readonly dso: string;
  /** Address in the object. */
  readonly address: string;
  /** Process, if the memory is private. */
  readonly pid: number | undefined;
  /** NUMA nodes of the memory; empty if physical addresses or nodes are not recorded. */
  readonly memoryNodes: readonly number[];
  /** Number of physical lines, which differ between processes or after a move; 0 if unknown. */
  readonly physicalLines: number;
  /** Counters of the accesses. */
  readonly counts: AccessSums;
  /** Accesses, sorted by offset. */
  readonly accesses: readonly LineAccess[];
}

/** The cache lines of a recording. */
export interface CacheLineReport {
  /** Counters of all accesses. */
  readonly total: AccessSums;
  /** Lines, the most contended first. */
  readonly lines: readonly CacheLine[];
  /** Number of all lines, including those that are not in `lines`. */
  readonly lineCount: number;
  /** Trust in the names. */
  readonly trust: SymbolTrust | undefined;
}

/** Kinds of contention, with their counters. */
export const CONTENTION = {
  /** Loads of lines modified by another core. */
  hitm: ["local_hitm", "remote_hitm"],
  /** Such loads within the socket. */
  local: ["local_hitm"],
  /** Such loads from another socket. */
  remote: ["remote_hitm"],
  /** Loads answered by another core or node. */
  peer: ["local_peer", "remote_peer"],
} as const satisfies Record<string, readonly AccessCounter[]>;

/** Options of a report of {@link CacheLines}. */
export interface CacheLineOptions {
  /** Kind of contention by which lines are sorted. */
  readonly by: keyof typeof CONTENTION;
  /** Smallest share of the contention, 0 to 1; with 0, lines without contention are listed too. */
  readonly least: number;
  /** Limit of the lines. */
  readonly limit: number;
  /** Whether source lines are needed. */
  readonly lines: boolean;
}

/** Size of a cache line. */
const LINE = 64;
/** Names of private mappings. */
const PRIVATE = /^(\/\/anon|\[heap\]|\[stack|\[anon|\/anon_hugepage)/;
const SIZE = ACCESS_COUNTERS.length;
const WEIGHTS = ACCESS_WEIGHTS.length;

/** Sums of another thread. */
export interface SumsPart {
  /** Counters, row after row. */
  readonly numbers: Float64Array<ArrayBuffer>;
  /** Sums and numbers of weights, row after row. */
  readonly weights: Float64Array<ArrayBuffer>;
}

/** Counts of one thread. */
export interface CacheLinesPart {
  /** Sums of all accesses. */
  readonly total: SumsPart;
  /** Sums of each line. */
  readonly lines: SumsPart;
  /** First place that occurred in each line. */
  readonly linePlaces: Int32Array<ArrayBuffer>;
  /** Process of each private line; otherwise -1. */
  readonly linePids: Int32Array<ArrayBuffer>;
  /** Sums of each access. */
  readonly accesses: SumsPart;
  /** Line, offset, places of data and code, process and thread of each access. */
  readonly rows: Int32Array<ArrayBuffer>;
  /** Pairs of access and CPU. */
  readonly cpus: Int32Array<ArrayBuffer>;
  /** Lines with both halves of a physical address. */
  readonly physical: Int32Array<ArrayBuffer>;
  /** Number of truncated samples. */
  readonly leftOut: number;
}

/** Numbers of an access in {@link CacheLinesPart.rows}. */
const ROW = 6;

/** Sums by index. */
class Sums {
  count = 0;
  #numbers = new Float64Array(64 * SIZE);
  /** Sum and number of weights. */
  #weights = new Float64Array(64 * SIZE);

  /** Adds an empty sum. Returns its index. */
  next(): number {
    const added = this.count++;
    if (this.count * SIZE > this.#numbers.length) {
      this.#numbers = enlarge(this.#numbers, this.count * SIZE);
      this.#weights = enlarge(this.#weights, this.count * 2 * WEIGHTS);
    }
    return added;
  }

  /** Adds an access. Its weight counts for the first matching kind. */
  add(number: number, access: Float64Array, weight: number): void {
    const numbers = this.#numbers;
    for (let i = 0, at = number * SIZE; i < SIZE; i++, at++) {
      numbers[at] = floatAt(numbers, at) + floatAt(access, i);
    }
    for (let k = 0; k < WEIGHTS; k++) {
      if (counterOf(access, ACCESS_WEIGHTS[k] as AccessCounter) === 0) continue;
      const at = 2 * (number * WEIGHTS + k);
      this.#weights[at] = floatAt(this.#weights, at) + weight;
      this.#weights[at + 1] = floatAt(this.#weights, at + 1) + 1;
      break;
    }
  }

  part(): SumsPart {
    return {
      numbers: this.#numbers.slice(0, this.count * SIZE),
      weights: this.#weights.slice(0, this.count * 2 * WEIGHTS),
    };
  }

  join(number: number, { numbers, weights }: SumsPart, from: number): void {
    const add = (to: Float64Array, of: Float64Array, size: number): void => {
      for (let i = 0; i < size; i++) {
        const at = number * size + i;
        to[at] = floatAt(to, at) + floatAt(of, from * size + i);
      }
    };
    add(this.#numbers, numbers, SIZE);
    add(this.#weights, weights, 2 * WEIGHTS);
  }

  sum(number: number, counters: readonly AccessCounter[]): number {
    let sum = 0;
    for (const name of counters) sum += counterOf(this.#numbers, name, number * SIZE);
    return sum;
  }

  all(number: number): AccessSums {
    return Object.fromEntries(
      ACCESS_COUNTERS.map((name) => [name, this.sum(number, [name])]),
    ) as unknown as AccessSums;
  }

  weights(number: number): LineAccess["weights"] {
    return Object.fromEntries(ACCESS_WEIGHTS.map((name, k) => {
      const at = 2 * (number * WEIGHTS + k);
      const count = floatAt(this.#weights, at + 1);
      return [name, count === 0 ? 0 : floatAt(this.#weights, at) / count];
    })) as unknown as LineAccess["weights"];
  }
}

/** The path of an access, below the line. */
interface Row {
  readonly line: number;
  readonly offset: number;
  readonly data: number;
  readonly code: number;
  readonly pid: number;
  readonly tid: number;
}

/**
 * Counts memory accesses by cache line, offset and code, like `perf c2c report`: a consumer of the
 * engine. Lines of files are identified by the file, for all processes.
 */
export class CacheLines implements Consumer, Shareable<CacheLinesPart> {
  readonly needs: Needs = { order: "any", places: true, addr: true };
  /** Samples that are truncated or have an unknown event. */
  leftOut = 0;
  readonly #by: ReadonlySet<string>;
  #engine: Engine | undefined;
  #events: readonly PerfEvent[] = [];
  readonly #fields: (SampleFields | undefined)[] = [];
  readonly #features = new Map<number, Uint8Array>();
  /** Paths of numbers. The last node of a path is a line or an access. */
  readonly #paths = new NodeTable();
  /** Index of each node's line or access, plus one. */
  #numbers = new Int32Array(1 << 10);
  readonly #lines = new Sums();
  readonly #linePlaces: number[] = [];
  readonly #linePids: number[] = [];
  readonly #accesses = new Sums();
  readonly #rows: Row[] = [];
  readonly #total = new Sums();
  /** Pairs of access and CPU. */
  readonly #cpus = new NodeTable();
  /** Lines with the upper and lower half of their physical addresses. */
  readonly #physical = new NodeTable();
  /** Whether each object's memory is private. */
  readonly #isPrivate: boolean[] = [];
  readonly #now = new Float64Array(SIZE);

  /**
   * Creates empty counts.
   *
   * @param by Keys that distinguish accesses to one offset.
   */
  constructor(by: Iterable<typeof COALESCED[number]> = ["iaddr"]) {
    this.#by = new Set(by);
    this.#total.next();
  }

  /** Sets the engine of the pass. */
  start(engine: Engine): void {
    this.#engine = engine;
    this.#events = engine.reader.events.all;
  }

  /** Counts the accesses of a group of records. */
  rows(run: Run): void {
    const { count, type, chosen } = run;
    const { reader } = this.#engine as Engine;
    for (let i = 0; i < count; i++) {
      if (type[i] === PERF_RECORD_SAMPLE) {
        if (chosen[i] === CHOSEN.YES) this.#access(run, i);
        continue;
      }
      const { bytes, view } = run.at(i);
      const [start, end] = [intAt(run.start, i), intAt(run.end, i)];
      const feature = streamFeature(reader, bytes, view, start, end);
      if (feature !== undefined) this.#features.set(feature.id, feature.payload.slice());
    }
  }

  #access(run: Run, i: number): void {
    const number = intAt(run.event, i);
    const event = this.#events[number] as PerfEvent;
    const { layout } = event;
    if ((layout.sampleType & PERF_SAMPLE_DATA_SRC) === 0) return;
    const { view } = run.at(i);
    const start = intAt(run.start, i);
    const { places, reader: { littleEndian: le } } = this.#engine as Engine;
    const fields = this.#fields[number] ??= new SampleFields(event.attr);
    if (!fields.locate(view, start, intAt(run.end, i), le)) {
      this.leftOut++;
      return;
    }
    const at = fields.dataSrc;
    const low = le ? 0 : 4;
    const high = 4 - low;
    const data = intAt(run.addr, i);
    const hasAddress = layout.addr >= 0 && data >= 0 &&
      (view.getInt32(start + layout.addr) | view.getInt32(start + layout.addr + 4)) !== 0;
    const code = intAt(run.place, i);
    const isMapped = hasAddress && places.object(data) >= 0 && code >= 0 &&
      places.object(code) >= 0;
    const now = this.#now;
    countAccess(
      view.getInt32(at + low, le),
      view.getInt32(at + high, le),
      hasAddress,
      isMapped,
      now,
    );
    const weight = Math.max(0, fields.weightValue(view, le));
    this.#total.add(0, now, weight);
    if (!hasAddress) return;
    const line = this.#line(data, intAt(run.process, i));
    this.#lines.add(line, now, weight);
    if (fields.physAddr >= 0) {
      const upper = view.getInt32(fields.physAddr + high, le);
      const lower = view.getInt32(fields.physAddr + low, le);
      if ((upper | lower) !== 0) this.#addPhysical(line, upper, lower);
    }
    const access = this.#accessOf(
      line,
      data,
      code,
      intAt(run.process, i),
      intAt(run.tid, i),
    );
    this.#accesses.add(access, now, weight);
    this.#cpus.node(access, intAt(run.cpu, i));
  }

  #addPhysical(line: number, hi: number, lo: number): void {
    const physical = this.#physical;
    physical.node(physical.node(physical.node(-1, line), hi), lo & -LINE);
  }

  /** Index of the line with a data place. */
  #line(data: number, process: number): number {
    const { places } = this.#engine as Engine;
    const paths = this.#paths;
    const object = places.object(data);
    let isPrivate = true;
    if (object >= 0) {
      isPrivate = this.#isPrivate[object] ??= PRIVATE.test(places.mapped[object]?.name ?? "");
    }
    const pid = isPrivate ? process : 0;
    let node = paths.node(-1, object);
    node = paths.node(node, places.hi(data));
    node = paths.node(node, places.lo(data) & -LINE);
    node = paths.node(node, pid);
    const known = this.#numberOf(node);
    if (known >= 0) return known;
    this.#linePlaces.push(data);
    this.#linePids.push(isPrivate ? pid : -1);
    return this.#named(node, this.#lines.next());
  }

  #accessOf(line: number, data: number, code: number, process: number, thread: number): number {
    const { places } = this.#engine as Engine;
    const paths = this.#paths;
    const by = this.#by;
    const offset = places.lo(data) & LINE - 1;
    // Accesses have their own root, which is no object's number.
    let node = paths.node(paths.node(-1, ACCESSES), line);
    node = paths.node(node, offset);
    const object = code < 0 ? -1 : places.object(code);
    node = paths.node(node, by.has("iaddr") ? code : by.has("dso") ? object : 0);
    const pid = by.has("pid") ? process : -1;
    const tid = by.has("tid") ? thread : -1;
    node = paths.node(paths.node(node, pid), tid);
    const known = this.#numberOf(node);
    if (known >= 0) return known;
    this.#rows.push({ line, offset, data, code, pid, tid });
    return this.#named(node, this.#accesses.next());
  }

  #numberOf(node: number): number {
    return node < this.#numbers.length ? intAt(this.#numbers, node) - 1 : -1;
  }

  #named(node: number, number: number): number {
    if (node >= this.#numbers.length) this.#numbers = enlarge(this.#numbers, node + 1);
    this.#numbers[node] = number + 1;
    return number;
  }

  part(): CacheLinesPart {
    const pairs = (parents: Int32Array, items: Int32Array) =>
      Int32Array.from(
        { length: 2 * items.length },
        (_, i) => (i & 1) === 0 ? intAt(parents, i >> 1) : intAt(items, i >> 1),
      );
    return {
      total: this.#total.part(),
      lines: this.#lines.part(),
      linePlaces: Int32Array.from(this.#linePlaces),
      linePids: Int32Array.from(this.#linePids),
      accesses: this.#accesses.part(),
      rows: Int32Array.from(
        this.#rows.flatMap((
          { line, offset, data, code, pid, tid },
        ) => [line, offset, data, code, pid, tid]),
      ),
      cpus: pairs(this.#cpus.parents(), this.#cpus.items()),
      physical: Int32Array.from(
        this.#physicalOf().flatMap((all, line) => all.flatMap(({ hi, lo }) => [line, hi, lo])),
      ),
      leftOut: this.leftOut,
    };
  }

  join(part: CacheLinesPart, { place }: JoinedNumbers): void {
    const { linePlaces, linePids, rows, cpus, physical } = part;
    this.#total.join(0, part.total, 0);
    const lines = Int32Array.from(linePlaces, (data, from) => {
      const line = this.#line(intAt(place, data), intAt(linePids, from));
      this.#lines.join(line, part.lines, from);
      return line;
    });
    const accesses = new Int32Array(rows.length / ROW);
    for (let from = 0; from < accesses.length; from++) {
      const [line = 0, , data = 0, code = 0, pid = 0, tid = 0] = rows.subarray(ROW * from);
      const access = this.#accessOf(
        intAt(lines, line),
        intAt(place, data),
        code < 0 ? -1 : intAt(place, code),
        pid,
        tid,
      );
      this.#accesses.join(access, part.accesses, from);
      accesses[from] = access;
    }
    for (let i = 0; i < cpus.length; i += 2) {
      this.#cpus.node(intAt(accesses, intAt(cpus, i)), intAt(cpus, i + 1));
    }
    for (let i = 0; i < physical.length; i += 3) {
      const [line = 0, hi = 0, lo = 0] = physical.subarray(i);
      this.#addPhysical(intAt(lines, line), hi, lo);
    }
    this.leftOut += part.leftOut;
  }

  /** Whether there are accesses. */
  get hasAccesses(): boolean {
    return this.#total.sum(0, ["records"]) > 0;
  }

  /** Number of contended accesses. */
  contended(by: keyof typeof CONTENTION): number {
    return this.#total.sum(0, CONTENTION[by]);
  }

  /** Names lines and accesses. Call it after the pass. */
  async report(
    resolver: SymbolResolver,
    { by, least, limit, lines: withLines }: CacheLineOptions,
  ): Promise<CacheLineReport> {
    const engine = this.#engine as Engine;
    const counters = CONTENTION[by];
    const total = this.#total.sum(0, counters);
    const lines = this.#lines;
    const numbers = Array.from({ length: lines.count }, (_, line) => line)
      .map((line) => ({ line, contended: lines.sum(line, counters) }))
      .filter(({ contended }) => least === 0 || (contended > 0 && contended >= least * total))
      .sort((a, b) =>
        b.contended - a.contended ||
        lines.sum(b.line, ["records"]) - lines.sum(a.line, ["records"]) || a.line - b.line
      );
    const shown = numbers.slice(0, limit).map(({ line }) => line);
    const rowsOf = new Map<number, number[]>(shown.map((line) => [line, []]));
    const uses = new PlaceUses();
    for (const [access, { line, code, data }] of this.#rows.entries()) {
      const rows = rowsOf.get(line);
      if (rows === undefined) continue;
      rows.push(access);
      const records = this.#accesses.sum(access, ["records"]);
      if (code >= 0) uses.use(code, ADDRESS_USE.IP, records, records);
      uses.use(data, ADDRESS_USE.IP, records, records);
    }
    const code = await nameCode(engine.places, uses, resolver);
    const names = new PlaceNames(
      { ...codeColumns(engine.places, code.names), show: resolver.show },
      { dso: true, symbol: true, line: withLines, file: false, cacheline: true, inline: false },
    );
    const nodes = await recordedNodes((this.#engine as Engine).reader, this.#features);
    const cpusOf = this.#cpusOf();
    const physicalOf = this.#physicalOf();
    const nodeOf = await recordedMemory(engine.reader, this.#features);
    return {
      total: this.#total.all(0),
      lineCount: lines.count,
      trust: code.trust,
      lines: shown.map((line) => {
        const entry = names.datum(numberAt(this.#linePlaces, line));
        const pid = numberAt(this.#linePids, line);
        return {
          dso: names.dsos.text(intAt(names.column("dso"), entry)),
          address: names.functions.text(intAt(names.column("cacheline"), entry)),
          pid: pid < 0 ? undefined : pid,
          memoryNodes: [...new Set(physicalOf[line]?.map(({ hi, lo }) => nodeOf(hi, lo)))]
            .filter((node) => node >= 0).sort((a, b) => a - b),
          physicalLines: physicalOf[line]?.length ?? 0,
          counts: lines.all(line),
          accesses: (rowsOf.get(line) as number[])
            .sort((a, b) =>
              (this.#rows[a] as Row).offset - (this.#rows[b] as Row).offset ||
              this.#accesses.sum(b, counters) - this.#accesses.sum(a, counters) ||
              this.#accesses.sum(b, ["records"]) - this.#accesses.sum(a, ["records"]) || a - b
            )
            .map((access) =>
              this.#described(access, names, cpusOf[access] ?? [], nodes, withLines)
            ),
        };
      }),
    };
  }

  #described(
    access: number,
    names: PlaceNames,
    cpus: readonly number[],
    nodes: ReadonlyMap<number, number>,
    withLines: boolean,
  ): LineAccess {
    const { offset, data, code, pid, tid } = this.#rows[access] as Row;
    const byCode = this.#by.has("iaddr");
    const entry = names.entry(code);
    const symbolOf = (entry: number): number => intAt(names.column("symbol"), entry);
    const datum = symbolOf(names.datum(data));
    const symbol = symbolOf(entry);
    return {
      offset,
      data: names.functions.text(datum),
      ...(names.unverified.has(datum) ? { verified_data: false } as const : {}),
      address: byCode ? this.#addressText(code) : undefined,
      sym: byCode ? names.functions.text(symbol) : undefined,
      ...(byCode && names.unverified.has(symbol) ? { verified: false } as const : {}),
      srcline: byCode && withLines
        ? names.texts.text(intAt(names.column("line"), entry))
        : undefined,
      dso: byCode || this.#by.has("dso")
        ? names.dsos.text(intAt(names.column("dso"), entry))
        : undefined,
      pid: pid < 0 ? undefined : pid,
      tid: tid < 0 ? undefined : tid,
      cpus: cpus.filter((cpu) => cpu >= 0),
      nodes: [...new Set(cpus.flatMap((cpu) => nodes.get(cpu) ?? []))].sort((a, b) => a - b),
      counts: this.#accesses.all(access),
      weights: this.#accesses.weights(access),
    };
  }

  /** Address of code; in the kernel, the mapped address. */
  #addressText(code: number): string {
    if (code < 0) return "0x0";
    const { places } = this.#engine as Engine;
    const { kind, referenceAddress = 0 } = places.objects[places.object(code)] ?? {};
    return addressToHex(places.address(code) + (kind === "kernel" ? referenceAddress : 0));
  }

  #physicalOf(): { readonly hi: number; readonly lo: number }[][] {
    const lines: { readonly hi: number; readonly lo: number }[][] = [];
    const [parents, items] = [this.#physical.parents(), this.#physical.items()];
    for (let node = 0; node < items.length; node++) {
      const upper = intAt(parents, node);
      const line = upper < 0 ? -1 : intAt(parents, upper);
      if (line < 0) continue;
      (lines[intAt(items, line)] ??= []).push({
        hi: intAt(items, upper),
        lo: intAt(items, node),
      });
    }
    return lines;
  }

  #cpusOf(): number[][] {
    const cpus: number[][] = [];
    const [accesses, numbers] = [this.#cpus.parents(), this.#cpus.items()];
    for (let i = 0; i < numbers.length; i++) {
      (cpus[intAt(accesses, i)] ??= []).push(intAt(numbers, i));
    }
    for (const list of cpus) list?.sort((a, b) => a - b);
    return cpus;
  }
}

/** Root of the paths of accesses. */
const ACCESSES = 0x7fffffff;
