import { KERNEL_HIDDEN, PlaceLookUps, ShownNames, withoutReferenceSymbol } from "@perfdata/session";
import {
  type Resolution,
  type SymbolObject,
  UNRESOLVED_CAUSES,
  type UnresolvedCause,
  UNVERIFIED_MARK,
} from "@perfdata/symbols/resolver";
import type { SymbolResolver } from "@perfdata/symbols";
import { visible } from "@perfdata/format/bytes";
import type { PtCode } from "./pt_code.ts";
import type { TimeOrigin } from "../decode/pt_time.ts";

/** A function of a trace. */
export interface PtFunction {
  /** Its name; `[unknown]` for code without a name. */
  readonly name: string;
  /** Path of the object. */
  readonly object: string;
  /** `false` if the name comes from an unverified file: no build id was recorded. */
  readonly verified?: false;
}

/** Names of the places of a trace, looked up in blocks. */
export class PtNames {
  /** Function of each place. */
  readonly names: string[] = [];
  /** Name of each place in tables for people: with a mark if the name is unverified. */
  readonly labels: string[] = [];
  /** Symbol of each place, as in perf; `undefined` without a symbol. */
  readonly symbols: (string | undefined)[] = [];
  /** Distance of each place from the start of its function; -1 without a function. */
  readonly offsets: number[] = [];
  /** End of the symbol of each place in its object; -1 without a symbol. */
  readonly ends: number[] = [];
  /**
   * Index of the function of each place. Functions of the same name and object have one number.
   */
  readonly functions: number[] = [];
  /** Name and object of each function. */
  readonly functionNames: PtFunction[] = [];
  /** Reasons why places have no function. */
  readonly #causes: (UnresolvedCause | undefined)[] = [];
  /** Path of the object of each place whose name comes from an unverified file. */
  readonly #unverified: (string | undefined)[] = [];
  /** 1 for each place that was executed; undefined if all were. */
  #met: Uint8Array | undefined;
  readonly #code: PtCode;
  readonly #shown: ShownNames;
  readonly #lookUps: PlaceLookUps;
  /** Results for new places, by their distance from the first of them. */
  #found: ([Resolution, boolean] | undefined)[] = [];
  readonly #described: string[] = [];
  readonly #json: string[] = [];
  readonly #lines = new Map<number, string>();
  readonly #numbers = new Map<string, number>();
  readonly #perfObjects = new Map<number, string>();

