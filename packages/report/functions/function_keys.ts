import { type DataSourcePart, dataSourcePart, pageSizeText } from "@perfdata/format/constants";
import { intAt, uintAt } from "@perfdata/format/bytes";
import {
  type CollectOptions,
  DETAIL_COLUMNS,
  type DetailColumn,
  markedName,
  pmuOf,
  type SampleKeys,
  UNVERIFIED_MARK,
} from "@perfdata/profile";
import { BRANCH, machineName } from "@perfdata/session";
import type {
  BranchEnd,
  ContextColumn,
  End,
  NameColumn,
  OrderColumn,
  SortKey,
} from "./function_columns.ts";
import type { FunctionOptions } from "./function_options.ts";
import type { FunctionTable } from "./functions.ts";
import { textRanks } from "../numbered_texts.ts";

export type * from "./function_columns.ts";

/** A key by which rows can be grouped. A new key needs only an entry here. */
export interface FunctionKey {
  /** Name in `--sort`, CSV and JSON. */
  readonly name: SortKey;
  /** The name column that it reads. Columns that no key needs are not collected. */
  readonly needs?: NameColumn;
  /** Whether its rows are memory accesses, although it does not read the accessed data. */
  readonly isOfMemory?: true;
  /** The end of a branch or access that it reads. Rows of such keys are branches or accesses. */
  readonly end?: End;
  /** The sample column that it reads. */
  readonly context?: ContextColumn;
  /** The branch flags that it reads (`BRANCH` of the session), if its context is `branch`. */
  readonly flags?: number;
  /** The part of a data source that it reads. Rows of such keys are memory accesses. */
  readonly part?: DataSourcePart;
  /** Joins values: those with equal results share a row. Without it, each value has a row. */
  join?(value: number, table: FunctionTable): number | string;
  /** A row's value, or the index of a text. */
  number(table: FunctionTable, row: number): number;
  /** Text of a number. Missing if numbers are values, which are right-aligned. */
  text?(table: FunctionTable, number: number): string;
  /** Text in tables for people, if it differs. */
  shown?(table: FunctionTable, number: number): string;
  /** Value in JSON, if it differs. */
  full?(table: FunctionTable, number: number): string | undefined;
  /** Additional members in JSON. */
  more?(table: FunctionTable, number: number): Readonly<Record<string, unknown>>;
  /** Columns by index that determine the order, if texts or values do not. */
  order?(table: FunctionTable, numbers: Int32Array): ArrayLike<number>[];
}

/** The keys with these names. */
export function keysOf(sort: readonly SortKey[]): FunctionKey[] {
  return sort.map((name) => {
    const key = FUNCTION_KEYS.find((key) => key.name === name);
    if (key === undefined) throw new Error(`no key is called ${name}`);
    return key;
  });
}

/** Columns that {@link SampleCollector} has to collect for some keys. */
export function sampleKeys(sort: readonly SortKey[]): SampleKeys {
  const keys = keysOf(sort);
  const by = (column: ContextColumn) => keys.some(({ context }) => context === column);
  const branch = keys.reduce((all, { flags = 0 }) => all | flags, 0);
  const columns = new Set(
    keys.flatMap(({ context }) => DETAIL_COLUMNS.filter((detail) => detail === context)),
  );
  const parts = new Set(keys.flatMap(({ part }) => part ?? []));
  return {
    ...{ pid: by("pid"), tid: by("tid"), cpu: by("cpu"), branch, sockets: sort.includes("socket") },
    ...(columns.size === 0 ? {} : { details: { columns: [...columns], parts: [...parts] } }),
  };
}

/** Columns that a {@link SampleCollector} collects for these rows. */
export function functionColumns(
  { sort = DEFAULT_KEYS, inline = false, latency = false, chains = false }: Pick<
    FunctionOptions,
    "sort" | "inline" | "latency" | "chains"
  >,
  children: boolean,
): CollectOptions {
  return {
    // Samples taken at different parallelism have different latencies, so group by it.
    keys: sampleKeys(latency ? [...sort, "parallelism"] : sort),
    stacks: children || chains,
    branches: areOfBranches(sort),
    memory: areOfMemory(sort),
    lines: inline && (sort.includes("sym") || chains) ||
      sort.some((key) => key.startsWith("src")),
  };
}

/** The keys of rows if no others are asked for. */
export const DEFAULT_KEYS: readonly SortKey[] = ["comm", "dso", "sym"];

/** Whether rows of these keys are branches. */
export function areOfBranches(sort: readonly SortKey[]): boolean {
  return keysOf(sort).some(({ end, context }) =>
    end === "from" || end === "to" || context === "branch"
  );
}

