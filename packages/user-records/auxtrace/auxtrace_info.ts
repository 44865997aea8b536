import {
  array,
  type Codec,
  decode,
  encode,
  enumeration,
  type FixedCodec,
  type OptionalCodec,
  record,
  type RecordDeclaration,
  reserved,
  struct,
  type StructValue,
  u32,
  u64,
  within,
  x64,
} from "@perfdata/format/records";
import { type ByteReader, PerfDataError } from "@perfdata/format/bytes";
import {
  type ArmSpeInfoV1,
  type ArmSpeInfoV2,
  armSpePrivV1,
  armSpePrivV2,
} from "../auxtrace_info/arm_spe.ts";
import { type CsEtmInfo, csEtmPriv } from "../auxtrace_info/cs_etm.ts";
import { type IntelBtsInfo, intelBtsPriv } from "../auxtrace_info/intel_bts.ts";
import { type IntelPtInfo, intelPtPriv } from "../auxtrace_info/intel_pt.ts";
import { pmuTypePriv } from "../auxtrace_info/pmu_type.ts";
import type { PrivCodec } from "../auxtrace_info/words.ts";
import { PERF_RECORD_AUXTRACE_INFO } from "@perfdata/format/constants";

/** `type` of a trace without a decoder. */
export const PERF_AUXTRACE_UNKNOWN = 0;
/** `type` of an Intel PT trace. */
export const PERF_AUXTRACE_INTEL_PT = 1;
/** `type` of an Intel BTS trace. */
export const PERF_AUXTRACE_INTEL_BTS = 2;
/** `type` of a CoreSight trace. */
export const PERF_AUXTRACE_CS_ETM = 3;
/** `type` of an Arm SPE trace. */
export const PERF_AUXTRACE_ARM_SPE = 4;
/** `type` of a trace of the s390 CPU-measurement sampling facility. */
export const PERF_AUXTRACE_S390_CPUMSF = 5;
/** `type` of a HiSilicon PCIe trace. */
export const PERF_AUXTRACE_HISI_PTT = 6;
/** `type` of a PowerPC dispatch trace log. */
export const PERF_AUXTRACE_VPA_DTL = 7;

/** Names of the kinds of AUX area traces, without `PERF_AUXTRACE_` (`tools/perf/util/auxtrace.h`). */
export const PERF_AUXTRACE_NAMES: Readonly<Record<number, string>> = {
  [PERF_AUXTRACE_UNKNOWN]: "UNKNOWN",
  [PERF_AUXTRACE_INTEL_PT]: "INTEL_PT",
  [PERF_AUXTRACE_INTEL_BTS]: "INTEL_BTS",
  [PERF_AUXTRACE_CS_ETM]: "CS_ETM",
  [PERF_AUXTRACE_ARM_SPE]: "ARM_SPE",
  [PERF_AUXTRACE_S390_CPUMSF]: "S390_CPUMSF",
  [PERF_AUXTRACE_HISI_PTT]: "HISI_PTT",
  [PERF_AUXTRACE_VPA_DTL]: "VPA_DTL",
};

/** Declarations of the words, by type of trace. */
const PRIV_KINDS: readonly {
  readonly type: number;
  readonly codec: PrivCodec<unknown>;
  /** Size of all words in bytes, if the declaration applies only to this size. */
  readonly size?: number;
  /** Minimum of the first word, if the declaration depends on it. */
  readonly first?: bigint;
}[] = [
  { type: PERF_AUXTRACE_INTEL_PT, codec: intelPtPriv },
  { type: PERF_AUXTRACE_INTEL_BTS, codec: intelBtsPriv },
  { type: PERF_AUXTRACE_CS_ETM, codec: csEtmPriv },
  // Version 1 is recognized by its length; simpleperf has its own version 1, which is longer.
  { type: PERF_AUXTRACE_ARM_SPE, codec: armSpePrivV1, size: armSpePrivV1.least },
  { type: PERF_AUXTRACE_ARM_SPE, codec: armSpePrivV2, first: 2n },
  { type: PERF_AUXTRACE_HISI_PTT, codec: pmuTypePriv },
  { type: PERF_AUXTRACE_VPA_DTL, codec: pmuTypePriv },
];

