import {
  PERF_RECORD_MISC_CPUMODE_MASK,
  PERF_SAMPLE_CALLCHAIN,
  type PerfEvent,
  SampleFields,
} from "@perfdata/format";
import type { RecordBytes } from "@perfdata/session/order";
import type { BundledSymbols } from "@perfdata/session/symbols";
import { contextMode, isContextMarker } from "./context_marker.ts";

/** Text that grows, as bytes. */
interface GrowingText {
  bytes: Uint8Array;
  length: number;
  /** Makes room for so many more bytes. */
  reserve(size: number): void;
}

const encoder = new TextEncoder();
const CHAIN = encoder.encode(',"callchain_symbols":[');
const MARKER = encoder.encode("null");
const COMMA = 0x2c;
const CLOSE = 0x5d;

/** Writes the members of lines that tell the symbols of a sample's addresses. */
export class SampleSymbols {
  readonly #symbols: BundledSymbols;
  readonly #littleEndian: boolean;
  readonly #fields: (SampleFields | undefined)[] = [];
  // What is written of an address, by its row: of an ip, and in call chains of that and of others.
  readonly #ips: (Uint8Array | undefined)[] = [];
  readonly #frames: (Uint8Array | undefined)[] = [];
  readonly #returns: (Uint8Array | undefined)[] = [];

  /** @param littleEndian Byte order of the records. */
  constructor(symbols: BundledSymbols, littleEndian: boolean) {
    this.#symbols = symbols;
    this.#littleEndian = littleEndian;
  }

  /** Applies a record that is no sample to the machine. */
  apply({ bytes, view }: RecordBytes, start: number, end: number): void {
    this.#symbols.apply(bytes, view, start, end);
  }

  /**
   * Writes the members for the sample in `[start, end)`, each behind a comma. A damaged one has none.
   *
   * @param number The event's number.
   */
  put(
    out: GrowingText,
    view: DataView,
    start: number,
    end: number,
    event: PerfEvent,
    number: number,
  ): void {
    const { layout, attr } = event;
    if (start + layout.fixedSize > end) return;
    const { machine } = this.#symbols;
    const le = this.#littleEndian;
    const high = le ? 4 : 0;
    const low = 4 - high;
    const thread = layout.pid < 0 ? machine.thread(0, 0) : machine.thread(
      view.getInt32(start + layout.pid, le),
      view.getInt32(start + layout.pid + 4, le),
    );
    let mode = view.getUint16(start + 4, le) & PERF_RECORD_MISC_CPUMODE_MASK;
    let ipHigh = 0;
    let ipLow = 0;
    if (layout.ip >= 0) {
      ipHigh = view.getInt32(start + layout.ip + high, le);
      ipLow = view.getInt32(start + layout.ip + low, le);
      const row = this.#symbols.row(thread, mode, ipHigh, ipLow);
      append(out, this.#ips[row] ??= encoder.encode(`,${this.#text(row, true)}`));
    }
    if (!(layout.sampleType & PERF_SAMPLE_CALLCHAIN)) return;
    const fields = this.#fields[number] ??= new SampleFields(attr);
    if (!fields.locate(view, start, end, le)) return;
    append(out, CHAIN);
    for (let i = 0; i < fields.callchainLength; i++) {
      const at = fields.callchain + 8 * i;
      const hi = view.getInt32(at + high, le);
      const lo = view.getInt32(at + low, le);
      let text: Uint8Array = MARKER;
      if (isContextMarker(hi, lo)) {
        mode = contextMode(lo);
      } else {
        const isIp = hi === ipHigh && lo === ipLow && layout.ip >= 0;
        const row = this.#symbols.row(thread, mode, hi, lo);
        const kept = isIp ? this.#frames : this.#returns;
        text = kept[row] ??= encoder.encode(`{${this.#text(row, isIp)}}`);
      }
      append(out, text);
      out.bytes[out.length++] = COMMA;
    }
    if (fields.callchainLength > 0) out.length--;
    out.bytes[out.length++] = CLOSE;
  }

  /** The members that tell of an address; of a return address, with the line of the call. */
  #text(row: number, isIp: boolean): string {
    const symbol = this.#symbols.symbol(row);
    const { dso, name, offset } = symbol;
    const json = (text: string | undefined) => text === undefined ? "null" : JSON.stringify(text);
    const symoff = offset === undefined ? "null" : `"0x${offset.toString(16)}"`;
    let text = `"sym":${json(name)},"symoff":${symoff},"dso":${json(dso)}`;
    const { srcline, inlined } = isIp ? symbol : this.#symbols.caller(row);
    const place = (line: string | undefined) =>
      line === undefined ? "" : `,"srcline":${json(line)}`;
    text += place(srcline);
    if (inlined.length > 0) {
      const functions = inlined.map((frame) =>
        `{"sym":${json(frame.name)}${place(frame.srcline)}}`
      );
      text += `,"inlined":[${functions.join(",")}]`;
    }
    return text;
  }
}

/** Appends bytes, and leaves room for one more. */
function append(out: GrowingText, text: Uint8Array): void {
  out.reserve(text.length + 1);
  out.bytes.set(text, out.length);
  out.length += text.length;
}
