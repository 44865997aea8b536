import {
  PERF_RECORD_MISC_CPUMODE_MASK,
  PERF_RECORD_MISC_KERNEL,
} from "@perfdata/format/perf-event";
import type { TraceSymbol } from "@perfdata/format/tracepoint";
import type { Engine } from "@perfdata/session/engine";
import { ADDRESS_USE, PlaceUses } from "@perfdata/session/address-table";
import { type ByteText, TextPool } from "./byte_text.ts";
import { shortName } from "@perfdata/session/short-name";
import { lookUpPlaces, ShownNames } from "@perfdata/profile/look-up";
import { UNVERIFIED_MARK } from "@perfdata/profile/profile";
import type { SymbolTrust } from "@perfdata/session/symbolize";
import type { ResolvedFrame, SymbolResolver } from "@perfdata/symbols";

const encoder = new TextEncoder();

/** Which fields a line of a call chain has after its address. */
export interface FrameFields {
  /** The symbol. */
  readonly sym?: boolean;
  /** Its offset. */
  readonly symoff?: boolean;
  /** The object. */
  readonly dso?: boolean;
  /** The source line. */
  readonly srcline?: boolean;
}

/** The number that stands for no name. */
const UNKNOWN = -1;

/** What look-ups found, by place. */
interface Found {
  readonly trust: SymbolTrust;
  /** Names: numbers of `texts`, or {@linkcode UNKNOWN}. */
  readonly names: Int32Array;
  readonly texts: readonly string[];
  /** By place: 1 where a file that nothing verifies gives the name. */
  readonly unverified: Uint8Array;
  /** Where functions start. */
  readonly starts: Float64Array;
  /** What was inlined, innermost first. */
  readonly inlined: ReadonlyMap<number, readonly ResolvedFrame[]>;
  readonly lines: ReadonlyMap<number, string>;
}

/** What `perf script` prints of places. A text is made once, as bytes, and copied from then on. */
export class ScriptPlaces {
  /** How far names can be trusted. */
  readonly trust: SymbolTrust;
  readonly #engine: Engine;
  readonly #found: Found;
  readonly #dsos: string[] = [];
  readonly #shortNames: string[] = [];
  readonly #bases: { readonly hi: number; readonly lo: number }[] = [];
  readonly #pool = new TextPool();
  /** Texts of names and of objects, numbers of the pool; both begin with the unknown. */
  readonly #nameTexts: number[];
  readonly #dsoTexts: number[];

