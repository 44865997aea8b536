import { encodeFeature } from "@perfdata/format/features";
import { RecordCodec, recordSize, type WriterFeature } from "@perfdata/format/records";
import {
  HEADER_COMPRESSED,
  PERF_RECORD_COMPRESSED,
  PERF_RECORD_COMPRESSED2,
  PERF_RECORD_USER_TYPE_START,
} from "@perfdata/format/constants";
import { COMPRESSED, COMPRESSED2 } from "@perfdata/user-records";
import type { RecordingHead, RecordingOutput } from "./recording_output.ts";

const CODEC = new RecordCodec([COMPRESSED, COMPRESSED2]);

/** Maximum number of bytes of records in a COMPRESSED record, whose size has 16 bits. */
const PIECE = 60_000;

/**
 * Compresses the kernel's records to COMPRESSED records, as `perf record -z` does.
 *
 * perf's own records and records with payloads stay unchanged. Each COMPRESSED record
 * has its own zstd frame, so that damage to one does not affect the later ones. The COMPRESSED
 * feature describes them: u32 version 1, type 1 (zstd), level, ratio, mmap_len (`write_compressed` of
 * tools/perf/util/header.c). No record inflates to more than `mmap_len`.
 */
export class CompressedOutput implements RecordingOutput {
  readonly #output: RecordingOutput;
  readonly #compress: (bytes: Uint8Array) => Uint8Array;
  readonly #level: number;
  readonly #isAligned: boolean;
  #littleEndian = true;
  readonly #piece = new Uint8Array(PIECE);
  #used = 0;
  #inputBytes = 0;
  #outputBytes = 0;

  /**
   * Creates the output.
   *
   * @param output Receives the compressed recording.
   * @param compress Compresses bytes to a zstd frame.
   * @param level Level of compression, for the feature.
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

  /** Writes the head. */
  begin(head: RecordingHead): Promise<void> {
    this.#littleEndian = head.littleEndian;
    return this.#output.begin(head);
  }

  /** Passes on features. */
  async features(features: readonly WriterFeature[]): Promise<void> {
    await this.#flush();
    await this.#output.features(features);
  }

  /** Collects kernel records for compression; passes on other records. */
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

  /** Appends a payload or a part of it. */
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
        ratio: this.#outputBytes === 0 ? 0 : Math.round(this.#inputBytes / this.#outputBytes),
        mmap_len: 1 << 16,
      },
    }, { littleEndian: this.#littleEndian });
    await this.#output.features([{ id: HEADER_COMPRESSED, bytes }]);
    await this.#output.end();
  }

  async #flush(): Promise<void> {
    if (this.#used === 0) return;
    const frame = this.#compress(this.#piece.subarray(0, this.#used));
    this.#inputBytes += this.#used;
    this.#outputBytes += frame.length;
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
