import { ByteText, intAt } from "@perfdata/format/bytes";
import { type Engine, type Run, TracepointJson } from "@perfdata/session";
import type { PlaceSymbol } from "@perfdata/session/symbols";
import { BLOCK } from "./records_bytes.ts";
import type { RecordChoice } from "./records_choice.ts";
import type { Members } from "./records_json.ts";

/** Names places of a recording: `BundlePlaceSymbols` immediately, `FilePlaceSymbols` later. */
export interface RecordSymbols {
  /** Sets the engine of the places. */
  start(engine: Engine): void;
  /** The symbol of a place. */
  symbol(place: number): PlaceSymbol;
  /** The symbol of the byte before a place. */
  caller(place: number): PlaceSymbol;
  /** Adds a place to the next look-up by `learn`. */
  want?(place: number, isCaller: boolean): void;
  /** Looks up the added places. */
  learn?(): Promise<void>;
}

/** Places of a sample's addresses. */
interface SamplePlaces {
  /** Place of `ip`; -1 if there is none. */
  readonly own: number;
  /** Places of the call chain in `[first, end)`; -1 for markers. */
  readonly chain: Int32Array | undefined;
  readonly first: number;
  readonly end: number;
  /** Index from which addresses are not return addresses. */
  readonly exact: number;
}

/** A line that waits for a sample's symbols. */
interface Waiting {
  readonly start: number;
  readonly at: number;
  readonly places: SamplePlaces;
  /** Members of a line that is not written yet. */
  readonly members: Members | undefined;
}

const encoder = new TextEncoder();
const MARKER = encoder.encode("null");
const COMMA = 0x2c;
const CLOSE = 0x5d;

/** The members that {@linkcode RecordMore} adds, and the style of lines. */
export interface MoreOptions {
  /** Whether samples get the name of their thread, which needs the machine's state. */
  readonly comm: boolean;
  /** Whether samples of tracepoints get their fields. */
  readonly fields: boolean;
  /** Names of addresses. */
  readonly symbols: RecordSymbols | undefined;
  /** Whether whole stacks replace call chains. */
  readonly joined: boolean;
  /** Whether lines are CSV rows, which have the members in their last cell. */
  readonly isCsv: boolean;
  /** The filter by function. */
  readonly choice: RecordChoice | undefined;
}

/**
 * Writes the members of a line that are not in the sample: the fields of a tracepoint, the thread's
 * name, and the symbols of its addresses. If symbols are looked up in files, the lines of a batch
 * wait until all symbols of the batch are looked up.
 */
export class RecordMore {
  readonly #symbols: RecordSymbols | undefined;
  readonly #joined: boolean;
  readonly #choice: RecordChoice | undefined;
  #engine: Engine | undefined;
  /** Returns the thread name with a number. */
  #nameOf: (comm: number) => string = () => "";
  readonly #comms: (Uint8Array | undefined)[] = [];
  // Cached texts of places: for an ip or exact address, and for a return address.
  readonly #ips: (Uint8Array | undefined)[] = [];
  readonly #frames: (Uint8Array | undefined)[] = [];
  readonly #returns: (Uint8Array | undefined)[] = [];
  readonly #isCsv: boolean;
  readonly #withComm: boolean;
  readonly #withFields: boolean;
  #fields: TracepointJson | undefined;
  readonly #commName: Uint8Array;
  readonly #chain: Uint8Array;
  readonly #end: Uint8Array;
  #waiting: Waiting[] = [];
  #spare: ByteText | undefined;

  constructor({ comm, fields, symbols, joined, isCsv, choice }: MoreOptions) {
    this.#withComm = comm;
    this.#withFields = fields;
    this.#isCsv = isCsv;
    this.#commName = this.#styled(',"comm":');
    this.#chain = this.#styled(',"callchain_symbols":[');
    this.#end = encoder.encode(isCsv ? '}"\r\n' : "}\n");
    this.#symbols = symbols;
    this.#joined = joined;
    this.#choice = choice;
  }

