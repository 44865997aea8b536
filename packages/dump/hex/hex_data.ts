import {
  HEADER_TRACING_DATA,
  PERF_RECORD_AUXTRACE,
  PERF_RECORD_AUXTRACE_INFO,
  PERF_RECORD_HEADER_TRACING_DATA,
} from "@perfdata/format/constants";
import { type Payload, type RecordBatch, RecordCodec } from "@perfdata/format/records";
import { PerfDataError } from "@perfdata/format/bytes";
import { AUXTRACE, AUXTRACE_INFO, PERF_AUXTRACE_INTEL_PT } from "@perfdata/user-records";
import { byteRuns, packetRuns } from "./hex_payload.ts";
import type { HexParts } from "./hex_parts.ts";
import { hexCodec, hexRecordName, recordRuns } from "./hex_record.ts";
import { decodeSection } from "./hex_regions.ts";
import { clip, type HexRun, MAX_STRUCTURE } from "./hex_run.ts";
import { LeafTrace } from "./hex_tree.ts";

/** The records with the type of AUX data, and with its CPU or thread. */
const AUXTRACE_CODEC = new RecordCodec([AUXTRACE_INFO, AUXTRACE]);

/** Splits a file's data section into records and payloads. */
export class HexData {
  readonly #parts: HexParts;
  #auxtraceType = 0;

  /** @param parts Splits structures. */
  constructor(parts: HexParts) {
    this.#parts = parts;
  }

  /** The runs of the data section: records, payloads, and bytes between them. */
  async *runs(from: number, to: number): AsyncGenerator<Iterable<HexRun>, void, void> {
    const { inflate = false, section, record: wanted, types } = this.#parts.options;
    const reader = this.#parts.reader;
    let at = from;
    let index = -1;
    let inner = 0;
    let inflatedAt = 0;
    const stop = this.#parts.options.to ?? Infinity;
    const all = wanted === undefined && types === undefined && section !== "aux";
    for await (const batch of reader.batches({ inflate })) {
      const codec = hexCodec(reader);
      const inflated = batch.inflatedFrom >= 0;
      for (let i = 0; i < batch.count; i++) {
        const size = batch.size(i);
        if (inflated) inner++;
        else {
          index++;
          inner = 0;
        }
        const name = hexRecordName(codec, batch, i);
        if (batch.type(i) === PERF_RECORD_AUXTRACE_INFO) this.#takeAuxtraceInfo(batch, i);
        const start = inflated ? inflatedAt : batch.offset + batch.start(i);
        // No requested byte follows.
        if (!inflated && (start >= stop || (wanted !== undefined && index > wanted))) return;
        if (inflated) inflatedAt += size;
        else {
          // Bytes before the region belong to the previous section.
          if (start > at && all) yield* this.#parts.plain("data", ".not_a_record", at, start);
          at = Math.max(at, start + size);
        }
        const asked = (wanted === undefined || index === wanted) &&
          (types === undefined || types.has(name)) &&
          (section !== "aux") &&
          (inflated
            ? this.#parts.touches(batch.inflatedFrom, batch.inflatedFrom + 1)
            : this.#parts.touches(start, start + size));
        if (!asked) continue;
        const owner = `data[${index}${inflated ? `.${inner - 1}` : ""}] ${name}`;
        const runs = recordRuns(this.#parts, codec, { owner, batch, i, start, inflated });
        yield inflated ? runs : clip(runs, from, to);
      }
      const payload = batch.payload;
      if (payload !== undefined && !inflated) {
        const name = payload.type === PERF_RECORD_AUXTRACE ? "AUXTRACE" : "HEADER_TRACING_DATA";
        const asked = (wanted === undefined || index === wanted) &&
          (types === undefined || types.has(name)) &&
          (section !== "aux" || payload.type === PERF_RECORD_AUXTRACE) &&
          this.#parts.touches(payload.offset, payload.offset + payload.size);
        const end = Math.min(payload.offset + payload.size, to);
        if (asked) {
          for await (
            const runs of this.#payload(
              `data[${index}] ${name}`,
              batch.recordBytes(batch.count - 1).slice(),
              payload,
            )
          ) {
            yield clip(runs, from, to);
          }
        }
        at = Math.max(at, end);
      }
    }
    const end = to === Infinity
      ? reader.data.offset + reader.stats.recordBytes + reader.stats.payloadBytes +
        reader.stats.skippedBytes
      : to;
    if (at < end && all) {
      if (this.#parts.origin.source === undefined) yield [this.#lost(at, end)];
      else yield* this.#parts.plain("data", ".not_a_record", at, end);
    }
  }

  #takeAuxtraceInfo(batch: RecordBatch, i: number): void {
    if (this.#parts.reader.isGoogleDialect) return;
    const { littleEndian } = batch;
    const record = AUXTRACE_CODEC.decode(batch.recordBytes(i), { littleEndian });
    if (record.name === "AUXTRACE_INFO") this.#auxtraceType = record.body.type;
  }

  /** A run for a stream's skipped bytes. */
  #lost(from: number, to: number): HexRun {
    return {
      offset: from,
      size: to - from,
      bytes: undefined,
      owner: "data",
      field: ".not_a_record",
      depth: 1,
      type: `u8[${to - from}]`,
      value: undefined,
      problems: this.#parts.takeProblems(from, to),
      inflated: false,
    };
  }

  /** The runs of the payload after a record. */
  async *#payload(
    owner: string,
    record: Uint8Array,
    payload: Payload,
  ): AsyncGenerator<Iterable<HexRun>, void, void> {
    const { type, offset, size } = payload;
    if (type === PERF_RECORD_HEADER_TRACING_DATA && size <= MAX_STRUCTURE) {
      const bytes = new Uint8Array(size);
      let n = 0;
      for (let got = -1; got !== 0 && n < size; n += got) {
        got = await payload.read(bytes.subarray(n));
      }
      const part = bytes.subarray(0, n);
      const trace = new LeafTrace(offset);
      let error: PerfDataError | undefined;
      try {
        decodeSection(HEADER_TRACING_DATA, part, {
          littleEndian: this.#parts.reader.littleEndian,
          base: offset,
          trace,
        });
      } catch (cause) {
        if (!(cause instanceof PerfDataError)) throw cause;
        error = cause;
      }
      yield this.#parts.structure(`${owner} payload`, part, offset, trace, {
        error,
        rest: ".padding",
      });
      return;
    }
    const { littleEndian } = this.#parts.reader;
    const decoded = AUXTRACE_CODEC.decode(record, { littleEndian });
    const where = decoded.name === "AUXTRACE" ? decoded.body : undefined;
    const place = where === undefined
      ? ""
      : where.cpu === -1
      ? ` tid ${where.tid}`
      : ` cpu ${where.cpu}`;
    const isPt = this.#auxtraceType === PERF_AUXTRACE_INTEL_PT;
    yield* (isPt ? packetRuns : byteRuns)(this.#parts, `${owner}${place}`, payload);
  }
}
