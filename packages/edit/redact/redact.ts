import {
  decodeFeature,
  encodeFeature,
  type Feature,
  KERNEL_RECORDS,
  type PerfDataReader,
  type RecordBatch,
  RecordCodec,
} from "@perfdata/format";
import { HEADER_TRACING_DATA } from "@perfdata/format/feature-names";
import {
  PERF_RECORD_EVENT_UPDATE,
  PERF_RECORD_MMAP,
  PERF_RECORD_MMAP2,
  PERF_RECORD_SAMPLE,
} from "@perfdata/format/record-types";
import { SampleFields } from "@perfdata/format/sample-layout";
import {
  PERF_RECORD_MISC_CPUMODE_MASK,
  PERF_RECORD_MISC_KERNEL,
} from "@perfdata/format/perf-event";
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

/** How to redact. */
export interface RedactOptions {
  /** What is redacted; all by default. */
  readonly what?: ReadonlySet<Redaction>;
  /** Gives texts their tokens; where it is missing, texts are removed. */
  readonly names?: Pseudonyms;
  /** Texts that stay: a path or comm that one of these matches. */
  readonly keep?: readonly RegExp[];
}

/** Counts of redacted data. */
export interface RedactStats {
  /** By kind: values changed. */
  readonly changed: Map<Redaction, number>;
  /** The texts that were taken out, without repetition. */
  readonly originals: Set<string>;
  /**
   * Texts that stay on purpose, each as often as it is written: names of events, which say what was
   * measured. The same text elsewhere is none of them.
   */
  readonly kept: string[];
  /** Records that could not be decoded, and were left out for that. */
  undecoded: number;
}

/** Which fields of which records hold what, at any depth. */
const FIELDS: Readonly<Record<string, Readonly<Record<string, Redaction>>>> = {
  MMAP: { filename: "paths" },
  MMAP2: { filename: "paths", build_id: "build-ids" },
  COMM: { comm: "comms" },
  CGROUP: { path: "paths" },
  HEADER_BUILD_ID: { filename: "paths", build_id: "build-ids" },
  THREAD_MAP: { comm: "comms" },
};

/** The same for features; a feature that is one text has no name for it. */
const FEATURE_FIELDS: Readonly<Record<string, Readonly<Record<string, Redaction>>>> = {
  HOSTNAME: { "": "host" },
  CMDLINE: { argv: "cmdline", line: "cmdline" },
  BUILD_ID: { filename: "paths", build_id: "build-ids" },
};

/** Features that are left out as a whole, since any text of the machine may stand in them. */
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

/** Names of memory without a file, which mean something to every reader. */
const ANONYMOUS = /^(\[[^\]/]+\][^/]*$|\/\/anon|\/anon_hugepage|\/dev\/zero|\/SYSV|$)/;

/**
 * Takes out of a recording what should not leave a company: each kind of text or data by a switch.
 *
 * Paths, comms and build ids become tokens (see {@link Pseudonyms}), or are emptied; bytes of user
 * stacks, values of registers and raw data become zeros, so that all sizes stay. Padding, in which
 * remains of other texts may stand, becomes zeros as well. Names of memory without a file such as
 * `[heap]`, of the kernel and of its modules stay. Not touched, and so not proved clean: AUX data,
 * addresses, kernel symbols, BPF metadata.
 */
export class Redact implements Edit {
  /** What was redacted so far. */
  readonly stats: RedactStats = {
    changed: new Map(),
    originals: new Set(),
    kept: [],
    undecoded: 0,
  };
  readonly #what: ReadonlySet<Redaction>;
  readonly #names: Pseudonyms | undefined;
  readonly #keep: readonly RegExp[];
  readonly #littleEndian: boolean;
  readonly #codec = new RecordCodec([...KERNEL_RECORDS, ...USER_RECORDS]);
  readonly #samples: SampleFields[] = [];

  /**
   * Has redacted nothing yet.
   *
   * @param reader The recording that is redacted.
   * @param options What is redacted, and how.
   */
  constructor(reader: Pick<PerfDataReader, "littleEndian">, options: RedactOptions = {}) {
    this.#littleEndian = reader.littleEndian;
    this.#what = options.what ?? new Set(REDACTIONS);
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
    if (fields === undefined || !Object.values(fields).some((kind) => this.#what.has(kind))) {
      return KEEP;
    }
    const context = batch.context(i);
    const record = this.#codec.decode(batch.recordBytes(i), context);
    if ("raw" in record) {
      // What its texts are cannot be known.
      this.stats.undecoded++;
      return DROP;
    }
    // Modules of the kernel go by their names alone in some recordings.
    const isKernels = MAPS.has(type) &&
      !`${(record.body as { filename?: string }).filename}`.includes("/") &&
      (batch.misc(i) & PERF_RECORD_MISC_CPUMODE_MASK) === PERF_RECORD_MISC_KERNEL;
    const body = isKernels ? record.body : this.#value(record.body, fields, "");
    // Without `pad` and `tail`: remains of other texts may stand there.
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

  /** Zeros in place of stacks, registers and raw data. */
  #sample(batch: RecordBatch, i: number): Verdict {
    const what = this.#what;
    if (!what.has("stacks") && !what.has("regs") && !what.has("raw")) return KEEP;
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
      if (!what.has(kind) || at < 0 || size <= 0) return;
      bytes ??= batch.recordBytes(i).slice();
      bytes.fill(0, at - start, at - start + size);
      this.#count(kind);
    };
    zero("stacks", fields.stackUser, fields.stackUserSize);
    if (what.has("stacks") && fields.callchain >= 0) {
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

  /** Redacts a feature, or leaves it out. */
  feature(id: number, bytes: Uint8Array): Uint8Array | undefined {
    const options = { littleEndian: this.#littleEndian };
    const feature = decodeFeature(id, bytes, options);
    const whole = WHOLE_FEATURES[feature.name];
    if (whole !== undefined && this.#what.has(whole)) {
      this.#count(whole);
      return undefined;
    }
    if (id === HEADER_TRACING_DATA && this.#what.has("raw")) {
      this.#count("raw");
      return formatsOnly(bytes);
    }
    if (feature.name === "EVENT_DESC") this.#keepTexts(feature.value);
    const fields = FEATURE_FIELDS[feature.name];
    if (feature.name === "RAW" && feature.error !== undefined) {
      // What its texts are cannot be known.
      this.stats.undecoded++;
      return undefined;
    }
    if (fields === undefined || !Object.values(fields).some((kind) => this.#what.has(kind))) {
      return bytes;
    }
    const { id: same, name, value } = feature as { id: number; name: string; value: unknown };
    return encodeFeature(
      { id: same, name, value: this.#value(value, fields, "") } as Feature,
      options,
    );
  }

  /** A value with those of its parts redacted that `fields` names. */
  #value(value: unknown, fields: Readonly<Record<string, Redaction>>, name: string): unknown {
    if (Array.isArray(value)) return value.map((part) => this.#value(part, fields, name));
    const kind = fields[name];
    if (kind !== undefined && this.#what.has(kind)) {
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
    // perf 6.1 ends with a corrupted heap where a path has no last part.
    if (this.#names === undefined) return kind === "paths" ? "/removed" : "";
    return kind === "paths" ? this.#names.path(text) : this.#names.token(text);
  }

  /** Notes the texts of a value that stays. */
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
 * Whether the upper 16 bits are those of an address that a 64-bit machine can have. Where code was
 * built without frame pointers, the kernel takes for return addresses what happens to be on the stack,
 * text included.
 */
function isAddress(upper: number): boolean {
  return upper === 0 || upper === 0xffff;
}