  /** Prepares to name the places of a trace's code. */
  constructor(code: PtCode, resolver: SymbolResolver) {
    this.#code = code;
    this.#shown = new ShownNames(resolver.show);
    this.#lookUps = new PlaceLookUps(
      code.places,
      resolver,
      ({ places, resolutions, verified }) => {
        const from = this.names.length;
        places.forEach((place, i) => {
          this.#found[place - from] = [resolutions[i] as Resolution, verified];
        });
      },
    );
  }

  /** Origin of the trace's times. */
  get origin(): TimeOrigin {
    return this.#code.origin;
  }

  /** Looks up the places that were added since the last call. */
  async resolve(): Promise<void> {
    const { places } = this.#code;
    const from = this.names.length;
    const { count } = places;
    if (from === count) return;
    await this.#lookUps.next();
    for (let place = from; place < count; place++) {
      const number = places.object(place);
      const path = places.objects[number]?.path;
      if (path === undefined) {
        const cause = number === KERNEL_HIDDEN ? "kallsyms restricted" : "unmapped";
        this.#set(place, undefined, "[unknown]", true, cause);
        continue;
      }
      const [found, verified] = this.#found[place - from] ?? [undefined, true];
      this.#set(place, found, path, verified, found?.cause);
    }
    this.#found = [];
  }

  #set(
    place: number,
    resolution: Resolution | undefined,
    object: string,
    verified: boolean,
    cause: UnresolvedCause | undefined,
  ): void {
    const frame = resolution?.frames.at(-1);
    const address = this.#code.places.address(place);
    const known = frame !== undefined;
    const name = frame?.name ?? `0x${hex(address)}`;
    this.names[place] = name;
    // A place without a name is never unverified.
    const isUnverified = !verified && (known || resolution?.symbol !== undefined);
    this.labels[place] = isUnverified && known ? name + UNVERIFIED_MARK : name;
    this.#unverified[place] = isUnverified ? object : undefined;
    const symbol = resolution?.symbol;
    this.symbols[place] = this.#shown.of(resolution);
    const start = symbol?.start;
    this.offsets[place] = start === undefined ? -1 : address - start;
    this.ends[place] = symbol?.end ?? -1;
    const inner = resolution?.frames[0];
    if (inner?.file !== undefined && inner.line > 0) {
      this.#lines.set(place, `${inner.file}:${inner.line}`);
    }
    this.#causes[place] = known ? undefined : cause;
    const function_ = known ? name : "[unknown]";
    const key = `${object}\0${function_}\0${isUnverified}`;
    let number = this.#numbers.get(key);
    if (number === undefined) {
      const marked = isUnverified ? { verified: false } as const : {};
      number = this.functionNames.push({ name: function_, object, ...marked }) - 1;
      this.#numbers.set(key, number);
    }
    this.functions[place] = number;
  }

  /** `name+0x12`, as perf prints addresses. */
  text(place: number): string {
    return this.#withOffset(place, this.labels[place] as string);
  }

  /** `name+0x12 (object)`, with control characters replaced. */
  described(place: number): string {
    return this.#described[place] ??= visible(`${this.text(place)} (${this.object(place)})`);
  }

  /** Members of a JSON object for a place. */
  jsonOf(place: number): string {
    return this.#json[place] ??= this.#members(place, this.plainText(place));
  }

  /** Members of a JSON object for the function of a place. */
  jsonOfFunction(place: number): string {
    return this.#members(place, this.names[place] as string);
  }

  #members(place: number, name: string): string {
    const members = { function: name, object: this.object(place), ...this.trust(place) };
    return JSON.stringify(members).slice(1, -1);
  }

  /** `name+0x12` without a mark, for JSON, which has a member for that. */
  plainText(place: number): string {
    return this.#withOffset(place, this.names[place] as string);
  }

  #withOffset(place: number, name: string): string {
    const offset = this.offsets[place] as number;
    return offset > 0 ? `${name}+0x${offset.toString(16)}` : name;
  }

  /** Source file and line of a place, or `undefined`. */
  line(place: number): string | undefined {
    return this.#lines.get(place);
  }

  /** The function of a place. */
  function(place: number): PtFunction | undefined {
    return this.functionNames[this.functions[place] as number];
  }

  /** `{ verified: false }` if the name of a place is unverified. */
  trust(place: number): Pick<PtFunction, "verified"> {
    return this.function(place)?.verified === false ? { verified: false } : {};
  }

  /** `{ verified: false }` if a function of this name is unverified. */
  trustOf(name: string): Pick<PtFunction, "verified"> {
    const isUnverified = this.functionNames.some((of) => of.name === name && of.verified === false);
    return isUnverified ? { verified: false } : {};
  }

  /** The object of a place. */
  object(place: number): string {
    return this.function(place)?.object ?? "[unknown]";
  }

  /** The object of a place as perf names it; `[unknown]` for -1. */
  perfObject(place: number): string {
    const number = place < 0 ? -1 : this.#code.places.object(place);
    let text = this.#perfObjects.get(number);
    if (text === undefined) {
      const { kind, path } = this.#code.places.objects[number] ??
        { kind: "elf", path: "[unknown]" };
      text = kind === "kernel" ? withoutReferenceSymbol(path) : path;
      this.#perfObjects.set(number, text);
    }
    return text;
  }

  /**
   * Sets the executed places. Others are left out of counts and warnings.
   *
   * @param met 1 for each executed place.
   */
  limitTo(met: Uint8Array): void {
    this.#met = met;
  }

  #isMet(place: number): boolean {
    return this.#met === undefined || this.#met[place] === 1;
  }

  /** Number of executed places. */
  get count(): number {
    return this.names.reduce((sum, _, place) => sum + Number(this.#isMet(place)), 0);
  }

  /** Path of the object of each place with an unverified name. */
  get unverified(): string[] {
    const paths: string[] = [];
    for (const [place, path] of this.#unverified.entries()) {
      if (path !== undefined && this.#isMet(place)) paths.push(path);
    }
    return paths;
  }

  /** Causes of missing functions, most first: `file missing (12)`. */
  causes(): string {
    const counts = new Map<UnresolvedCause, number>();
    for (const [place, cause] of this.#causes.entries()) {
      if (cause !== undefined && this.#isMet(place)) {
        counts.set(cause, (counts.get(cause) ?? 0) + 1);
      }
    }
    return UNRESOLVED_CAUSES.filter((cause) => counts.has(cause))
      .map((cause) => `${cause} (${counts.get(cause)})`).join(", ");
  }

  /** Closes the files. */
  close(): void {
    this.#lookUps.close();
  }
}

/** The objects with missing code, for a message. */
export function missingCode({ missing }: PtCode): string {
  return [...missing].map(([path, why]) => `${path}: ${why}`).sort().join(", ");
}

function hex(address: number): string {
  return BigInt.asUintN(64, BigInt(address)).toString(16);
}

/** Name of an object in a table: the file's name. */
export function shortObject({ path }: Pick<SymbolObject, "path">): string {
  return path.slice(path.lastIndexOf("/") + 1);
}
