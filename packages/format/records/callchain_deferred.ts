import {
  array,
  type Codec,
  countedBy,
  counter,
  type HiddenCodec,
  struct,
  type StructValue,
  u64,
  x64,
} from "../struct/mod.ts";
import { record, type RecordDeclaration } from "./record.ts";
import { PERF_RECORD_CALLCHAIN_DEFERRED } from "./record_types.ts";

const CALLCHAIN_DEFERRED_FIELDS = {
  cookie: [
    x64,
    "Identifies the samples that this belongs to: the value after their USER_DEFERRED marker.",
  ],
  nr: counter(u64, "ips") as HiddenCodec,
  ips: [
    array(x64, countedBy("nr")) as Codec<bigint[]>,
    "The user part of the call chain, innermost first.",
  ],
} as const;

/** The body of CALLCHAIN_DEFERRED. */
export type CallchainDeferred = StructValue<typeof CALLCHAIN_DEFERRED_FIELDS>;

/** CALLCHAIN_DEFERRED: the user call chain of samples taken in the kernel before it. */
export const CALLCHAIN_DEFERRED: RecordDeclaration<"CALLCHAIN_DEFERRED", CallchainDeferred> =
  record(
    PERF_RECORD_CALLCHAIN_DEFERRED,
    "CALLCHAIN_DEFERRED",
    struct("perf_record_callchain_deferred", CALLCHAIN_DEFERRED_FIELDS),
  );