/** Whether rows of these keys are memory accesses. */
export function areOfMemory(sort: readonly SortKey[]): boolean {
  return keysOf(sort).some(({ end, part, isOfMemory }) =>
    end === "data" || part !== undefined || isOfMemory === true
  );
}

/** Whether rows of these keys are data types. */
export function areOfTypes(sort: readonly SortKey[]): boolean {
  return keysOf(sort).some(({ needs }) => needs?.startsWith("type") === true);
}

/** Name of a function. */
export function nameText({ names }: FunctionTable, number: number): string {
  return names.functions.text(number);
}

/** Name of a function for people, with a mark if it is unverified. */
export function markedText({ names }: FunctionTable, number: number): string {
  const name = names.functions.text(number);
  return markedName(names.unverified.has(number) ? { name, verified: false } : { name });
}

/** Adds to a function's name whether it is inlined. */
function symText(
  table: FunctionTable,
  number: number,
  name: string = nameText(table, number),
): string {
  return table.names.functions.isInlined(number) ? `${name} (inlined)` : name;
}

/** Display text of a function. */
function shownSym(table: FunctionTable, number: number): string {
  return `[${levelText(table, number)}] ${symText(table, number, markedText(table, number))}`;
}

/** Keys for function, object and line of an end of a branch. */
function endKeys(end: BranchEnd): FunctionKey[] {
  return [
    {
      name: `dso_${end}`,
      needs: "dso",
      end,
      number: (table, row) => table.name(row, "dso", end),
      text: (table, number) => table.names.dsos.text(number),
    },
    {
      name: `symbol_${end}`,
      needs: "symbol",
      end,
      number: (table, row) => table.symbol(row, end),
      text: (table, number) => symText(table, number),
      shown: shownSym,
      more: (table, number) => ({
        ...(table.names.unverified.has(number) ? { [`verified_${end}`]: false } : {}),
        [`symbol_${end}`]: table.names.functions.text(number),
        [`level_${end}`]: levelText(table, number),
        ...(table.inline ? { [`inlined_${end}`]: table.names.functions.isInlined(number) } : {}),
      }),
      order: ({ names: { functions } }, numbers) => functions.ranks(numbers),
    },
    {
      name: `srcline_${end}`,
      needs: "line",
      end,
      number: (table, row) => table.name(row, "line", end),
      text: (table, number) => table.names.texts.text(number),
      full: (table, number) => table.names.linePaths[number],
    },
    offsetKey(`addr_${end}`, end),
  ];
}

/** Key for an instruction: function and offset. */
function offsetKey(name: "symoff" | "addr_from" | "addr_to", end: BranchEnd): FunctionKey {
  return {
    ...{ name, needs: "offset", ...(name === "symoff" ? {} : { end }) },
    number: (table, row) => table.name(row, "offset", end),
    text: nameText,
    shown: (table, number) => `[${levelText(table, number)}] ${markedText(table, number)}`,
    more: (table, number) => ({
      ...(table.names.unverified.has(number) ? { [`verified_${name}`]: false } : {}),
      [name]: table.names.functions.text(number),
      [`level_${name}`]: levelText(table, number),
    }),
    order: ({ names: { functions } }, numbers) => functions.ranks(numbers),
  };
}

/**
 * Key for the function of an instruction that accessed memory. As in perf, each instruction is a
 * row.
 */
function codeKey(): FunctionKey {
  const name = ({ names }: FunctionTable, number: number) =>
    names.functions.text(number).replace(/\+0x[0-9a-f]+$/, "");
  return {
    ...{ name: "symbol_iaddr", needs: "offset", isOfMemory: true },
    number: (table, row) => table.name(row, "offset"),
    text: name,
    shown: (table, number) =>
      name(table, number) + (table.names.unverified.has(number) ? UNVERIFIED_MARK : ""),
    more: (table, number) => ({
      ...(table.names.unverified.has(number) ? { verified_iaddr: false } : {}),
      symbol_iaddr: name(table, number),
      level_iaddr: levelText(table, number),
    }),
  };
}

/** Key for the type of the accessed data. */
function typeKey(name: "type" | "typeoff" | "typecln"): FunctionKey {
  return {
    ...{ name, needs: name },
    number: (table, row) => table.name(row, name),
    text: ({ names }, number) => names.texts.text(number),
  };
}

/** Key for a branch flag. */
function flagKey(
  name: "mispredict" | "in_tx" | "abort",
  flags: number,
  text: (flags: number) => string,
): FunctionKey {
  return {
    ...{ name, context: "branch", flags },
    join: (value) => value & flags,
    number: (table, row) => table.context(row, "branch") & flags,
    text: (_, number) => text(number),
  };
}

