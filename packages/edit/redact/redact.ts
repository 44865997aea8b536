import { decodeFeature, encodeFeature, type Feature } from "@perfdata/format/features";
import {
  KERNEL_RECORDS,
  type PerfDataReader,
  type RecordBatch,
  RecordCodec,
  SampleFields,
} from "@perfdata/format/records";
import {
  HEADER_TRACING_DATA,
  PERF_RECORD_EVENT_UPDATE,
  PERF_RECORD_MISC_CPUMODE_MASK,
  PERF_RECORD_MISC_KERNEL,
  PERF_RECORD_MMAP,
  PERF_RECORD_MMAP2,
  PERF_RECORD_SAMPLE,
} from "@perfdata/format/constants";
import { USER_RECORDS } from "@perfdata/user-records";
import { DROP, type Edit, KEEP, type Verdict } from "../copy/copy.ts";
import { Pseudonyms } from "./pseudonym.ts";
import { formatsOnly } from "./kept_tracing_data.ts";

/** Kinds of data that can be redacted. */
export const REDACTIONS = [
  "paths",
  "comms",
  "host",
  "cmdline",
  "build-ids",
  "stacks",
  "regs",
  "raw",
] as const;

/** One of {@link REDACTIONS}. */
export type Redaction = typeof REDACTIONS[number];

/** Options of {@link Redact}. */
export interface RedactOptions {
  /** Kinds of data to redact; all by default. */
  readonly what?: ReadonlySet<Redaction>;
  /** Creates the tokens for texts; without it, texts are removed. */
  readonly names?: Pseudonyms;
  /** Patterns of paths and comms that stay. */
  readonly keep?: readonly RegExp[];
}

/** Counts of redacted data. */
export interface RedactStats {
  /** Number of changed values, by kind. */
  readonly changed: Map<Redaction, number>;
  /** The redacted texts, without duplicates. */
  readonly originals: Set<string>;
  /**
   * Texts that stay on purpose, once per occurrence: names of events, which say what was
   * measured. Other occurrences of the same text do not belong here.
   */
  readonly kept: string[];
  /** Number of records that were dropped because they could not be decoded. */
  undecoded: number;
}

/** Fields of records to redact at any depth, by kind of data. */
const FIELDS: Readonly<Record<string, Readonly<Record<string, Redaction>>>> = {
  MMAP: { filename: "paths" },
  MMAP2: { filename: "paths", build_id: "build-ids" },
  COMM: { comm: "comms" },
  CGROUP: { path: "paths" },
  HEADER_BUILD_ID: { filename: "paths", build_id: "build-ids" },
  THREAD_MAP: { comm: "comms" },
};

/** Fields of features to redact. "" is the value of a feature that is a single text. */
const FEATURE_FIELDS: Readonly<Record<string, Readonly<Record<string, Redaction>>>> = {
  HOSTNAME: { "": "host" },
  CMDLINE: { argv: "cmdline", line: "cmdline" },
  BUILD_ID: { filename: "paths", build_id: "build-ids" },
};

/** Features that are dropped completely, since they may contain any text of the machine. */
const WHOLE_FEATURES: Readonly<Record<string, Redaction>> = {
  SP_META_INFO: "cmdline",
  SP_FILE: "paths",
  SP_FILE2: "paths",
  SP_DEBUG_UNWIND: "paths",
  SP_DEBUG_UNWIND_FILE: "paths",
  HI_FILES_SYMBOL: "paths",
  HI_WORKLOAD_CMD: "cmdline",
  HI_FILES_UNISTACK_TABLE: "stacks",
};

const MAPS: ReadonlySet<number> = new Set([PERF_RECORD_MMAP, PERF_RECORD_MMAP2]);

/** Names of memory without a file, which are the same on all machines. */
const ANONYMOUS = /^(\[[^\]/]+\][^/]*$|\/\/anon|\/anon_hugepage|\/dev\/zero|\/SYSV|$)/;

