/** Ranges of time: absolute, from the start of a recording, or as a share of it. */
import { decodeFeature } from "@perfdata/format/features";
import { type PerfDataReader, trailerEnd } from "@perfdata/format/records";
import {
  HEADER_SAMPLE_TIME,
  PERF_EVENT_HEADER_SIZE,
  PERF_RECORD_SAMPLE,
  PERF_RECORD_USER_TYPE_START,
} from "@perfdata/format/constants";

/** A range of time in a user's argument. */
export interface TimeRange {
  /** The base of both ends: the clock, the start of the recording, or its whole length. */
  readonly from: "clock" | "start" | "percent";
  /** First time: ns, or millionths of a percent. */
  readonly first: bigint | undefined;
  /** Last time, in the same unit. */
  readonly last: bigint | undefined;
}

const UNITS: Readonly<Record<string, bigint>> = {
  s: 1_000_000_000n,
  ms: 1_000_000n,
  us: 1_000n,
  ns: 1n,
};

const EXPECTED = "expected 12.5,13 (seconds of the recording's clock), 1.5s-2s (after its start) " +
  "or 10%-20%";

/** `text` × `unit`, exactly. */
function scaled(text: string, unit: bigint): bigint {
  const [whole = "", part = ""] = text.split(".");
  const digits = part.slice(0, 9);
  return BigInt(whole || "0") * unit + BigInt(digits || "0") * unit / 10n ** BigInt(digits.length);
}

/**
 * Parses a duration in ns: `10ms`, `1.5s`.
 *
 * @throws {RangeError} If the text is not a duration.
 */
export function parseLength(text: string): bigint {
  const [, number, unit = ""] = /^(\d+(?:\.\d+)?)(s|ms|us|ns)$/.exec(text) ?? [];
  if (number === undefined) {
    throw new RangeError(`${text}, expected 10ms, 1.5s or 200us`);
  }
  return scaled(number, UNITS[unit] ?? 1n);
}

/**
 * Parses a range: `12.5,13` in seconds of the recording's clock; `1.5s-2s`, `300ms-` after the
 * first sample; `10%-20%`. Either end may be omitted.
 *
 * @throws {RangeError} If the text is not a range.
 */
export function parseTime(text: string): TimeRange {
  const clock = /^(\d+(?:\.\d+)?)?,(\d+(?:\.\d+)?)?$/.exec(text);
  if (clock !== null) {
    const end = (t: string | undefined) => t === undefined ? undefined : scaled(t, UNITS.s ?? 1n);
    return inOrder({ from: "clock", first: end(clock[1]), last: end(clock[2]) }, text);
  }
  const match = /^(?:(\d+(?:\.\d+)?)(s|ms|us|ns|%))?-(?:(\d+(?:\.\d+)?)(s|ms|us|ns|%))?$/.exec(
    text,
  );
  const units = [match?.[2], match?.[4]].filter((unit) => unit !== undefined);
  const shares = units.filter((unit) => unit === "%").length;
  if (match === null || units.length === 0 || (shares > 0 && shares < units.length)) {
    throw new RangeError(`${text}, ${EXPECTED}`);
  }
  const value = (number: string | undefined, unit: string | undefined) =>
    number === undefined || unit === undefined
      ? undefined
      : scaled(number, unit === "%" ? 1_000_000n : UNITS[unit] ?? 1n);
  return inOrder({
    from: shares > 0 ? "percent" : "start",
    first: value(match[1], match[2]),
    last: value(match[3], match[4]),
  }, text);
}

function inOrder(range: TimeRange, text: string): TimeRange {
  if (range.first !== undefined && range.last !== undefined && range.last < range.first) {
    throw new RangeError(`${text}, which ends before it begins`);
  }
  return range;
}

const LATEST = (1n << 64n) - 1n;

/**
 * The range in ns of the recording's clock.
 *
 * @param span Returns the first and last time of samples; called only if the range depends on it.
 */
export async function resolveTime(
  { from, first, last }: TimeRange,
  span: () => Promise<readonly [bigint, bigint]>,
): Promise<readonly [bigint, bigint]> {
  if (from === "clock") return [first ?? 0n, last ?? LATEST];
  const [start, end] = await span();
  if (from === "start") return [start + (first ?? 0n), last === undefined ? LATEST : start + last];
  const at = (share: bigint) => start + (end - start) * share / 100_000_000n;
  return [at(first ?? 0n), last === undefined || last >= 100_000_000n ? LATEST : at(last)];
}

/**
 * First and last time of the samples of a file: from the SAMPLE_TIME feature, or by reading all
 * samples. A trace without samples has the times of the kernel's other records.
 *
 * @throws {RangeError} If the recording is a stream, which can be read only once, or has no times.
 */
export async function sampleSpan(reader: PerfDataReader): Promise<readonly [bigint, bigint]> {
  if (reader.fileSize === undefined) {
    throw new RangeError("a stream does not say when it begins; use 12.5,13 or a file");
  }
  const section = reader.features.find(({ id }) => id === HEADER_SAMPLE_TIME)?.section;
  if (section !== undefined) {
    const bytes = await reader.readSection(
      Number(section.offset),
      Number(section.size),
      "SAMPLE_TIME",
    );
    const { littleEndian } = reader;
    const feature = decodeFeature(HEADER_SAMPLE_TIME, bytes, { littleEndian });
    if (feature.name === "SAMPLE_TIME" && feature.value.last_sample_time > 0n) {
      return [feature.value.first_sample_time, feature.value.last_sample_time];
    }
  }
  const samples = new Span();
  const others = new Span();
  for await (const batch of reader.batches({ quiet: true })) {
    const { view, littleEndian } = batch;
    for (let i = 0; i < batch.count; i++) {
      const type = batch.type(i);
      if (type === PERF_RECORD_SAMPLE) {
        const at = batch.eventOf(i)?.layout.time ?? -1;
        if (at < 0 || at + 8 > batch.size(i)) continue;
        samples.take(view.getBigUint64(batch.start(i) + at, littleEndian));
      } else if (type < PERF_RECORD_USER_TYPE_START && samples.first === undefined) {
        const at = batch.eventOf(i)?.layout.trailer.time ?? 0;
        const end = trailerEnd(batch.start(i), batch.start(i) + batch.size(i));
        if (at === 0 || end + at < batch.start(i) + PERF_EVENT_HEADER_SIZE) continue;
        const time = view.getBigUint64(end + at, littleEndian);
        // Records of the state before the recording have time 0.
        if (time > 0n) others.take(time);
      }
    }
  }
  const { first, last } = samples.first === undefined ? others : samples;
  if (first === undefined) throw new RangeError("no record has a time");
  return [first, last];
}

/** The first and last of many times. */
class Span {
  first: bigint | undefined;
  last = 0n;

  take(time: bigint): void {
    if (this.first === undefined || time < this.first) this.first = time;
    if (time > this.last) this.last = time;
  }
}
