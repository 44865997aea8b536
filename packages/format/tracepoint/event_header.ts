import { ip4Text, ip6Text, uuidText } from "./net_addresses.ts";
import type { TracepointFormat } from "./format_file.ts";
import { TextOutput } from "./text_output.ts";
import { TraceData } from "./trace_data.ts";

/** Bits of `eventheader_flags`. */
const LITTLE_ENDIAN = 2;
const EXTENSION = 4;
/** Kinds of extensions; the upper bit says that one more follows. */
const METADATA = 1;
const ACTIVITY = 2;
const CHAINED = 0x8000;

/** Bits of the encoding of a field: an array of a constant or a recorded length, and a format that follows. */
const CONSTANT_ARRAY = 0x20;
const RECORDED_ARRAY = 0x40;
const HAS_FORMAT = 0x80;
/** Bit of a format: a tag follows. */
const HAS_TAG = 0x80;

/** Encodings (`event_field_encoding`): a group of fields, values of 1 to 16 bytes, texts and bytes. */
const STRUCT = 1;
const VALUE8 = 2;
const VALUE128 = 6;
const ZERO_ENDED = 7;
const COUNTED = 10;
const BINARY = 13;

/** Formats (`event_field_format`). */
const FORMAT = {
  SIGNED: 2,
  HEX: 3,
  ERRNO: 4,
  PID: 5,
  TIME: 6,
  BOOLEAN: 7,
  FLOAT: 8,
  BYTES: 9,
  CHAR8: 10,
  TEXTS: [11, 12, 13, 14],
  UUID: 15,
  PORT: 16,
  IP: 17,
  IP6: 18,
} as const;

/** Groups in groups, at most: producers have two or three. */
const MOST_DEPTH = 16;

/** Bytes of the text of an event, at most. */
const LONGEST = 1 << 19;

/** The data or their description end too early, or have no meaning. */
class Damaged extends Error {}

/** A field, as the metadata describe it. */
interface Field {
  /** The name in quotation marks. */
  readonly name: string;
  readonly encoding: number;
  readonly format: number;
  /** `no`, `recorded` for a length before the elements, or the length. */
  readonly length: "no" | "recorded" | number;
  readonly fields: readonly Field[];
}

/** An event, as its metadata describe it. */
interface Described {
  readonly name: string;
  readonly fields: readonly Field[];
}

/** The data of an event up to its payload. */
interface Header {
  /** The data in the byte order of the event. */
  readonly data: TraceData;
  /** The metadata, if the event has them. */
  readonly described: Described | undefined;
  /** Ids of the activity and of its parent, if the event has them. */
  readonly activity: readonly (readonly [name: string, id: string])[];
  /** Offset of the payload in the raw data. */
  readonly at: number;
}

/** Whether the fields of a tracepoint are those of an EventHeader, which describes the data behind it. */
export function isEventHeader({ fields }: TracepointFormat): boolean {
  const NAMES = ["eventheader_flags", "version", "id", "tag", "opcode", "level"];
  return NAMES.every((name, i) => fields[i]?.name === name);
}

/**
 * Prints events of a tracepoint with EventHeader (github.com/microsoft/LinuxTracepoints): the name of the event, and
 * its fields as a JSON object, which the event itself describes.
 */
export class EventHeaderText {
  /** Offset of the header in the raw data. */
  readonly #offset: number;
  /** Events by their metadata: those of a program have a few. */
  readonly #known = new Map<string, Described>();
  readonly #out = new TextOutput();

  /** Creates a printer for a tracepoint that {@linkcode isEventHeader}. */
  constructor({ fields }: TracepointFormat) {
    this.#offset = fields[0]?.offset ?? 0;
  }

  /** Appends ` NAME {…}`, or nothing if the event has no metadata; damage is said in its place. */
  put(out: TextOutput, all: TraceData): void {
    try {
      const { data, described, activity, at } = this.#header(all);
      const ids = activity.map(([name, id]) => ` ${name}=${id}`).join("");
      if (described === undefined) return out.string(ids);
      out.string(` ${described.name}${ids} `);
      new Values(out, data, at).group(described.fields);
    } catch (error) {
      if (!(error instanceof Damaged)) throw error;
      out.string(` [EventHeader: ${error.message}]`);
    }
  }

