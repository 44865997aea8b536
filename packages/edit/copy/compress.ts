import { encodeFeature, RecordCodec, type WriterFeature } from "@perfdata/format";
import { HEADER_COMPRESSED } from "@perfdata/format/feature-names";
import {
  PERF_RECORD_COMPRESSED,
  PERF_RECORD_COMPRESSED2,
  PERF_RECORD_USER_TYPE_START,
} from "@perfdata/format/record-types";
import { recordSize } from "@perfdata/format/record-header";
import { COMPRESSED, COMPRESSED2 } from "@perfdata/user-records/compressed";
import type { RecordingHead, RecordingOutput } from "./recording_output.ts";

const CODEC = new RecordCodec([COMPRESSED, COMPRESSED2]);

/** Maximum number of bytes of records in one COMPRESSED record, whose size has 16 bits. */
const PIECE = 60_000;

/**
 * Puts the kernel's records into COMPRESSED ones, as `perf record -z` does.
 *
 * perf's own records stay as they are, and so does what comes with a payload. Each COMPRESSED record
 * holds a zstd frame of its own, so that damage to one is not damage to those after it. The COMPRESSED
 * feature says so: u32 version 1, type 1 (zstd), level, ratio, mmap_len (`write_compressed` of
 * tools/perf/util/header.c); no record unfolds into more than `mmap_len`.
 */
export class CompressedOutput implements RecordingOutput {
  readonly #output: RecordingOutput;
  readonly #compress: (bytes: Uint8Array) => Uint8Array;
  readonly #level: number;
  readonly #isAligned: boolean;
  #littleEndian = true;
  readonly #piece = new Uint8Array(PIECE);
  #used = 0;
  #in = 0;
  #out = 0;

  /**
   * Writes nothing yet.
   *
   * @param output Where the recording goes.
   * @param compress Makes a zstd frame of some bytes.
   * @param level The level of compression, which the feature records.
   * @param isAligned Whether to write COMPRESSED2, whose size is a multiple of 8 (Linux 6.16).
   */
  constructor(
    output: RecordingOutput,
    compress: (bytes: Uint8Array) => Uint8Array,
    level: number = 1,
    isAligned: boolean = false,
  ) {
    this.#isAligned = isAligned;
    this.#output = output;
    this.#compress = compress;
    this.#level = level;
  }

  /** Bytes written so far. */
  get position(): number {
    return this.#output.position;
  }

  /** Writes what comes before the records. */
  begin(head: RecordingHead): Promise<void> {
    this.#littleEndian = head.littleEndian;
    return this.#output.begin(head);
  }

  /** Takes features. */
  async features(features: readonly WriterFeature[]): Promise<void> {
    await this.#flush();
    await this.#output.features(features);
  }

  /** Takes whole records. */
  async write(records: Uint8Array): Promise<void> {
    const view = new DataView(records.buffer, records.byteOffset, records.byteLength);
    for (let at = 0; at < records.length;) {
      const type = view.getUint32(at, this.#littleEndian);
      const size = recordSize(view, at, this.#littleEndian);
      const record = records.subarray(at, at + size);
      at += size;
      if (type >= PERF_RECORD_USER_TYPE_START || size > PIECE) {
        await this.#flush();
        await this.#output.write(record);
        continue;
      }
      if (this.#used + size > PIECE) await this.#flush();
      this.#piece.set(record, this.#used);
      this.#used += size;
    }
  }

  /** Appends an AUXTRACE record. */
  async auxtrace(record: Uint8Array): Promise<void> {
    await this.#flush();
    await this.#output.auxtrace(record);
  }

  /** Appends (part of) a payload. */
  payload(bytes: Uint8Array): Promise<void> {
    return this.#output.payload(bytes);
  }

  /** Completes the recording. */
  async end(): Promise<void> {
    await this.#flush();
    const bytes = encodeFeature({
      id: HEADER_COMPRESSED,
      name: "COMPRESSED",
      value: {
        version: 1,
        type: 1,
        level: this.#level,
        ratio: this.#out === 0 ? 0 : Math.round(this.#in / this.#out),
        mmap_len: 1 << 16,
      },
    }, { littleEndian: this.#littleEndian });
    await this.#output.features([{ id: HEADER_COMPRESSED, bytes }]);
    await this.#output.end();
  }

  async #flush(): Promise<void> {
    if (this.#used === 0) return;
    const frame = this.#compress(this.#piece.subarray(0, this.#used));
    this.#in += this.#used;
    this.#out += frame.length;
    this.#used = 0;
    const record = this.#isAligned
      ? {
        type: PERF_RECORD_COMPRESSED2,
        name: "COMPRESSED2",
        misc: 0,
        body: { data: frame },
      } as const
      : {
        type: PERF_RECORD_COMPRESSED,
        name: "COMPRESSED",
        misc: 0,
        body: { data: frame },
      } as const;
    await this.#output.write(CODEC.encode(record, { littleEndian: this.#littleEndian }));
  }
}
