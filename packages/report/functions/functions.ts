// One module, since all rows are made in one pass over the sums of samples: filters, keys, stacks and
// totals use the same numbers of entries.
import { enlarge, floatAt, groupBy, intAt, numberAt } from "@perfdata/format/bytes";
import {
  type JoinedEvents,
  joinedEvents,
  NodeTable,
  type ProfileTotal,
  type SampleCollector,
  type SampleColumns,
  type SampledCode,
  sampledCode,
  type SampleDetails,
  type StackColumns,
  totals,
} from "@perfdata/profile";
import type { DataAccess } from "../data-types/data_types.ts";
import { type DataCount, TypeSums, type UnknownTypes } from "../data-types/type_sums.ts";
import { CommTable } from "./comm_table.ts";
import { type HistogramColumns, SampleHistogram, type SymbolTrust } from "@perfdata/session";
import type { SymbolResolver } from "@perfdata/symbols";
import type { SymbolObject } from "@perfdata/symbols/resolver";
import type { ContextColumn, End, NameColumn } from "./function_columns.ts";
import { DEFAULT_KEYS, type FunctionKey, keysOf, keyValue } from "./function_keys.ts";
import { orderedRows } from "./function_order.ts";
import type { FunctionOptions, FunctionRow } from "./function_options.ts";
import { FINE_COLUMNS, type NameNeeds, PlaceNames } from "./function_names.ts";

export type { FunctionOptions, FunctionRow, NameFilter } from "./function_options.ts";

/** Results of look-ups in files, for {@link FunctionTable}. */
export interface FoundInFiles {
  /** Trust in the names; `undefined` if names are not needed. */
  readonly trust?: SymbolTrust | undefined;
  /** The data that the instruction at each place accesses. */
  readonly accesses?: ReadonlyMap<number, DataAccess> | undefined;
  /** Samples with an unknown data type, if rows are data types. */
  readonly unknownTypes?: UnknownTypes | undefined;
}

/**
 * Rows by function: columns of numbers, whose texts are made on demand.
 *
 * Rows are those of `perf report --sort comm,dso,sym`: an object is identified by its short name, a
 * function by its range in the object, an address without a function by itself, an inlined function
 * by its name. If stacks were counted, rows are those of `perf report --children`: one for each
 * function that was sampled or called one.
 */
export class FunctionTable {
  /** The rows, sorted by event, then by latency (if there is one), period, samples and names. */
  rows: Uint32Array<ArrayBuffer> = new Uint32Array(0);
  /** The keys of the rows, in the requested order. */
  readonly keys: readonly FunctionKey[];
  /** Totals by index of event. */
  readonly totals: readonly ProfileTotal[];
  /** Names of events. An event that joins those of several PMUs has their common name. */
  readonly eventNames: readonly string[];
  /** Names of events as recorded. */
  readonly recordedEvents: readonly string[];
  /** Trust in the names; `undefined` if names are not needed. */
  readonly trust: SymbolTrust | undefined;
  /** Commands. */
  readonly comms: CommTable = new CommTable();
  /** Objects, functions, lines and files of entries. */
  readonly names: PlaceNames;
  /** Whether inlined functions are rows. */
  readonly inline: boolean;
  /** Whether callees count for rows too. */
  readonly withCallees: boolean;
  /** Whether rows have latencies. */
  readonly withLatency: boolean;
  /** Kind of rows. Branches and memory accesses have two ends. */
  readonly kind: SampleCollector["kind"];
  /** Other columns of samples. */
  readonly details: SampleDetails | undefined;
  /** Paths of cgroups by id. */
  readonly cgroups: ReadonlyMap<bigint, string>;
  /** Socket of each CPU, if rows are grouped by socket. */
  readonly sockets: readonly number[];
  /** Indices of the events with rows; `undefined` means all. */
  readonly events: ReadonlySet<number> | undefined;
  /** Samples with an unknown data type, if rows are data types. */
  readonly unknownTypes: UnknownTypes | undefined;
  readonly #code: SampledCode;
  readonly #sums = new SampleHistogram();
  /** Index of each event's joint event, if events of several PMUs are joined. */
  readonly #eventOf: Int32Array | undefined;
  /** Context columns by which rows are grouped. */
  readonly #grouped: ReadonlySet<ContextColumn>;
  /** Entries of both ends of branches or accesses, by node of the sums. */
  readonly #ends = new NodeTable();
  #childSamples = new Float64Array(0);
  #childPeriods = new Float64Array(0);
  #latencies = new Float64Array(0);
  #childLatencies = new Float64Array(0);
  readonly #contexts: Contexts;
  readonly #isKept: (comm: number, entry: number) => boolean;
  readonly #project: (entry: number) => number;