/**
 * Removes confidential data from a recording; each kind of text or data has a switch.
 *
 * Paths, comms and build ids are replaced by tokens (see {@link Pseudonyms}) or removed. Bytes of user
 * stacks, register values and raw data become zeros, so that all sizes stay the same. Padding, which
 * may contain rests of other texts, becomes zeros, too. Names of memory without a file, such as
 * `[heap]`, of the kernel and of its modules stay. Not redacted, and so not guaranteed to be clean: AUX data,
 * addresses, kernel symbols, BPF metadata.
 */
export class Redact implements Edit {
  /** Counts so far. */
  readonly stats: RedactStats = {
    changed: new Map(),
    originals: new Set(),
    kept: [],
    undecoded: 0,
  };
  readonly #kinds: ReadonlySet<Redaction>;
  readonly #names: Pseudonyms | undefined;
  readonly #keep: readonly RegExp[];
  readonly #littleEndian: boolean;
  readonly #codec = new RecordCodec([...KERNEL_RECORDS, ...USER_RECORDS]);
  readonly #samples: SampleFields[] = [];

  /**
   * Creates the edit.
   *
   * @param reader The recording.
   * @param options Kinds of data to redact, and the method.
   */
  constructor(reader: Pick<PerfDataReader, "littleEndian">, options: RedactOptions = {}) {
    this.#littleEndian = reader.littleEndian;
    this.#kinds = options.what ?? new Set(REDACTIONS);
    this.#names = options.names;
    this.#keep = options.keep ?? [];
  }

  /** Redacts record `i` of a batch. */
  record(batch: RecordBatch, i: number): Verdict {
    const type = batch.type(i);
    if (type === PERF_RECORD_SAMPLE) return this.#sample(batch, i);
    const fields = FIELDS[this.#codec.name(type)];
    if (type === PERF_RECORD_EVENT_UPDATE) {
      const record = this.#codec.decode(batch.recordBytes(i), batch.context(i));
      if (!("raw" in record)) this.#keepTexts(record.body);
    }
    if (fields === undefined || !Object.values(fields).some((kind) => this.#kinds.has(kind))) {
      return KEEP;
    }
    const context = batch.context(i);
    const record = this.#codec.decode(batch.recordBytes(i), context);
    if ("raw" in record) {
      // Its texts are unknown.
      this.stats.undecoded++;
      return DROP;
    }
    // Some recordings have kernel modules by name only.
    const isKernels = MAPS.has(type) &&
      !`${(record.body as { filename?: string }).filename}`.includes("/") &&
      (batch.misc(i) & PERF_RECORD_MISC_CPUMODE_MASK) === PERF_RECORD_MISC_KERNEL;
    const body = isKernels ? record.body : this.#value(record.body, fields, "");
    // Without `pad` and `tail`, which may contain rests of other texts.
    const { name, misc, sample_id } = record;
    return this.#codec.encode(
      {
        type,
        name,
        misc,
        body,
        sample_id,
      } as typeof record,
      context,
    );
  }

  /** Replaces stacks, registers and raw data by zeros. */
  #sample(batch: RecordBatch, i: number): Verdict {
    const kinds = this.#kinds;
    if (!kinds.has("stacks") && !kinds.has("regs") && !kinds.has("raw")) return KEEP;
    const { view, events, littleEndian: le } = batch;
    const start = batch.start(i);
    const end = start + batch.size(i);
    const number = events.indexOf(view, start, end, PERF_RECORD_SAMPLE, le);
    const event = events.all[number];
    const fields = event && (this.#samples[number] ??= new SampleFields(event.attr));
    if (fields === undefined || !fields.locate(view, start, end, le)) {
      this.stats.undecoded++;
      return DROP;
    }
    let bytes: Uint8Array | undefined;
    const zero = (kind: Redaction, at: number, size: number) => {
      if (!kinds.has(kind) || at < 0 || size <= 0) return;
      bytes ??= batch.recordBytes(i).slice();
      bytes.fill(0, at - start, at - start + size);
      this.#count(kind);
    };
    zero("stacks", fields.stackUser, fields.stackUserSize);
    if (kinds.has("stacks") && fields.callchain >= 0) {
      for (let n = 0; n < fields.callchainLength; n++) {
        const at = fields.callchain + 8 * n;
        if (!isAddress(view.getUint16(at + (le ? 6 : 0), le))) zero("stacks", at, 8);
      }
    }
    zero("regs", fields.regsUserValues, 8 * fields.regsUserLength);
    zero("regs", fields.regsIntrValues, 8 * fields.regsIntrLength);
    // The common fields of a tracepoint stay: u16 type, u8 flags, u8 preempt_count, s32 pid.
    if (fields.raw >= 0) zero("raw", fields.raw + 8, fields.rawSize - 8);
    return bytes ?? KEEP;
  }

