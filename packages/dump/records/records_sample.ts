import { fixedPeriod } from "@perfdata/format/attr";
import {
  PERF_SAMPLE_ADDR,
  PERF_SAMPLE_CALLCHAIN,
  PERF_SAMPLE_CPU,
  PERF_SAMPLE_ID,
  PERF_SAMPLE_IDENTIFIER,
  PERF_SAMPLE_IP,
  PERF_SAMPLE_PERIOD,
  PERF_SAMPLE_READ,
  PERF_SAMPLE_STREAM_ID,
  PERF_SAMPLE_TID,
  PERF_SAMPLE_TIME,
} from "@perfdata/format/perf-event";
import { type PerfEvent } from "@perfdata/format";
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
import { putDigits } from "./records_bytes.ts";
import type { RecordBytes } from "@perfdata/session/run";
import { putChain } from "./records_chain.ts";
import { cpumodeName, type U64Style } from "./records_json.ts";
import { REST_FIELDS, SampleRest } from "./records_sample_rest.ts";

/** Fields that have a place of their own. */
const FIXED_FIELDS = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR |
  PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD |
  PERF_SAMPLE_IDENTIFIER;

/** How many beginnings of lines are kept; a power of 2. */
const BEGINNINGS = 64;
const EMPTY = piece("");
const START_OF_LINE = piece('{"type":"SAMPLE","offset":');
const END_OF_LINE = piece("}\n");

/** An offset that no record has, nor any within 10,000 bytes after it. */
const NONE = -1e4;

/**
 * The beginning of a line, up to the first value after the time. Most lines begin with a copy of
 * the last one's, in which the digits of the offset, the ip and the time are replaced.
 */
class Beginning {
  /** The `misc` and number of digits that it is for. */
  readonly key: number;
  /** The text between offset and ip. */
  readonly text: Piece;
  /** The beginning, as doubles. */
  readonly words: Float64Array;
  readonly view: DataView;
  length = 0;
  // Where the digits of each value are, and what they say.
  offsetAt = 0;
  offsetDigits = 0;
  /** The offset without its last four digits, or NONE. */
  offsetBase = NONE;
  ipAt = 0;
  pidAt = 0;
  pid = 0;
  tidAt = 0;
  tid = 0;
  cpuAt = 0;
  cpu = 0;
  /** Where the last eight digits of the time are, and the halves of the time without them. */
  timeAt = 0;
  timeBaseHigh = 0;
  timeBaseLow = 0;

  constructor(key: number, text: Piece, nameLength: number) {
    this.key = key;
    this.text = text;
    // All that is not the event's name takes up less than this.
    this.words = new Float64Array(64 + (nameLength >> 3));
    this.view = new DataView(this.words.buffer);
  }
}

/** Stands where none has been made. */
const NO_BEGINNING = new Beginning(-1, EMPTY, 0);

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
 * 1.3 times on those with them: that is why it is not a list of steps as in `RecordPlan`.
 */
export class SampleWriter {
  // Word offsets of the fields in the record, or -1.
  readonly #ip: number;
  readonly #pid: number;
  readonly #cpu: number;
  readonly #time: number;
  readonly #period: number;
  readonly #identifier: number;
  readonly #addr: number;
  readonly #id: number;
  readonly #streamId: number;
  readonly #fixedWords: number;
  // The text that leads to each.
  readonly #ipText: Piece;
  readonly #pidText: Piece;
  readonly #tidText: Piece;
  readonly #cpuText: Piece;
  readonly #timeText: Piece;
  readonly #countText: Piece;
  readonly #periodText: Piece;
  readonly #identifierText: Piece;
  readonly #addrText: Piece;
  readonly #idText: Piece;
  readonly #streamIdText: Piece;
  readonly #chainText: Piece;
  readonly #endText: Piece;
  /** What stands between the time and the next value. */
  readonly #afterTime: Piece;
  readonly #closing: Piece;
  readonly #event: string;
  readonly #hasCount: boolean;
  readonly #hasChain: boolean;
  /** Writes the fields after those above, where there are more than a call chain. */
  readonly #rest: SampleRest | undefined;
  /** Where the sample has its event's id, in bytes, or -1. */
  readonly #ownId: number;
  /**
   * The beginnings of lines: one serves those of a `misc` and a number of digits of the ip. In the
   * order of time the CPUs take turns, so that each thread should find its own.
   */
  readonly #beginnings: Beginning[] = [];