  /** The event's name, fields and activity as members of a JSON object; with `eventheader_damage` instead if it is damaged. */
  members(all: TraceData): [name: string, json: string][] {
    try {
      const { data, described, activity, at } = this.#header(all);
      const members: [string, string][] = [];
      if (described !== undefined) {
        const out = this.#out;
        // Damage may have left a part of an earlier event.
        out.take();
        new Values(out, data, at).group(described.fields);
        members.push(
          ["eventheader_name", JSON.stringify(described.name)],
          ["eventheader_fields", new TextDecoder().decode(out.take())],
        );
      }
      for (const [name, id] of activity) members.push([`eventheader_${name}`, JSON.stringify(id)]);
      return members;
    } catch (error) {
      if (!(error instanceof Damaged)) throw error;
      return [["eventheader_damage", JSON.stringify(error.message)]];
    }
  }

  /** Reads the extensions before the payload. */
  #header(all: TraceData): Header {
    const flags = all.small(this.#offset, 1);
    const data = all.inByteOrder((flags & LITTLE_ENDIAN) !== 0);
    let at = this.#offset + 8;
    let described: Described | undefined;
    let activity: Header["activity"] = [];
    for (let isMore = (flags & EXTENSION) !== 0; isMore;) {
      need(data, at, 4);
      const size = data.small(at, 2);
      const kind = data.small(at + 2, 2);
      at += 4;
      need(data, at, size);
      if ((kind & ~CHAINED) === METADATA) described = this.#described(data, at, size);
      else if ((kind & ~CHAINED) === ACTIVITY) {
        const ids = ["activity", "parent"].slice(0, Math.floor(size / 16));
        activity = ids.map((name, i) => [name, uuidText(data, at + 16 * i, "Ub")]);
      }
      at += size;
      isMore = (kind & CHAINED) !== 0;
    }
    return { data, described, activity, at };
  }

  #described(data: TraceData, at: number, size: number): Described {
    const { bytes, start } = data;
    const key = data.littleEndian +
      String.fromCharCode(...bytes.subarray(start + at, start + at + Math.min(size, 4096)));
    const known = size <= 4096 ? this.#known.get(key) : undefined;
    if (known !== undefined) return known;
    const reader = new DefinitionReader(data, at, at + size);
    const described = { name: reader.name(), fields: reader.fields(Infinity, 0) };
    if (size <= 4096 && this.#known.size < 4096) this.#known.set(key, described);
    return described;
  }
}

function need(data: TraceData, at: number, size: number): void {
  if (!data.has(at, size)) throw new Damaged("cut");
}

/** Reads the definitions of fields. */
class DefinitionReader {
  readonly #data: TraceData;
  #at: number;
  readonly #end: number;

  constructor(data: TraceData, at: number, end: number) {
    this.#data = data;
    this.#at = at;
    this.#end = end;
  }

