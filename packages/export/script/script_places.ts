import { type ByteText, enlarge, numberAt, TextPool } from "@perfdata/format/bytes";
import { PERF_RECORD_MISC_CPUMODE_MASK, PERF_RECORD_MISC_KERNEL } from "@perfdata/format/constants";
import type { TraceSymbol } from "@perfdata/format/tracepoint";
import {
  ADDRESS_USE,
  type Engine,
  type JoinedNumbers,
  type OutcomesPart,
  PlaceLookUps,
  PlaceUses,
  shortName,
  ShownNames,
  type SymbolTrust,
  withoutReferenceSymbol,
} from "@perfdata/session";
import { CodeNames } from "@perfdata/profile";
import type { SymbolObject } from "@perfdata/symbols/resolver";
import type { SymbolResolver } from "@perfdata/symbols";

const encoder = new TextEncoder();

/** Fields after the address in a line of a call chain. */
export interface FrameFields {
  /** Symbol. */
  readonly sym?: boolean;
  /** Offset in the symbol. */
  readonly symoff?: boolean;
  /** Object. */
  readonly dso?: boolean;
  /** Source line. */
  readonly srcline?: boolean;
}

/** Data to look up besides names. */
export interface PlaceWants {
  /** Inlined functions. */
  readonly inline: boolean;
  /** Source lines. */
  readonly lines: boolean;
}

/**
 * Text of `perf script` for places, which are looked up when they occur. Each text is encoded once,
 * and copied afterwards.
 */
export class ScriptPlaces {
  readonly #engine: Engine;
  readonly #lookUps: PlaceLookUps;
  readonly #names: CodeNames;
  readonly #wants: PlaceWants;
  /** Index of each place's function, plus one; 0 without a name. */
  #functions = new Int32Array(1 << 10);
  /** Displayed names by index of the function. */
  readonly #texts: (string | undefined)[] = [];
  readonly #dsos: string[] = [];
  readonly #shortNames: string[] = [];
  readonly #bases: { readonly hi: number; readonly lo: number }[] = [];
  readonly #pool = new TextPool();
  /**
   * Indices in the pool of the names and objects, by index of the function or object plus one; the
   * first one is "[unknown]".
   */
  readonly #nameTexts: number[] = [this.#pooled("[unknown]")];
  readonly #dsoTexts: number[] = [this.#pooled(" ([unknown])")];
  readonly #listed: ReadonlySet<string>;

