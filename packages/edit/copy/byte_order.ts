import {
  decodeFeature,
  encodeFeature,
  KERNEL_RECORDS,
  type PerfDataReader,
  type RecordBatch,
  RecordCodec,
} from "@perfdata/format";
import { featureName } from "@perfdata/format/feature-names";
import { PERF_RECORD_SAMPLE } from "@perfdata/format/record-types";
import { PERF_SAMPLE_RAW } from "@perfdata/format/perf-event";
import { USER_RECORDS } from "@perfdata/user-records";
import { DROP, type Edit, type Verdict } from "./copy.ts";
import type { RecordingHead } from "./recording_output.ts";

/**
 * Writes a recording in the other byte order: each record and feature is decoded, and encoded again, by
 * its declaration. perf reads both on any machine.
 *
 * Records and features without a declaration cannot be converted and are left out. Raw data of samples,
 * the tracing data that describes it, and AUX data stay as they are: they state their own byte order,
 * or have none.
 */
export class ByteOrder implements Edit {
  /** What was left out, and how often. */
  readonly left: Map<string, number> = new Map();
  /** Samples whose raw data keeps its order. */
  rawSamples: number = 0;
  readonly #from: boolean;
  readonly #codec = new RecordCodec([...KERNEL_RECORDS, ...USER_RECORDS]);

  /**
   * Has converted nothing yet.
   *
   * @param reader The recording.
   */
  constructor(reader: Pick<PerfDataReader, "littleEndian">) {
    this.#from = reader.littleEndian;
  }

  /** The head in the other order. */
  head(head: RecordingHead): RecordingHead {
    return { ...head, littleEndian: !this.#from };
  }

  /** Converts record `i` of a batch. */
  record(batch: RecordBatch, i: number): Verdict {
    const context = batch.context(i);
    const record = this.#codec.decode(batch.recordBytes(i), context);
    if ("raw" in record) {
      const name = this.#codec.name(record.type);
      this.#leave(record.error === undefined ? `records of type ${record.type}` : name);
      return DROP;
    }
    if (record.type === PERF_RECORD_SAMPLE && context.event !== undefined) {
      if (context.event.layout.sampleType & PERF_SAMPLE_RAW) this.rawSamples++;
    }
    return this.#codec.encode(record, { ...context, littleEndian: !this.#from });
  }

  /** Converts a feature. */
  feature(id: number, bytes: Uint8Array): Uint8Array | undefined {
    const feature = decodeFeature(id, bytes, { littleEndian: this.#from });
    if (feature.name === "RAW") {
      this.#leave(featureName(id));
      return undefined;
    }
    return encodeFeature(feature, { littleEndian: !this.#from });
  }

  #leave(what: string): void {
    this.left.set(what, (this.left.get(what) ?? 0) + 1);
  }
}
