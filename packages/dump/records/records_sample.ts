import type { PerfEvent } from "@perfdata/format";
import { SampleWalk } from "@perfdata/format/sample-walk";
import {
  decimalDigits,
  hexDigits,
  type Piece,
  piece,
  putDecimal,
  putDecimal4,
  putDecimal64,
  putDecimal8,
  putHex,
} from "@perfdata/format/text-bytes";
import type { RecordBytes } from "@perfdata/session/run";
import { type LineStyle, LineText } from "./line_text.ts";
import { putDigits } from "./records_bytes.ts";
import { cpumodeName } from "./records_json.ts";
import {
  isWritten,
  type PlacedValue,
  type PutValue,
  type Stack,
  type ValuesAfter,
  valuesAfter,
} from "./records_sample_rest.ts";

/** How many beginnings of lines are kept; a power of 2. */
const BEGINNINGS = 64;

/** An offset that no record has, nor any within 10,000 bytes after it. */
const NONE = -1e4;

// How a value at the beginning of a line is written.
const ADDRESS = 0;
const SIGNED = 1;
const UNSIGNED = 2;
const TIME = 3;

/** A value at the beginning of a line. */
interface HeadStep {
  readonly before: Piece;
  readonly format: number;
  /** Where it is in the record, in words. */
  readonly word: number;
}

/**
 * The beginning of a line, up to the time. Most lines begin with a copy of
 * the last one's, in which the digits of the offset, the ip and the time are replaced.
 */
class Beginning {
  /** The `misc` and number of digits that it is for. */
  readonly key: number;
  /** The text between offset and the first value. */
  readonly text: Piece;
  /** The beginning, as doubles. */
  readonly words: Float64Array;
  readonly view: DataView;
  length = 0;
  // Where the digits of the offset are, and what they say.
  offsetAt = 0;
  offsetDigits = 0;
  /** The offset without its last four digits, or NONE. */
  offsetBase = NONE;
  /** Where the digits of each value are; of a time, the last eight. */
  readonly at: Int32Array;
  // The halves of each value; of a time, without its last eight digits.
  readonly high: Int32Array;
  readonly low: Int32Array;

  constructor(key: number, text: string, values: number) {
    this.key = key;
    this.text = piece(text);
    // All that is not of the event takes up less than this.
    this.words = new Float64Array(64 + (text.length >> 3));
    this.view = new DataView(this.words.buffer);
    this.at = new Int32Array(values);
    this.high = new Int32Array(values);
    this.low = new Int32Array(values);
  }
}

/** Stands where none has been made. */
const NO_BEGINNING = new Beginning(-1, "", 0);

/** Replaces a number by one of as many digits; false where it has more or fewer. */
function replaced(view: DataView, at: number, before: number, after: number): boolean {
  if (before === after) return true;
  if ((before | after) < 0) return false;
  const digits = decimalDigits(after >>> 0);
  if (digits !== decimalDigits(before >>> 0)) return false;
  putDigits(view, at, after >>> 0, digits);
  return true;
}

/**
 * Writes the lines of the samples of one event: of all fields but branch stacks and weights in parts.
 *
 * The text is what `lineMembers` gives, cut at the values: what lies between two values is prepared.
 * A test compares the two on every sample of the corpus. To copy the beginning of the line before, and
 * to replace what differs, makes the whole command 1.5 times as fast on samples without call chains,
 * 1.3 times on those with them: that is why the values up to the time are no steps as in `RecordPlan`.
 */
export class SampleWriter {
  /** What stands before the offset. */
  readonly #start: Piece;
  /** The text between the offset and the first value, around `misc` and the CPU mode. */
  readonly #about: readonly [string, string];
  /** The values up to the time. */
  readonly #head: readonly HeadStep[];
  /** The values after them. */
  readonly #after: ValuesAfter;
  readonly #end: Piece;
  /** Finds the fields that have no fixed place. */
  readonly #fields: SampleWalk;
  /** Most bytes that each line has for its event. */
  readonly #room: number;
  // Word offsets of fields in the record, or -1.
  readonly #ip: number;
  readonly #tid: number;
  readonly #cpu: number;
  readonly #fixedSize: number;
  /**
   * The beginnings of lines: one serves those of a `misc` and a number of digits of the ip. In the
   * order of time the CPUs take turns, so that each thread should find its own.
   */
  readonly #beginnings: Beginning[] = new Array(BEGINNINGS).fill(NO_BEGINNING);

