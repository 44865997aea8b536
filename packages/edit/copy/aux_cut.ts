import { encode, layoutOf, u64 } from "@perfdata/format/struct";
import {
  PERF_RECORD_AUXTRACE,
  PERF_RECORD_AUXTRACE_INFO,
  PERF_RECORD_USER_TYPE_START,
} from "@perfdata/format/record-types";
import { type PerfDataReader, type RandomAccessSource, type RecordBatch } from "@perfdata/format";

import { findPsb, PacketDecoder, PacketKind, PSB_SIZE } from "@perfdata/intel-pt";
import { TimeKeeper } from "@perfdata/intel-pt/flow";
import { type AuxPiece } from "@perfdata/session/auxtrace";
import { type AuxStream, auxStreamBytes, type AuxTrace, readAuxTrace } from "@perfdata/session";
import { clockRatios, pieceEnd, PtClock } from "@perfdata/pt/decode";
import { AUXTRACE } from "@perfdata/user-records";
import { PERF_AUXTRACE_INTEL_PT } from "@perfdata/user-records/auxtrace-info";

/** The bytes to keep of the payload after an AUXTRACE record, and the bytes to write around them. */
export interface PayloadPart {
  /** Zeros before the first byte: PAD packets. */
  readonly before: number;
  /** The first byte of the payload that stays. */
  readonly from: number;
  /** After the last byte that stays. */
  readonly to: number;
  /** Zeros after the last byte. */
  readonly after: number;
}

/** The AUX data of a recording to keep. */
export interface AuxPlan {
  /** By file offset of a payload, what stays of it; what is not there goes. */
  readonly parts: ReadonlyMap<number, PayloadPart>;
  /**
   * Time up to which records of the kernel are needed to decode what stays, ns; `undefined` if all of
   * them are.
   */
  readonly until: bigint | undefined;
  /** Bytes of AUX data of the recording, and how many of them stay. */
  readonly bytes: number;
  /** See `bytes`. */
  readonly kept: number;
  /** Buffers of which no packet says the time: they stay whole. */
  readonly untimed: number;
}

/** Why AUX data is not cut in time. */
export interface NotCut {
  /** One line, without the name of the recording. */
  readonly reason: string;
}

/** Bytes after a PSB in which its PSBEND has to come: PSB+ has at most one packet of each kind. */
const PSB_PLUS = 256;
/** Bytes that are read at once. */
const CHUNK = 1 << 18;
/** Conversion between TSC and ns is exact to less than this, ns. */
const MARGIN = 4;

/**
 * Whether a recording has AUX data in AUXTRACE records: perf writes AUXTRACE_INFO before the first of the
 * kernel's records, though not always as the first one (`record__synthesize` of builtin-record.c).
 *
 * @throws {PerfDataError} In strict mode, if the recording is damaged.
 */
export async function hasAuxtrace(reader: PerfDataReader): Promise<boolean> {
  for await (const batch of reader.batches({ quiet: true })) {
    let isPastHead = false;
    for (let i = 0; i < batch.count; i++) {
      const type = batch.type(i);
      if (type === PERF_RECORD_AUXTRACE_INFO || type === PERF_RECORD_AUXTRACE) return true;
      isPastHead ||= type < PERF_RECORD_USER_TYPE_START;
    }
    if (isPastHead) return false;
  }
  return false;
}

/**
 * Finds what of the Intel PT data of a recording is needed to decode a range of time: for each buffer
 * from the last PSB but one before the range up to the end of the first PSB+ after it.
 *
 * The packets after a PSB (PSB+; SDM, "Packet Generation Scenarios") hold the TSC; AUXTRACE_INFO converts
 * it to perf's time.
 *
 * @param reader The recording, which is read once.
 * @param source Its bytes.
 * @param time First and last time, ns.
 * @throws {PerfDataError} In strict mode, if the recording is damaged.
 */
export async function planAuxCut(
  reader: PerfDataReader,
  source: RandomAccessSource,
  time: readonly [bigint, bigint],
): Promise<AuxPlan | NotCut> {
  const trace = await readAuxTrace(reader, { diagnostics: () => {} });
  const streams = trace.streams.filter(({ idx }) => idx >= 0);
  if (trace.type !== PERF_AUXTRACE_INTEL_PT) {
    return { reason: `${trace.typeName} data is not cut in time and stays whole` };
  }
  const clock = new PtClock(trace);
  if (!clock.known) return { reason: "AUX data has no times, is not cut, and stays whole" };
  if (trace.intelPt?.snapshot_mode) {
    return { reason: "AUX data of snapshots is not cut in time and stays whole" };
  }
  const parts = new Map<number, PayloadPart>();
  let [bytes, kept, untimed] = [0, 0, 0];
  let until: bigint | undefined = time[1];
  for (const stream of streams) {
    const range = await rangeOf(stream, source, trace, clock, time);
    if (!range.timed) untimed++;
    bytes += auxStreamBytes(stream);
    kept += range.to - range.from;
    addParts(parts, stream, range.from, range.to);
    if (range.end === undefined) until = undefined;
    else if (until !== undefined && range.end > until) until = range.end;
  }
  return { parts, until, bytes, kept, untimed };
}

/** What stays of a stream, as offsets in its data without padding. */
interface StreamRange {
  readonly from: number;
  readonly to: number;
  /** Time of the PSB at `to`, ns; `undefined` if the data ends first. */
  readonly end: bigint | undefined;
  /** Whether any time was found. */
  readonly timed: boolean;
}