/** Returns the declaration of a trace's words; `undefined` if they are too short for it. */
function kindOf(type: unknown, size: number, first: () => bigint): PrivCodec<unknown> | undefined {
  return PRIV_KINDS.find((kind) =>
    kind.type === type && size >= kind.codec.least && (kind.size ?? size) === size &&
    (kind.first === undefined || first() >= kind.first)
  )?.codec;
}

const words = array(x64, "rest");
const { shape: _, ...shown } = words;

/** Decodes the words as numbers; reports their byte ranges by name. */
const priv: Codec<bigint[]> = {
  ...shown,
  alternatives: [
    intelPtPriv,
    intelBtsPriv,
    csEtmPriv,
    armSpePrivV1,
    armSpePrivV2,
    pmuTypePriv,
    words,
  ],
  decode(r: ByteReader, scope) {
    if (r.trace === undefined) return words.decode(r, scope);
    const at = r.pos;
    const size = r.left & ~7;
    const kind = kindOf(scope.fields["type"], size, () => r.view.getBigUint64(at, r.littleEndian));
    within(r, size, kind ?? words, scope);
    r.takeResidue();
    const value: bigint[] = [];
    for (let i = 0; i < size; i += 8) value.push(r.view.getBigUint64(at + i, r.littleEndian));
    r.pos = at + size;
    return value;
  },
};

const AUXTRACE_INFO_FIELDS = {
  type: [
    enumeration(u32, PERF_AUXTRACE_NAMES) as FixedCodec<number>,
    "Source of the trace (`PERF_AUXTRACE_*`).",
  ],
  reserved__: [reserved(4) as OptionalCodec<Uint8Array>, "Zero, for alignment."],
  priv: [priv, "Words whose meaning depends on `type`."],
} as const;

/** The body of AUXTRACE_INFO. */
export type AuxtraceInfo = StructValue<typeof AUXTRACE_INFO_FIELDS>;

/**
 * AUXTRACE_INFO: properties of an AUX area trace that its decoder needs.
 *
 * {@link intelPtInfo} and the functions for other traces decode the words by name.
 */
export const AUXTRACE_INFO: RecordDeclaration<"AUXTRACE_INFO", AuxtraceInfo> = record(
  PERF_RECORD_AUXTRACE_INFO,
  "AUXTRACE_INFO",
  struct("perf_record_auxtrace_info", AUXTRACE_INFO_FIELDS),
);

/** Options of {@link intelPtInfo} and {@link privWords}. */
export interface PrivOptions {
  /** Byte order of the file, for text among the words; little-endian by default. */
  readonly littleEndian?: boolean;
}

function view<T>(
  type: number,
  info: AuxtraceInfo,
  options: PrivOptions,
  ...kinds: PrivCodec<T>[]
): T | undefined {
  if (info.type !== type) return undefined;
  const size = info.priv.length * 8;
  const kind = kinds.find((known) => known === kindOf(type, size, () => info.priv[0] as bigint));
  if (kind === undefined) return undefined;
  return decode(kind, encode(array(u64, "rest"), info.priv, options), options).value;
}

/**
 * Decodes the `priv` words of an Intel PT trace by name.
 *
 * @param info The body of an AUXTRACE_INFO record.
 * @param options Byte order of the file, for the address filter among the words.
 * @returns `undefined` if the trace has another type, or fewer than the 10 words that the
 * first perf with Intel PT wrote.
 *
 * @example
 * ```ts
 * import { intelPtInfo } from "@perfdata/user-records";
 * import { assertEquals } from "@std/assert";
 *
 * const info = intelPtInfo({ type: 1, priv: [6n, 31n, 829000000n, 0n, 1n, 0x400n, 0x800n, 3n, 0n, 1n] });
 * assertEquals(info?.time_mult, 829000000n);
 * assertEquals(info?.tsc_bit, 0x400n);
 * assertEquals(info?.mtc_bit, undefined);
 * ```
 */
