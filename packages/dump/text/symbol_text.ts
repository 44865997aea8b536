import { intAt, piece, putBytes, putHex16At } from "@perfdata/format/bytes";
import type { SampleFields } from "@perfdata/format/records";
import type { Run } from "@perfdata/session";
import type { BundlePlaceSymbols, PlaceSymbol } from "@perfdata/session/symbols";
import { putIndex } from "./sample_text.ts";

/** Limit of an address's text; longer text ends with `…`. */
const LONGEST = 4096;
/** Room for the symbols of the longest call chain. */
export const SYMBOLS_ROOM: number = (LONGEST + 32) << 13;

const LINE = piece(" ...... sym: ");

/**
 * Writes the symbols of a sample's addresses, which `dump --symbols` prints in addition to `perf`.
 */
export class SymbolText {
  readonly #symbols: BundlePlaceSymbols;
  readonly #littleEndian: boolean;
  readonly #encoder = new TextEncoder();
  // Cached texts of places: for return addresses, for exact addresses in chains, and for the ip's
  // line.
  readonly #returns: (Uint8Array | undefined)[] = [];
  readonly #frames: (Uint8Array | undefined)[] = [];
  readonly #ips: (Uint8Array | undefined)[] = [];
  #run: Run | undefined;
  #row = 0;

  /** @param littleEndian Byte order of the records. */
  constructor(symbols: BundlePlaceSymbols, littleEndian: boolean) {
    this.#symbols = symbols;
    this.#littleEndian = littleEndian;
  }

  /** Selects the next sample, whose places and call chain are in a row of the `Run`. */
  select(run: Run, row: number): void {
    this.#run = run;
    this.#row = row;
  }

  /** Writes the selected sample's call chain. */
  readonly putChain = (out: DataView, p: number, fields: SampleFields): number => {
    const run = this.#run as Run;
    const row = this.#row;
    const { view } = run.at(row);
    const { callchain, callchainLength } = fields;
    const le = this.#littleEndian;
    const first = intAt(run.chainStart, row);
    const ip = intAt(run.place, row);
    for (let i = 0; i < callchainLength; i++) {
      p = putHex16At(out, putIndex(out, p, i), view, callchain + 8 * i, le);
      const place = intAt(run.chains, first + i);
      if (place >= 0) {
        const kept = place === ip ? this.#frames : this.#returns;
        p = putBytes(out, p, kept[place] ??= this.#frame(place, place === ip));
      }
      out.setUint8(p++, 0x0a);
    }
    return p;
  };

  /** Writes the line of the symbol at the selected sample's ip. */
  putLine(out: DataView, p: number): number {
    const place = this.#run?.place[this.#row] as number;
    if (place < 0) return p;
    p = putBytes(out, LINE.put(out, p), this.#ips[place] ??= this.#line(place));
    out.setUint8(p, 0x0a);
    return p + 1;
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

  #line(place: number): Uint8Array {
    const symbol = this.#symbols.symbol(place);
    const { name } = symbol;
    return this.#encode(name === undefined ? "<not found>" : nameText(symbol) + placeText(symbol));
  }

  #frame(place: number, isIp: boolean): Uint8Array {
    const symbol = this.#symbols.symbol(place);
    if (symbol.name === undefined) return this.#encode("");
    const where = placeText(isIp ? symbol : this.#symbols.caller(place));
    return this.#encode(` ${nameText(symbol)} (${symbol.dso})${where}`);
  }
}

/** Formats `main+0x27`. */
function nameText({ name = "", offset }: PlaceSymbol): string {
  return offset === undefined ? name : `${name}+0x${offset.toString(16)}`;
}

/**
 * Formats ` main.c:12, inlined: mix mix.h:7`: the source line, and inlined functions, innermost
 * first.
 */
function placeText({ srcline, inlined }: PlaceSymbol): string {
  const where = (line: string | undefined) => line === undefined ? "" : ` ${line}`;
  const functions = inlined.map((frame) => `${frame.name}${where(frame.srcline)}`);
  return where(srcline) + (functions.length === 0 ? "" : `, inlined: ${functions.join(", ")}`);
}
