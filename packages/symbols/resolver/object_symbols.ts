import { floatAt } from "@perfdata/format/elements";
import type { LoadSegment } from "./address_map.ts";
import type { BundleObject } from "../bundle/bundle.ts";
import type { SymbolsError } from "../errors.ts";
import type { RefusedFile } from "../files/file_search.ts";
import type { OpenedFiles } from "../files/opened_files.ts";
import {
  canHaveBuildId,
  type Resolution,
  resolution,
  type SymbolObject,
  unresolved,
} from "./resolution.ts";
import type { ObjectData } from "./object_data.ts";
import type { ResolverOptions } from "./options.ts";
import type { Lookup, ResolverContext } from "./lookup.ts";

/** The symbols of one object. */
export interface ObjectSymbols {
  /** The object. */
  readonly object: SymbolObject;
  /** The file that its symbols come from; `undefined` if there is none. */
  readonly origin: string | undefined;
  /** Whether they come from a bundle only. */
  readonly bundled: boolean;
  /**
   * Whether they are known to be those of what was recorded: by its build id, or of a kernel, by
   * where it was. `false` as well if there are none.
   */
  readonly verified: boolean;
  /** What of an ELF file is loaded from where; empty for others. */
  readonly segments: readonly LoadSegment[];
  /** Files that were there but are from another build, or cannot be read. */
  readonly refused: readonly RefusedFile[];
  /** Paths of ELF files that were looked for, whether they were there or not. */
  readonly looked: readonly string[];
  /** Parts of the symbols and debug information that cannot be read or that contradict each other: the first few. */
  readonly faults: readonly SymbolsError[];
  /** How many such parts there are. */
  readonly faultCount: number;
  /** What debug information says of variables and types; `undefined` if there is none. */
  data(): Promise<ObjectData | undefined>;
  /**
   * Looks addresses up.
   *
   * @param addresses as the object's kind counts them
   * @param times of each, nanoseconds in the recording's clock; only code of a JIT compiler needs
   * them, the newest is taken without
   */
  find(addresses: Float64Array, times?: Float64Array): Promise<Resolution[]>;
  /** Closes the files. */
  close(): void;
}

/** Addresses that are looked up between two turns of the event loop. */
const LOOK_UPS_A_TURN = 1024;

/** The symbols of an object in files. */
export class FileSymbols implements ObjectSymbols {
  readonly object: SymbolObject;
  readonly bundled: boolean = false;
  readonly #opened: OpenedFiles;
  readonly #lookup: Lookup;
  readonly #turn: ResolverOptions["turn"];

  /**
   * Symbols that `lookup` finds.
   *
   * @param opened the files that it reads
   * @param turn called between pieces of a long look-up
   */
  constructor(
    object: SymbolObject,
    lookup: Lookup,
    opened: OpenedFiles,
    turn?: ResolverOptions["turn"],
  ) {
    this.object = object;
    this.#lookup = lookup;
    this.#opened = opened;
    this.#turn = turn;
  }

  get origin(): string | undefined {
    return this.#lookup.origin;
  }

  get verified(): boolean {
    return this.#lookup.verified;
  }

  get segments(): readonly LoadSegment[] {
    return this.#lookup.segments ?? [];
  }

  get refused(): readonly RefusedFile[] {
    return this.#opened.refused;
  }