  /** A name, without the attributes behind a semicolon. */
  name(): string {
    const { bytes, start } = this.#data;
    const end = this.#data.textEnd(this.#at, this.#end - this.#at) - start;
    if (end >= this.#end) throw new Damaged("a name without an end");
    const text = new TextDecoder().decode(bytes.subarray(start + this.#at, start + end));
    this.#at = end + 1;
    const semicolon = text.indexOf(";");
    return semicolon < 0 ? text : text.slice(0, semicolon);
  }

  fields(most: number, depth: number): Field[] {
    if (depth > MOST_DEPTH) throw new Damaged("groups in groups without end");
    const fields: Field[] = [];
    while (fields.length < most && (this.#at < this.#end || most !== Infinity)) {
      const name = JSON.stringify(this.name());
      const encoding = this.#number(1);
      const format = (encoding & HAS_FORMAT) !== 0 ? this.#number(1) : 0;
      if ((format & HAS_TAG) !== 0) this.#number(2);
      const value = encoding & 0x1f;
      const array = encoding & (CONSTANT_ARRAY | RECORDED_ARRAY);
      if (value < STRUCT || value > BINARY || array === (CONSTANT_ARRAY | RECORDED_ARRAY)) {
        throw new Damaged(`field ${name} of encoding ${encoding}`);
      }
      const length = array === CONSTANT_ARRAY ? this.#number(2) : array === 0 ? "no" : "recorded";
      const count = format & ~HAS_TAG;
      if (value === STRUCT && count === 0) throw new Damaged("a group without fields");
      fields.push({
        ...{ name, encoding: value, format: count, length },
        fields: value === STRUCT ? this.fields(count, depth + 1) : [],
      });
    }
    return fields;
  }

  #number(size: number): number {
    if (this.#at + size > this.#end) throw new Damaged("a definition is cut");
    const value = this.#data.small(this.#at, size);
    this.#at += size;
    return value;
  }
}

/** Prints values as JSON. */
class Values {
  readonly #out: TextOutput;
  readonly #data: TraceData;
  #at: number;

  constructor(out: TextOutput, data: TraceData, at: number) {
    this.#out = out;
    this.#data = data;
    this.#at = at;
  }

  group(fields: readonly Field[]): void {
    this.#out.string("{");
    for (const [i, field] of fields.entries()) {
      this.#out.string(`${i > 0 ? "," : ""}${field.name}:`);
      this.#field(field);
    }
    this.#out.string("}");
  }

  #field(field: Field): void {
    const { length } = field;
    if (length === "no") return this.#value(field);
    const count = length === "recorded" ? this.#count() : length;
    this.#out.string("[");
    for (let i = 0; i < count; i++) {
      if (i > 0) this.#out.string(",");
      this.#value(field);
    }
    this.#out.string("]");
  }

  #value(field: Field): void {
    const { encoding, format, fields } = field;
    if (this.#out.length > LONGEST) throw new Damaged(`longer than ${LONGEST} bytes`);
    if (encoding === STRUCT) return this.group(fields);
    this.#out.string(
      encoding <= VALUE128
        ? this.#plain(1 << encoding - VALUE8, format)
        : encoding < COUNTED
        ? this.#zeroEnded(1 << encoding - ZERO_ENDED, format)
        : encoding === BINARY
        ? JSON.stringify(this.#bytes(this.#count()))
        : this.#counted(1 << encoding - COUNTED, format),
    );
  }

  /** The number of elements that comes before them. */
  #count(): number {
    return this.#data.small(this.#take(2), 2);
  }

  #take(size: number): number {
    need(this.#data, this.#at, size);
    this.#at += size;
    return this.#at - size;
  }

  /** A value of 1, 2, 4, 8 or 16 bytes. */
  #plain(size: number, format: number): string {
    const data = this.#data;
    if (size === 16) {
      if (format === FORMAT.UUID) return JSON.stringify(uuidText(data, this.#take(16), "Ub"));
      if (format === FORMAT.IP || format === FORMAT.IP6) {
        return JSON.stringify(ip6Text(data, this.#take(16), "I6c"));
      }
      return JSON.stringify(this.#bytes(16));
    }
    if (format === FORMAT.BYTES) return JSON.stringify(this.#bytes(size));
    const at = this.#take(size);
    if (size === 4 && format === FORMAT.IP) return JSON.stringify(ip4Text(data, at, "I4"));
    if (size === 2 && format === FORMAT.PORT) {
      return String(data.small(at, 1) << 8 | data.small(at + 1, 1));
    }
    const value = data.number(at, size);
    const signed = BigInt.asIntN(8 * size, value);
    if (format === FORMAT.CHAR8 && size === 1 || FORMAT.TEXTS.some((text) => text === format)) {
      if (value <= 0x10_ffffn) return JSON.stringify(String.fromCodePoint(Number(value)));
    }
    if (format === FORMAT.BOOLEAN && value <= 1n) return value === 1n ? "true" : "false";
    if (format === FORMAT.HEX) return `"0x${value.toString(16)}"`;
    if (format === FORMAT.FLOAT && (size === 4 || size === 8)) {
      const float = data.float(at, size);
      return Number.isFinite(float) ? String(float) : JSON.stringify(String(float));
    }
    if (format === FORMAT.TIME && size >= 4) {
      const time = new Date(Number(signed) * 1000);
      if (!Number.isNaN(time.getTime())) return JSON.stringify(time.toISOString());
    }
    const isSigned = format === FORMAT.SIGNED || format === FORMAT.ERRNO ||
      format === FORMAT.PID || format === FORMAT.TIME;
    return String(isSigned ? signed : value);
  }

  #zeroEnded(unit: number, format: number): string {
    const from = this.#at;
    let count = 0;
    while (this.#data.small(this.#take(unit), unit) !== 0) count++;
    return this.#text(from, count, unit, format);
  }

  #counted(unit: number, format: number): string {
    const count = this.#count();
    return this.#text(this.#take(count * unit), count, unit, format);
  }

  #text(from: number, count: number, unit: number, format: number): string {
    const { bytes, start } = this.#data;
    const part = bytes.subarray(start + from, start + from + count * unit);
    if (format === FORMAT.BYTES) return JSON.stringify(hex(part));
    if (unit === 1) {
      return JSON.stringify(
        new TextDecoder(format === FORMAT.CHAR8 ? "latin1" : "utf-8").decode(part),
      );
    }
    let text = "";
    for (let i = 0; i < count; i++) {
      const code = this.#data.small(from + i * unit, unit);
      text += unit === 2
        ? String.fromCharCode(code)
        : String.fromCodePoint(code > 0x10_ffff ? 0xfffd : code);
    }
    return JSON.stringify(text);
  }

  #bytes(count: number): string {
    const at = this.#data.start + this.#take(count);
    return hex(this.#data.bytes.subarray(at, at + count));
  }
}

function hex(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join(" ");
}
