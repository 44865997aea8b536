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
  type PerfEvent,
} from "@perfdata/format";
import {
  hexDigits,
  putDecimal,
  putDecimal4,
  putDecimal8,
  putHex,
  putSegment,
  putU64,
  type Segment,
  segment,
} from "./records_bytes.ts";
import type { RecordBytes } from "@perfdata/session";
import { cpumodeName, type U64Style } from "./records_json.ts";
import { REST_FIELDS, SampleRest } from "./records_sample_rest.ts";

/** Fields that have a place of their own. */
const FIXED_FIELDS = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR |
  PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD |
  PERF_SAMPLE_IDENTIFIER;

const EMPTY = segment("");
const END_OF_LINE = segment("}\n");
const BETWEEN_ADDRESSES = segment('","0x');

/** The beginning of a line, up to its time: its text and the values that it was made of. */
class Beginning {
  /** The text between offset and ip. */
  readonly text: Segment;
  /** The text, as doubles. */
  readonly bytes: Float64Array;
  length = 0;
  /** Where the last four digits of the offset are, and the rest of it. */
  offsetAt = 0;
  highOffset = -1;
  /** Where the digits of the ip are, and how many. */
  ipAt = 0;
  ipDigits = 0;
  pid = 0;
  tid = 0;
  cpu = 0;
  /** The time without its last eight digits. */
  highTime = -1;

  constructor(text: Segment, nameLength = 0) {
    this.text = text;
    // All that is not the event's name takes up less than this.
    this.bytes = new Float64Array((512 + nameLength) >> 3);
  }
}

/**
 * Writes the lines of the samples of one event: of all fields but branch stacks and weights in parts.
 *
 * The text is what `lineMembers` gives, cut at the values: what lies between two values is prepared.
 * A test compares the two on every sample of the corpus.
 */
export class SampleWriter {
  // Word offsets of the fields in the record, or -1; before each the text that leads to it.
  readonly #ip: number;
  readonly #pid: number;
  readonly #cpu: number;
  readonly #time: number;
  readonly #period: number;
  readonly #identifier: number;
  readonly #addr: number;
  readonly #id: number;
  readonly #streamId: number;
  readonly #callchain: number;
  readonly #fixedWords: number;
  readonly #ipText: Segment;
  readonly #pidText: Segment;
  readonly #tidText: Segment;
  readonly #cpuText: Segment;
  readonly #timeText: Segment;
  readonly #periodText: Segment;
  readonly #identifierText: Segment;
  readonly #addrText: Segment;
  readonly #idText: Segment;
  readonly #streamIdText: Segment;
  readonly #callchainText: Segment;
  readonly #firstAddress: Segment;
  readonly #lastAddress: Segment;
  readonly #closeText: Segment;
  readonly #endText: Segment;
  readonly #startText: Segment = segment('{"type":"SAMPLE","offset":');
  readonly #event: string;
  /** Writes the fields behind those above, where there are more than a call chain. */
  readonly #rest: SampleRest | undefined;
  readonly #countText: Segment;
  /** Where the sample has its event's id, in bytes, or -1. */
  readonly #ownId: number;
  // The text that depends on `misc`, and the last line's beginning, by `misc`.
  readonly #byMisc = new Map<number, Beginning>();
  #misc = -1;
  #beginning: Beginning = new Beginning(EMPTY);

  private constructor(event: PerfEvent, name: string, u64: U64Style) {
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
    const rest = layout.sampleType & REST_FIELDS;
    this.#rest = (rest & ~PERF_SAMPLE_CALLCHAIN) === 0 ? undefined : new SampleRest(event, u64);
    this.#ownId = layout.identifier >= 0 ? layout.identifier : layout.id;
    const hasChain = rest === PERF_SAMPLE_CALLCHAIN;
    this.#callchain = hasChain ? this.#fixedWords : -1;
    let text = ',"ip":';
    // Ends the text in front of a field and begins that behind it; where the field is absent, the
    // text goes on.
    const value = (word: number, open: string, close: string, then: string): Segment => {
      if (word < 0) {
        text += `null${then}`;
        return EMPTY;
      }
      const before = segment(text + open);
      text = close + then;
      return before;
    };
    this.#ipText = value(this.#ip, '"0x', '"', ',"pid":');
    this.#pidText = value(this.#pid, "", "", ',"tid":');
    this.#tidText = value(this.#pid, "", "", ',"cpu":');
    this.#cpuText = value(this.#cpu, "", "", ',"time":');
    this.#timeText = value(this.#time, quote, quote, ',"count":');
    const count = (rest & PERF_SAMPLE_READ) === 0 ? -1 : 0;
    this.#countText = value(count, quote, quote, ',"period":');
    this.#periodText = value(this.#period, quote, quote, "");
    // The other fields are missing where they are absent.
    const next = (word: number, name: string, before: string, after: string): Segment => {
      if (word < 0) return EMPTY;
      const found = segment(`${text},"${name}":${before}`);
      text = after;
      return found;
    };
    this.#identifierText = next(this.#identifier, "identifier", quote, quote);
    this.#addrText = next(this.#addr, "addr", '"0x', '"');
    this.#idText = next(this.#id, "id", quote, quote);
    this.#streamIdText = next(this.#streamId, "stream_id", quote, quote);
    this.#callchainText = next(this.#callchain, "callchain", "[", "]");
    this.#firstAddress = segment('"0x');
    this.#lastAddress = segment('"');
    this.#closeText = segment(text);
    this.#endText = segment(`${text}}\n`);
  }