  private constructor(
    event: PerfEvent,
    name: string,
    u64: U64Style,
    more: boolean,
    joined: boolean,
  ) {
    const { layout } = event;
    const quote = u64 === "string" ? '"' : "";
    const word = (offset: number) => offset < 0 ? -1 : offset >> 2;
    this.#event = /^[\x20-\x7e]*$/.test(name) ? JSON.stringify(name) : "";
    this.#ip = word(layout.ip);
    this.#pid = word(layout.pid);
    this.#cpu = word(layout.cpu);
    this.#time = word(layout.time);
    this.#period = word(layout.period);
    this.#identifier = word(layout.identifier);
    this.#addr = word(layout.addr);
    this.#id = word(layout.id);
    this.#streamId = word(layout.stream_id);
    this.#fixedWords = layout.fixedSize >> 2;
    this.#ownId = layout.identifier >= 0 ? layout.identifier : layout.id;
    const rest = layout.sampleType & REST_FIELDS;
    this.#hasCount = (rest & PERF_SAMPLE_READ) !== 0;
    const hasRest = (rest & ~PERF_SAMPLE_CALLCHAIN) !== 0 || joined;
    this.#rest = hasRest ? new SampleRest(event, u64, joined) : undefined;
    this.#hasChain = !hasRest && rest !== 0;
    let text = ',"ip":';
    // Ends the text in front of a value and begins that after it; where the value is absent, the
    // text goes on.
    const value = (word: number, open: string, close: string, then: string): Piece => {
      if (word < 0) {
        text += `null${then}`;
        return EMPTY;
      }
      const before = piece(text + open);
      text = close + then;
      return before;
    };
    this.#ipText = value(this.#ip, '"0x', '"', ',"pid":');
    this.#pidText = value(this.#pid, "", "", ',"tid":');
    this.#tidText = value(this.#pid, "", "", ',"cpu":');
    this.#cpuText = value(this.#cpu, "", "", ',"time":');
    this.#timeText = value(this.#time, quote, quote, ',"count":');
    // The text that leads to the first value after the time belongs to the beginning.
    let first: Piece | undefined;
    const later = (before: Piece): Piece => {
      if (first !== undefined || before === EMPTY) return before;
      first = before;
      return EMPTY;
    };
    this.#countText = later(value(this.#hasCount ? 0 : -1, quote, quote, ',"period":'));
    const fixed = this.#period < 0 ? fixedPeriod(event.attr) : undefined;
    if (fixed !== undefined) text += `${quote}${fixed}${quote}`;
    this.#periodText = fixed !== undefined ? EMPTY : later(value(this.#period, quote, quote, ""));
    // The other fields are missing where they are absent.
    const member = (word: number, name: string, before: string, after: string): Piece => {
      if (word < 0) return EMPTY;
      const found = piece(`${text},"${name}":${before}`);
      text = after;
      return later(found);
    };
    this.#identifierText = member(this.#identifier, "identifier", quote, quote);
    this.#addrText = member(this.#addr, "addr", '"0x', '"');
    this.#idText = member(this.#id, "id", quote, quote);
    this.#streamIdText = member(this.#streamId, "stream_id", quote, quote);
    this.#chainText = member(this.#hasChain ? 0 : -1, "callchain", "[", "");
    this.#closing = more ? EMPTY : END_OF_LINE;
    this.#endText = later(piece(hasRest || more ? text : `${text}}\n`));
    this.#afterTime = first ?? EMPTY;
    for (let i = 0; i < BEGINNINGS; i++) this.#beginnings.push(NO_BEGINNING);
  }

  /**
   * A writer for an event, or `undefined` where its samples have fields that need more.
   *
   * @param more Whether members follow: the ends of the lines are not written then.
   * @param joined Whether whole stacks stand for call chains and copies of stacks.
   */
  static for(
    event: PerfEvent,
    name: string,
    u64: U64Style,
    more: boolean,
    joined: boolean = false,
  ): SampleWriter | undefined {
    if ((event.layout.sampleType & ~(FIXED_FIELDS | REST_FIELDS)) !== 0) return undefined;
    // Some of their values are elsewhere.
    if (event.isOffCpu) return undefined;
    const writer = new SampleWriter(event, name, u64, more, joined);
    return writer.#event === "" ? undefined : writer;
  }

  /** Most bytes that the line of a sample of `size` bytes takes. */
  bound(size: number): number {
    // Eight bytes take up to 36: a number of 20 digits with a name.
    return 1024 + this.#event.length + size * 5;
  }

