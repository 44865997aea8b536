import { PERF_AUX_FLAG_NAMES } from "@perfdata/format/constants";
import type { AuxtraceInfo, IntelPtInfo } from "@perfdata/user-records";

/**
 * A contiguous part of AUX data in the file: the payload of an AUXTRACE record, or part of a
 * sample.
 */
export interface AuxPiece {
  /** The stream of the piece. It is not enumerable, so that a piece can be printed. */
  readonly stream: AuxStream;
  /**
   * File offset of the first byte. A piece in a COMPRESSED record has the offset of that record, at
   * which its bytes cannot be read.
   */
  readonly fileOffset: number;
  /** Bytes in the file, including padding to a multiple of 8. */
  size: number;
  /** Further bytes that the record announces and the file does not have, because it was cut. */
  missing: number;
  /** Offset of the first byte in the AUX area's stream; samples have none. */
  readonly auxOffset: bigint | undefined;
  /** Reference of the record (TSC for Intel PT), or the time of the sample. */
  readonly reference: bigint;
  /**
   * Bytes at its start that repeat the end of the previous piece; they are not part of the stream.
   */
  overlap: number;
  /**
   * Bytes lost between the previous piece and this one; `undefined` if unknown. Padding of the
   * previous piece cannot be distinguished from data, so that up to 7 bytes more may be lost.
   */
  gap: bigint | undefined;
  /**
   * `PERF_AUX_FLAG_*` of all AUX records that cover it. Records of a ring buffer (OVERWRITE) do not
   * name a piece, so their flags count for all.
   */
  flags: number;
}

/** The AUX data of a CPU, or of a thread. */
export interface AuxStream {
  /** The CPU that was traced; `undefined` if a thread was. */
  readonly cpu: number | undefined;
  /**
   * The thread that was traced. In the buffer of a CPU, the process that perf started or attached
   * to, even if other threads ran there (context switches name them); `undefined` if all processes
   * were traced.
   */
  readonly tid: number | undefined;
  /** Index of perf's buffer in the recording; -1 for AUX data in samples. */
  readonly idx: number;
  /** The pieces in file order, which is the order of the stream. */
  readonly pieces: AuxPiece[];
  /** AUX records about this stream. */
  auxRecords: number;
  /** `PERF_AUX_FLAG_*` of all AUX records about this stream. */
  flags: number;
}

/** All AUX data of a file, and the parameters for decoding it. */
export interface AuxTrace {
  /** The PMU of the data (`PERF_AUXTRACE_*`); 0 if it is not recorded. */
  readonly type: number;
  /** The name of the type in lower case: `intel_pt`, `cs_etm`, … */
  readonly typeName: string;
  /** Body of the AUXTRACE_INFO record, if there is one. */
  readonly info: AuxtraceInfo | undefined;
  /** The words of AUXTRACE_INFO by name, if the data is Intel PT. */
  readonly intelPt: IntelPtInfo | undefined;
  /** Settings in the attr of the Intel PT event, if the file has that event. */
  readonly intelPtConfig: IntelPtConfig | undefined;
  /** Whether pieces may have data in common: in snapshot mode, and in samples. */
  readonly mayOverlap: boolean;
  /** The streams: by CPU, then by thread. */
  readonly streams: readonly AuxStream[];
  /** The command line of `perf record`, if the file has it. */
  readonly cmdline: readonly string[] | undefined;
  /** Vendor, family, model and stepping of the CPU, if the file has them. */
  readonly cpuid: string | undefined;
}

/** Packets that an Intel PT event enables: `config` of its attr, decoded with AUXTRACE_INFO. */
export interface IntelPtConfig {
  /** `config` of the attr. */
  readonly config: bigint;
  /** Whether there are TSC packets. */
  readonly tsc: boolean;
  /** Whether returns are compressed. */
  readonly retComp: boolean;
  /** Whether there are MTC packets; `undefined` if the recording perf did not know of them. */
  readonly mtc: boolean | undefined;
  /** One MTC packet is written every 2^n ticks of the crystal clock. */
  readonly mtcPeriod: number | undefined;
  /** Whether there are CYC packets; `undefined` if the recording perf did not know of them. */
  readonly cyc: boolean | undefined;
}

/** Bytes of a stream, without the overlaps of its pieces. */
export function auxStreamBytes(stream: AuxStream): number {
  let bytes = 0;
  for (const piece of stream.pieces) bytes += piece.size - piece.overlap;
  return bytes;
}

/** Names of the bits of `flags`, without `PERF_AUX_FLAG_`. Unknown bits are hexadecimal numbers. */
export function auxFlagNames(flags: number): string[] {
  const names: string[] = [];
  for (let bit = 1; bit !== 0 && bit <= flags; bit *= 2) {
    if (Math.floor(flags / bit) % 2 === 0) continue;
    names.push(PERF_AUX_FLAG_NAMES[bit] ?? `0x${bit.toString(16)}`);
  }
  return names;
}