export function intelPtInfo(
  info: AuxtraceInfo,
  options: PrivOptions = {},
): IntelPtInfo | undefined {
  return view(PERF_AUXTRACE_INTEL_PT, info, options, intelPtPriv);
}

/**
 * Decodes the `priv` words of an Intel BTS trace by name (tools/perf/util/intel-bts.h); `undefined` for a trace
 * of another type.
 *
 * @param info The body of an AUXTRACE_INFO record.
 *
 * @example
 * ```ts
 * import { intelBtsInfo } from "@perfdata/user-records";
 * import { assertEquals } from "@std/assert";
 *
 * const info = intelBtsInfo({ type: 2, priv: [7n, 31n, 829000000n, 0n, 1n, 1n] });
 * assertEquals([info?.pmu_type, info?.snapshot_mode], [7n, 1n]);
 * ```
 */
export function intelBtsInfo(info: AuxtraceInfo): IntelBtsInfo | undefined {
  return view(PERF_AUXTRACE_INTEL_BTS, info, {}, intelBtsPriv);
}

/**
 * Decodes the `priv` words of a CoreSight trace by name (tools/perf/util/cs-etm.h); `undefined` for a trace of
 * another type.
 *
 * @param info The body of an AUXTRACE_INFO record.
 */
export function csEtmInfo(info: AuxtraceInfo): CsEtmInfo | undefined {
  return view(PERF_AUXTRACE_CS_ETM, info, {}, csEtmPriv);
}

/**
 * Decodes the `priv` words of an Arm SPE trace by name (tools/perf/util/arm-spe.h); `undefined` for a trace of
 * another type.
 *
 * The result has a `header_version` if the trace has version 2.
 *
 * @param info The body of an AUXTRACE_INFO record.
 */
export function armSpeInfo(info: AuxtraceInfo): ArmSpeInfoV1 | ArmSpeInfoV2 | undefined {
  return view<ArmSpeInfoV1 | ArmSpeInfoV2>(
    PERF_AUXTRACE_ARM_SPE,
    info,
    {},
    armSpePrivV1 as PrivCodec<ArmSpeInfoV1 | ArmSpeInfoV2>,
    armSpePrivV2 as PrivCodec<ArmSpeInfoV1 | ArmSpeInfoV2>,
  );
}

/**
 * Encodes `priv` words from their named values: the inverse of {@link intelPtInfo} and the functions for other traces.
 *
 * @param kind Codec of the words: `intelPtPriv`, `intelBtsPriv`, `csEtmPriv`, `armSpePrivV1` or
 * `armSpePrivV2`.
 * @param value The words by name.
 * @param options Byte order of the file to be written.
 * @throws {PerfDataError} If the encoded size is not a multiple of 8.
 *
 * @example
 * ```ts
 * import { intelBtsPriv, privWords } from "@perfdata/user-records";
 * import { assertEquals } from "@std/assert";
 *
 * const words = privWords(intelBtsPriv, {
 *   pmu_type: 7n,
 *   time_shift: 31n,
 *   time_mult: 829000000n,
 *   time_zero: 0n,
 *   cap_user_time_zero: 1n,
 *   snapshot_mode: 0n,
 * });
 * assertEquals(words, [7n, 31n, 829000000n, 0n, 1n, 0n]);
 * ```
 */
export function privWords<T>(kind: Codec<T>, value: T, options: PrivOptions = {}): bigint[] {
  const bytes = encode(kind, value, options);
  if (bytes.length % 8 !== 0) {
    throw new PerfDataError(`${kind.type}: ${bytes.length} bytes, expected a multiple of 8`);
  }
  return decode(array(u64, "rest"), bytes, options).value;
}