  /** A writer for an event, or `undefined` where its samples have fields that need more. */
  static for(event: PerfEvent, name: string, u64: U64Style): SampleWriter | undefined {
    if ((event.layout.sampleType & ~(FIXED_FIELDS | REST_FIELDS)) !== 0) return undefined;
    const writer = new SampleWriter(event, name, u64);
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
   * @returns -1 where the sample is not as its event says; the general way shows it then.
   */
  write(source: RecordBytes, start: number, offset: number, out: DataView, from: number): number {
    const { words } = source;
    const w = start >> 2;
    const second = words[w + 1] as number;
    const misc = second & 0xffff;
    const end = w + (second >>> 18);
    let at = w + this.#fixedWords;
    if (at > end || (second & 0x7_0000) !== 0) return -1;
    const cpu = this.#cpu;
    if (cpu >= 0 && words[w + cpu + 1] !== 0) return -1;
    const chain = this.#callchain;
    let length = 0;
    if (chain >= 0) {
      length = words[at] as number;
      if (at + 2 > end || words[at + 1] !== 0 || length < 0) return -1;
      at += 2 + 2 * length;
    }
    const rest = this.#rest;
    if (rest === undefined ? at !== end : !rest.locate(source.view, start, end << 2)) return -1;
    if (misc !== this.#misc) this.#setMisc(misc);
    let pos = this.#writeSame(words, w, offset, out, from);
    if (pos < 0) pos = this.#writeBeginning(words, w, offset, out, from);
    if (this.#countText !== EMPTY) {
      pos = putSegment(out, pos, this.#countText);
      const id = this.#ownId < 0 ? -1 : start + this.#ownId;
      pos = (rest as SampleRest).putCount(source.view, id, out, pos);
      if (pos < 0) return -1;
    }
    const period = this.#period;
    if (period >= 0) {
      pos = putSegment(out, pos, this.#periodText);
      pos = putU64(out, pos, words[w + period + 1] as number, words[w + period] as number);
    }
    const identifier = this.#identifier;
    if (identifier >= 0) {
      pos = putSegment(out, pos, this.#identifierText);
      pos = putU64(out, pos, words[w + identifier + 1] as number, words[w + identifier] as number);
    }
    const addr = this.#addr;
    if (addr >= 0) {
      pos = putSegment(out, pos, this.#addrText);
      pos = putHex(out, pos, words[w + addr + 1] as number, words[w + addr] as number);
    }
    const id = this.#id;
    if (id >= 0) {
      pos = putSegment(out, pos, this.#idText);
      pos = putU64(out, pos, words[w + id + 1] as number, words[w + id] as number);
    }
    const streamId = this.#streamId;
    if (streamId >= 0) {
      pos = putSegment(out, pos, this.#streamIdText);
      pos = putU64(out, pos, words[w + streamId + 1] as number, words[w + streamId] as number);
    }
    if (chain >= 0) {
      pos = putSegment(out, pos, this.#callchainText);
      if (length > 0) {
        pos = putSegment(out, pos, this.#firstAddress);
        let a = end - 2 * length;
        pos = putHex(out, pos, words[a + 1] as number, words[a] as number);
        for (a += 2; a < end; a += 2) {
          pos = putSegment(out, pos, BETWEEN_ADDRESSES);
          pos = putHex(out, pos, words[a + 1] as number, words[a] as number);
        }
        pos = putSegment(out, pos, this.#lastAddress);
      }
    }
    if (rest !== undefined) {
      pos = putSegment(out, pos, this.#closeText);
      pos = rest.put(source.bytes, source.view, out, pos);
      return putSegment(out, pos, END_OF_LINE);
    }
    return putSegment(out, pos, this.#endText);
  }

  /**
   * Writes the line up to the time where it differs from the last one with this `misc` in the low
   * digits of its numbers only: most lines do.
   *
   * @returns -1 where it differs in more.
   */
  #writeSame(words: Int32Array, w: number, offset: number, out: DataView, from: number): number {
    const last = this.#beginning;
    const highOffset = Math.floor(offset / 1e4);
    if (highOffset !== last.highOffset) return -1;
    const pid = this.#pid;
    if (
      pid >= 0 && (words[w + pid] !== last.pid || words[w + pid + 1] !== last.tid)
    ) return -1;
    const cpu = this.#cpu;
    if (cpu >= 0 && words[w + cpu] !== last.cpu) return -1;
    const ip = this.#ip;
    let ipHigh = 0;
    let ipLow = 0;
    if (ip >= 0) {
      ipHigh = words[w + ip + 1] as number;
      ipLow = words[w + ip] as number;
      const digits = ipHigh === 0 ? hexDigits(ipLow) : 8 + hexDigits(ipHigh);
      if (digits !== last.ipDigits) return -1;
    }
    const time = this.#time;
    let timeLow = 0;
    if (time >= 0) {
      const high = words[w + time + 1] as number;
      if (high < 0 || high >= 0x20_0000) return -1;
      const ns = high * 0x1_0000_0000 + ((words[w + time] as number) >>> 0);
      const upper = Math.floor(ns / 1e8);
      if (upper !== last.highTime) return -1;
      timeLow = ns - upper * 1e8;
    }
    const { length, bytes } = last;
    for (let i = 0; i < length; i += 8) out.setFloat64(from + i, bytes[i >> 3] as number, true);
    putDecimal4(out, from + last.offsetAt, offset - highOffset * 1e4);
    if (ip >= 0) {
      putHex(out, from + last.ipAt, ipHigh, ipLow);
    }
    if (time >= 0) putDecimal8(out, from + length - 8, timeLow);
    return from + length;
  }

  /** Writes the line up to the time, and remembers it. */
  #writeBeginning(
    words: Int32Array,
    w: number,
    offset: number,
    out: DataView,
    from: number,
  ): number {
    const last = this.#beginning;
    let pos = putSegment(out, from, this.#startText);
    pos = putDecimal(out, pos, offset);
    last.offsetAt = pos - 4 - from;
    // A shorter number has no four digits to overwrite.
    last.highOffset = offset < 1e4 ? -1 : Math.floor(offset / 1e4);
    pos = putSegment(out, pos, last.text);
    const ip = this.#ip;
    if (ip >= 0) {
      pos = putSegment(out, pos, this.#ipText);
      last.ipAt = pos - from;
      pos = putHex(out, pos, words[w + ip + 1] as number, words[w + ip] as number);
      last.ipDigits = pos - from - last.ipAt;
    }
    const pid = this.#pid;
    if (pid >= 0) {
      last.pid = words[w + pid] as number;
      last.tid = words[w + pid + 1] as number;
      pos = putSegment(out, pos, this.#pidText);
      pos = putDecimal(out, pos, last.pid >>> 0);
      pos = putSegment(out, pos, this.#tidText);
      pos = putDecimal(out, pos, last.tid >>> 0);
    }
    const cpu = this.#cpu;
    if (cpu >= 0) {
      last.cpu = words[w + cpu] as number;
      pos = putSegment(out, pos, this.#cpuText);
      pos = putDecimal(out, pos, last.cpu >>> 0);
    }
    const time = this.#time;
    if (time >= 0) {
      const high = words[w + time + 1] as number;
      const low = words[w + time] as number;
      pos = putSegment(out, pos, this.#timeText);
      pos = putU64(out, pos, high, low);
      const upper = Math.floor((high * 0x1_0000_0000 + (low >>> 0)) / 1e8);
      // Without digits above the eight that are overwritten their number may change.
      last.highTime = upper === 0 ? -1 : upper;
    }
    last.length = pos - from;
    for (let i = 0; i < last.length; i += 8) {
      last.bytes[i >> 3] = out.getFloat64(from + i, true);
    }
    return pos;
  }

  #setMisc(misc: number): void {
    this.#misc = misc;
    let beginning = this.#byMisc.get(misc);
    if (beginning === undefined) {
      beginning = new Beginning(
        segment(
          `,"event":${this.#event},"misc":"0x${misc.toString(16)}","cpumode":"${
            cpumodeName(misc)
          }"`,
        ),
        this.#event.length,
      );
      this.#byMisc.set(misc, beginning);
    }
    this.#beginning = beginning;
  }
}
