import { decodeFeature, encodeFeature, type Feature } from "@perfdata/format/features";
import type { PerfDataReader, PerfEventAttr, RecordBatch } from "@perfdata/format/records";
import {
  featureName,
  HEADER_EVENT_DESC,
  KERNEL_RECORD_NAMES,
  PERF_RECORD_CALLCHAIN_DEFERRED,
  PERF_RECORD_USER_TYPE_START,
  USER_RECORD_NAMES,
} from "@perfdata/format/constants";
import { DROP, type Edit, KEEP, type Verdict } from "./copy.ts";
import { JoinedChains } from "./joined_chains.ts";
export type { JoinedChains } from "./joined_chains.ts";
import type { RecordingHead } from "./recording_output.ts";

/** Additions of a version of perf. */
interface Since {
  /** Linux version, as two numbers. */
  readonly version: readonly [number, number];
  /** Size of an attr: PERF_ATTR_SIZE_VER0 or a later one. */
  readonly attrSize?: number;
  /** Highest record type of the kernel. */
  readonly kernelType?: number;
  /** Highest record type of perf. */
  readonly userType?: number;
  readonly feature?: number;
}

/**
 * Versions of perf and their additions, from the history of include/uapi/linux/perf_event.h (attr sizes,
 * kernel record types), tools/lib/perf/include/perf/event.h (perf's record types) and
 * tools/perf/util/header.h (features).
 */
const HISTORY: readonly Since[] = [
  { version: [2, 6], attrSize: 72, kernelType: 9, userType: 68, feature: 2 },
  { version: [3, 4], attrSize: 80, feature: 15 },
  { version: [3, 7], attrSize: 96, feature: 17 },
  { version: [3, 16], kernelType: 10 },
  { version: [3, 19], attrSize: 104 },
  { version: [4, 1], attrSize: 112, kernelType: 12, userType: 72, feature: 18 },
  { version: [4, 2], kernelType: 13 },
  { version: [4, 3], kernelType: 15 },
  { version: [4, 5], userType: 79, feature: 20 },
  { version: [4, 12], kernelType: 16 },
  { version: [4, 13], userType: 80 },
  { version: [4, 16], feature: 22 },
  { version: [5, 1], kernelType: 18, feature: 26 },
  { version: [5, 2], userType: 81, feature: 28 },
  { version: [5, 5], attrSize: 120 },
  { version: [5, 7], kernelType: 19 },
  { version: [5, 9], kernelType: 20, feature: 29 },
  { version: [5, 13], attrSize: 128 },
  { version: [5, 14], feature: 31 },
  { version: [5, 16], kernelType: 21 },
  { version: [6, 1], userType: 82 },
  { version: [6, 3], attrSize: 136 },
  { version: [6, 16], userType: 83, feature: 32 },
  { version: [6, 17], userType: 84 },
];

/** Limits of a version of perf. */
export interface PerfKnowledge {
  /** Maximum size of an attr in bytes. */
  readonly attrSize: number;
  /** Highest record type of the kernel. */
  readonly kernelType: number;
  /** Highest record type of perf. */
  readonly userType: number;
  /** Highest feature. */
  readonly feature: number;
}

/**
 * Returns the limits of the perf of a Linux version.
 *
 * @param version Such as `4.14`.
 * @throws {RangeError} If the text is not a version, or the version is older than Linux 3.4.
 *
 * @example
 * ```ts
 * import { perfKnowledge } from "@perfdata/edit";
 * import { assertEquals } from "@std/assert";
 *
 * assertEquals(perfKnowledge("4.14").attrSize, 112);
 * assertEquals(perfKnowledge("6.1").kernelType, 21);
 * ```
 */
export function perfKnowledge(version: string): PerfKnowledge {
  const match = /^(\d+)\.(\d+)/.exec(version);
  if (match === null) throw new RangeError(`version is ${version}, expected one such as 4.14`);
  const wanted = [Number(match[1]), Number(match[2])] as const;
  if (isBefore(wanted, [3, 4])) {
    throw new RangeError(`version is ${version}, expected 3.4 or later`);
  }
  const known = HISTORY.filter((since) => !isBefore(wanted, since.version));
  return Object.assign({ attrSize: 0, kernelType: 0, userType: 0, feature: 0 }, ...known);
}

