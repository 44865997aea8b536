import { EventHeaderText, isEventHeader } from "./event_header.ts";
import { spanOf } from "./evaluate.ts";
import type { TracepointField } from "./format_file.ts";
import { TraceData } from "./trace_data.ts";
import type { TracepointFormats } from "./tracepoint_formats.ts";

const decoder = new TextDecoder();

/** Formats a field as `"name":value`. */
type Member = (data: TraceData) => string | undefined;

interface Event {
  readonly members: readonly Member[];
  /** Reads the fields that the event itself describes. */
  readonly header: EventHeaderText | undefined;
}

/**
 * Formats the raw data of tracepoints as JSON objects of their fields, by their recorded
 * formats. Numbers are exact integers, texts end at a NUL, arrays are lists.
 *
 * An event with EventHeader (github.com/microsoft/LinuxTracepoints) has the members
 * `eventheader_name` and `eventheader_fields`, an object of the fields that the event itself
 * describes, and the ids `eventheader_activity` and `eventheader_parent` if it has them; a damaged
 * one has `eventheader_damage`.
 */
export class TracepointFields {
  readonly #formats: TracepointFormats;
  readonly #data: TraceData;
  readonly #events = new Map<number, Event>();

  /** Creates a formatter. A format is parsed when its first sample is formatted. */
  constructor(formats: TracepointFormats) {
    this.#formats = formats;
    this.#data = new TraceData(formats.longSize, formats.littleEndian);
  }

  /** Whether the recording describes the tracepoint. */
  has(id: number): boolean {
    return this.#formats.names.has(id);
  }

  /**
   * The JSON object of a sample's fields; `undefined` without a format, or if the raw data is shorter
   * than the fields.
   *
   * @param id Id of the tracepoint: `config` of its attr.
   * @param start Index of the raw data, after its size.
   */
  json(
    id: number,
    bytes: Uint8Array,
    view: DataView,
    start: number,
    end: number,
  ): string | undefined {
    const event = this.#event(id);
    if (event === undefined) return undefined;
    const data = this.#data;
    data.take(bytes, view, start, end);
    const members: string[] = [];
    for (const member of event.members) {
      const text = member(data);
      if (text === undefined) return undefined;
      members.push(text);
    }
    for (const [name, json] of event.header?.members(data) ?? []) {
      members.push(`"${name}":${json}`);
    }
    return `{${members.join(",")}}`;
  }

  #event(id: number): Event | undefined {
    const known = this.#events.get(id);
    if (known !== undefined) return known;
    const format = this.#formats.get(id);
    if (format === undefined) return undefined;
    const header = isEventHeader(format) ? new EventHeaderText(format) : undefined;
    const event = { members: format.fields.map(memberOf), header };
    this.#events.set(id, event);
    return event;
  }
}

/** Compiles the member of a field; `undefined` if the field is not in the data. */
function memberOf(field: TracepointField): Member {
  const { name, offset, size, string, array, dynamic, elementSize: step } = field;
  const head = `${JSON.stringify(name)}:`;
  const isNumber = !array && dynamic === "no";
  const spanIn = spanOf(field);
  return (data) => {
    if (!data.has(offset, size)) return undefined;
    if (isNumber) {
      const number = numberText(data, field, offset, size);
      return number === undefined ? undefined : head + number;
    }
    const span = spanIn(data);
    if (!data.has(span.offset, span.size)) return undefined;
    if (string) {
      const from = data.start + span.offset;
      const end = data.textEnd(span.offset, span.size);
      return head + JSON.stringify(decoder.decode(data.bytes.subarray(from, end)));
    }
    if (step === 0) return undefined;
    const values: string[] = [];
    for (let at = span.offset; at + step <= span.offset + span.size; at += step) {
      values.push(numberText(data, field, at, step) ?? "null");
    }
    return `${head}[${values.join(",")}]`;
  };
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