async function rangeOf(
  stream: AuxStream,
  source: RandomAccessSource,
  trace: AuxTrace,
  clock: PtClock,
  [first, last]: readonly [bigint, bigint],
): Promise<StreamRange> {
  const keeper = new TimeKeeper(clockRatios(trace), clock.base);
  const earliest = clock.origin.since(first) - MARGIN;
  const latest = clock.origin.since(last) + MARGIN;
  // CYC packets count from those before them: times are right after a PSB more.
  let [from, before] = [0, 0];
  let timed = false;
  for await (const { at, after, tscLow, tscHigh } of psbTimes(stream, source)) {
    keeper.tsc(tscLow, tscHigh);
    const ns = clock.ns(keeper.time);
    if (ns > latest) {
      // Nothing before the first PSB can be decoded. PSB+ says how far execution had come.
      return {
        from: timed ? from : after,
        to: after,
        end: BigInt(clock.origin.exact(ns)),
        timed: true,
      };
    }
    timed = true;
    if (ns < earliest) {
      from = before;
      before = at;
    }
  }
  const to = streamEnd(stream);
  return { from, to, end: from === to ? last : undefined, timed };
}

/** Bytes of a piece without its padding. */
function pieceSize(stream: AuxStream, k: number): number {
  const piece = stream.pieces[k] as AuxPiece;
  return pieceEnd(piece, stream.pieces[k + 1]);
}

function streamEnd(stream: AuxStream): number {
  return stream.pieces.reduce((sum, _, k) => sum + pieceSize(stream, k), 0);
}

/** A PSB and the TSC packet after it. */
interface TimedPsb {
  /** Offset in the data of the stream without padding. */
  readonly at: number;
  /** Offset after its PSBEND. */
  readonly after: number;
  readonly tscLow: number;
  readonly tscHigh: number;
}

/** The PSBs of a stream that have a time. */
async function* psbTimes(
  stream: AuxStream,
  source: RandomAccessSource,
): AsyncGenerator<TimedPsb, void, void> {
  const buffer = new Uint8Array(PSB_PLUS + CHUNK);
  const packets = new PacketDecoder();
  /** Offset in the stream of the first byte of the buffer, and how many there are. */
  let base = 0;
  let size = 0;
  for (const [k, piece] of stream.pieces.entries()) {
    // What comes before lost data is not continued after it.
    if (piece.gap !== 0n) {
      base += size;
      size = 0;
    }
    const end = pieceSize(stream, k);
    for (let pos = 0; pos < end;) {
      const room = buffer.subarray(size, size + Math.min(CHUNK, end - pos));
      const got = await source.readAt(room, piece.fileOffset + pos);
      if (got === 0) return;
      pos += got;
      size += got;
      const isLast = pos >= end && k === stream.pieces.length - 1;
      let done = 0;
      for (;;) {
        const at = findPsb(buffer, done, size);
        if (at < 0) {
          done = Math.max(done, size - PSB_SIZE + 1);
          break;
        }
        if (!isLast && size - at < PSB_PLUS) {
          done = at;
          break;
        }
        done = at + PSB_SIZE;
        packets.window(buffer, done, Math.min(size, done + PSB_PLUS), true);
        const found = readPsbPlus(packets);
        if (found !== undefined) {
          yield { ...found, at: base + at, after: base + done + found.after };
        }
      }
      buffer.copyWithin(0, done, size);
      base += done;
      size -= done;
    }
  }
}

/** The TSC between a PSB and its PSBEND, and the bytes up to the end of the latter. */
function readPsbPlus(packets: PacketDecoder): Omit<TimedPsb, "at"> | undefined {
  const from = packets.offset;
  let tsc: Omit<TimedPsb, "at" | "after"> | undefined;
  for (;;) {
    const kind = packets.next();
    if (kind === PacketKind.TSC) tsc = { tscLow: packets.low, tscHigh: packets.high };
    if (kind <= PacketKind.END || kind === PacketKind.PSB) return undefined;
    if (kind === PacketKind.PSBEND) {
      return tsc && { ...tsc, after: packets.offset + packets.size - from };
    }
  }
}

/** The parts of the pieces that hold a range of a stream. */
function addParts(
  parts: Map<number, PayloadPart>,
  stream: AuxStream,
  from: number,
  to: number,
): void {
  let base = 0;
  for (const [k, piece] of stream.pieces.entries()) {
    const size = pieceSize(stream, k);
    const start = Math.max(0, from - base);
    const end = Math.min(size, to - base);
    base += size;
    if (start >= end) continue;
    if (start === 0 && end === size) {
      // With the padding that it has.
      parts.set(piece.fileOffset, { before: 0, from: 0, to: piece.size, after: 0 });
      continue;
    }
    // perf writes multiples of eight bytes. Padding in front is before the first PSB.
    const isEnd = end < size;
    const before = isEnd ? 0 : -(piece.size - start) & 7;
    const after = isEnd ? -(end - start) & 7 : 0;
    parts.set(piece.fileOffset, { before, from: start, to: isEnd ? end : piece.size, after });
  }
}

const AUXTRACE_AT = layoutOf(AUXTRACE);

/**
 * An AUXTRACE record for a part of its payload: with its size, and its place in the stream, `shift` bytes
 * further than it was.
 */
export function auxtraceOf(
  batch: RecordBatch,
  i: number,
  part: PayloadPart,
  shift: bigint = 0n,
): Uint8Array {
  const { littleEndian } = batch;
  const record = batch.recordBytes(i).slice();
  const view = new DataView(record.buffer);
  const offset = view.getBigUint64(AUXTRACE_AT.offset, littleEndian) +
    BigInt(part.from - part.before) + shift;
  const size = BigInt(part.before + part.to - part.from + part.after);
  record.set(encode(u64, size, { littleEndian }), AUXTRACE_AT.size);
  record.set(encode(u64, BigInt.asUintN(64, offset), { littleEndian }), AUXTRACE_AT.offset);
  return record;
}
