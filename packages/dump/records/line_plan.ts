import {
  type Codec,
  fixedPeriod,
  NoWalk,
  type PerfEvent,
  readLayout,
  type RecordDeclaration,
  slotsOf,
  specialized,
  Walk,
} from "@perfdata/format/records";
import {
  intAt,
  type Piece,
  piece,
  putDecimal,
  putDecimal64,
  putHex,
  putHexBytes,
} from "@perfdata/format/bytes";
import {
  PERF_EVENT_HEADER_SIZE,
  PERF_RECORD_SAMPLE,
  PERF_RECORD_USER_TYPE_START,
} from "@perfdata/format/constants";
import type { RecordBytes } from "@perfdata/session";
import { type FieldFormat, type FieldPlace, placesOf, putStep } from "../text/field_text.ts";
import { type Put, putSteps, type Step } from "./line_steps.ts";
import { type LineStyle, LineText } from "./line_text.ts";
import { putPlainText } from "./records_bytes.ts";
import { cpumodeName, isFeature, SAMPLE_FIRST, TRAILER } from "./records_json.ts";

/** A whole stack, which replaces call chain and stack copy. */
export interface Stack {
  /** Halves of addresses. */
  words: Int32Array;
  /** Index of the first address. */
  first: number;
  /** Index after the last address. */
  end: number;
}

/** The fields that a whole stack replaces. */
const STACKS: ReadonlySet<string> = new Set(["callchain", "stack_user"]);

const NOTHING = piece("");

/**
 * Location of a field: an offset from the record's start, or from a field that the walk locates.
 */
interface Place {
  readonly offset: number;
  readonly slot: number;
}

/** Common properties of a plan's records. */
export interface PlanOf {
  readonly event: PerfEvent | undefined;
  readonly eventName: string;
  /** `misc` of the headers. */
  readonly misc: number;
  readonly style: LineStyle;
  /**
   * Name of the first member that is added after the sample's own members; `undefined` if nothing
   * is added, so that the line is complete.
   */
  readonly next: string | undefined;
  /** The whole stack that replaces call chains and stack copies. */
  readonly stack?: Stack | undefined;
}

/**
 * Writes the lines of records of one type, `misc` and event without decoding each record. Text and
 * offsets are prepared from the declaration. The text equals that of `lineMembers`; a test compares
 * both on every record of the corpus.
 */
export class LinePlan {
  readonly #line: LineText;
  readonly #of: PlanOf;
  /** Writers of the line's parts, in order. */
  #steps: Step[] = [];
  readonly #start: Piece;
  readonly #end: Piece;
  /** Locates fields without a fixed offset. */
  readonly #walk: Walk;
  /** Size of the records without trailer; 0 if it varies. */
  readonly #size: number;
  readonly #slots: ReadonlyMap<string, number>;
  readonly #trailerSize: number;
  /** Largest number of characters for a byte of a variable field. */
  #ratio = 2;

