import { type PerfDataReader, type RecordBatch, SampleFields } from "@perfdata/format/records";
import {
  PERF_CONTEXT_USER,
  PERF_CONTEXT_USER_DEFERRED,
  PERF_RECORD_SAMPLE,
} from "@perfdata/format/constants";
import { DeferredChains, isContextMarker } from "@perfdata/session";

const USER = BigInt.asUintN(64, PERF_CONTEXT_USER);
const USER_DEFERRED = BigInt.asUintN(64, PERF_CONTEXT_USER_DEFERRED);
/** Maximum size of a record, a multiple of 8 below 2^16. */
const MAX_RECORD = 0xfff8;

/**
 * Joins user callers in separate records (`CALLCHAIN_DEFERRED`) with the call chains of their samples,
 * where older kernels wrote them.
 */
export class JoinedChains {
  /** Number of samples without user callers: their record is missing, or comes later in a stream. */
  unjoined = 0;
  /** Number of samples whose outer callers were dropped, because the record would be too long. */
  shortened = 0;
  readonly #chains: DeferredChains;
  readonly #fields: SampleFields[] = [];

  private constructor(chains: DeferredChains) {
    this.#chains = chains;
  }

  /** Reads the user callers of a recording. A stream has none at this time, since it can be read only once. */
  static async open(reader: PerfDataReader): Promise<JoinedChains> {
    const chains = new DeferredChains();
    await chains.readAll(reader);
    return new JoinedChains(chains);
  }

  /** Returns record `i` of a batch with its complete chain; `undefined` if it stays unchanged. */
  record(batch: RecordBatch, i: number): Uint8Array | undefined {
    if (batch.type(i) !== PERF_RECORD_SAMPLE) return undefined;
    const { view, events, littleEndian: le } = batch;
    const start = batch.start(i);
    const end = start + batch.size(i);
    const number = events.indexOf(view, start, end, PERF_RECORD_SAMPLE, le);
    const event = events.all[number];
    // In a stream, events are known when their samples arrive.
    if (event?.attr.flags.defer_callchain !== true) return undefined;
    const fields = this.#fields[number] ??= new SampleFields(event.attr);
    if (!fields.locate(view, start, end, le)) return undefined;
    const { callchain: at, callchainLength: length } = fields;
    if (at < 0) return undefined;
    for (let k = 0; k + 1 < length; k++) {
      if (view.getBigUint64(at + 8 * k, le) !== USER_DEFERRED) continue;
      const cookie = view.getBigUint64(at + 8 * (k + 1), le);
      const { tid: tidAt } = event.layout;
      const tid = tidAt < 0 ? -1 : view.getInt32(start + tidAt, le);
      return this.#joined(
        batch.recordBytes(i),
        at - start,
        length,
        k,
        this.#userPart(tid, cookie),
        le,
      );
    }
    return undefined;
  }

  /** Returns the entries that replace a marker and its cookie. */
  #userPart(tid: number, cookie: bigint): bigint[] {
    const chain = this.#chains.find(tid, cookie);
    if (chain === undefined) {
      this.unjoined++;
      return [];
    }
    const entries = [USER];
    for (let k = 0; k < chain.length; k += 2) {
      const [hi = 0, lo = 0] = chain.subarray(k, k + 2);
      if (!isContextMarker(hi, lo)) entries.push(BigInt(hi >>> 0) << 32n | BigInt(lo >>> 0));
    }
    return entries;
  }

  /**
   * Returns the bytes of a record with two entries of its chain replaced.
   *
   * @param at Offset of the chain's first entry.
   * @param length Number of entries of the chain.
   * @param k Index of the first of the two entries.
   */
  #joined(
    bytes: Uint8Array,
    at: number,
    length: number,
    k: number,
    entries: bigint[],
    le: boolean,
  ): Uint8Array {
    const room = ((MAX_RECORD - bytes.length) >> 3) + 2;
    if (entries.length > room) {
      entries.length = room;
      this.shortened++;
    }
    const grown = 8 * (entries.length - 2);
    const out = new Uint8Array(bytes.length + grown);
    const from = at + 8 * k;
    out.set(bytes.subarray(0, from));
    out.set(bytes.subarray(from + 16), from + 16 + grown);
    const view = new DataView(out.buffer);
    for (const [n, entry] of entries.entries()) view.setBigUint64(from + 8 * n, entry, le);
    view.setBigUint64(at - 8, BigInt(length - 2 + entries.length), le);
    view.setUint16(6, out.length, le);
    return out;
  }
}
