import {
  PERF_RECORD_MISC_CPUMODE_MASK,
  PERF_SAMPLE_CALLCHAIN,
  type PerfEvent,
  SampleFields,
} from "@perfdata/format";
import type { RecordBytes } from "@perfdata/session/order";
import type { BundledSymbols } from "@perfdata/session/symbols";
import { contextMode, isContextMarker } from "./context_marker.ts";

/** The members of lines that tell the symbols of a sample's addresses. */
export class SampleSymbols {
  readonly #symbols: BundledSymbols;
  readonly #littleEndian: boolean;
  readonly #fields: (SampleFields | undefined)[] = [];
  // What was told of an address, by its row.
  readonly #ips: ([string, string][] | undefined)[] = [];
  readonly #frames: (string | undefined)[] = [];
  readonly #returns: (string | undefined)[] = [];

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
   * The members for the sample in `[start, end)`: name and JSON text. A damaged one has none.
   *
   * @param number The event's number.
   */
  members(
    view: DataView,
    start: number,
    end: number,
    event: PerfEvent,
    number: number,
  ): [name: string, json: string][] {
    const { layout, attr } = event;
    if (start + layout.fixedSize > end) return [];
    const { machine } = this.#symbols;
    const le = this.#littleEndian;
    const high = le ? 4 : 0;
    const low = 4 - high;
    const thread = layout.pid < 0 ? machine.thread(0, 0) : machine.thread(
      view.getInt32(start + layout.pid, le),
      view.getInt32(start + layout.pid + 4, le),
    );
    const mode = view.getUint16(start + 4, le) & PERF_RECORD_MISC_CPUMODE_MASK;
    let ipHigh = 0;
    let ipLow = 0;
    let members: [string, string][] = [];
    if (layout.ip >= 0) {
      ipHigh = view.getUint32(start + layout.ip + high, le);
      ipLow = view.getUint32(start + layout.ip + low, le);
      const row = this.#symbols.row(thread, mode, ipHigh, ipLow);
      members = this.#ips[row] ??= this.#membersOf(row, true);
    }
    if (!(layout.sampleType & PERF_SAMPLE_CALLCHAIN)) return members;
    const fields = this.#fields[number] ??= new SampleFields(attr);
    if (!fields.locate(view, start, end, le)) return members;
    let text = "[";
    let chainMode = mode;
    for (let i = 0; i < fields.callchainLength; i++) {
      const at = fields.callchain + 8 * i;
      const hi = view.getUint32(at + high, le);
      const lo = view.getUint32(at + low, le);
      if (i > 0) text += ",";
      if (isContextMarker(hi, lo)) {
        chainMode = contextMode(lo);
        text += "null";
      } else {
        const isIp = hi === ipHigh && lo === ipLow && layout.ip >= 0;
        text += this.#frame(this.#symbols.row(thread, chainMode, hi, lo), isIp);
      }
    }
    return [...members, ["callchain_symbols", `${text}]`]];
  }

  /** What is known of an address of a call chain, as an object. */
  #frame(row: number, isIp: boolean): string {
    const known = isIp ? this.#frames : this.#returns;
    let text = known[row];
    if (text === undefined) {
      const members = this.#membersOf(row, isIp);
      text = `{${members.map(([name, json]) => `"${name}":${json}`).join(",")}}`;
      known[row] = text;
    }
    return text;
  }

  /**
   * The members that tell of an address; of a return address, with the line of the call.
   */
  #membersOf(row: number, isIp: boolean): [string, string][] {
    const symbol = this.#symbols.symbol(row);
    const { dso, name, offset } = symbol;
    const json = (text: string | undefined) => text === undefined ? "null" : JSON.stringify(text);
    const members: [string, string][] = [
      ["sym", json(name)],
      ["symoff", offset === undefined ? "null" : `"0x${offset.toString(16)}"`],
      ["dso", json(dso)],
    ];
    const { srcline, inlined } = isIp ? symbol : this.#symbols.caller(row);
    if (srcline !== undefined) members.push(["srcline", json(srcline)]);
    if (inlined.length > 0) {
      const functions = inlined.map((frame) =>
        `{"sym":${json(frame.name)}${
          frame.srcline === undefined ? "" : `,"srcline":${json(frame.srcline)}`
        }}`
      );
      members.push(["inlined", `[${functions.join(",")}]`]);
    }
    return members;
  }
}