  private constructor({ type, name, body }: RecordDeclaration<string, unknown>, about: PlanOf) {
    const { event, eventName, misc, style, next } = this.#of = about;
    const isSample = type === PERF_RECORD_SAMPLE;
    const codec = specialized(body, {
      ...(event === undefined ? {} : { attr: event.attr, arch: event.arch }),
      misc,
    }) ?? body;
    this.#slots = slotsOf(codec);
    const fields = Object.entries(codec.parts ?? {});
    const places = new Map<string, Place>();
    let offset = PERF_EVENT_HEADER_SIZE;
    let fixed = 0;
    for (const [name, { size, shape }] of fields) {
      if (size === undefined || shape?.kind === "counter") break;
      places.set(name, { offset, slot: -1 });
      offset += size;
      fixed++;
    }
    this.#walk = new Walk(fields.slice(fixed), offset, this.#slots);
    this.#size = fixed === fields.length ? offset : 0;
    const line = this.#line = new LineText(style);
    this.#start = line.member("type").constant(JSON.stringify(name)).member("offset").piece();
    line.room += 20;
    if (isSample) line.member("event").constant(JSON.stringify(eventName));
    line.member("misc").constant(`"0x${misc.toString(16)}"`);
    if (isSample) line.member("cpumode").constant(`"${cpumodeName(misc)}"`);
    const placeOf = (name: string): Place =>
      places.get(name) ?? { offset: 0, slot: this.#slots.get(name) as number };
    const hasTrailer = !isSample && type < PERF_RECORD_USER_TYPE_START &&
      event !== undefined && event.layout.trailer.size > 0;
    this.#trailerSize = hasTrailer ? event.trailer.size : 0;
    if (isSample) {
      this.#sample(codec.parts ?? {}, Object.keys(body.parts ?? {}), placeOf);
    } else {
      if (hasTrailer) this.#trailer(event.trailer as Codec<unknown>);
      line.member("body");
      this.#struct(codec, "", placeOf);
    }
    this.#end = (next === undefined || !isSample ? line.finish() : line.member(next)).piece();
  }

  /** Creates the plan of a declaration; `undefined` if each record has to be decoded. */
  static create(
    declaration: RecordDeclaration<string, unknown>,
    about: PlanOf,
  ): LinePlan | undefined {
    // Features are shown by content; off-CPU samples have values in other places.
    if (isFeature(declaration.name)) return undefined;
    if (declaration.type === PERF_RECORD_SAMPLE && about.event?.isOffCpu !== false) {
      return undefined;
    }
    try {
      return new LinePlan(declaration, about);
    } catch (error) {
      if (error instanceof NoWalk) return undefined;
      throw error;
    }
  }

  /** Limit of the size of the line of a record of `size` bytes, without a whole stack. */
  bound(size: number): number {
    return this.#line.room + size * this.#ratio;
  }

  /**
   * Writes the line of a little-endian record that starts and ends at multiples of 8.
   *
   * @param source The bytes with the record in `[start, end)`.
   * @param offset File offset of the record.
   * @returns -1 if the record differs from its declaration, or has to be decoded.
   */
  write(
    source: RecordBytes,
    start: number,
    end: number,
    offset: number,
    out: DataView,
    from: number,
  ): number {
    const bodyEnd = end - this.#trailerSize;
    // Records with bytes after their fields are decoded.
    if (this.#size > 0) {
      if (bodyEnd - start !== this.#size) return -1;
    } else {
      const walk = this.#walk;
      if (!walk.locate(source.view, start, bodyEnd, true) || walk.end !== bodyEnd) return -1;
    }
    const pos = putSteps(
      this.#steps,
      source,
      start,
      end,
      out,
      putDecimal(out, this.#start.put(out, from), offset),
    );
    return pos < 0 ? -1 : this.#end.put(out, pos);
  }

  /**
   * Adds the members of a sample.
   *
   * @param parts The sample's fields.
   * @param declared Names of the fields of any sample.
   */
  #sample(
    parts: Readonly<Record<string, Codec<unknown>>>,
    declared: readonly string[],
    placeOf: (name: string) => Place,
  ): void {
    const line = this.#line;
    const { event, stack } = this.#of;
    for (const name of SAMPLE_FIRST) {
      const part = parts[name];
      line.member(name);
      if (part !== undefined) this.#value(part, name, placeOf(name));
      else if (name === "period") line.whole(fixedPeriod((event as PerfEvent).attr));
      else if (name === "count" && parts["read"] !== undefined) this.#count(placeOf("read"));
      else line.constant("null");
    }
    for (const name of declared) {
      const part = parts[name];
      if (stack !== undefined && name === "callchain") this.#wholeStack(stack);
      if (part === undefined || SAMPLE_FIRST.includes(name)) continue;
      if (stack !== undefined && STACKS.has(name)) continue;
      this.#field(part, name, placeOf(name), () => line.member(name));
    }
  }

  #trailer(codec: Codec<unknown>): void {
    const line = this.#line;
    const places = placesOf(codec.parts ?? {}, -(codec.size as number));
    for (const name of TRAILER) {
      const part = codec.parts?.[name];
      const place = places.get(name);
      if (part !== undefined && place !== undefined) {
        this.#field(part, name, { ...place, slot: -1 }, () => line.member(name));
      }
    }
  }

  /** Adds a field with its name, unless it has no display value. */
  #field(codec: Codec<unknown>, path: string, place: Place, name: () => void): void {
    const { shape, presence, size = 0 } = codec;
    if (shape?.kind === "counter") return;
    if (presence === "hidden") throw new NoWalk(`${path}: hidden`);
    if (shape?.kind === "when") {
      const at = this.#locator(place);
      this.#literal();
      const steps = this.#apart(() => {
        name();
        this.#value(shape.of, path, place);
        this.#literal();
      });
      this.#put((source, start, end, out, pos) =>
        at(start, end) < 0 ? pos : putSteps(steps, source, start, end, out, pos)
      );
    } else if (presence === "optional") {
      // Reserved bytes are shown if they are not zero.
      if (shape?.kind !== "bytes" || codec.size === undefined) throw new NoWalk(path);
      const at = this.#locator(place);
      this.#put(({ bytes }, start, end, _out, pos) => {
        const from = at(start, end);
        for (let i = 0; i < size; i++) if (bytes[from + i] !== 0) return -1;
        return pos;
      });
    } else {
      name();
      this.#value(codec, path, place);
    }
  }

  /** Adds a value after its name. */
  #value(codec: Codec<unknown>, path: string, place: Place): void {
    const { shape, size, type, display } = codec;
    switch (shape?.kind) {
      case "struct":
        return this.#struct(codec, path, this.#inside(codec, path, place));
      case "gathered": {
        const inside = this.#inside(shape.of, path, place);
        const fields = Object.entries(shape.of.parts ?? {});
        const element = fields.filter(([name]) => shape.names.includes(name));
        this.#fields(fields.filter(([name]) => !shape.names.includes(name)), "{", path, inside);
        const isOnly = fields.length === element.length;
        this.#line.text(`${isOnly ? "{" : ","}"${shape.into}":[`);
        this.#fields(element, "{", path, inside);
        this.#line.text("}]}");
        return;
      }
      case "bytes":
        return this.#bytes(place, size);
      case "text":
        return this.#text(place, shape.unit);
      case "array":
        return this.#array(shape.element, path, place);
      case undefined:
        return this.#number(type, size, display.as === "hex", place);
    }
    throw new NoWalk(`${path}: ${type} is decoded`);
  }

  /** Locations of a structure's fields: at offsets, or located by the walk. */
  #inside(
    { size, parts = {} }: Codec<unknown>,
    path: string,
    place: Place,
  ): (name: string) => Place {
    if (size === undefined) {
      return (name) => ({ offset: 0, slot: this.#slots.get(`${path}.${name}`) as number });
    }
    const places = placesOf(parts, place.offset);
    return (name) => ({ ...places.get(name) as FieldPlace, slot: place.slot });
  }

  #struct(codec: Codec<unknown>, path: string, placeOf: (name: string) => Place): void {
    const { shape, parts = {} } = codec;
    if (shape?.kind !== "struct") throw new NoWalk(`${path}: ${codec.type} is decoded`);
    if (!this.#fields(Object.entries(parts), "{", path, placeOf)) this.#line.text("{");
    this.#line.text("}");
  }

  /** Adds consecutive fields. `open` precedes the first one. */
  #fields(
    fields: readonly (readonly [string, Codec<unknown>])[],
    open: string,
    path: string,
    placeOf: (name: string) => Place,
  ): boolean {
    let before = open;
    for (const [name, part] of fields) {
      const inner = path === "" ? name : `${path}.${name}`;
      const isThere = part.shape?.kind !== "when";
      if (!isThere && before === open) throw new NoWalk(`${inner}: may be the first`);
      this.#field(part, inner, placeOf(name), () => {
        this.#line.text(`${before}${JSON.stringify(name)}:`);
        before = ",";
      });
    }
    return before !== open;
  }

  /** Returns a function that locates a field in a record. */
  #locator({ offset, slot }: Place): (start: number, end: number) => number {
    const { positions } = this.#walk;
    if (slot >= 0) return () => intAt(positions, slot) + offset;
    return offset < 0 ? (_start, end) => end + offset : (start) => start + offset;
  }

  /** Returns the steps that `make` adds. */
  #apart(make: () => void): Step[] {
    const around = this.#steps;
    this.#steps = [];
    make();
    const made = this.#steps;
    this.#steps = around;
    return made;
  }

  /** Adds a step for the collected text. */
  #literal(): void {
    const text = this.#line.piece();
    if (text.length > 0) this.#put((_source, _start, _end, out, pos) => text.put(out, pos));
  }

  #number(type: string, size: number | undefined, isHex: boolean, place: Place): void {
    if (!/^[us](8|16|32|64)$/.test(type) || size === undefined) throw new NoWalk(type);
    const format: FieldFormat = isHex ? "x" : type.startsWith("s") ? "d" : "u";
    if (format === "d" && size !== 4) throw new NoWalk(type);
    const before = this.#line.value(format, size);
    const step = { before, format, offset: place.offset, size, put: undefined };
    if (place.slot < 0) {
      this.#steps.push(step);
    } else {
      const at = this.#locator(place);
      const found = { ...step, offset: 0 };
      this.#put((source, start, end, out, pos) =>
        putStep(out, pos, found, source, at(start, end), end, true)
      );
    }
  }

  #put(put: Put): void {
    this.#steps.push({ before: NOTHING, offset: 0, size: 0, put });
  }

  #bytes(place: Place, size: number | undefined): void {
    const { counts } = this.#walk;
    const at = this.#locator(place);
    const before = this.#line.value("text", 0);
    this.#put(({ bytes }, start, end, out, pos) => {
      const from = at(start, end);
      const to = from + (size ?? intAt(counts, place.slot));
      return putHexBytes(out, before.put(out, pos), bytes, from, to);
    });
  }

  #text(place: Place, unit: number): void {
    const { counts } = this.#walk;
    const at = this.#locator(place);
    const before = this.#line.value("text", 0);
    this.#put(({ bytes }, start, end, out, pos) => {
      const from = at(start, end);
      const to = from + intAt(counts, place.slot);
      return putPlainText(out, before.put(out, pos), bytes, from, to, unit);
    });
  }

  #array(element: Codec<unknown>, path: string, place: Place): void {
    const { counts } = this.#walk;
    const { size = 0, type, display } = element;
    if (size === 0 || place.slot < 0) throw new NoWalk(path);
    const line = this.#line;
    const at = this.#locator(place);
    const open = line.text("[").piece();
    if (type === "u64" && display.as === "hex") {
      const put = this.#addresses();
      this.#put(({ words }, start, end, out, pos) => {
        const from = at(start, end) >> 2;
        const to = from + 2 * intAt(counts, place.slot);
        return put(words, from, to, out, open.put(out, pos));
      });
      return;
    }
    const before = line.room;
    const steps = this.#apart(() => this.#value(element, path, { offset: 0, slot: -1 }));
    const between = line.pieceWith(",");
    this.#ratio = Math.max(this.#ratio, Math.ceil((line.room - before) / size));
    const close = line.pieceWith("]");
    line.take();
    const empty = line.text("]").piece();
    this.#put((source, start, end, out, pos) => {
      const n = intAt(counts, place.slot);
      let from = at(start, end);
      pos = open.put(out, pos);
      for (let i = 0; i < n; i++, from += size) {
        if (i > 0) pos = between.put(out, pos);
        pos = putSteps(steps, source, from, end, out, pos);
        if (pos < 0) return -1;
      }
      return (n > 0 ? close : empty).put(out, pos);
    });
  }

  /**
   * Writer for the addresses of `words` in `[from, to)` as array items, and the closing bracket.
   */
  #addresses(): (
    words: Int32Array,
    from: number,
    to: number,
    out: DataView,
    pos: number,
  ) => number {
    const line = this.#line;
    const open = line.text('"0x').piece();
    const between = line.text('","0x').piece();
    const close = line.text('"]').piece();
    const empty = line.text("]").piece();
    this.#ratio = Math.max(this.#ratio, 4);
    return (words, from, to, out, pos) => {
      if (from >= to) return empty.put(out, pos);
      for (let i = from; i < to; i += 2) {
        pos = (i === from ? open : between).put(out, pos);
        pos = putHex(out, pos, intAt(words, i + 1), intAt(words, i));
      }
      return close.put(out, pos);
    };
  }

  /** Adds the whole stack in place of the call chain. */
  #wholeStack(stack: Stack): void {
    const before = this.#line.member("callchain").text("[").piece();
    const put = this.#addresses();
    this.#put((_source, _start, _end, out, pos) =>
      put(stack.words, 2 * stack.first, 2 * stack.end, out, before.put(out, pos))
    );
  }

  /** Adds the value that was read for the sample's own event. */
  #count(place: Place): void {
    const { readFormat, layout } = this.#of.event as PerfEvent;
    const { group, head, entry, id } = readLayout(readFormat);
    const own = layout.identifier >= 0 ? layout.identifier : layout.id;
    const before = this.#line.value("u", 8);
    const find = this.#locator(place);
    this.#put(({ view }, start, end, out, pos) => {
      const read = find(start, end);
      let at = read + head;
      if (group) {
        const count = view.getUint32(read, true);
        if (count === 0) return -1;
        if (own >= 0 && id >= 0) {
          const high = view.getInt32(start + own + 4, true), low = view.getInt32(start + own, true);
          for (let i = 0; i < count; i++) {
            const other = at + entry * i + id;
            if (view.getInt32(other, true) !== low || view.getInt32(other + 4, true) !== high) {
              continue;
            }
            at += entry * i;
            break;
          }
        }
      }
      pos = before.put(out, pos);
      return putDecimal64(out, pos, view.getInt32(at + 4, true), view.getInt32(at, true));
    });
  }
}
