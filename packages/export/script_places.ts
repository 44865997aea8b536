import type { Engine } from "@perfdata/session/engine";
import { ADDRESS_USE, PlaceUses } from "@perfdata/session/address-table";
import { ByteText } from "./byte_text.ts";
import { shortName } from "@perfdata/session/short-name";
import { type SymbolTrust, symbolTrust } from "@perfdata/session/symbolize";
import type { ResolvedFrame, SymbolResolver } from "@perfdata/symbols";

/** What `perf script` prints of places. */
export class ScriptPlaces {
  /** How far names can be trusted. */
  readonly trust: SymbolTrust;
  readonly #engine: Engine;
  /** Symbol of each place as text, with where it starts; and what was inlined, innermost first. */
  readonly #names: (string | undefined)[];
  readonly #starts: Float64Array;
  readonly #inlined: ReadonlyMap<number, readonly ResolvedFrame[]>;
  readonly #lines: ReadonlyMap<number, string>;
  readonly #dsos: string[] = [];
  readonly #shortNames: string[] = [];
  readonly #bases: { readonly hi: number; readonly lo: number }[] = [];

  private constructor(
    engine: Engine,
    trust: SymbolTrust,
    names: (string | undefined)[],
    starts: Float64Array,
    inlined: ReadonlyMap<number, readonly ResolvedFrame[]>,
    lines: ReadonlyMap<number, string>,
  ) {
    this.#engine = engine;
    this.trust = trust;
    this.#names = names;
    this.#starts = starts;
    this.#inlined = inlined;
    this.#lines = lines;
    for (const [number, object] of engine.places.objects.entries()) {
      const mapped = engine.places.mapped[number];
      const name = mapped?.name ?? object.path;
      const isKernel = mapped?.kernel === true;
      this.#shortNames.push(shortName({ name, kernel: isKernel }));
      this.#dsos.push(
        object.kind === "kernel" && name.startsWith("[") ? name.replace(/\].*$/, "]") : name,
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
    const table = uses.table(places);
    const names: (string | undefined)[] = new Array(count);
    const starts = new Float64Array(count);
    const inlined = new Map<number, readonly ResolvedFrame[]>();
    const lines = new Map<number, string>();
    const shown = new Map<string, string>();
    const trust = await symbolTrust({ objects: places.objects, table }, resolver, (symbolized) => {
      const { rows, resolutions } = symbolized;
      for (let i = 0; i < rows.length; i++) {
        const { symbol, frames } = resolutions[i] ?? { symbol: undefined, frames: [] };
        const place = rows[i] as number;
        if (symbol !== undefined) {
          let name = shown.get(symbol.name);
          if (name === undefined) shown.set(symbol.name, name = resolver.show(symbol.name));
          names[place] = name;
          starts[place] = symbol.start;
        }
        if (wants.inline && frames.length > 1) inlined.set(place, frames.slice(0, -1));
        const [line] = frames;
        if (wants.lines && line?.file !== undefined && line.line > 0) {
          lines.set(place, `${line.file.slice(line.file.lastIndexOf("/") + 1)}:${line.line}`);
        }
      }
    });
    return new ScriptPlaces(engine, trust, names, starts, inlined, lines);
  }

  /** The object of a place, as text. */
  dso(place: number): string {
    const object = this.#engine.places.object(place);
    return object < 0 ? "[unknown]" : this.#dsos[object] as string;
  }

  /** The short name of the object of a place, by which samples are chosen. */
  shortDso(place: number): string {
    return this.#shortNames[this.#engine.places.object(place)] ?? "[unknown]";
  }

  /** The symbol of a place, with the distance from its start where that is asked for. */
  symbol(place: number, offset: boolean): string {
    const name = this.#names[place];
    if (name === undefined) return "[unknown]";
    return offset ? name + this.#offset(place) : name;
  }

  #offset(place: number): string {
    const distance = this.#engine.places.address(place) - (this.#starts[place] as number);
    return `+0x${distance.toString(16)}`;
  }

  /** Whether a place has a symbol. */
  isNamed(place: number): boolean {
    return this.#names[place] !== undefined;
  }

  /** Names of what is inlined at a place, innermost first. */
  inlined(place: number, offset: boolean): string[] {
    const frames = this.#inlined.get(place) ?? [];
    return frames.map(({ name }) =>
      offset && this.isNamed(place) ? name + this.#offset(place) : name
    );
  }

  /** File name and line of a place; where they are not known, object and address; else nothing. */
  line(place: number): string {
    const line = this.#lines.get(place);
    if (line !== undefined) return line;
    const object = this.#engine.places.object(place);
    return object < 0 ? "" : `${this.#shortNames[object]}[${this.#hex(place)}]`;
  }

  #hex(place: number): string {
    const text = new ByteText();
    this.putChainAddress(text, place);
    return new TextDecoder().decode(text.take()).trim();
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
