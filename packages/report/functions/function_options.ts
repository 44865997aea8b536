import type { LookUpProgress } from "@perfdata/session";
import type { DataTypes } from "../data-types/data_types.ts";
import type { SortKey } from "./function_columns.ts";

/**
 * A row as one object: see {@link FunctionTable.row}. It has the keys by which rows are grouped.
 */
export interface FunctionRow extends Readonly<Partial<Record<SortKey, string | number>>> {
  /** Index of the event. */
  readonly event: number;
  /** Share of the event's period, 0 to 1. */
  readonly overhead: number;
  /** Samples. */
  readonly samples: number;
  /** Period of the samples. */
  readonly period: number;
  /** With call chains: samples in the function and its callees. */
  readonly children?: {
    /** Share of the event's period, 0 to 1. */
    readonly overhead: number;
    /** Samples. */
    readonly samples: number;
    /** Period of the samples. */
    readonly period: number;
  };
  /** Share of the event's latency, 0 to 1, if it was requested. */
  readonly latency?: number;
  /** With call chains: share of the event's latency in the function and its callees. */
  readonly childLatency?: number;
  /** Command; `:tid` if unknown. */
  readonly comm?: string;
  /** Object: base name of its path. */
  readonly dso?: string;
  /** Function, or address if there is none. */
  readonly sym?: string;
  /** Whether the function is inlined; only present if inlined functions are rows. */
  readonly inlined?: boolean;
  /** Level of the function: `k` in the kernel, `.` in a process, `H` elsewhere. */
  readonly level?: string;
  /** File name and line; function and offset if they are unknown. */
  readonly srcline?: string;
  /** Source file's name; empty if unknown. */
  readonly srcfile?: string;
  /** Process. */
  readonly pid?: number;
  /** Thread. */
  readonly tid?: number;
  /** CPU; -1 if unknown. */
  readonly cpu?: number;
  /** Object of a branch's source. */
  readonly dso_from?: string;
  /** Object of a branch's target. */
  readonly dso_to?: string;
  /** Function of a branch's source, or address. */
  readonly symbol_from?: string;
  /** Level of a branch's source. */
  readonly level_from?: string;
  /** Function of a branch's target, or address. */
  readonly symbol_to?: string;
  /** Level of a branch's target. */
  readonly level_to?: string;
  /** File name and line of a branch's source. */
  readonly srcline_from?: string;
  /** File name and line of a branch's target. */
  readonly srcline_to?: string;
  /** Whether a branch was mispredicted: `Y` or `N`; `N/A` if the processor does not tell. */
  readonly mispredict?: string;
  /** Cycles since the previous branch; 0 if unknown. */
  readonly cycles?: number;
  /** `T` for a branch in a transaction, `.` for others. */
  readonly in_tx?: string;
  /** `A` for a branch that aborts a transaction, `.` for others. */
  readonly abort?: string;
  /** Memory access: the level with the data, and the result. */
  readonly mem?: string;
  /** Memory access: result of snooping other caches. */
  readonly snoop?: string;
  /** Memory access: address translation. */
  readonly tlb?: string;
  /** Memory access: whether it was locked. */
  readonly locked?: string;
  /** Memory access: the reason for blocking. */
  readonly blocked?: string;
  /** Object of the data. */
  readonly dso_daddr?: string;
  /** Variable and offset of the data, or address. */
  readonly symbol_daddr?: string;
  /** Level of the data. */
  readonly level_daddr?: string;
  /** Address of the data's cache line in its object. */
  readonly dcacheline?: string;
  /** Physical address of the data. */
  readonly phys_daddr?: string;
  /** Weight of a sample. */
  readonly local_weight?: number;
  /** Cycles of the instruction. */
  readonly local_ins_lat?: number;
  /** Cycles from the previous instruction to the retirement. */
  readonly local_retire_lat?: number;
  /** Page size of the data. */
  readonly data_page_size?: string;
  /** Page size of the code. */
  readonly code_page_size?: string;
  /** Path of the cgroup; `N/A` if there is none, `unknown` if it is not recorded. */
  readonly cgroup?: string;
  /** Text of a transaction; empty outside of one. */
  readonly transaction?: string;
  /** Recorded address of the code. */
  readonly addr?: string;
}

/** Tests of names; missing ones keep everything. */
export type NameFilter = Readonly<
  Partial<Record<"comm" | "dso" | "sym", ((name: string) => boolean) | undefined>>
>;

/** Selection and grouping of rows. */
export interface FunctionOptions {
  /** Called while names are looked up. */
  readonly progress?: LookUpProgress;
  /** Keys of the rows; comm, dso and sym by default. */
  readonly sort?: readonly SortKey[];
  /**
   * Whether a sample counts for the innermost function inlined at its address, instead of the
   * function around it.
   */
  readonly inline?: boolean;
  /**
   * Meaning of `srcfile`: file of the line, as in perf, which may be a header; or file of the
   * function.
   */
  readonly srcfile?: "line" | "function";
  /** Whether callees count for a row too; by default if stacks were counted. */
  readonly callees?: boolean;
  /**
   * Whether rows have latencies, and are sorted by them: periods divided by the number of threads
   * on a CPU. Requires the detail `parallelism`.
   */
  readonly latency?: boolean;
  /** Whether stacks of rows are shown as functions ({@link FunctionChains}). */
  readonly chains?: boolean;
  /** Keeps only samples whose command, object or function has one of these names. */
  readonly only?: NameFilter | undefined;
  /** Finds data types, if rows are data types. */
  readonly dataTypes?: Pick<DataTypes, "find">;
  /** Indices of the events with rows; all by default. */
  readonly events?: ReadonlySet<number> | undefined;
  /** Limit of the rows of each event. Only these are named and sorted. */
  readonly limit?: number;
  /** Smallest share of the event, 0 to 1: of its latency, if rows have latencies. */
  readonly least?: number;
}

/** A row with the name of its event. */
export interface NamedFunctionRow extends FunctionRow {
  /** The event, as given to `perf record -e`. */
  readonly eventName: string;
}
