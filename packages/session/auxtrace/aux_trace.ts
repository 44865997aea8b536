import { PERF_AUX_FLAG_NAMES } from "@perfdata/format/constants";
import type { AuxtraceInfo, IntelPtInfo } from "@perfdata/user-records";

/** A run of AUX data in the file: the payload after an AUXTRACE record, or part of a sample. */
export interface AuxPiece {
  /** The stream that it belongs to; not enumerable, so that a piece can be printed. */
  readonly stream: AuxStream;
  /**
   * File offset of the first byte. A piece that was in a COMPRESSED record has the offset of that
   * record, and its bytes cannot be read from the file by it.
   */
  readonly fileOffset: number;
  /** Bytes that the file has of it, padding to a multiple of 8 included. */
  size: number;
  /** Bytes that the record announces beyond those: the file was cut. */
  missing: number;
  /** Offset of the first byte in the AUX area's stream; samples have none. */
  readonly auxOffset: bigint | undefined;
  /** The record's mark of the moment (TSC for Intel PT), or a sample's time. */
  readonly reference: bigint;
  /** Bytes at its start that the piece before has already; they are no part of the stream. */
  overlap: number;
  /**
   * Bytes lost between the piece before and this one; `undefined` if that is not known. Padding
   * of the piece before cannot be distinguished from data, so that up to 7 bytes more may be lost.
   */
  gap: bigint | undefined;
  /**
   * `PERF_AUX_FLAG_*` of the AUX records that cover it, all together. Those of a ring buffer
   * (OVERWRITE) do not say which piece they are about, and are taken for all.
   */
  flags: number;
}

/** The AUX data of a CPU, or of a thread. */
export interface AuxStream {
  /** The CPU that was traced; `undefined` if a thread was. */
  readonly cpu: number | undefined;
  /**
   * The thread that was traced. In the buffer of a CPU, it is the process that perf has started or was told
   * of, whoever ran there (context switches say who), and `undefined` where all that ran there was traced.
   */
  readonly tid: number | undefined;
  /** Number of the buffer among all of the recording; -1 for samples. */
  readonly idx: number;
  /** The pieces, in file order, which is that of the stream. */
  readonly pieces: AuxPiece[];
  /** AUX records about this stream. */
  auxRecords: number;
  /** `PERF_AUX_FLAG_*` of all these records together. */
  flags: number;
}

/** All AUX data of a file, and what a decoder has to know of it. */
export interface AuxTrace {
  /** What made the data (`PERF_AUXTRACE_*`); 0 if the file does not say. */
  readonly type: number;
  /** The name of the type in lower case: `intel_pt`, `cs_etm`, … */
  readonly typeName: string;
  /** Body of the AUXTRACE_INFO record, if there is one. */
  readonly info: AuxtraceInfo | undefined;
  /** Its words by name, if the data is Intel PT. */
  readonly intelPt: IntelPtInfo | undefined;
  /** What the attr of the Intel PT event turned on, where the file has that event. */
  readonly intelPtConfig: IntelPtConfig | undefined;
  /** Whether pieces may have data in common: in snapshot mode, and in samples. */
  readonly mayOverlap: boolean;
  /** The streams: by CPU, then by thread. */
  readonly streams: readonly AuxStream[];
  /** The command line of the recording perf, where the file has it. */
  readonly cmdline: readonly string[] | undefined;
  /** Vendor, family, model and stepping of the CPU, if the file has them. */
  readonly cpuid: string | undefined;
}

/** Which packets an Intel PT event asked for: `config` of its attr, as AUXTRACE_INFO explains it. */
export interface IntelPtConfig {
  /** `config` of the attr. */
  readonly config: bigint;
  /** Whether there are TSC packets. */
  readonly tsc: boolean;
  /** Whether returns are compressed. */
  readonly retComp: boolean;
  /** Whether there are MTC packets; `undefined` if the recording perf did not know of them. */
  readonly mtc: boolean | undefined;
  /** A MTC packet comes each 2^n ticks of the crystal clock. */
  readonly mtcPeriod: number | undefined;
  /** Whether there are CYC packets; `undefined` if the recording perf did not know of them. */
  readonly cyc: boolean | undefined;
}

/** Bytes of a stream without those that its pieces have in common. */
export function auxStreamBytes(stream: AuxStream): number {
  let bytes = 0;
  for (const piece of stream.pieces) bytes += piece.size - piece.overlap;
  return bytes;
}

/** Names of the bits of `flags`, without `PERF_AUX_FLAG_`; the PMU's own format as a number. */
export function auxFlagNames(flags: number): string[] {
  const names: string[] = [];
  for (let bit = 1; bit !== 0 && bit <= flags; bit *= 2) {
    if (Math.floor(flags / bit) % 2 === 0) continue;
    names.push(PERF_AUX_FLAG_NAMES[bit] ?? `0x${bit.toString(16)}`);
  }
  return names;
}