  /**
   * Sums up samples.
   *
   * @throws {Error} If a key needs a column that the samples do not have.
   *
   * @example
   * ```ts
   * import { ProfileBuilder } from "@perfdata/profile";
   * import { FunctionTable } from "@perfdata/report";
   * import { assertEquals } from "@std/assert";
   *
   * const builder = new ProfileBuilder({ events: [{ name: "cycles", unit: "count" }] });
   * const thread = builder.thread(7, 7, "demo");
   * const main = builder.place(-1, 0x10, [{ name: "main" }]);
   * builder.sample({ stack: builder.stack(-1, main), event: 0, thread, count: 2, period: 500 });
   * const table = new FunctionTable(builder.profile(), { sort: ["comm", "sym"] });
   * const [row] = [...table.rows].map((row) => table.row(row));
   * assertEquals([row?.comm, row?.sym, row?.samples, row?.period], ["demo", "main", 2, 500]);
   * ```
   */
  constructor(code: SampledCode, options: FunctionOptions = {}, found: FoundInFiles = {}) {
    const { samples, stacks } = code;
    this.#code = code;
    this.unknownTypes = found.unknownTypes;
    this.trust = found.trust;
    this.keys = keysOf(options.sort ?? DEFAULT_KEYS);
    this.#grouped = new Set(this.keys.flatMap(({ context }) => context ?? []));
    this.recordedEvents = code.events.map(({ name }) => name);
    const joined = this.#grouped.has("pmu") ? this.#joined(options.events) : undefined;
    this.#eventOf = joined?.first;
    this.eventNames = joined?.events.map(({ name }) => name) ?? this.recordedEvents;
    const sums = code.totals ?? totals(code);
    this.totals = joined === undefined ? sums : joinedTotals(sums, joined.first);
    this.names = new PlaceNames(code, nameNeeds(options), found.accesses);
    this.inline = options.inline === true;
    this.withCallees = options.callees === true;
    this.withLatency = options.latency === true;
    this.kind = samples.from !== undefined
      ? "branches"
      : samples.data !== undefined
      ? "accesses"
      : "samples";
    this.details = code.details;
    this.cgroups = code.cgroups ?? new Map();
    this.sockets = code.sockets ?? [];
    this.events = options.events;
    this.#contexts = this.#contextsOf(code);
    this.#isKept = this.#filter(options.only);
    const isFiner = options.only !== undefined || options.chains === true;
    this.#project = isFiner ? this.#projection() : (entry) => entry;
    const other = samples.from ?? samples.data;
    if (other !== undefined) this.#addPairs(stacks, other);
    else this.#addSamples(stacks);
    if (this.withCallees) this.#addCallees(code);
    this.rows = orderedRows(this, options.limit ?? Infinity, options.least ?? 0);
  }