function isBefore(a: readonly [number, number], b: readonly [number, number]): boolean {
  return a[0] < b[0] || (a[0] === b[0] && a[1] < b[1]);
}

/** First feature number of other tools. */
const OTHER_FEATURES = 128;

/**
 * Drops data that a version of perf does not support, and data that only other tools support: records of
 * later types, features, the ends of attrs.
 *
 * Samples stay unchanged, since unsupported fields follow the supported ones. Only user
 * callers in separate records are joined with their samples.
 */
export class ForPerf implements Edit {
  /** Number of dropped records and features, by name. */
  readonly left: Map<string, number> = new Map();
  /** Joins user callers with their samples, if this perf does not support their records. */
  readonly chains: JoinedChains | undefined;
  readonly #known: PerfKnowledge;
  readonly #littleEndian: boolean;

  /**
   * Creates the edit.
   *
   * @param reader The recording.
   * @param known Limits of the target perf.
   * @param chains User callers to be joined: see {@linkcode ForPerf.open}.
   */
  constructor(
    reader: Pick<PerfDataReader, "littleEndian">,
    known: PerfKnowledge,
    chains?: JoinedChains,
  ) {
    this.#known = known;
    this.chains = chains;
    this.#littleEndian = reader.littleEndian;
  }

  /** Creates the edit; reads the user callers in separate records, if this perf does not support them. */
  static async open(reader: PerfDataReader, known: PerfKnowledge): Promise<ForPerf> {
    const isKnown = known.kernelType >= PERF_RECORD_CALLCHAIN_DEFERRED;
    return new ForPerf(reader, known, isKnown ? undefined : await JoinedChains.open(reader));
  }

  /** Cuts attrs to the supported size. */
  head(head: RecordingHead): RecordingHead {
    const events = head.events.map((event) => ({ ...event, attr: this.#cut(event.attr) }));
    return head.attrSize === undefined
      ? { ...head, events }
      : { ...head, attrSize: Math.min(head.attrSize, this.#known.attrSize), events };
  }

  /** Drops records of unsupported types. */
  record(batch: RecordBatch, i: number): Verdict {
    const type = batch.type(i);
    const { kernelType, userType } = this.#known;
    if (type <= kernelType || (type >= PERF_RECORD_USER_TYPE_START && type <= userType)) {
      return this.chains?.record(batch, i) ?? KEEP;
    }
    if (this.chains !== undefined && type === PERF_RECORD_CALLCHAIN_DEFERRED) return DROP;
    this.#countDropped(
      KERNEL_RECORD_NAMES[type] ?? USER_RECORD_NAMES[type] ?? `records of type ${type}`,
    );
    return DROP;
  }

  /** Drops unsupported features. */
  feature(id: number, bytes: Uint8Array): Uint8Array | undefined {
    if (id > this.#known.feature || id >= OTHER_FEATURES) {
      this.#countDropped(featureName(id));
      return undefined;
    }
    if (id !== HEADER_EVENT_DESC) return bytes;
    const options = { littleEndian: this.#littleEndian };
    const feature = decodeFeature(id, bytes, options);
    if (feature.name !== "EVENT_DESC") return bytes;
    const { value } = feature;
    if (value.attr_size <= this.#known.attrSize) return bytes;
    const events = value.events.map((event) => ({ ...event, attr: this.#cut(event.attr) }));
    return encodeFeature(
      { ...feature, value: { ...value, attr_size: this.#known.attrSize, events } } as Feature,
      options,
    );
  }

  #cut(whole: PerfEventAttr): PerfEventAttr {
    const { attrSize } = this.#known;
    const attr = this.chains === undefined
      ? whole
      : { ...whole, flags: { ...whole.flags, defer_callchain: false, defer_output: false } };
    if (attr.size <= attrSize) return attr;
    const { tail: _, ...rest } = attr;
    return { ...rest, size: attrSize };
  }

  #countDropped(what: string): void {
    this.left.set(what, (this.left.get(what) ?? 0) + 1);
  }
}
