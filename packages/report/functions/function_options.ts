import type { LookUpProgress } from "@perfdata/session/symbolize";
import type { DataTypes } from "../data-types/data_types.ts";
import type { SortKey } from "./function_columns.ts";

/**
 * Subject of a row of the statistics, as one value: see {@link FunctionTable.row}. It has the keys by
 * which rows are grouped.
 */
export interface FunctionRow extends Readonly<Partial<Record<SortKey, string | number>>> {
  /** Number of the event. */
  readonly event: number;
  /** Share of the event's period, 0 to 1. */
  readonly overhead: number;
  /** Samples. */
  readonly samples: number;
  /** Sum of their periods. */
  readonly period: number;
  /** With call chains: the same of samples in what the row is about and in all that it called. */
  readonly children?: {
    /** Share of the event's period, 0 to 1. */
    readonly overhead: number;
    /** Samples. */
    readonly samples: number;
    /** Sum of their periods. */
    readonly period: number;
  };
  /** Share of the event's latency, 0 to 1, where it was asked for. */
  readonly latency?: number;
  /** With call chains: the same of samples in what the row is about and in all that it called. */
  readonly childLatency?: number;
  /** Command, where rows are grouped by it; `:tid` where it is not known. */
  readonly comm?: string;
  /** Object, where rows are grouped by it: the last part of its path. */
  readonly dso?: string;
  /** Function, or address where there is none. */
  readonly sym?: string;
  /** Whether the function is inlined where it was sampled; only there if inlined ones are rows. */
  readonly inlined?: boolean;
  /** Where the function runs: `k` in the kernel, `.` in a process, `H` elsewhere. */
  readonly level?: string;
  /** File name and line; function and offset where they are not known. */
  readonly srcline?: string;
  /** Source file's name; empty if it is not known. */
  readonly srcfile?: string;
  /** Process, where rows are grouped by it. */
  readonly pid?: number;
  /** Thread, where rows are grouped by it. */
  readonly tid?: number;
  /** CPU, if rows are grouped by it; -1 if samples do not say. */
  readonly cpu?: number;
  /** Object that a branch leads from, where rows are grouped by it. */
  readonly dso_from?: string;
  /** Object that it leads to, likewise. */
  readonly dso_to?: string;
  /** Function that it leads from, or address where there is none. */
  readonly symbol_from?: string;
  /** Where that runs, as `level`. */
  readonly level_from?: string;
  /** Function that it leads to. */
  readonly symbol_to?: string;
  /** Where that runs. */
  readonly level_to?: string;
  /** File name and line that it leads from. */
  readonly srcline_from?: string;
  /** File name and line that it leads to. */
  readonly srcline_to?: string;
  /** Whether it was mispredicted: `Y` or `N`, or `N/A` where the processor does not say. */
  readonly mispredict?: string;
  /** Cycles since the branch before it; 0 if they are not known. */
  readonly cycles?: number;
  /** `T` for a branch in a transaction, `.` for others. */
  readonly in_tx?: string;
  /** `A` for a branch that aborts a transaction, `.` for others. */
  readonly abort?: string;
  /** Of an access to memory: the level that had the data, and how that went. */
  readonly mem?: string;
  /** What other caches said. */
  readonly snoop?: string;
  /** How the address was translated. */
  readonly tlb?: string;
  /** Whether the access was locked. */
  readonly locked?: string;
  /** What it was blocked by. */
  readonly blocked?: string;
  /** Object that the data is in. */
  readonly dso_daddr?: string;
  /** Variable that it is in and where in that, or address. */
  readonly symbol_daddr?: string;
  /** Where that is, as `level`. */
  readonly level_daddr?: string;
  /** Address of its cache line, as the object counts. */
  readonly dcacheline?: string;
  /** Its physical address. */
  readonly phys_daddr?: string;
  /** Weight of a sample. */
  readonly local_weight?: number;
  /** Cycles that the instruction took. */
  readonly local_ins_lat?: number;
  /** Cycles from the instruction before it to its retirement. */
  readonly local_retire_lat?: number;
  /** Size of the page that the data is in. */
  readonly data_page_size?: string;
  /** Size of the page that the code is in. */
  readonly code_page_size?: string;
  /** Path of its cgroup; `N/A` where it has none, `unknown` where the recording does not say. */
  readonly cgroup?: string;
  /** What is known of its transaction; empty outside of one. */
  readonly transaction?: string;
  /** Address of the code, as it was recorded. */
  readonly addr?: string;
}

/** Which names are kept; all of what is not there. */
export type NameFilter = Readonly<
  Partial<Record<"comm" | "dso" | "sym", ((name: string) => boolean) | undefined>>
>;

/** Which rows to make. */
export interface FunctionOptions {
  /** Called while names are looked up. */
  readonly progress?: LookUpProgress;
  /** What rows are grouped by; comm, dso and sym by default. */
  readonly sort?: readonly SortKey[];
  /**
   * Whether a sample counts for the function that was inlined at its address, the innermost one,
   * instead of that which it was inlined into.
   */
  readonly inline?: boolean;
  /**
   * Which file `srcfile` is: that of the line, as with perf, which may be a header that was inlined,
   * or that of the function.
   */
  readonly srcfile?: "line" | "function";
  /** Whether rows count what they called as well; by default where stacks were counted. */
  readonly callees?: boolean;
  /**
   * Whether rows have latencies, and are in their order: periods, each divided by the number of threads that
   * had a CPU. `parallelism` has to be among the details that are collected.
   */
  readonly latency?: boolean;
  /** Whether stacks of rows are shown as functions ({@link FunctionChains}). */
  readonly chains?: boolean;
  /** Which commands, objects and functions are kept, by name. */
  readonly only?: NameFilter;
  /** Finds types of data, if rows are about these. */
  readonly dataTypes?: Pick<DataTypes, "find">;
  /** Numbers of the events that have rows; all by default. */
  readonly events?: ReadonlySet<number> | undefined;
  /** At most this many rows of each event; only these are named and put in order. */
  readonly limit?: number;
  /** Only rows of at least this share of their event, 0 to 1: of its latency, if rows have that. */
  readonly least?: number;
}
