import type { SampleFields } from "@perfdata/format";
import type { BundledSymbol, BundledSymbols } from "@perfdata/session/symbols";
import { contextMode, isContextMarker } from "./context_marker.ts";
import { putAscii, putBytes, putHex16At } from "@perfdata/format/text-bytes";
import { putIndex } from "./address_lines.ts";

/** Most bytes of what is written of an address; what is longer ends with `…`. */
const LONGEST = 4096;
/** Room for the symbols of the longest call chain. */
export const SYMBOLS_ROOM: number = (LONGEST + 32) << 13;

/** Writes the symbols of a sample's addresses: what `dump --symbols` prints beyond `perf`. */
export class SymbolText {
  readonly #symbols: BundledSymbols;
  readonly #littleEndian: boolean;
  readonly #encoder = new TextEncoder();
  // By row: of call chains, of them the ip, and of the line of the ip.
  readonly #returns: (Uint8Array | undefined)[] = [];
  readonly #frames: (Uint8Array | undefined)[] = [];
  readonly #ips: (Uint8Array | undefined)[] = [];

  /** @param littleEndian Byte order of the records. */
  constructor(symbols: BundledSymbols, littleEndian: boolean) {
    this.#symbols = symbols;
    this.#littleEndian = littleEndian;
  }

  /**
   * Writes the lines of a call chain.
   *
   * @param thread Number of the sample's thread in the machine.
   * @param cpumode The CPU mode that the sample was taken in.
   * @param ip Where its ip is, or -1.
   */
  putChain(
    out: DataView,
    p: number,
    view: DataView,
    { callchain, callchainLength }: SampleFields,
    thread: number,
    cpumode: number,
    ip: number,
  ): number {
    const le = this.#littleEndian;
    const low = le ? 0 : 4;
    const high = 4 - low;
    let mode = cpumode;
    for (let i = 0; i < callchainLength; i++) {
      const at = callchain + 8 * i;
      const hi = view.getInt32(at + high, le);
      const lo = view.getInt32(at + low, le);
      p = putHex16At(out, putIndex(out, p, i), view, at, le);
      if (isContextMarker(hi, lo)) {
        mode = contextMode(lo);
      } else {
        const isIp = ip >= 0 && view.getInt32(ip + high, le) === hi &&
          view.getInt32(ip + low, le) === lo;
        const row = this.#symbols.row(thread, mode, hi, lo);
        const kept = isIp ? this.#frames : this.#returns;
        p = putBytes(out, p, kept[row] ??= this.#frame(row, isIp));
      }
      out.setUint8(p++, 0x0a);
    }
    return p;
  }

  /** Writes the line of the symbol at the ip. */
  putLine(
    out: DataView,
    p: number,
    view: DataView,
    thread: number,
    cpumode: number,
    ip: number,
  ): number {
    if (ip < 0) return p;
    const le = this.#littleEndian;
    const hi = view.getInt32(le ? ip + 4 : ip, le);
    const lo = view.getInt32(le ? ip : ip + 4, le);
    const row = this.#symbols.row(thread, cpumode, hi, lo);
    p = putAscii(out, p, " ...... sym: ");
    p = putBytes(out, p, this.#ips[row] ??= this.#line(row));
    out.setUint8(p++, 0x0a);
    return p;
  }

  #encode(text: string): Uint8Array {
    const whole = this.#encoder.encode(text);
    if (whole.length <= LONGEST) return whole;
    const end = this.#encoder.encode("…");
    const bytes = new Uint8Array(LONGEST);
    const { written } = this.#encoder.encodeInto(text, bytes.subarray(0, LONGEST - end.length));
    bytes.set(end, written);
    return bytes.subarray(0, written + end.length);
  }

  #line(row: number): Uint8Array {
    const symbol = this.#symbols.symbol(row);
    const { name } = symbol;
    return this.#encode(name === undefined ? "<not found>" : nameText(symbol) + placeText(symbol));
  }

  #frame(row: number, isIp: boolean): Uint8Array {
    const symbol = this.#symbols.symbol(row);
    if (symbol.name === undefined) return this.#encode("");
    const place = placeText(isIp ? symbol : this.#symbols.caller(row));
    return this.#encode(` ${nameText(symbol)} (${symbol.dso})${place}`);
  }
}

/** `main+0x27`. */
function nameText({ name, offset }: BundledSymbol): string {
  return offset === undefined ? `${name}` : `${name}+0x${offset.toString(16)}`;
}

/** ` main.c:12, inlined: mix mix.h:7`: the source line, and what is inlined, innermost first. */
function placeText({ srcline, inlined }: BundledSymbol): string {
  const place = (line: string | undefined) => line === undefined ? "" : ` ${line}`;
  const functions = inlined.map((frame) => `${frame.name}${place(frame.srcline)}`);
  return place(srcline) + (functions.length === 0 ? "" : `, inlined: ${functions.join(", ")}`);
}
