import { PERF_SAMPLE_CALLCHAIN, type SampleLayout } from "@perfdata/format";
import type { Run } from "@perfdata/session/run";
import type { BundledSymbols } from "@perfdata/session/symbols";

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

/** Writes the members of lines with the symbols of a sample's addresses. */
export class SampleSymbols {
  readonly #symbols: BundledSymbols;
  // What is written of a place: of an ip, and in call chains of that and of others.
  readonly #ips: (Uint8Array | undefined)[] = [];
  readonly #frames: (Uint8Array | undefined)[] = [];
  readonly #returns: (Uint8Array | undefined)[] = [];

  /** Writes what a bundle knows. */
  constructor(symbols: BundledSymbols) {
    this.#symbols = symbols;
  }

  /**
   * Writes the members for a sample, each after a comma. A damaged one has none.
   *
   * @param run Has places and chains.
   */
  put(out: GrowingText, run: Run, row: number, { sampleType, ip }: SampleLayout): void {
    if ((run.thread[row] as number) < 0) return;
    const own = run.place[row] as number;
    if (ip >= 0) append(out, this.#ips[own] ??= encoder.encode(`,${this.#text(own, true)}`));
    if (!(sampleType & PERF_SAMPLE_CALLCHAIN)) return;
    const first = run.chainStart[row] as number;
    const end = run.chainStart[row + 1] as number;
    append(out, CHAIN);
    for (let i = first; i < end; i++) {
      const place = run.chains[i] as number;
      let text: Uint8Array = MARKER;
      if (place >= 0) {
        const kept = place === own ? this.#frames : this.#returns;
        text = kept[place] ??= encoder.encode(`{${this.#text(place, place === own)}}`);
      }
      append(out, text);
      out.bytes[out.length++] = COMMA;
    }
    if (end > first) out.length--;
    out.bytes[out.length++] = CLOSE;
  }

  /** The members for an address; of a return address, with the line of the call. */
  #text(place: number, isIp: boolean): string {
    const symbol = this.#symbols.symbol(place);
    const { dso, name, offset } = symbol;
    const json = (text: string | undefined) => text === undefined ? "null" : JSON.stringify(text);
    const symoff = offset === undefined ? "null" : `"0x${offset.toString(16)}"`;
    let text = `"sym":${json(name)},"symoff":${symoff},"dso":${json(dso)}`;
    const { srcline, inlined } = isIp ? symbol : this.#symbols.caller(place);
    const where = (line: string | undefined) =>
      line === undefined ? "" : `,"srcline":${json(line)}`;
    text += where(srcline);
    if (inlined.length > 0) {
      const functions = inlined.map((frame) =>
        `{"sym":${json(frame.name)}${where(frame.srcline)}}`
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
