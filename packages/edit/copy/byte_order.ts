import { decodeFeature, encodeFeature } from "@perfdata/format/features";
import {
  KERNEL_RECORDS,
  type PerfDataReader,
  type RecordBatch,
  RecordCodec,
} from "@perfdata/format/records";
import { featureName, PERF_RECORD_SAMPLE, PERF_SAMPLE_RAW } from "@perfdata/format/constants";
import { USER_RECORDS } from "@perfdata/user-records";
import { DROP, type Edit, type Verdict } from "./copy.ts";
import type { RecordingHead } from "./recording_output.ts";

/**
 * Converts a recording to the other byte order: decodes each record and feature and encodes it again, by
 * its declaration. perf reads both byte orders on any machine.
 *
 * Records and features without a declaration cannot be converted and are dropped. Raw data of samples,
 * the tracing data that describes it, and AUX data stay unchanged: they state their own byte order,
 * or have none.
 */
export class ByteOrder implements Edit {
  /** Number of dropped records and features, by name. */
  readonly left: Map<string, number> = new Map();
  /** Number of samples whose raw data keeps its byte order. */
  rawSamples: number = 0;
  readonly #wasLittleEndian: boolean;
  readonly #codec = new RecordCodec([...KERNEL_RECORDS, ...USER_RECORDS]);

  /**
   * Creates the edit.
   *
   * @param reader The recording.
   */
  constructor(reader: Pick<PerfDataReader, "littleEndian">) {
    this.#wasLittleEndian = reader.littleEndian;
  }

  /** Returns the head with the other byte order. */
  head(head: RecordingHead): RecordingHead {
    return { ...head, littleEndian: !this.#wasLittleEndian };
  }

  /** Converts record `i` of a batch. */
  record(batch: RecordBatch, i: number): Verdict {
    const context = batch.context(i);
    const record = this.#codec.decode(batch.recordBytes(i), context);
    if ("raw" in record) {
      const name = this.#codec.name(record.type);
      this.#countDropped(record.error === undefined ? `records of type ${record.type}` : name);
      return DROP;
    }
    if (record.type === PERF_RECORD_SAMPLE && context.event !== undefined) {
      if (context.event.layout.sampleType & PERF_SAMPLE_RAW) this.rawSamples++;
    }
    return this.#codec.encode(record, { ...context, littleEndian: !this.#wasLittleEndian });
  }

  /** Converts a feature. */
  feature(id: number, bytes: Uint8Array): Uint8Array | undefined {
    const feature = decodeFeature(id, bytes, { littleEndian: this.#wasLittleEndian });
    if (feature.name === "RAW") {
      this.#countDropped(featureName(id));
      return undefined;
    }
    return encodeFeature(feature, { littleEndian: !this.#wasLittleEndian });
  }

  #countDropped(what: string): void {
    this.left.set(what, (this.left.get(what) ?? 0) + 1);
  }
}
