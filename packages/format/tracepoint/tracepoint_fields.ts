import type { TracingData } from "../features/tracing_data.ts";
import { EventHeaderText, isEventHeader } from "./event_header.ts";
import { parseTracepoint, type TracepointField, tracepointHead } from "./format_file.ts";
import { TraceData } from "./trace_data.ts";

const decoder = new TextDecoder();

interface Format {
  readonly fields: readonly TracepointField[];
  /** Reads the fields that the event itself describes. */
  readonly header: EventHeaderText | undefined;
}

/**
 * Formats the raw data of tracepoints as JSON objects of their fields, by the formats in
 * TRACING_DATA. Numbers are exact integers, texts end at a NUL, arrays are lists.
 *
 * An event with EventHeader (github.com/microsoft/LinuxTracepoints) has the members
 * `eventheader_name` and `eventheader_fields`, an object of the fields that the event itself
 * describes, and the ids `eventheader_activity` and `eventheader_parent` if it has them; a damaged
 * one has `eventheader_damage`.
 */
export class TracepointFields {
  readonly #data: TraceData;
  readonly #texts = new Map<bigint, string>();
  /** Parsed formats; null if a text cannot be parsed. */
  readonly #formats = new Map<bigint, Format | null>();

  /** Creates a formatter. A format is parsed when its first sample is formatted. */
  constructor({ systems, long_size, bigendian }: TracingData) {
    this.#data = new TraceData(long_size, bigendian === 0);
    for (const text of systems.flatMap(({ formats }) => formats)) {
      const head = tracepointHead(text);
      if (head !== undefined) this.#texts.set(BigInt(head.id), text);
    }
  }

  /** Whether the recording describes the tracepoint. */
  has(id: bigint): boolean {
    return this.#format(id) !== null;
  }

  #format(id: bigint): Format | null {
    let format = this.#formats.get(id);
    if (format === undefined) {
      const text = this.#texts.get(id);
      const parsed = text === undefined ? undefined : parseTracepoint(text, this.#data.longSize);
      format = parsed === undefined ? null : {
        fields: parsed.fields,
        header: isEventHeader(parsed) ? new EventHeaderText(parsed) : undefined,
      };
      this.#formats.set(id, format);
    }
    return format;
  }

  /**
   * The JSON object of a sample's fields; `undefined` without a format, or if the raw data is shorter
   * than the fields.
   *
   * @param id Id of the tracepoint: `config` of its attr.
   * @param start Index of the raw data, after its size.
   */
  json(
    id: bigint,
    bytes: Uint8Array,
    view: DataView,
    start: number,
    end: number,
  ): string | undefined {
    const format = this.#format(id);
    if (format === null) return undefined;
    const data = this.#data;
    data.take(bytes, view, start, end);
    const members: string[] = [];
    for (const field of format.fields) {
      const value = valueOf(data, field);
      if (value === undefined) return undefined;
      members.push(`${JSON.stringify(field.name)}:${value}`);
    }
    for (const [name, json] of format.header?.members(data) ?? []) {
      members.push(`"${name}":${json}`);
    }
    return `{${members.join(",")}}`;
  }
}

/** The JSON of a field; `undefined` if it is not in the data. */
function valueOf(data: TraceData, field: TracepointField): string | undefined {
  let { offset, size } = field;
  if (!data.has(offset, size)) return undefined;
  if (field.dynamic !== "no") {
    const where = data.small(offset, 4);
    offset = (field.dynamic === "data" ? 0 : offset + 4) + (where & 0xffff);
    size = where >>> 16;
    if (!data.has(offset, size)) return undefined;
  }
  if (field.string) {
    const from = data.start + offset;
    return JSON.stringify(
      decoder.decode(data.bytes.subarray(from, data.textEnd(offset, size))),
    );
  }
  if (!field.array && field.dynamic === "no") return numberText(data, field, offset, size);
  const { elementSize: step } = field;
  if (step === 0) return undefined;
  const values: string[] = [];
  for (let at = offset; at + step <= offset + size; at += step) {
    values.push(numberText(data, field, at, step) ?? "null");
  }
  return `[${values.join(",")}]`;
}

/** A number of 1, 2, 4 or 8 bytes; `undefined` for other sizes. */
function numberText(
  data: TraceData,
  { signed }: TracepointField,
  offset: number,
  size: number,
): string | undefined {
  if (size === 8) {
    if (data.high(offset) === 0) return String(data.low(offset));
    const value = data.number(offset, 8);
    return String(signed ? BigInt.asIntN(64, value) : value);
  }
  if (size !== 1 && size !== 2 && size !== 4) return undefined;
  const value = data.small(offset, size);
  const unused = 32 - 8 * size;
  return String(signed ? value << unused >> unused : value);
}