  /**
   * Writes the line of a little-endian sample that starts at a multiple of 8.
   *
   * @param source The bytes that hold it.
   * @param start Where it starts, in bytes.
   * @param offset Its file offset.
   * @param joined Halves of the addresses of its whole stack, where that stands for its call chain.
   * @param first The first address of it.
   * @param last The one after its last.
   * @returns -1 where the sample is not as its event says; the general way shows it then.
   */
  write(
    source: RecordBytes,
    start: number,
    offset: number,
    out: DataView,
    from: number,
    joined?: Int32Array,
    first: number = 0,
    last: number = 0,
  ): number {
    const { words } = source;
    const w = start >> 2;
    const second = words[w + 1] as number;
    const misc = second & 0xffff;
    const end = w + (second >>> 18);
    let at = w + this.#fixedWords;
    if (at > end || (second & 0x7_0000) !== 0) return -1;
    const cpu = this.#cpu;
    if (cpu >= 0 && words[w + cpu + 1] !== 0) return -1;
    const chain = this.#hasChain;
    if (chain) {
      const length = words[at] as number;
      if (at + 2 > end || words[at + 1] !== 0 || length < 0) return -1;
      at += 2 + 2 * length;
    }
    const rest = this.#rest;
    if (rest === undefined ? at !== end : !rest.locate(source.view, start, end << 2)) return -1;
    let pos = this.#putBeginning(words, w, misc, offset, out, from);
    if (this.#hasCount) {
      pos = this.#countText.put(out, pos);
      const id = this.#ownId < 0 ? -1 : start + this.#ownId;
      pos = (rest as SampleRest).putCount(source.view, id, out, pos);
      if (pos < 0) return -1;
    }
    const period = this.#period;
    if (period >= 0) {
      pos = this.#periodText.put(out, pos);
      pos = putDecimal64(out, pos, words[w + period + 1] as number, words[w + period] as number);
    }
    const identifier = this.#identifier;
    if (identifier >= 0) {
      pos = this.#identifierText.put(out, pos);
      pos = putDecimal64(
        out,
        pos,
        words[w + identifier + 1] as number,
        words[w + identifier] as number,
      );
    }
    const addr = this.#addr;
    if (addr >= 0) {
      pos = this.#addrText.put(out, pos);
      pos = putHex(out, pos, words[w + addr + 1] as number, words[w + addr] as number);
    }
    const id = this.#id;
    if (id >= 0) {
      pos = this.#idText.put(out, pos);
      pos = putDecimal64(out, pos, words[w + id + 1] as number, words[w + id] as number);
    }
    const streamId = this.#streamId;
    if (streamId >= 0) {
      pos = this.#streamIdText.put(out, pos);
      pos = putDecimal64(
        out,
        pos,
        words[w + streamId + 1] as number,
        words[w + streamId] as number,
      );
    }
    if (chain) {
      pos = this.#chainText.put(out, pos);
      pos = putChain(words, w + this.#fixedWords + 2, end, out, pos);
    }
    pos = this.#endText.put(out, pos);
    if (rest === undefined) return pos;
    return this.#closing.put(out, rest.put(source, out, pos, joined, first, last));
  }

  /** Writes the line up to the first value after the time. */
  #putBeginning(
    words: Int32Array,
    w: number,
    misc: number,
    offset: number,
    out: DataView,
    from: number,
  ): number {
    const ip = this.#ip;
    let ipHigh = 0;
    let ipLow = 0;
    let key = misc << 5;
    if (ip >= 0) {
      ipLow = words[w + ip] as number;
      ipHigh = words[w + ip + 1] as number;
      key |= ipHigh === 0 ? hexDigits(ipLow) : 8 + hexDigits(ipHigh);
    }
    const pid = this.#pid;
    const thread = pid < 0 ? 0 : words[w + pid + 1] as number;
    const slot = (key ^ misc ^ (thread << 3)) & (BEGINNINGS - 1);
    let last = this.#beginnings[slot] as Beginning;
    if (last.key !== key) last = this.#begin(key, slot);
    const time = this.#time;
    let timeLow = 0;
    if (time >= 0) {
      const low = words[w + time] as number;
      const base = last.timeBaseLow;
      const carry = (low >>> 0) < (base >>> 0) ? 1 : 0;
      timeLow = words[w + time + 1] === last.timeBaseHigh + carry ? (low - base) | 0 : -1;
    }
    // Seldom: ten times a second of the recording.
    if (timeLow < 0 || timeLow >= 1e8) return this.#putAnew(last, words, w, offset, out, from);
    const cpu = this.#cpu;
    let offsetLow = offset - last.offsetBase;
    const isSame = offsetLow >= 0 && offsetLow < 1e4 &&
      (pid < 0 || (words[w + pid] === last.pid && thread === last.tid)) &&
      (cpu < 0 || words[w + cpu] === last.cpu);
    if (!isSame) {
      if (!this.#replace(last, words, w, offset)) {
        return this.#putAnew(last, words, w, offset, out, from);
      }
      offsetLow = offset - last.offsetBase;
    }
    const { length, words: text } = last;
    // There is room for what is stored beyond the end.
    for (let i = 0, to = from; i << 3 < length; i += 4, to += 32) {
      out.setFloat64(to, text[i] as number, true);
      out.setFloat64(to + 8, text[i + 1] as number, true);
      out.setFloat64(to + 16, text[i + 2] as number, true);
      out.setFloat64(to + 24, text[i + 3] as number, true);
    }
    putDecimal4(out, from + last.offsetAt + last.offsetDigits - 4, offsetLow);
    if (ip >= 0) putHex(out, from + last.ipAt, ipHigh, ipLow);
    if (time >= 0) putDecimal8(out, from + last.timeAt, timeLow);
    return from + length;
  }