  /** Creates an empty cache. */
  constructor(engine: Engine, resolver: SymbolResolver, wants: PlaceWants) {
    this.#engine = engine;
    this.#listed = new Set(
      engine.recorded.known
        .filter(({ misc }) => (misc & PERF_RECORD_MISC_CPUMODE_MASK) === PERF_RECORD_MISC_KERNEL)
        .map(({ filename }) => filename),
    );
    this.#wants = wants;
    const names = this.#names = new CodeNames(engine.places);
    const shown = new ShownNames(resolver.show);
    this.#lookUps = new PlaceLookUps(engine.places, resolver, (found) => {
      names.add(found);
      const { table } = names;
      for (const place of found.places) {
        const number = table.functionOf(names.frame(place, names.frameCount(place) - 1));
        const name = table.name(number);
        if (name === "") continue;
        this.#functions[place] = number + 1;
        if (this.#texts[number] !== undefined) continue;
        const text = table.symbols[number] === undefined ? name : shown.name(name);
        this.#texts[number] = text;
        this.#nameTexts[number + 1] = this.#pooled(text);
      }
    });
  }

  /** Looks up the places that are new since the last call. */
  async learn(): Promise<void> {
    const { count } = this;
    if (count > this.#functions.length) this.#functions = enlarge(this.#functions, count);
    await this.#lookUps.next();
    const { objects } = this.#engine.places;
    for (let i = this.#dsos.length; i < objects.length; i++) this.#addObject(i);
  }

  /** Results of look-ups, for another thread. */
  part(): OutcomesPart {
    return this.#lookUps.part();
  }

  /** Adds the results of another thread, whose names are not printed here. */
  join(part: OutcomesPart, { place, objects }: JoinedNumbers): void {
    this.#lookUps.join(part, place, objects);
  }

  /**
   * Trust in the names.
   *
   * @param samples Number of samples taken at each place.
   */
  trust(samples: Float64Array): SymbolTrust {
    const uses = new PlaceUses();
    for (let place = 0; place < this.count; place++) {
      uses.use(place, ADDRESS_USE.CALLCHAIN, 0, 0);
      const own = samples[place] ?? 0;
      if (own > 0) uses.use(place, ADDRESS_USE.IP, own, own);
    }
    return this.#lookUps.trust(this.#engine.places, uses);
  }

  #addObject(number: number): void {
    const { places } = this.#engine;
    const object = places.objects[number] as SymbolObject;
    const mapped = places.mapped[number];
    const name = mapped?.name ?? object.path;
    const isKernel = mapped?.kernel === true;
    this.#shortNames.push(shortName({ name, kernel: isKernel }));
    // perf knows a module by the first name that it reads: from the build-id table, if that marks
    // it as the kernel's, or from its mapping.
    const dso = object.kind === "kernel" && name.startsWith("[")
      ? withoutReferenceSymbol(name)
      : object.kind === "module" && isKernel && !this.#listed.has(name)
      ? shortName({ name, kernel: true })
      : name;
    this.#dsos.push(dso);
    this.#dsoTexts.push(this.#pooled(` (${dso})`));
    // Number added to the object's address to get the recorded one.
    const base = object.kind === "kernel"
      ? object.referenceAddress ?? 0
      : isKernel
      ? mapped?.start ?? 0
      : 0;
    const hi = Math.floor(base / 2 ** 32);
    this.#bases.push({ hi, lo: base - hi * 2 ** 32 });
  }

  /** Newlines in names are escaped. */
  #pooled(text: string): number {
    return this.#pool.add(encoder.encode(text.replaceAll("\n", "\\n")));
  }

  /** Number of places. */
  get count(): number {
    return this.#engine.places.count;
  }

  /** Display name of a place's object. */
  dso(place: number): string {
    return this.#dsos[this.#object(place)] ?? "[unknown]";
  }

  /** Short name of a place's object, by which samples are filtered. */
  shortDso(place: number): string {
    return this.#shortNames[this.#object(place)] ?? "[unknown]";
  }

  /** The object of a place; -1 if there is none. */
  #object(place: number): number {
    return place < 0 ? -1 : Math.max(-1, this.#engine.places.object(place));
  }

  /** Name of the function at a place. */
  symbol(place: number): string {
    return this.#texts[this.#function(place)] ?? "[unknown]";
  }

  /** Index of the function at a place; -1 if it is unknown. */
  #function(place: number): number {
    return (this.#functions[place] ?? 0) - 1;
  }

  /** Distance of a place from the start of its symbol; `undefined` without a symbol. */
  #distance(place: number): number | undefined {
    const symbol = this.#names.table.symbols[this.#function(place)];
    return symbol && this.#engine.places.address(place) - symbol.start;
  }

  /** The function at a place, for data that points to it. */
  function(place: number): TraceSymbol | undefined {
    const name = this.#texts[this.#function(place)];
    return name === undefined ? undefined : { name, distance: BigInt(this.#distance(place) ?? 0) };
  }

  /** Range of the function at a place, as addresses in the object. */
  functionRange(place: number): { readonly start: number; readonly end: number } | undefined {
    return place < 0 ? undefined : this.#names.table.symbols[this.#function(place)];
  }

  /** Writes the name of a place, optionally with the offset. */
  putSymbol(text: ByteText, place: number, offset: boolean): void {
    text.pooled(this.#pool, numberAt(this.#nameTexts, this.#function(place) + 1));
    if (offset) this.#putOffset(text, place);
  }

  #putOffset(text: ByteText, place: number): void {
    const distance = this.#distance(place);
    if (distance === undefined) return;
    text.byte(0x2b);
    text.byte(0x30);
    text.byte(0x78);
    text.hex(Math.floor(distance / 2 ** 32), distance | 0);
  }

  /** Writes the object of a place, after a space and in brackets. */
  putDso(text: ByteText, place: number): void {
    text.pooled(this.#pool, this.#dsoTexts[this.#object(place) + 1] as number);
  }

  /** The address of a branch for `brstackoff`: the offset in a file, the address in the kernel. */
  branchOffset(place: number, address: bigint): bigint {
    const object = this.#object(place);
    if (object < 0 || this.#engine.places.mapped[object]?.kernel === true) return address;
    const { places } = this.#engine;
    return BigInt(places.hi(place) >>> 0) << 32n | BigInt(places.lo(place) >>> 0);
  }

  /** The functions inlined at a place, innermost first. */
  inlined(place: number): readonly string[] {
    const names = this.#names;
    const count = this.#wants.inline ? names.frameCount(place) - 1 : 0;
    if (count <= 0) return NONE;
    const { table } = names;
    return Array.from(
      { length: count },
      (_, i) => table.name(table.functionOf(names.frame(place, i))) || "??",
    );
  }

  /** Writes the name of a function inlined at a place. */
  putInlined(text: ByteText, place: number, name: string, offset: boolean): void {
    text.string(name);
    if (offset) this.#putOffset(text, place);
  }

  /** Writes the fields after the address of a place: symbol, object, source line. */
  putAfterAddress(text: ByteText, place: number, { sym, symoff, dso, srcline }: FrameFields): void {
    if (sym === true) {
      text.byte(0x20);
      this.putSymbol(text, place, symoff === true);
    }
    if (dso === true) this.putDso(text, place);
    if (srcline === true) this.putLine(text, place);
  }

  /** Writes the source line of a place on its own line, if it is known. */
  putLine(text: ByteText, place: number): void {
    const line = this.line(place);
    if (line !== "") text.string(`\n  ${line}`);
  }

  /** File name and line of a place; if unknown, object and address; otherwise empty. */
  line(place: number): string {
    const names = this.#names;
    if (this.#wants.lines && names.frameCount(place) > 0) {
      const innermost = names.frame(place, 0);
      const file = names.table.file(innermost);
      const line = names.table.line(innermost);
      if (file !== undefined && line > 0) return `${file.slice(file.lastIndexOf("/") + 1)}:${line}`;
    }
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
   * Writes the address of a place in a call chain in hexadecimal: the object's address for a
   * process, otherwise the recorded one.
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

const NONE: readonly string[] = [];