/** Key for a part of a data source. */
function sourceKey(name: SortKey, part: DataSourcePart): FunctionKey {
  const text = (table: FunctionTable, number: number) =>
    dataSourcePart(table.details?.value(number, "data_src") ?? 0n, part);
  return {
    ...{ name, context: "data_src", part, text },
    join: (value, table) => text(table, value),
    number: (table, row) => table.context(row, "data_src"),
  };
}

/** Key for a weight of samples. */
function weightKey(name: SortKey, context: DetailColumn): FunctionKey {
  const value = (table: FunctionTable, number: number) =>
    Number(table.details?.value(number, context) ?? 0n);
  return {
    ...{ name, context },
    join: (number, table) => value(table, number),
    number: (table, row) => value(table, table.context(row, context)),
  };
}

/**
 * Key for the sum of a weight over a row's samples. As in perf, all samples of a row have the same
 * weight.
 */
function sumKey(name: SortKey, context: DetailColumn): FunctionKey {
  const { number, ...rest } = weightKey(name, context);
  return { ...rest, number: (table, row) => number(table, row) * table.samples(row) };
}

/** Key for a sample column with a text. */
function textKey(
  name: SortKey,
  context: DetailColumn,
  textOf: (value: bigint, table: FunctionTable) => string,
): FunctionKey {
  const text = (table: FunctionTable, number: number) =>
    textOf(table.details?.value(number, context) ?? 0n, table);
  return {
    ...{ name, context, text },
    join: (number, table) => text(table, number),
    number: (table, row) => table.context(row, context),
  };
}

/** Start of a time slice in seconds, in perf's format. */
function timeText(time: bigint): string {
  const us = time / 1000n;
  return `${us / 1_000_000n}.${String(us % 1_000_000n).padStart(6, "0")}`;
}

/** Bits of a transaction (`PERF_TXN_*`), in perf's notation. */
const TRANSACTION = ["EL", "TX", "SYNC", "ASYNC", "RETRY", "CON", "CAP-WRITE", "CAP-READ"];

/** Text of a transaction: flags and abort code. */
function transactionText(value: bigint): string {
  const flags = TRANSACTION.filter((_, i) => (value >> BigInt(i) & 1n) !== 0n);
  const isOther = value !== 0n && (value & 0xcn) === 0n;
  const code = value >> 32n;
  const words = [
    ...flags,
    ...(isOther ? ["NEITHER"] : []),
    ...(code === 0n ? [] : [`:${code.toString(16)}`]),
  ];
  return words.join(" ");
}