  get looked(): readonly string[] {
    return [...this.#opened.looked];
  }

  get faults(): readonly SymbolsError[] {
    return this.#opened.faults;
  }

  get faultCount(): number {
    return this.#opened.faultCount;
  }

  data(): Promise<ObjectData | undefined> {
    return Promise.resolve(this.#lookup.data?.());
  }

  async find(addresses: Float64Array, times?: Float64Array): Promise<Resolution[]> {
    if (this.#turn === undefined) return this.#lookup.find(addresses, times);
    const found: Resolution[] = [];
    for (let at = 0; at < addresses.length; at += LOOK_UPS_A_TURN) {
      await this.#turn();
      const end = at + LOOK_UPS_A_TURN;
      for (
        const resolution of this.#lookup.find(
          addresses.subarray(at, end),
          times?.subarray(at, end),
        )
      ) found.push(resolution);
    }
    return found;
  }

  close(): void {
    this.#opened.close();
  }
}

/** Entry of a bundle for an address of an object; `undefined` if it has none. */
export function bundledResolution(
  bundled: BundleObject | undefined,
  address: number,
  withLines: boolean,
  show: (name: string) => string,
): Resolution | undefined {
  const entry = bundled?.find(address);
  if (entry === undefined) return undefined;
  if (entry.cause !== undefined) return unresolved(entry.cause);
  // Where there is no symbol, the name is that of the frames.
  return resolution(
    entry.symbol,
    withLines || entry.symbol === undefined ? entry.frames : [],
    show,
  );
}

/**
 * The symbols of an object in a bundle, and in files what the bundle does not know. It usually knows
 * everything that is asked; files are only opened if it does not.
 */
export class BundledSymbols implements ObjectSymbols {
  readonly object: SymbolObject;
  readonly #bundled: BundleObject;
  readonly #context: ResolverContext;
  readonly #opened: OpenedFiles;
  readonly #inFiles: () => Promise<Lookup>;
  #lookup: Lookup | undefined;

  /**
   * Symbols of a bundle, with those of files if it has none.
   *
   * @param inFiles opens the files
   */
  constructor(
    object: SymbolObject,
    bundled: BundleObject,
    context: ResolverContext,
    opened: OpenedFiles,
    inFiles: () => Promise<Lookup>,
  ) {
    this.object = object;
    this.#bundled = bundled;
    this.#context = context;
    this.#opened = opened;
    this.#inFiles = inFiles;
  }

  get origin(): string | undefined {
    return this.#lookup?.origin ?? this.#bundled.info.origin;
  }

  get bundled(): boolean {
    return this.#lookup?.origin === undefined;
  }

  get verified(): boolean {
    // What a bundle was made for is found by its build id where there is one.
    return (this.#lookup?.verified ?? true) &&
      (this.object.buildId !== undefined || !canHaveBuildId(this.object));
  }

  get segments(): readonly LoadSegment[] {
    return this.#lookup?.segments ?? this.#bundled.info.segments ?? [];
  }

  get refused(): readonly RefusedFile[] {
    return this.#opened.refused;
  }

  get looked(): readonly string[] {
    return [...this.#opened.looked];
  }

  get faults(): readonly SymbolsError[] {
    return this.#opened.faults;
  }

  get faultCount(): number {
    return this.#opened.faultCount;
  }

  async data(): Promise<ObjectData | undefined> {
    // A bundle has no variables.
    this.#lookup ??= await this.#inFiles();
    return await this.#lookup.data?.();
  }

  async find(addresses: Float64Array, times?: Float64Array): Promise<Resolution[]> {
    const missing: number[] = [];
    const { options: { debugInformation }, show } = this.#context;
    const found = Array.from(addresses, (address, i) => {
      const known = bundledResolution(this.#bundled, address, debugInformation !== false, show);
      if (known === undefined || known.cause !== undefined) missing.push(i);
      return known ?? unresolved("no symbols");
    });
    if (missing.length === 0) return found;
    this.#lookup ??= await this.#inFiles();
    const answers = this.#lookup.find(
      Float64Array.from(missing, (i) => floatAt(addresses, i)),
      times === undefined ? undefined : Float64Array.from(missing, (i) => floatAt(times, i)),
    );
    missing.forEach((i, k) => {
      const answer = answers[k];
      const known = this.#bundled.find(floatAt(addresses, i));
      // The bundle's reason is about the machine that had the binaries: it says more.
      if (answer !== undefined && (answer.cause === undefined || known === undefined)) {
        found[i] = answer;
      }
    });
    return found;
  }

  close(): void {
    this.#opened.close();
  }
}