  /**
   * @param more Whether members follow: the lines end with what leads to the thread's name then.
   * @param stack Holds the whole stack that stands for call chains and copies of stacks.
   */
  private constructor(
    event: PerfEvent,
    name: string,
    style: LineStyle,
    more: boolean,
    stack: Stack | undefined,
  ) {
    const { layout } = event;
    const word = (offset: number) => offset < 0 ? -1 : offset >> 2;
    this.#ip = word(layout.ip);
    this.#tid = word(layout.tid);
    this.#cpu = word(layout.cpu);
    this.#fixedSize = layout.fixedSize;
    const line = new LineText(style);
    this.#start = piece(line.member("type").constant('"SAMPLE"').member("offset").take());
    line.member("event").constant(JSON.stringify(name)).member("misc").text('"0x');
    const misc = line.take();
    this.#about = [misc, line.text('"').member("cpumode").text('"').take()];
    this.#room = 1024 + misc.length;
    line.text('"');
    const head: HeadStep[] = [];
    const add = (name: string, format: number, word: number) => {
      line.member(name);
      if (word < 0) {
        line.constant("null");
      } else {
        const size = format === TIME ? 8 : 4;
        const before = line.value(format === ADDRESS ? "x" : "u", size);
        head.push({ before, format, word });
      }
    };
    add("ip", ADDRESS, this.#ip);
    add("pid", SIGNED, word(layout.pid));
    add("tid", SIGNED, this.#tid);
    add("cpu", UNSIGNED, this.#cpu);
    add("time", TIME, word(layout.time));
    this.#head = head;
    this.#fields = new SampleWalk(event.attr);
    this.#after = valuesAfter(line, event, this.#fields, stack);
    this.#end = piece(more ? line.member("comm").take() : line.end());
  }

  /** A writer for an event, or `undefined` where its samples have fields that need more. */
  static for(
    event: PerfEvent,
    name: string,
    style: LineStyle,
    more: boolean,
    stack?: Stack,
  ): SampleWriter | undefined {
    // Some values of off-CPU samples are elsewhere.
    if (event.isOffCpu || !isWritten(event) || !/^[\x20-\x7e]+$/.test(name)) return undefined;
    return new SampleWriter(event, name, style, more, stack);
  }

  /** Most bytes that the line of a sample of `size` bytes takes. */
  bound(size: number): number {
    // Eight bytes take up to 40: a number of 20 digits with a name.
    return this.#room + size * 6;
  }

  /**
   * Writes the line of a little-endian sample that starts at a multiple of 8.
   *
   * @param source The bytes that hold it.
   * @param start Where it starts, in bytes.
   * @param offset Its file offset.
   * @returns -1 where the sample is not as its event says; the general way shows it then.
   */
  write(
    source: RecordBytes,
    start: number,
    offset: number,
    out: DataView,
    from: number,
  ): number {
    const { words } = source;
    const w = start >> 2;
    const second = words[w + 1] as number;
    const end = start + (second >>> 16);
    if (start + this.#fixedSize > end || (second & 0x7_0000) !== 0) return -1;
    const cpu = this.#cpu;
    if (cpu >= 0 && words[w + cpu + 1] !== 0) return -1;
    const fields = this.#fields;
    if (!fields.locate(source.view, start, end, true) || fields.end !== end) return -1;
    let pos = this.#putBeginning(words, w, second & 0xffff, offset, out, from);
    const { count, placed, rest } = this.#after;
    if (count !== undefined) {
      pos = count(source, start, out, pos);
      if (pos < 0) return -1;
    }
    for (let i = 0; i < placed.length; i++) {
      const { before, isHex, word } = placed[i] as PlacedValue;
      const lo = words[w + word] as number, hi = words[w + word + 1] as number;
      pos = before.put(out, pos);
      pos = isHex ? putHex(out, pos, hi, lo) : putDecimal64(out, pos, hi, lo);
    }
    for (let i = 0; i < rest.length; i++) {
      pos = (rest[i] as PutValue)(source, start, out, pos);
    }
    return this.#end.put(out, pos);
  }

  /** Writes the line up to the time. */
  #putBeginning(
    words: Int32Array,
    w: number,
    misc: number,
    offset: number,
    out: DataView,
    from: number,
  ): number {
    const ip = this.#ip;
    let key = misc << 5;
    if (ip >= 0) {
      const high = words[w + ip + 1] as number;
      key |= high === 0 ? hexDigits(words[w + ip] as number) : 8 + hexDigits(high);
    }
    const thread = this.#tid < 0 ? 0 : words[w + this.#tid] as number;
    const slot = (key ^ misc ^ (thread << 3)) & (BEGINNINGS - 1);
    let last = this.#beginnings[slot] as Beginning;
    if (last.key !== key) last = this.#begin(key, slot);
    let offsetLow = offset - last.offsetBase;
    if (offsetLow < 0 || offsetLow >= 1e4) {
      if (!this.#moveOffset(last, offset)) return this.#putAnew(last, words, w, offset, out, from);
      offsetLow = offset - last.offsetBase;
    }
    const { length, words: text, at, low } = last;
    // There is room for what is stored beyond the end.
    for (let i = 0, to = from; i << 3 < length; i += 4, to += 32) {
      out.setFloat64(to, text[i] as number, true);
      out.setFloat64(to + 8, text[i + 1] as number, true);
      out.setFloat64(to + 16, text[i + 2] as number, true);
      out.setFloat64(to + 24, text[i + 3] as number, true);
    }
    putDecimal4(out, from + last.offsetAt + last.offsetDigits - 4, offsetLow);
    const head = this.#head;
    for (let i = 0; i < head.length; i++) {
      const { format, word } = head[i] as HeadStep;
      const lo = words[w + word] as number;
      const to = from + (at[i] as number);
      if (format === ADDRESS) {
        putHex(out, to, words[w + word + 1] as number, lo);
      } else if (format === TIME) {
        const base = low[i] as number;
        const carry = (lo >>> 0) < (base >>> 0) ? 1 : 0;
        const rest = (lo - base) | 0;
        // Seldom: ten times a second of the recording.
        if (
          words[w + word + 1] !== (last.high[i] as number) + carry || rest < 0 || rest >= 1e8
        ) return this.#putAnew(last, words, w, offset, out, from);
        putDecimal8(out, to, rest);
      } else if (lo !== low[i]) {
        if (!replaced(last.view, at[i] as number, low[i] as number, lo)) {
          return this.#putAnew(last, words, w, offset, out, from);
        }
        low[i] = lo;
        putDigits(out, to, lo >>> 0, decimalDigits(lo >>> 0));
      }
    }
    return from + length;
  }

  /**
   * Replaces the digits of the offset that are not replaced for each line.
   *
   * @returns False where it has another number of digits.
   */
  #moveOffset(last: Beginning, offset: number): boolean {
    const digits = last.offsetDigits - 4;
    const high = Math.floor(offset / 1e4);
    if (last.offsetBase === NONE || high === 0 || high > 0xffff_ffff) return false;
    if (decimalDigits(high) !== digits) return false;
    putDigits(last.view, last.offsetAt, high, digits);
    last.offsetBase = high * 1e4;
    return true;
  }

  /** Writes the beginning of a line, and remembers it. */
  #putAnew(
    last: Beginning,
    words: Int32Array,
    w: number,
    offset: number,
    out: DataView,
    from: number,
  ): number {
    let pos = this.#start.put(out, from);
    last.offsetAt = pos - from;
    pos = putDecimal(out, pos, offset);
    last.offsetDigits = pos - from - last.offsetAt;
    // Where a number has too few digits to replace, none is replaced.
    last.offsetBase = offset < 1e4 ? NONE : Math.floor(offset / 1e4) * 1e4;
    pos = last.text.put(out, pos);
    this.#head.forEach(({ before, format, word }, i) => {
      const low = words[w + word] as number;
      const high = (words[w + word + 1] as number) >>> 0;
      last.low[i] = low;
      pos = before.put(out, pos);
      last.at[i] = pos - from;
      if (format === ADDRESS) {
        pos = putHex(out, pos, high | 0, low);
        if (pos - from - (last.at[i] as number) < 4) last.offsetBase = NONE;
      } else if (format !== TIME) {
        pos = putDecimal(out, pos, format === SIGNED ? low : low >>> 0);
      } else {
        pos = putDecimal64(out, pos, high, low);
        last.at[i] = pos - from - 8;
        // deno-lint-ignore perfdata/halves -- only below 2^53: see the next condition
        const base = Math.floor((high * 0x1_0000_0000 + (low >>> 0)) / 1e8) * 1e8;
        // Without digits above the eight that are replaced their number may change.
        if (base === 0 || high >= 0x20_0000) last.offsetBase = NONE;
        last.high[i] = Math.floor(base / 0x1_0000_0000);
        last.low[i] = base | 0;
      }
    });
    last.length = pos - from;
    for (let i = 0; i < last.length; i += 8) {
      last.words[i >> 3] = out.getFloat64(from + i, true);
    }
    return pos;
  }

  /** Makes a beginning in place of another one. */
  #begin(key: number, slot: number): Beginning {
    const misc = key >> 5;
    const [before, between] = this.#about;
    const text = `${before}${misc.toString(16)}${between}${cpumodeName(misc)}`;
    return this.#beginnings[slot] = new Beginning(key, text, this.#head.length);
  }
}