/** All keys, in the order of their significance. */
export const FUNCTION_KEYS: readonly FunctionKey[] = [
  {
    name: "comm",
    context: "comm",
    number: (table, row) => table.context(row, "comm"),
    text: (table, number) => table.comms.text(number),
    order: ({ comms }, numbers) => comms.ranks(numbers),
  },
  {
    name: "dso",
    needs: "dso",
    number: (table, row) => table.name(row, "dso"),
    text: (table, number) => table.names.dsos.text(number),
  },
  {
    name: "sym",
    needs: "symbol",
    number: (table, row) => table.symbol(row),
    text: (table, number) => symText(table, number),
    shown: shownSym,
    more: (table, number) => ({
      ...(table.names.unverified.has(number) ? { verified: false } : {}),
      sym: table.names.functions.text(number),
      level: levelText(table, number),
      ...(table.inline ? { inlined: table.names.functions.isInlined(number) } : {}),
    }),
    order: ({ names: { functions } }, numbers) => functions.ranks(numbers),
  },
  {
    name: "srcline",
    needs: "line",
    number: (table, row) => table.name(row, "line"),
    text: (table, number) => table.names.texts.text(number),
    full: (table, number) => table.names.linePaths[number],
  },
  {
    name: "srcfile",
    needs: "file",
    number: (table, row) => table.name(row, "file"),
    text: (table, number) => table.names.texts.text(number),
  },
  ...(["pid", "tid", "cpu"] as const).map((name): FunctionKey => ({
    name,
    context: name,
    number: (table, row) => table.context(row, name),
  })),
  ...endKeys("from"),
  ...endKeys("to"),
  flagKey(
    "mispredict",
    BRANCH.MISPREDICTED | BRANCH.PREDICTED,
    (flags) => (flags & BRANCH.PREDICTED) !== 0 ? "N" : flags !== 0 ? "Y" : "N/A",
  ),
  {
    name: "cycles",
    context: "branch",
    flags: BRANCH.CYCLES,
    join: (value) => value & BRANCH.CYCLES,
    number: (table, row) => (table.context(row, "branch") & BRANCH.CYCLES) >> BRANCH.CYCLES_AT,
  },
  flagKey("in_tx", BRANCH.IN_TX, (flags) => flags === 0 ? "." : "T"),
  flagKey("abort", BRANCH.ABORT, (flags) => flags === 0 ? "." : "A"),
  sourceKey("mem", "level"),
  sourceKey("snoop", "snoop"),
  sourceKey("tlb", "tlb"),
  sourceKey("locked", "locked"),
  sourceKey("blocked", "blocked"),
  sourceKey("region", "region"),
  {
    name: "dso_daddr",
    needs: "dso",
    end: "data",
    number: (table, row) => table.name(row, "dso", "data"),
    text: (table, number) => table.names.dsos.text(number),
  },
  {
    name: "symbol_daddr",
    needs: "symbol",
    end: "data",
    number: (table, row) => table.symbol(row, "data"),
    text: nameText,
    shown: (table, number) => `[${levelText(table, number)}] ${markedText(table, number)}`,
    more: (table, number) => ({
      ...(table.names.unverified.has(number) ? { verified_daddr: false } : {}),
      symbol_daddr: table.names.functions.text(number),
      level_daddr: levelText(table, number),
    }),
    order: ({ names: { functions } }, numbers) => functions.ranks(numbers),
  },
  {
    name: "dcacheline",
    needs: "cacheline",
    end: "data",
    number: (table, row) => table.name(row, "cacheline", "data"),
    text: (table, number) => table.names.functions.text(number),
    order: ({ names: { functions } }, numbers) => functions.ranks(numbers),
  },
  textKey("phys_daddr", "phys_addr", (address) => `0x${address.toString(16).padStart(16, "0")}`),
  weightKey("local_weight", "weight"),
  weightKey("local_ins_lat", "ins_lat"),
  weightKey("local_retire_lat", "retire_lat"),
  textKey("data_page_size", "data_page_size", pageSizeText),
  textKey("code_page_size", "code_page_size", pageSizeText),
  textKey(
    "cgroup",
    "cgroup",
    (id, { cgroups }) => id === 0n ? "N/A" : cgroups.get(id) ?? "unknown",
  ),
  textKey("transaction", "transaction", transactionText),
  textKey("addr", "ip", (address) => `0x${address.toString(16)}`),
  {
    name: "socket",
    context: "cpu",
    join: (cpu, { sockets }) => sockets[cpu] ?? -1,
    number: (table, row) => table.sockets[table.context(row, "cpu")] ?? -1,
  },
  textKey("time", "time", timeText),
  textKey("trace", "trace", (value, { details }) => details?.trace(value) ?? "N/A"),
  weightKey("parallelism", "parallelism"),
  textKey(
    "machine",
    "machine",
    (value) => machineName(Number(value >> 32n), Number(BigInt.asIntN(32, value))),
  ),
  textKey(
    "pmu",
    "pmu",
    (event, { recordedEvents }) => pmuOf(recordedEvents[Number(event)] ?? "") ?? "N/A",
  ),
  offsetKey("symoff", "to"),
  {
    name: "symbol_size",
    needs: "size",
    number: (table, row) => table.name(row, "size"),
  },
  typeKey("type"),
  typeKey("typeoff"),
  typeKey("typecln"),
  codeKey(),
  sumKey("weight", "weight"),
  sumKey("ins_lat", "ins_lat"),
  sumKey("retire_lat", "retire_lat"),
  weightKey("local_p_stage_cyc", "retire_lat"),
  sumKey("p_stage_cyc", "retire_lat"),
];

/**
 * Level of a function: `k` in the kernel, `.` in a process, `g` and `u` in the kernel and in a
 * process of a guest, `H` elsewhere.
 */
function levelText({ names: { functions } }: FunctionTable, number: number): string {
  return String.fromCharCode(functions.level(number));
}

/** Value of a key in a row. */
export function keyValue(key: FunctionKey, table: FunctionTable, row: number): string | number {
  const number = key.number(table, row);
  return key.text === undefined ? number : key.text(table, number);
}

/** Columns that order rows by a key. */
export function keyOrder(
  key: FunctionKey,
  table: FunctionTable,
  rows: Uint32Array,
): OrderColumn[] {
  const number = (row: number): number => key.number(table, row);
  const { order, text } = key;
  if (order === undefined && text === undefined) return [number];
  const numbers = new Int32Array(rows.length);
  const byRow = new Int32Array(table.size);
  for (let i = 0; i < rows.length; i++) {
    const row = uintAt(rows, i);
    numbers[i] = byRow[row] = number(row);
  }
  const columns = order?.(table, numbers) ??
    [textRanks(numbers, (number) => text?.(table, number) ?? "")];
  return columns.map((ranks) => (row) => ranks[intAt(byRow, row)] as number);
}

/** Names of {@link FUNCTION_KEYS}. */
export const SORT_KEYS: readonly SortKey[] = FUNCTION_KEYS.map(({ name }) => name);
