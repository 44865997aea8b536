import type { DetailColumn } from "@perfdata/profile";

/** One of {@link SORT_KEYS}. */
export type SortKey =
  | "comm"
  | "dso"
  | "sym"
  | "srcline"
  | "srcfile"
  | "pid"
  | "tid"
  | "cpu"
  | `${"dso" | "symbol" | "srcline"}_${BranchEnd}`
  | "mispredict"
  | "cycles"
  | "in_tx"
  | "abort"
  | "mem"
  | "snoop"
  | "tlb"
  | "locked"
  | "blocked"
  | "region"
  | "dso_daddr"
  | "symbol_daddr"
  | "dcacheline"
  | "phys_daddr"
  | "local_weight"
  | "local_ins_lat"
  | "local_retire_lat"
  | "data_page_size"
  | "code_page_size"
  | "cgroup"
  | "transaction"
  | "addr"
  | "addr_from"
  | "addr_to"
  | "socket"
  | "time"
  | "trace"
  | "parallelism"
  | "machine"
  | "pmu"
  | "symoff"
  | "symbol_size"
  | "type"
  | "typeoff"
  | "typecln"
  | "symbol_iaddr"
  | "weight"
  | "ins_lat"
  | "retire_lat"
  | "local_p_stage_cyc"
  | "p_stage_cyc";

/** Key for ordering rows. */
export type OrderColumn = (row: number) => number;

/** Columns that few keys need. Places of one function may have different values in them. */
export type FineColumn = "offset" | "size" | "type" | "typeoff" | "typecln";

/** Columns of places' names. */
export type NameColumn = "dso" | "symbol" | "line" | "file" | "cacheline" | FineColumn;

/** Columns of samples. */
export type ContextColumn = "comm" | "pid" | "tid" | "cpu" | "branch" | DetailColumn;

/** An end of a branch: source or target. */
export type BranchEnd = "from" | "to";

/** An end of a branch, or the data of a memory access, whose code is its `to`. */
export type End = BranchEnd | "data";
