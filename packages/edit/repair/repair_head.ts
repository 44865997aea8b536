import { decodeFeature, encodeFeature, type Feature } from "@perfdata/format/features";
import { PerfDataError } from "@perfdata/format/bytes";
import {
  longestAttr,
  PERF_ATTR_SIZE_VER0,
  type PerfDataReader,
  type RecordBatch,
  type WriterEvent,
  type WriterFeature,
} from "@perfdata/format/records";
import {
  featureName,
  HEADER_BUILD_ID,
  HEADER_EVENT_DESC,
  HEADER_TRACING_DATA,
  PERF_RECORD_HEADER_TRACING_DATA,
  PERF_RECORD_SAMPLE,
  PERF_TYPE_SOFTWARE,
  PERF_TYPE_TRACEPOINT,
} from "@perfdata/format/constants";
import type { Edit } from "../copy/copy.ts";
import type { RecordingHead } from "../copy/recording_output.ts";
import { formatsOnly } from "../redact/kept_tracing_data.ts";

/** Maximum size of an attr in a pipe; Linux 6.16 has 144 bytes. */
const MOST_ATTR = 4096;

/** PERF_COUNT_SW_DUMMY: an event that counts nothing (include/uapi/linux/perf_event.h). */
const DUMMY = 9n;

/**
 * Repairs attrs and features so that perf opens the recording. perf rejects a whole recording because of an attr
 * with too large a size, or a tracepoint without its format.
 */
export class RepairHead implements Edit {
  readonly #reader: PerfDataReader;
  readonly #isMended: boolean;
  readonly #hasFormats: boolean;
  readonly #findings: string[];
  /** The original events, if tracepoints were replaced by dummy events. */
  #renamed: readonly WriterEvent[] = [];
  #hasNames = false;

  private constructor(
    reader: PerfDataReader,
    isMended: boolean,
    hasFormats: boolean,
    findings: string[],
  ) {
    this.#reader = reader;
    this.#isMended = isMended;
    this.#hasFormats = hasFormats;
    this.#findings = findings;
  }

  /**
   * Creates the edit; checks for the formats of tracepoints.
   *
   * @param isMended Whether events come from EVENT_DESC, so that the attr size in the header does not apply.
   * @param findings Receives a line about each change.
   */
  static async of(
    reader: PerfDataReader,
    isMended: boolean,
    findings: string[],
  ): Promise<RepairHead> {
    return new RepairHead(reader, isMended, await hasFormats(reader), findings);
  }

  head(whole: RecordingHead): RecordingHead {
    const { attrSize: _, ...withoutSize } = whole;
    const head: RecordingHead = this.#isMended ? withoutSize : whole;
    const room = this.#reader.isPipe ? MOST_ATTR : head.attrSize ?? MOST_ATTR;
    const longest = longestAttr(head.events);
    let events = head.events.map((event, i): WriterEvent => {
      const { attr } = event;
      const { size } = attr;
      if (size === 0 || (size >= PERF_ATTR_SIZE_VER0 && size <= room)) return event;
      this.#findings.push(
        `event ${i}: size of its attr is ${size}, expected ${PERF_ATTR_SIZE_VER0} to ${room}`,
      );
      return { ...event, attr: { ...attr, size: this.#reader.isPipe ? longest : room } };
    });
    const isTracepoint = ({ attr }: WriterEvent) => attr.type === PERF_TYPE_TRACEPOINT;
    const count = this.#hasFormats ? 0 : events.filter(isTracepoint).length;
    if (count > 0) {
      this.#renamed = events;
      this.#findings.push(
        `TRACING_DATA: missing or damaged, and perf opens no tracepoints without it: ${count} of ` +
          `${events.length} events become dummy events; EVENT_DESC has what they were`,
      );
      events = events.map((event) =>
        isTracepoint(event)
          ? { ...event, attr: { ...event.attr, type: PERF_TYPE_SOFTWARE, config: DUMMY } }
          : event
      );
    }
    return { ...head, events };
  }

  /** Drops features that cannot be decoded. */
  feature(id: number, bytes: Uint8Array): Uint8Array | undefined {
    if (id === HEADER_TRACING_DATA) return this.#hasFormats ? bytes : undefined;
    // The build ids before damage can be used.
    if (id === HEADER_BUILD_ID) return bytes;
    const feature = decodeFeature(id, bytes, { littleEndian: this.#reader.littleEndian });
    if (feature.name === "RAW" && feature.error !== undefined) {
      this.#findings.push(`${featureName(id)}: ${feature.error.message}; it is left out`);
      return undefined;
    }
    if (id === HEADER_EVENT_DESC) this.#hasNames = true;
    return bytes;
  }

  /** Returns EVENT_DESC with the attrs and names of the replaced tracepoints. */
  newFeatures(): readonly WriterFeature[] {
    if (this.#hasNames || this.#renamed.length === 0) return [];
    const value = {
      attr_size: longestAttr(this.#renamed),
      events: this.#renamed.map(({ attr, ids = [] }) => ({
        attr,
        name: attr.type === PERF_TYPE_TRACEPOINT ? `tracepoint ${attr.config}` : "",
        ids,
      })),
    };
    const feature = { id: HEADER_EVENT_DESC, name: "EVENT_DESC", value } as unknown as Feature;
    const { littleEndian } = this.#reader;
    return [{ id: HEADER_EVENT_DESC, bytes: encodeFeature(feature, { littleEndian }) }];
  }
}

async function hasFormats(reader: PerfDataReader): Promise<boolean> {
  let place: { offset: number; size: number } | undefined;
  if (reader.isPipe) {
    // TRACING_DATA precedes the samples.
    for await (const batch of reader.batches({ inflate: false, quiet: true })) {
      if (batch.payload?.type === PERF_RECORD_HEADER_TRACING_DATA) place = batch.payload;
      if (place !== undefined || hasSample(batch)) break;
    }
  } else {
    const found = reader.features.find(({ id }) => id === HEADER_TRACING_DATA)?.section;
    if (found !== undefined) place = { offset: Number(found.offset), size: Number(found.size) };
  }
  if (place === undefined) return false;
  try {
    return formatsOnly(await reader.readSection(place.offset, place.size, "TRACING_DATA")) !==
      undefined;
  } catch (error) {
    if (!(error instanceof PerfDataError)) throw error;
    return false;
  }
}

function hasSample(batch: RecordBatch): boolean {
  for (let i = 0; i < batch.count; i++) if (batch.type(i) === PERF_RECORD_SAMPLE) return true;
  return false;
}
