import type { IntelPtInfo } from "@perfdata/user-records";
import {
  auxFlagNames,
  type AuxPiece,
  type AuxStream,
  auxStreamBytes,
  type AuxTrace,
} from "./aux_trace.ts";

/** A JSON value. */
export type Json =
  | string
  | number
  | boolean
  | null
  | readonly Json[]
  | { readonly [name: string]: Json };

/** Input of {@link auxManifest}. */
export interface AuxManifestInput {
  /** Name of the input. */
  readonly input: string;
  /** The AUX data of the recording. */
  readonly trace: AuxTrace;
  /** The requested streams, each with the name of its file, if it has one. */
  readonly outputs: readonly { readonly stream: AuxStream; readonly file: string | undefined }[];
}

/**
 * Describes AUX data for other programs: the pieces of the recording in each output, and the
 * parameters that a decoder needs.
 *
 * 64-bit references and offsets are text with `0x`; sizes and counts are numbers; values that are
 * not recorded are `null`. Fields will be added, not changed.
 *
 * @example
 * ```ts
 * import { auxManifest } from "@perfdata/session/auxtrace";
 * import { assertEquals } from "@std/assert";
 *
 * const manifest = auxManifest({
 *   input: "perf.data",
 *   trace: {
 *     type: 4,
 *     typeName: "arm_spe",
 *     info: undefined,
 *     intelPt: undefined,
 *     intelPtConfig: undefined,
 *     mayOverlap: false,
 *     streams: [],
 *     cmdline: ["perf", "record"],
 *     cpuid: undefined,
 *   },
 *   outputs: [],
 * });
 * assertEquals(manifest["type"], "arm_spe");
 * ```
 */
export function auxManifest({ input, trace, outputs }: AuxManifestInput): { [name: string]: Json } {
  return {
    input,
    type: trace.typeName,
    command: trace.cmdline ?? null,
    cpuid: trace.cpuid ?? null,
    ...(trace.intelPt === undefined ? {} : { intel_pt: intelPtManifest(trace, trace.intelPt) }),
    outputs: outputs.map(({ stream, file }) => ({
      file: file ?? null,
      cpu: stream.cpu ?? null,
      tid: stream.tid ?? null,
      idx: stream.idx < 0 ? null : stream.idx,
      bytes: auxStreamBytes(stream),
      aux_records: stream.auxRecords,
      flags: auxFlagNames(stream.flags),
      pieces: pieceManifests(stream.pieces),
    })),
  };
}

function pieceManifests(pieces: readonly AuxPiece[]): Json[] {
  let offset = 0;
  return pieces.map((piece) => {
    const size = piece.size - piece.overlap;
    offset += size;
    return {
      offset: offset - size,
      size,
      file_offset: piece.fileOffset + piece.overlap,
      aux_offset: piece.auxOffset === undefined
        ? null
        : hex(piece.auxOffset + BigInt(piece.overlap)),
      reference: hex(piece.reference),
      overlap: piece.overlap,
      gap: piece.gap === undefined ? null : number(piece.gap),
      missing: piece.missing,
      flags: auxFlagNames(piece.flags),
    };
  });
}

function intelPtManifest(trace: AuxTrace, info: IntelPtInfo): Json {
  const config = trace.intelPtConfig;
  return {
    pmu_type: number(info.pmu_type),
    time_shift: number(info.time_shift),
    time_mult: number(info.time_mult),
    time_zero: hex(info.time_zero),
    cap_user_time_zero: info.cap_user_time_zero !== 0n,
    tsc_bit: hex(info.tsc_bit),
    noretcomp_bit: hex(info.noretcomp_bit),
    have_sched_switch: number(info.have_sched_switch),
    snapshot_mode: info.snapshot_mode !== 0n,
    per_cpu_mmaps: info.per_cpu_mmaps !== 0n,
    mtc_bit: hex(info.mtc_bit),
    mtc_freq_bits: hex(info.mtc_freq_bits),
    tsc_ctc_ratio: info.tsc_ctc_n === undefined || info.tsc_ctc_d === undefined
      ? null
      : [number(info.tsc_ctc_n), number(info.tsc_ctc_d)],
    cyc_bit: hex(info.cyc_bit),
    max_nonturbo_ratio: number(info.max_nonturbo_ratio),
    filter: info.filter ?? null,
    cap_event_trace: info.cap_event_trace === undefined ? null : info.cap_event_trace !== 0n,
    event: config === undefined ? null : {
      config: hex(config.config),
      tsc: config.tsc,
      noretcomp: !config.retComp,
      mtc: config.mtc ?? null,
      mtc_period: config.mtcPeriod ?? null,
      cyc: config.cyc ?? null,
    },
  };
}

function hex(word: bigint): string;
function hex(word: bigint | undefined): string | null;
function hex(word: bigint | undefined): string | null {
  return word === undefined ? null : `0x${word.toString(16)}`;
}

function number(word: bigint | undefined): number | null {
  return word === undefined ? null : Number(word);
}