  /**
   * Replaces the numbers of a beginning that are not replaced for each line.
   *
   * @returns False where one has another number of digits.
   */
  #replace(last: Beginning, words: Int32Array, w: number, offset: number): boolean {
    if (last.offsetBase === NONE) return false;
    const { view } = last;
    if (this.#pid >= 0) {
      const pid = words[w + this.#pid] as number;
      const tid = words[w + this.#pid + 1] as number;
      if (!replaced(view, last.pidAt, last.pid, pid)) return false;
      last.pid = pid;
      if (!replaced(view, last.tidAt, last.tid, tid)) return false;
      last.tid = tid;
    }
    if (this.#cpu >= 0) {
      const cpu = words[w + this.#cpu] as number;
      if (!replaced(view, last.cpuAt, last.cpu, cpu)) return false;
      last.cpu = cpu;
    }
    const offsetHigh = Math.floor(offset / 1e4);
    if (offsetHigh * 1e4 !== last.offsetBase) {
      const digits = last.offsetDigits - 4;
      if (offsetHigh === 0 || offsetHigh > 0xffff_ffff) return false;
      if (decimalDigits(offsetHigh) !== digits) return false;
      putDigits(view, last.offsetAt, offsetHigh, digits);
      last.offsetBase = offsetHigh * 1e4;
    }
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
    let pos = START_OF_LINE.put(out, from);
    last.offsetAt = pos - from;
    pos = putDecimal(out, pos, offset);
    last.offsetDigits = pos - from - last.offsetAt;
    // Where a number has too few digits to replace, none is replaced.
    last.offsetBase = offset < 1e4 ? NONE : Math.floor(offset / 1e4) * 1e4;
    pos = last.text.put(out, pos);
    const ip = this.#ip;
    if (ip >= 0) {
      pos = this.#ipText.put(out, pos);
      last.ipAt = pos - from;
      pos = putHex(out, pos, words[w + ip + 1] as number, words[w + ip] as number);
      if (pos - from - last.ipAt < 4) last.offsetBase = NONE;
    }
    const pid = this.#pid;
    if (pid >= 0) {
      last.pid = words[w + pid] as number;
      last.tid = words[w + pid + 1] as number;
      pos = this.#pidText.put(out, pos);
      last.pidAt = pos - from;
      pos = putDecimal(out, pos, last.pid);
      pos = this.#tidText.put(out, pos);
      last.tidAt = pos - from;
      pos = putDecimal(out, pos, last.tid);
    }
    const cpu = this.#cpu;
    if (cpu >= 0) {
      last.cpu = words[w + cpu] as number;
      pos = this.#cpuText.put(out, pos);
      last.cpuAt = pos - from;
      pos = putDecimal(out, pos, last.cpu >>> 0);
    }
    const time = this.#time;
    if (time >= 0) {
      const high = (words[w + time + 1] as number) >>> 0;
      const low = words[w + time] as number;
      pos = this.#timeText.put(out, pos);
      pos = putDecimal64(out, pos, high, low);
      last.timeAt = pos - from - 8;
      // deno-lint-ignore perfdata/halves -- only below 2^53: see the next condition
      const base = Math.floor((high * 0x1_0000_0000 + (low >>> 0)) / 1e8) * 1e8;
      // Without digits above the eight that are replaced their number may change.
      if (base === 0 || high >= 0x20_0000) last.offsetBase = NONE;
      last.timeBaseHigh = Math.floor(base / 0x1_0000_0000) | 0;
      last.timeBaseLow = base | 0;
    }
    pos = this.#afterTime.put(out, pos);
    last.length = pos - from;
    for (let i = 0; i < last.length; i += 8) {
      last.words[i >> 3] = out.getFloat64(from + i, true);
    }
    return pos;
  }

  /** Makes a beginning in place of another one. */
  #begin(key: number, slot: number): Beginning {
    const misc = key >> 5;
    const text = `,"event":${this.#event},"misc":"0x${misc.toString(16)}","cpumode":"${
      cpumodeName(misc)
    }"`;
    return this.#beginnings[slot] = new Beginning(key, piece(text), this.#event.length);
  }
}