  /** Name of the first member that is added to an event's samples; `undefined` if none is added. */
  firstOf(event: number): "fields" | "comm" | undefined {
    if (this.#fields?.has(event) === true) return "fields";
    return this.#withComm ? "comm" : undefined;
  }

  /** The count of tracepoint samples whose raw data is shorter than their fields. */
  get cut(): number {
    return this.#fields?.damaged ?? 0;
  }

  /**
   * Whether lines wait for symbols, so that text must not be written before
   * {@link RecordMore.settle}.
   */
  get waits(): boolean {
    return this.#symbols?.learn !== undefined;
  }

  /** Whether lines are filtered by {@link RecordMore.settle}, once their symbols are known. */
  get chooses(): boolean {
    return this.waits && this.#choice?.bySymbol === true;
  }

  /** Whether the function at a place passes the filter. */
  isFunction(place: number): boolean {
    const symbols = this.#symbols;
    return symbols === undefined || this.#choice === undefined ||
      this.#choice.isFunction(place, (at) => symbols.symbol(at));
  }

  async start(engine: Engine): Promise<void> {
    this.#engine = engine;
    this.#nameOf = (comm) => engine.names.text(comm);
    this.#symbols?.start(engine);
    if (this.#withFields) this.#fields = await TracepointJson.open(engine);
  }

  /** Reads the formats of tracepoints that arrived in a stream. */
  async described(): Promise<void> {
    await this.#fields?.learn();
  }

  #styled(json: string): Uint8Array {
    return encoder.encode(this.#isCsv ? json.replaceAll('"', '""') : json);
  }

  /**
   * Writes a sample's members and the end of its line, or lets the line wait. The line ends with
   * the name of the first member: see {@link RecordMore.firstOf}.
   *
   * @param start Start of the line.
   */
  put(out: ByteText, run: Run, row: number, start: number): void {
    const hasFields = this.#fields?.has(intAt(run.event, row)) === true;
    if (hasFields) out.bytes(this.#styled(this.#fields?.of(run, row) ?? "null"));
    if (this.#withComm) {
      if (hasFields) out.bytes(this.#commName);
      out.bytes(this.#comm(intAt(run.comm, row)));
    }
    if (this.#symbols !== undefined && intAt(run.thread, row) >= 0) {
      const places = this.#placesOf(run, row);
      if (this.waits) this.#wait(out, places, start, undefined);
      else this.#putNames(out, places);
    }
    out.bytes(this.#end);
  }

  /**
   * Adds the members of a sample.
   *
   * @returns False if the line waits, and must not be written yet.
   */
  add(out: ByteText, members: Members, run: Run, row: number): boolean {
    if (this.#fields?.has(intAt(run.event, row)) === true) {
      members.push(["fields", this.#fields.of(run, row) ?? "null"]);
    }
    if (this.#withComm) members.push(["comm", this.#commJson(intAt(run.comm, row))]);
    if (this.#symbols === undefined || intAt(run.thread, row) < 0) return true;
    const places = this.#placesOf(run, row);
    if (this.waits) this.#wait(out, places, out.length, members);
    else members.push(...this.#named(places));
    return !this.waits;
  }

  /**
   * Looks up the symbols that lines wait for, and writes all text except lines that fail the
   * filter.
   *
   * @param lineOf Formats a line of members.
   * @param most Limit of the lines that pass.
   * @returns Number of the lines that pass.
   */
  async settle(
    out: ByteText,
    lineOf: (members: Members) => string,
    write: (block: Uint8Array) => void,
    most: number,
  ): Promise<number> {
    await this.#symbols?.learn?.();
    const lines = out.lend();
    const text = this.#spare ??= new ByteText();
    let from = 0, chosen = 0;
    for (const { start, at, places, members } of this.#waiting) {
      if (this.chooses && (chosen >= most || !this.isFunction(places.own))) {
        text.part(lines, from, start);
        from = members === undefined ? at + this.#end.length : at;
        continue;
      }
      chosen++;
      text.part(lines, from, at);
      from = at;
      if (members === undefined) this.#putNames(text, places);
      else text.string(lineOf([...members, ...this.#named(places)]));
      if (text.length < BLOCK) continue;
      write(text.lend());
    }
    text.part(lines, from, lines.length);
    if (text.length > 0) write(text.lend());
    this.#waiting = [];
    return chosen;
  }

  #commJson(comm: number): string {
    return comm < 0 ? "null" : JSON.stringify(this.#nameOf(comm));
  }

  #comm(comm: number): Uint8Array {
    if (comm < 0) return MARKER;
    return this.#comms[comm] ??= this.#styled(this.#commJson(comm));
  }

  #placesOf(run: Run, row: number): SamplePlaces {
    const event = this.#engine?.reader.events.all[intAt(run.event, row)];
    const ip = event?.layout.ip ?? -1;
    const hasChain = this.#joined || event?.hasChain === true;
    return {
      own: ip < 0 ? -1 : intAt(run.place, row),
      chain: hasChain ? run.chains : undefined,
      first: intAt(run.chainStart, row),
      end: intAt(run.chainStart, row + 1),
      exact: this.#joined ? intAt(run.chainExact, row) : Infinity,
    };
  }

  /** Adds a waiting line. The places are copied, since the `Run` is reused. */
  #wait(
    out: ByteText,
    places: SamplePlaces,
    start: number,
    members: Members | undefined,
  ): void {
    const { own, chain, first, end, exact } = places;
    const symbols = this.#symbols;
    symbols?.want?.(own, false);
    for (let i = first; chain !== undefined && i < end; i++) {
      const place = intAt(chain, i);
      symbols?.want?.(place, false);
      if (place !== own && i < exact) symbols?.want?.(place, true);
    }
    this.#waiting.push({
      start,
      at: out.length,
      members,
      places: {
        own,
        chain: chain?.slice(first, end),
        first: 0,
        end: end - first,
        exact: exact - first,
      },
    });
  }

  #named({ own, chain, first, end, exact }: SamplePlaces): Members {
    const members = own < 0 ? [] : this.#members(own, true);
    if (chain === undefined) return members;
    const frames: string[] = [];
    for (let i = first; i < end; i++) {
      const place = intAt(chain, i);
      const isExact = place === own || i >= exact;
      frames.push(place < 0 ? "null" : `{${jsonMembers(this.#members(place, isExact))}}`);
    }
    return [...members, ["callchain_symbols", `[${frames.join(",")}]`]];
  }

  #putNames(out: ByteText, { own, chain, first, end, exact }: SamplePlaces): void {
    if (own >= 0) {
      out.bytes(this.#ips[own] ??= this.#styled(`,${jsonMembers(this.#members(own, true))}`));
    }
    if (chain === undefined) return;
    out.bytes(this.#chain);
    for (let i = first; i < end; i++) {
      const place = intAt(chain, i);
      let text: Uint8Array = MARKER;
      if (place >= 0) {
        const isExact = place === own || i >= exact;
        const kept = isExact ? this.#frames : this.#returns;
        text = kept[place] ??= this.#styled(`{${jsonMembers(this.#members(place, isExact))}}`);
      }
      out.bytes(text);
      out.byte(COMMA);
    }
    if (end > first) out.length--;
    out.byte(CLOSE);
  }

  /** The members of an address; for a return address, with the line of the call. */
  #members(place: number, isExact: boolean): Members {
    const symbols = this.#symbols as RecordSymbols;
    const symbol = symbols.symbol(place);
    const { dso, name, offset, verified } = symbol;
    const { srcline, inlined } = isExact ? symbol : symbols.caller(place);
    const members: Members = [
      ["sym", jsonOf(name)],
      ["symoff", offset === undefined ? "null" : `"0x${offset.toString(16)}"`],
      ["dso", jsonOf(dso)],
    ];
    if (!verified) members.push(["verified", "false"]);
    if (srcline !== undefined) members.push(["srcline", jsonOf(srcline)]);
    if (inlined.length > 0) {
      const functions = inlined.map(({ name, srcline }) => {
        const line: Members = srcline === undefined ? [] : [["srcline", jsonOf(srcline)]];
        return `{${jsonMembers([["sym", jsonOf(name)], ...line])}}`;
      });
      members.push(["inlined", `[${functions.join(",")}]`]);
    }
    return members;
  }
}

function jsonOf(text: string | undefined): string {
  return text === undefined ? "null" : JSON.stringify(text);
}

function jsonMembers(members: Members): string {
  return members.map(([name, json]) => `"${name}":${json}`).join(",");
}