  private constructor(engine: Engine, found: Found) {
    this.#engine = engine;
    this.#found = found;
    this.trust = found.trust;
    // perf knows a module by the name under which it has heard of it first: from the table of build
    // ids, where that says that it is the kernel's, or from its mapping, which has the module's own.
    const listed = new Set(
      engine.recorded.known
        .filter(({ misc }) => (misc & PERF_RECORD_MISC_CPUMODE_MASK) === PERF_RECORD_MISC_KERNEL)
        .map(({ filename }) => filename),
    );
    for (const [number, object] of engine.places.objects.entries()) {
      const mapped = engine.places.mapped[number];
      const name = mapped?.name ?? object.path;
      const isKernel = mapped?.kernel === true;
      this.#shortNames.push(shortName({ name, kernel: isKernel }));
      this.#dsos.push(
        object.kind === "kernel" && name.startsWith("[")
          ? name.replace(/\].*$/, "]")
          : object.kind === "module" && isKernel && !listed.has(name)
          ? shortName({ name, kernel: true })
          : name,
      );
      // What has to be added to an address of the object to get the one that was recorded.
      const base = object.kind === "kernel"
        ? object.referenceAddress ?? 0
        : isKernel
        ? mapped?.start ?? 0
        : 0;
      const hi = Math.floor(base / 2 ** 32);
      this.#bases.push({ hi, lo: base - hi * 2 ** 32 });
    }
    // A name stays in its line.
    const pooled = (text: string) => this.#pool.add(encoder.encode(text.replaceAll("\n", "\\n")));
    this.#nameTexts = ["[unknown]", ...found.texts].map(pooled);
    this.#dsoTexts = ["[unknown]", ...this.#dsos].map((dso) => pooled(` (${dso})`));
  }

  /** Looks up all places of an engine. */
  static async of(
    engine: Engine,
    resolver: SymbolResolver,
    samples: Float64Array,
    wants: { readonly inline: boolean; readonly lines: boolean },
  ): Promise<ScriptPlaces> {
    const { places } = engine;
    const { count } = places;
    const uses = new PlaceUses();
    for (let place = 0; place < count; place++) {
      uses.use(place, ADDRESS_USE.CALLCHAIN, 0, 0);
      const own = samples[place] as number;
      if (own > 0) uses.use(place, ADDRESS_USE.IP, own, own);
    }
    const names = new Int32Array(count).fill(UNKNOWN);
    const starts = new Float64Array(count);
    const unverified = new Uint8Array(count);
    const inlined = new Map<number, readonly ResolvedFrame[]>();
    const lines = new Map<number, string>();
    const texts: string[] = [];
    const numbers = new Map<string, number>();
    const shown = new ShownNames(resolver.show);
    const trust = await lookUpPlaces(places, uses, resolver, (found) => {
      for (const [i, place] of found.places.entries()) {
        const { symbol, frames } = found.resolutions[i] ?? { symbol: undefined, frames: [] };
        const name = shown.of(found.resolutions[i]);
        if (symbol !== undefined && name !== undefined) {
          let number = numbers.get(name);
          if (number === undefined) numbers.set(name, number = texts.push(name) - 1);
          names[place] = number;
          unverified[place] = found.verified ? 0 : 1;
          starts[place] = symbol.start;
        }
        if (wants.inline && frames.length > 1) inlined.set(place, frames.slice(0, -1));
        const [line] = frames;
        if (wants.lines && line?.file !== undefined && line.line > 0) {
          lines.set(place, `${line.file.slice(line.file.lastIndexOf("/") + 1)}:${line.line}`);
        }
      }
    });
    return new ScriptPlaces(engine, { trust, names, texts, starts, unverified, inlined, lines });
  }

  /** Number of places. */
  get count(): number {
    return this.#found.names.length;
  }

  /** The object of a place, as text. */
  dso(place: number): string {
    return this.#dsos[this.#object(place)] ?? "[unknown]";
  }

  /** The short name of the object of a place, by which samples are chosen. */
  shortDso(place: number): string {
    return this.#shortNames[this.#object(place)] ?? "[unknown]";
  }

  /** The object of a place; -1 for none. */
  #object(place: number): number {
    return place < 0 ? -1 : Math.max(-1, this.#engine.places.object(place));
  }

  /** The name of the function of a place. */
  symbol(place: number): string {
    return this.#found.texts[this.#name(place)] ?? "[unknown]";
  }

  #name(place: number): number {
    return this.#found.names[place] ?? UNKNOWN;
  }

  /** The function of a place, for data that points to it. */
  function(place: number): TraceSymbol | undefined {
    const name = this.#found.texts[this.#name(place)];
    return name === undefined ? undefined : { name, distance: BigInt(this.#distance(place)) };
  }

  #distance(place: number): number {
    return this.#engine.places.address(place) - (this.#found.starts[place] as number);
  }

  /** Writes the name of a place, with the distance from its start where that is asked for. */
  putSymbol(text: ByteText, place: number, offset: boolean): void {
    const name = this.#name(place);
    text.pooled(this.#pool, this.#nameTexts[name + 1] as number);
    this.#putMark(text, place);
    if (offset && name !== UNKNOWN) this.#putOffset(text, place);
  }

  #putMark(text: ByteText, place: number): void {
    if (this.#found.unverified[place] === 1) text.string(UNVERIFIED_MARK);
  }

  #putOffset(text: ByteText, place: number): void {
    const distance = this.#distance(place);
    text.byte(0x2b);
    text.byte(0x30);
    text.byte(0x78);
    text.hex(Math.floor(distance / 2 ** 32), distance | 0);
  }

  /** Writes the object of a place, with a space before it and in brackets. */
  putDso(text: ByteText, place: number): void {
    text.pooled(this.#pool, this.#dsoTexts[this.#object(place) + 1] as number);
  }

  /** The address of a branch as `brstackoff` has it: of a file its offset, of the kernel the address. */
  branchOffset(place: number, address: bigint): bigint {
    const object = this.#object(place);
    if (object < 0 || this.#engine.places.mapped[object]?.kernel === true) return address;
    const { places } = this.#engine;
    return BigInt(places.hi(place) >>> 0) << 32n | BigInt(places.lo(place) >>> 0);
  }

  /** Names of what is inlined at a place, innermost first. */
  inlined(place: number): readonly ResolvedFrame[] {
    return this.#found.inlined.get(place) ?? NONE;
  }

  /** Writes the name of what is inlined at a place. */
  putInlined(text: ByteText, place: number, { name }: ResolvedFrame, offset: boolean): void {
    text.string(name);
    this.#putMark(text, place);
    if (offset && this.#name(place) !== UNKNOWN) this.#putOffset(text, place);
  }

  /** Writes what follows the address of a place: symbol, object, source line. */
  putAfterAddress(text: ByteText, place: number, { sym, symoff, dso, srcline }: FrameFields): void {
    if (sym === true) {
      text.byte(0x20);
      this.putSymbol(text, place, symoff === true);
    }
    if (dso === true) this.putDso(text, place);
    if (srcline === true) this.putLine(text, place);
  }

  /** Writes the source line of a place in a line of its own, where there is one. */
  putLine(text: ByteText, place: number): void {
    const line = this.line(place);
    if (line !== "") text.string(`\n  ${line}`);
  }

  /** File name and line of a place; where they are not known, object and address; else nothing. */
  line(place: number): string {
    const line = this.#found.lines.get(place);
    if (line !== undefined) return line;
    const object = this.#object(place);
    if (object < 0) return "";
    const { hi, lo } = this.#bases[object] as { hi: number; lo: number };
    const { places } = this.#engine;
    const low = (places.lo(place) >>> 0) + lo;
    const high = (places.hi(place) + hi + (low >= 2 ** 32 ? 1 : 0)) >>> 0;
    const address = BigInt(high) << 32n | BigInt(low >>> 0);
    return `${this.#shortNames[object]}[${address.toString(16)}]`;
  }

  /**
   * Writes the address of a place in a call chain, in hexadecimal: as its object counts in a process,
   * as it was recorded elsewhere.
   */
  putChainAddress(text: ByteText, place: number): void {
    const { places } = this.#engine;
    const base = this.#bases[places.object(place)];
    if (base === undefined) {
      text.hex16(places.hi(place), places.lo(place));
      return;
    }
    const lo = (places.lo(place) >>> 0) + base.lo;
    text.hex16(places.hi(place) + base.hi + (lo >= 2 ** 32 ? 1 : 0) | 0, lo | 0);
  }
}

const NONE: readonly ResolvedFrame[] = [];