  /** Adds each sample to its function. */
  #addSamples({ place }: StackColumns): void {
    const { sums, row: rowOf, comm: commOf, threads } = this.#contexts;
    for (let i = 0; i < sums.context.length; i++) {
      const node = intAt(sums.node, i);
      const context = intAt(sums.context, i);
      const entry = this.names.entry(node < 0 ? -1 : intAt(place, node));
      if (!this.#isKept(intAt(commOf, context), entry)) continue;
      const period = floatAt(sums.period, i);
      const row = this.#sums.add(
        intAt(rowOf, context),
        this.#project(entry),
        period,
        floatAt(sums.count, i),
      );
      if (threads === undefined) continue;
      this.#latencies = added(this.#latencies, row, period / floatAt(threads, context));
    }
  }

  /** Number of rows, including those that are not in {@link FunctionTable.rows}. */
  get size(): number {
    return this.#sums.size;
  }

  /** Event index of a row. */
  event(row: number): number {
    return this.#sums.event(this.#sums.contextOf(row));
  }

  /** Samples of a row. */
  samples(row: number): number {
    return this.#sums.samples(row);
  }

  /** Period of a row. */
  period(row: number): number {
    return this.#sums.period(row);
  }

  /** Samples of a row and its callees. */
  childSamples(row: number): number {
    return this.withCallees ? floatAt(this.#childSamples, row) : this.samples(row);
  }

  /** Period of a row and its callees. */
  childPeriod(row: number): number {
    return this.withCallees ? floatAt(this.#childPeriods, row) : this.period(row);
  }

  /** Latency of a row: periods divided by the number of threads on a CPU. */
  latency(row: number): number {
    return this.#latencies[row] ?? 0;
  }

  /** Latency of a row and its callees. */
  childLatency(row: number): number {
    return this.withCallees ? this.#childLatencies[row] ?? 0 : this.latency(row);
  }

  /** A latency as share of the event's, 0 to 1. */
  latencyShare(row: number, latency: number): number {
    const total = this.totals[this.event(row)]?.latency ?? 0;
    return total > 0 ? latency / total : 0;
  }

  /** The share by which rows are sorted. */
  firstShare(row: number): number {
    return this.withLatency
      ? this.latencyShare(row, this.childLatency(row))
      : this.share(row, this.childPeriod(row));
  }

  /** A period as share of the event's, 0 to 1. */
  share(row: number, period: number): number {
    const total = this.totals[this.event(row)]?.period ?? 0;
    return total > 0 ? period / total : 0;
  }

  /**
   * A context column of a row.
   *
   * @throws {Error} If no key declares the column, so that rows are not grouped by it.
   */
  context(row: number, column: ContextColumn): number {
    if (!this.#grouped.has(column)) {
      throw new Error(`rows are not grouped by ${column}: a key that reads it says so (context)`);
    }
    const context = this.#sums.contextOf(row);
    return isOwn(column) ? this.#sums[column](context) : this.#sums.detail(context);
  }

  /**
   * Index of a row's name in a column.
   *
   * @param end End of a branch or access, if rows are these.
   * @throws {Error} If no key declares the column.
   */
  name(row: number, column: NameColumn, end: End = "to"): number {
    return intAt(this.names.column(column), this.entry(row, end));
  }

  /**
   * A row's entry in {@link FunctionTable.names}.
   *
   * @param end End of a branch or access, if rows are these.
   */
  entry(row: number, end: End = "to"): number {
    const node = this.#sums.node(row);
    if (this.kind === "samples") return node;
    return end === "to" ? this.#ends.item(node) : this.#ends.parent(node);
  }

  /** Index of a row's function. */
  symbol(row: number, end: End = "to"): number {
    return this.name(row, "symbol", end);
  }

  /** A row as one object. */
  row(row: number): FunctionRow {
    const values: Record<string, unknown> = {
      event: this.event(row),
      overhead: this.share(row, this.period(row)),
      samples: this.samples(row),
      period: this.period(row),
    };
    if (this.withCallees) {
      values["children"] = {
        overhead: this.share(row, this.childPeriod(row)),
        samples: this.childSamples(row),
        period: this.childPeriod(row),
      };
    }
    if (this.withLatency) {
      values["latency"] = this.latencyShare(row, this.latency(row));
      if (this.withCallees) {
        values["childLatency"] = this.latencyShare(row, this.childLatency(row));
      }
    }
    for (const key of this.keys) {
      values[key.name] = keyValue(key, this, row);
      Object.assign(values, key.more?.(this, key.number(this, row)));
    }
    return values as unknown as FunctionRow;
  }

  /** Joins the events of several PMUs that have rows. */
  #joined(shown: ReadonlySet<number> | undefined): JoinedEvents {
    return joinedEvents(
      this.recordedEvents.map((name, number) => ({
        name,
        // Events without rows are not joined with others.
        unit: shown?.has(number) === false ? "nanoseconds" : "count",
      })),
    );
  }

  /** The contexts of samples, and those of their rows. */
  #contextsOf(code: SampledCode): Contexts {
    const { samples, threads, details } = code;
    const { length, event, thread, cpu, detail } = samples;
    for (const column of this.#grouped) {
      const isCollected = column === "cpu"
        ? cpu !== undefined
        : column === "branch"
        ? detail !== undefined && this.kind === "branches"
        : isOwn(column) || details?.has(column) === true;
      if (!isCollected) throw new Error(`${column} of samples was not collected`);
    }
    const contexts = new SampleHistogram();
    const of = new Int32Array(length);
    for (let i = 0; i < length; i++) {
      of[i] = contexts.context(
        intAt(event, i),
        intAt(thread, i),
        0,
        0,
        cpu === undefined ? 0 : intAt(cpu, i),
        detail === undefined ? 0 : intAt(detail, i),
      );
    }
    const comms = Int32Array.from(
      { length: threads.length },
      (_, thread) => this.comms.numberOf(threads.name(thread), threads.tid(thread)),
    );
    const by = (isOf: (column: ContextColumn) => boolean): Join => {
      const keys = this.keys.filter(({ context }) => context !== undefined && isOf(context));
      return keys.length === 0 ? () => 0 : representative(keys, this);
    };
    const [pidOf, tidOf, cpuOf] = (["pid", "tid", "cpu"] as const).map((own) =>
      by((column) => column === own)
    ) as [Join, Join, Join];
    const detailOf = by((column) => !isOwn(column));
    const count = contexts.contextCount;
    const [row, comm] = [new Int32Array(count), new Int32Array(count)];
    for (let i = 0; i < count; i++) {
      const thread = contexts.comm(i);
      const name = comm[i] = intAt(comms, thread);
      row[i] = this.#sums.context(
        this.#eventOf?.[contexts.event(i)] ?? contexts.event(i),
        this.#grouped.has("comm") ? name : 0,
        pidOf(threads.pid(thread)),
        tidOf(threads.tid(thread)),
        cpuOf(contexts.cpu(i)),
        detailOf(contexts.detail(i)),
      );
    }
    const sums = summed(samples, of);
    return { sums, row, comm, threads: this.withLatency ? this.#running(contexts) : undefined };
  }

  /** Number of threads on a CPU, by context. */
  #running(contexts: SampleHistogram): Float64Array {
    const { kind, details } = this;
    if (kind !== "samples") throw new Error(`${kind} have no latency: only samples have`);
    if (details?.has("parallelism") !== true) {
      throw new Error("rows have no latency: parallelism of samples was not collected");
    }
    const running = new Float64Array(contexts.contextCount);
    for (let context = 0; context < running.length; context++) {
      running[context] = Number(details.value(contexts.detail(context), "parallelism"));
    }
    return running;
  }

  /** Returns the test of a command and an entry. */
  #filter(only: FunctionOptions["only"]): (comm: number, entry: number) => boolean {
    if (only === undefined) return () => true;
    const { names, comms } = this;
    const { comm, dso, sym } = only;
    return (number, entry) =>
      (comm?.(comms.text(number)) ?? true) &&
      (dso?.(names.dsos.text(intAt(names.column("dso"), entry))) ?? true) &&
      (sym?.(names.functions.text(intAt(names.column("symbol"), entry))) ?? true);
  }

  /**
   * Returns a function that reduces entries to the keys of rows, since filters and stacks may need
   * more.
   */
  #projection(end: End = "to"): (entry: number) => number {
    const { names } = this;
    const needed = NAME_COLUMNS
      .filter((column) => this.keys.some((key) => key.needs === column && endOf(key) === end));
    const first = new Map<string, number>();
    const projected = new Map<number, number>();
    return (entry) => {
      const known = projected.get(entry);
      if (known !== undefined) return known;
      const key = needed.map((column) => names.column(column)[entry]).join(" ");
      const same = first.get(key) ?? entry;
      first.set(key, same);
      projected.set(entry, same);
      return same;
    };
  }

  /**
   * Adds branches and accesses. A filter tests both ends of a branch, and the code of an access.
   */
  #addPairs({ place }: StackColumns, other: Int32Array): void {
    const { names } = this;
    const { sums, row, comm: commOf } = this.#contexts;
    const isData = this.kind === "accesses";
    const projectFrom = this.#projection(isData ? "data" : "from");
    const projectTo = this.#projection("to");
    for (let i = 0; i < sums.context.length; i++) {
      const node = intAt(sums.node, i);
      const context = intAt(sums.context, i);
      const comm = intAt(commOf, context);
      const start = intAt(other, i);
      const source = isData ? names.datum(start) : names.entry(start);
      const target = names.entry(node < 0 ? -1 : intAt(place, node));
      if (!this.#isKept(comm, target) && (isData || !this.#isKept(comm, source))) continue;
      this.#sums.add(
        intAt(row, context),
        this.#ends.node(projectFrom(source), projectTo(target)),
        floatAt(sums.period, i),
        floatAt(sums.count, i),
      );
    }
  }

  /**
   * Adds each sample to all functions on its stack, once per function
   * (`iter_add_next_cumulative_entry` of tools/perf/util/hist.c).
   */
  #addCallees({ stacks, places }: SampledCode): void {
    const { names } = this;
    const { sums, row: rowOf, comm: commOf, threads } = this.#contexts;
    const isKept = this.#isKept;
    const project = this.#project;
    // There is one entry per place, or more with inlined functions.
    const { length } = places.object;
    let samples = new Float64Array(length + 1);
    let periods = new Float64Array(length + 1);
    /** For each entry, the last stack with it, plus one. */
    let seen = new Int32Array(length + 1);
    const met: number[] = [];
    // Grouped by context, since its sums are then close together in memory.
    for (const group of byContext(sums.context, rowOf.length)) {
      const context = intAt(sums.context, intAt(group, 0));
      const comm = intAt(commOf, context);
      for (const i of group) {
        const count = floatAt(sums.count, i);
        const period = floatAt(sums.period, i);
        let node = intAt(sums.node, i);
        // A truncated sample has no stack: it is one unknown place.
        for (let more = true; more; more = node >= 0) {
          const place = node >= 0 ? intAt(stacks.place, node) : node;
          node = node >= 0 ? intAt(stacks.parent, node) : node;
          const inlined = this.inline && place >= 0 ? names.entries(place) : undefined;
          const frames = inlined?.length ?? 1;
          for (let frame = 0; frame < frames; frame++) {
            const inner = inlined === undefined ? names.entry(place) : intAt(inlined, frame);
            if (!isKept(comm, inner)) continue;
            const entry = project(inner);
            if (entry >= seen.length) {
              samples = enlarge(samples, entry + 1);
              periods = enlarge(periods, entry + 1);
              seen = enlarge(seen, entry + 1);
            }
            if (seen[entry] === i + 1) continue;
            if (samples[entry] === 0) met.push(entry);
            seen[entry] = i + 1;
            samples[entry] = floatAt(samples, entry) + count;
            periods[entry] = floatAt(periods, entry) + period;
          }
        }
      }
      for (const entry of met) {
        // Creates the row.
        const row = this.#sums.add(intAt(rowOf, context), entry, 0, 0);
        if (row >= this.#childSamples.length) {
          this.#childSamples = enlarge(this.#childSamples, row + 1);
          this.#childPeriods = enlarge(this.#childPeriods, row + 1);
        }
        this.#childSamples[row] = floatAt(this.#childSamples, row) + floatAt(samples, entry);
        const period = floatAt(periods, entry);
        this.#childPeriods[row] = floatAt(this.#childPeriods, row) + period;
        if (threads !== undefined) {
          const latency = period / floatAt(threads, context);
          this.#childLatencies = added(this.#childLatencies, row, latency);
        }
        samples[entry] = periods[entry] = 0;
      }
      met.length = 0;
    }
  }

  /**
   * Calls `use` with the rows of each stack: the row of the sampled function, and if rows count
   * callees one for each other function in the stack.
   *
   * @param outermost Whether the outermost occurrence of a repeated function counts, or the innermost.
   * @param use Receives the stack, valid during the call, and the number and period of the samples.
   */
  forEachStack(
    outermost: boolean,
    use: (stack: RowStack, count: number, period: number) => void,
  ): void {
    const { stacks } = this.#code;
    const { sums } = this.#contexts;
    const path: number[] = [];
    for (let i = 0; i < sums.context.length; i++) {
      const context = intAt(sums.context, i);
      const comm = intAt(this.#contexts.comm, context);
      const [count, period] = [floatAt(sums.count, i), floatAt(sums.period, i)];
      let length = 0;
      for (let node = intAt(sums.node, i); node >= 0; node = intAt(stacks.parent, node)) {
        for (const entry of this.names.entries(intAt(stacks.place, node))) {
          path[length++] = entry;
        }
      }
      if (length === 0) path[length++] = this.names.entry(-1);
      const rowAt = (at: number) =>
        this.#sums.add(
          intAt(this.#contexts.row, context),
          this.#project(numberAt(path, at)),
          0,
          0,
        );
      const seen = new Set<number>();
      if (this.#isKept(comm, numberAt(path, 0))) {
        const row = rowAt(0);
        seen.add(row);
        use({ row, path, length, at: 0 }, count, period);
      }
      if (!this.withCallees) continue;
      for (let k = 0; k < length; k++) {
        const at = outermost ? length - 1 - k : k;
        if (!this.#isKept(comm, numberAt(path, at))) continue;
        const row = rowAt(at);
        if (seen.has(row)) continue;
        seen.add(row);
        use({ row, path, length, at }, count, period);
      }
    }
  }
}

/** End of branches that a key reads; by default the target, as in perf. */
function endOf({ end = "to" }: FunctionKey): End {
  return end;
}

/** All name columns. */
const NAME_COLUMNS: readonly NameColumn[] = [
  ...["dso", "symbol", "line", "file", "offset", "size", "cacheline"] as const,
  ...["type", "typeoff", "typecln"] as const,
];

/** The totals of events, added up for joined events. */
function joinedTotals(totals: readonly ProfileTotal[], first: Int32Array): ProfileTotal[] {
  const sums = totals.map((): ProfileTotal => ({ samples: 0, period: 0 }));
  for (const [number, { samples, period, latency }] of totals.entries()) {
    const sum = sums[first[number] ?? number];
    if (sum === undefined) continue;
    sum.samples += samples;
    sum.period += period;
    if (latency !== undefined) sum.latency = (sum.latency ?? 0) + latency;
  }
  return sums;
}

/** Adds to a row's sum, which grows if needed. */
function added(
  sums: Float64Array<ArrayBuffer>,
  row: number,
  value: number,
): Float64Array<ArrayBuffer> {
  const larger = row < sums.length ? sums : enlarge(sums, row + 1);
  larger[row] = floatAt(larger, row) + value;
  return larger;
}

/** Groups of samples by event, thread, CPU and other values. */
interface Contexts {
  /** Samples by context and stack. */
  readonly sums: HistogramColumns;
  /** Context of the row, by context. */
  readonly row: Int32Array;
  /** Command, by context. */
  readonly comm: Int32Array;
  /** Number of threads on a CPU, by context, if rows have latencies. */
  readonly threads: Float64Array | undefined;
}

/** Sums up samples of one context and stack. Rows without times are sums already. */
function summed(samples: SampleColumns, context: Int32Array): HistogramColumns {
  const { length, stack: node, count, period, time } = samples;
  if (time === undefined && count instanceof Float64Array) return { context, node, count, period };
  const sums = new SampleHistogram();
  for (let i = 0; i < length; i++) {
    sums.add(intAt(context, i), intAt(node, i), floatAt(period, i), count[i]);
  }
  return sums.columns();
}

/** A stack of a row. */
export interface RowStack {
  /** The row. */
  readonly row: number;
  /** The entries of the stack, innermost first, in the first `length` elements. */
  readonly path: readonly number[];
  /** Number of entries. */
  readonly length: number;
  /** Index of the row's function in the stack. */
  readonly at: number;
}

type Join = (value: number) => number;

/** Whether a context has its own word for a column. Other columns are details. */
function isOwn(column: ContextColumn): column is "comm" | "pid" | "tid" | "cpu" {
  return column === "comm" || column === "pid" || column === "tid" || column === "cpu";
}

/** Returns the first of all values that keys join. */
function representative(keys: readonly FunctionKey[], table: FunctionTable): Join {
  if (keys.some(({ join }) => join === undefined)) return (value) => value;
  const first = new Map<string, number>();
  return (value) => {
    const joined = keys.map(({ join }) => join?.(value, table)).join("\0");
    const known = first.get(joined);
    if (known === undefined) first.set(joined, value);
    return known ?? value;
  };
}

/** Groups samples by context. */
function* byContext(of: Int32Array, contextCount: number): Generator<Int32Array, void, void> {
  const ends = new Int32Array(contextCount + 1);
  for (let i = 0; i < of.length; i++) {
    const after = intAt(of, i) + 1;
    ends[after] = intAt(ends, after) + 1;
  }
  for (let context = 0; context < contextCount; context++) {
    ends[context + 1] = intAt(ends, context + 1) + intAt(ends, context);
  }
  const entries = new Int32Array(of.length);
  for (let i = 0; i < of.length; i++) {
    const context = intAt(of, i);
    const at = intAt(ends, context);
    ends[context] = at + 1;
    entries[at] = i;
  }
  for (let context = 0, from = 0; context < contextCount; context++) {
    const to = intAt(ends, context);
    if (to > from) yield entries.subarray(from, to);
    from = to;
  }
}

/**
 * Looks up the names of sampled places, and sums up the samples by function. To be called once
 * after the pass: the samples are moved, not copied.
 *
 * @param counts The collector of a pass over a recording.
 * @param resolver The symbol resolver. Open it with `parameters: false` for names as in perf, and with
 * `debugInformation: false` to save time if neither source lines nor inlined functions are needed.
 * Without a resolver, functions are addresses.
 * @param options Selection of rows. If stacks were counted, callees count by default.
 *
 * @example
 * ```ts
 * import { bytesSource, PerfDataReader } from "@perfdata/format";
 * import { SampleCollector } from "@perfdata/profile";
 * import { functionTable } from "@perfdata/report";
 * import { runEngine } from "@perfdata/session";
 * import { assertEquals } from "@std/assert";
 *
 * const pipe = new Uint8Array(16);
 * pipe.set(new TextEncoder().encode("PERFILE2"));
 * pipe.set([16], 8);
 * const counts = new SampleCollector();
 * await runEngine(await PerfDataReader.open(bytesSource(pipe)), [counts]);
 * const table = await functionTable(counts, undefined);
 * assertEquals([...table.rows].map((row) => table.row(row)), []);
 * ```
 */
export async function functionTable(
  counts: SampleCollector,
  resolver: SymbolResolver | undefined,
  options: FunctionOptions = {},
): Promise<FunctionTable> {
  for (const { context } of keysOf(options.sort ?? [])) {
    if (context === undefined || counts.collects(context)) continue;
    throw new Error(`${context} of samples was not collected`);
  }
  const needs = nameNeeds(options);
  const isNamed = needs.symbol || needs.line || needs.file !== false || needs.offset ||
    needs.size;
  const { places, stacks } = counts.engine;
  const { code, trust } = await sampledCode(counts, {
    ...{ places, stacks, resolver: isNamed ? resolver : undefined },
    progress: options.progress,
  });
  const accessed = needs.type || needs.typeoff || needs.typecln
    ? await accessesOf(code, places.objects, options)
    : undefined;
  const callees = counts.stacks && options.callees !== false;
  return new FunctionTable(code, { ...options, callees }, { trust, ...accessed });
}

/** The data that the instructions at sampled places access. */
async function accessesOf(
  { places, stacks, samples }: SampledCode,
  objects: readonly SymbolObject[],
  { dataTypes }: FunctionOptions,
): Promise<{ accesses: Map<number, DataAccess>; unknownTypes: UnknownTypes }> {
  if (dataTypes === undefined) {
    throw new Error("types of data were asked for, and nothing finds them");
  }
  const unknownTypes = new TypeSums();
  const counted = new Map<number, DataCount>();
  for (let i = 0; i < samples.length; i++) {
    const node = intAt(samples.stack, i);
    const place = node < 0 ? -1 : intAt(stacks.place, node);
    const sum = counted.get(place) ?? { samples: 0, period: 0 };
    sum.samples += samples.count[i] as number;
    sum.period += floatAt(samples.period, i);
    counted.set(place, sum);
  }
  const accesses = new Map<number, DataAccess>();
  const objectOf = (place: number) => place < 0 ? -1 : intAt(places.object, place);
  for (const [number, own] of groupBy(counted.keys(), objectOf)) {
    const object = objects[number];
    const addresses = own.map((place) => place < 0 ? 0 : floatAt(places.address, place));
    const found = object === undefined ? [] : await dataTypes.find(object, addresses);
    for (const [i, place] of own.entries()) {
      const access = found[i] ?? { cause: "no code" };
      accesses.set(place, access);
      unknownTypes.add(access, counted.get(place) as DataCount);
    }
  }
  return { accesses, unknownTypes };
}

/** Names that rows need. */
export function nameNeeds(options: FunctionOptions): NameNeeds {
  const keys = keysOf(options.sort ?? DEFAULT_KEYS);
  const by = (column: NameColumn) => keys.some(({ needs }) => needs === column);
  const filtered = options.only !== undefined;
  return {
    dso: filtered || by("dso"),
    symbol: filtered || options.chains === true || by("symbol"),
    line: by("line"),
    file: by("file") && (options.srcfile ?? "line"),
    cacheline: by("cacheline"),
    ...Object.fromEntries(FINE_COLUMNS.map((column) => [column, by(column)])),
    inline: options.inline === true,
  };
}
