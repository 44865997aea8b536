import {
  encode,
  layoutOf,
  type PerfDataReader,
  type RecordBatch,
  u64,
} from "@perfdata/format/records";
import {
  PERF_RECORD_AUXTRACE,
  PERF_RECORD_AUXTRACE_INFO,
  PERF_RECORD_USER_TYPE_START,
} from "@perfdata/format/constants";
import type { RandomAccessSource } from "@perfdata/format/bytes";

import { findPsb, PacketDecoder, PacketKind, PSB_SIZE, TimeKeeper } from "@perfdata/intel-pt";
import {
  type AuxPiece,
  type AuxStream,
  auxStreamBytes,
  type AuxTrace,
  readAuxTrace,
} from "@perfdata/session/auxtrace";
import { clockRatios, pieceEnd, PtClock } from "@perfdata/pt";
import { AUXTRACE, PERF_AUXTRACE_INTEL_PT } from "@perfdata/user-records";

/** The part of an AUXTRACE payload to keep, and the zeros to write around it. */
export interface PayloadPart {
  /** Number of zeros before the part: PAD packets. */
  readonly before: number;
  /** Offset of the first kept byte. */
  readonly from: number;
  /** Offset after the last kept byte. */
  readonly to: number;
  /** Number of zeros after the part. */
  readonly after: number;
}

/** The parts of a recording's AUX data to keep. */
export interface AuxPlan {
  /** Kept parts by file offset of the payload. Payloads that are not listed are dropped. */
  readonly parts: ReadonlyMap<number, PayloadPart>;
  /** Last time in ns of needed kernel records; `undefined` if all of them are needed. */
  readonly until: bigint | undefined;
  /** Bytes of AUX data in the recording. */
  readonly bytes: number;
  /** Bytes of AUX data to keep. */
  readonly kept: number;
  /** Number of buffers without any time, which are kept as a whole. */
  readonly untimed: number;
}

/** Result if AUX data cannot be cut by time. */
export interface NotCut {
  /** Reason in one line, without the name of the recording. */
  readonly reason: string;
}

/** Maximum number of bytes from a PSB to its PSBEND: a PSB+ has at most one packet of each kind. */
const PSB_PLUS = 256;
/** Number of bytes read at once. */
const CHUNK = 1 << 18;
/** Maximum error of the conversion between TSC and ns, in ns. */
const MARGIN = 4;

/**
 * Whether a recording has AUX data in AUXTRACE records. perf writes AUXTRACE_INFO before the first kernel
 * record, but not always as the first record (`record__synthesize` of builtin-record.c).
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
 * Determines the Intel PT data that decoding a range of time requires: for each buffer,
 * from the last but one PSB before the range up to the end of the first PSB+ after it.
 *
 * The packets after a PSB (PSB+; SDM, "Packet Generation Scenarios") include the TSC; AUXTRACE_INFO has its
 * conversion to perf's time.
 *
 * @param reader The recording, which is read once.
 * @param source Bytes of the recording.
 * @param time First and last time in ns.
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
    const range = await rangeToKeep(stream, source, trace, clock, time);
    if (!range.timed) untimed++;
    bytes += auxStreamBytes(stream);
    kept += range.to - range.from;
    addParts(parts, stream, range.from, range.to);
    if (range.end === undefined) until = undefined;
    else if (until !== undefined && range.end > until) until = range.end;
  }
  return { parts, until, bytes, kept, untimed };
}

/** The range of a stream to keep, as offsets in its data without padding. */
interface StreamRange {
  readonly from: number;
  readonly to: number;
  /** Time in ns of the PSB at `to`; `undefined` if the data ends first. */
  readonly end: bigint | undefined;
  /** Whether the stream has any time. */
  readonly timed: boolean;
}

async function rangeToKeep(
  stream: AuxStream,
  source: RandomAccessSource,
  trace: AuxTrace,
  clock: PtClock,
  [first, last]: readonly [bigint, bigint],
): Promise<StreamRange> {
  const keeper = new TimeKeeper(clockRatios(trace), clock.base);
  const earliest = clock.origin.since(first) - MARGIN;
  const latest = clock.origin.since(last) + MARGIN;
  // CYC packets count from the CYC before them, so times are valid only from the next PSB on.
  let [from, before] = [0, 0];
  let timed = false;
  for await (const { at, after, tscLow, tscHigh } of psbTimes(stream, source)) {
    keeper.tsc(tscLow, tscHigh);
    const ns = clock.ns(keeper.time);
    if (ns > latest) {
      // Decoding starts at the first PSB. The PSB+ at the end has the position that execution had reached.
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

/** Returns the size of a piece without its padding. */
function pieceSize(stream: AuxStream, k: number): number {
  const piece = stream.pieces[k] as AuxPiece;
  return pieceEnd(piece, stream.pieces[k + 1]);
}

function streamEnd(stream: AuxStream): number {
  return stream.pieces.reduce((sum, _, k) => sum + pieceSize(stream, k), 0);
}

/** A PSB with a TSC packet in its PSB+. */
interface TimedPsb {
  /** Offset of the PSB in the data of the stream without padding. */
  readonly at: number;
  /** Offset after the PSBEND. */
  readonly after: number;
  readonly tscLow: number;
  readonly tscHigh: number;
}

/** Yields the PSBs of a stream that have a TSC. */
async function* psbTimes(
  stream: AuxStream,
  source: RandomAccessSource,
): AsyncGenerator<TimedPsb, void, void> {
  const buffer = new Uint8Array(PSB_PLUS + CHUNK);
  const packets = new PacketDecoder();
  /** Stream offset of the buffer's first byte, and number of bytes in the buffer. */
  let base = 0;
  let size = 0;
  for (const [k, piece] of stream.pieces.entries()) {
    // Packets before lost data do not continue after it.
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

/** Returns the TSC between a PSB and its PSBEND, and the size up to the end of the PSBEND. */
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

/** Adds the parts of the pieces that contain a range of a stream. */
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
      // Keep the piece with its padding.
      parts.set(piece.fileOffset, { before: 0, from: 0, to: piece.size, after: 0 });
      continue;
    }
    // perf writes multiples of eight bytes. Padding at the front precedes the first PSB.
    const isEnd = end < size;
    const before = isEnd ? 0 : -(piece.size - start) & 7;
    const after = isEnd ? -(end - start) & 7 : 0;
    parts.set(piece.fileOffset, { before, from: start, to: isEnd ? end : piece.size, after });
  }
}

const AUXTRACE_AT = layoutOf(AUXTRACE);

/**
 * Returns an AUXTRACE record for a part of its payload, with the part's size and offset in the stream. The offset is
 * also moved by `shift`.
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