  /** Redacts or drops a feature. */
  feature(id: number, bytes: Uint8Array): Uint8Array | undefined {
    const options = { littleEndian: this.#littleEndian };
    const feature = decodeFeature(id, bytes, options);
    const whole = WHOLE_FEATURES[feature.name];
    if (whole !== undefined && this.#kinds.has(whole)) {
      this.#count(whole);
      return undefined;
    }
    if (id === HEADER_TRACING_DATA && this.#kinds.has("raw")) {
      this.#count("raw");
      return formatsOnly(bytes);
    }
    if (feature.name === "EVENT_DESC") this.#keepTexts(feature.value);
    const fields = FEATURE_FIELDS[feature.name];
    if (feature.name === "RAW" && feature.error !== undefined) {
      // Its texts are unknown.
      this.stats.undecoded++;
      return undefined;
    }
    if (fields === undefined || !Object.values(fields).some((kind) => this.#kinds.has(kind))) {
      return bytes;
    }
    const { id: same, name, value } = feature as { id: number; name: string; value: unknown };
    return encodeFeature(
      { id: same, name, value: this.#value(value, fields, "") } as Feature,
      options,
    );
  }

  /** Returns a value with the parts redacted that `fields` names. */
  #value(value: unknown, fields: Readonly<Record<string, Redaction>>, name: string): unknown {
    if (Array.isArray(value)) return value.map((part) => this.#value(part, fields, name));
    const kind = fields[name];
    if (kind !== undefined && this.#kinds.has(kind)) {
      if (typeof value === "string") return this.#text(kind, value);
      if (value instanceof Uint8Array) return this.#bytes(kind, value);
    }
    if (value instanceof Uint8Array || typeof value !== "object" || value === null) return value;
    return Object.fromEntries(
      Object.entries(value)
        .filter(([part]) => !part.endsWith("_pad"))
        .map(([part, inner]) => [part, this.#value(inner, fields, part)]),
    );
  }

  #text(kind: Redaction, text: string): string {
    if (text === "" || this.#keep.some((pattern) => pattern.test(text))) return text;
    if (kind === "paths" && (ANONYMOUS.test(text) || /\.ko(\.(gz|xz|zst))?$/.test(text))) {
      return text;
    }
    this.#count(kind);
    this.stats.originals.add(text);
    // perf 6.1 crashes on a path without a last part.
    if (this.#names === undefined) return kind === "paths" ? "/removed" : "";
    return kind === "paths" ? this.#names.path(text) : this.#names.token(text);
  }

  /** Records the texts of a value that stays. */
  #keepTexts(value: unknown): void {
    if (typeof value === "string") this.stats.kept.push(value);
    else if (typeof value === "object" && value !== null && !ArrayBuffer.isView(value)) {
      for (const part of Object.values(value)) this.#keepTexts(part);
    }
  }

  #bytes(kind: Redaction, bytes: Uint8Array): Uint8Array {
    this.#count(kind);
    return this.#names === undefined ? new Uint8Array(bytes.length) : this.#names.bytes(bytes);
  }

  #count(kind: Redaction): void {
    this.stats.changed.set(kind, (this.stats.changed.get(kind) ?? 0) + 1);
  }
}

/**
 * Whether the upper 16 bits belong to a valid 64-bit address. In code without frame pointers,
 * the kernel may record arbitrary stack contents as return addresses, including
 * text.
 */
function isAddress(upper: number): boolean {
  return upper === 0 || upper === 0xffff;
}
