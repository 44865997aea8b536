import { floatAt } from "@perfdata/format/bytes";
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
  /** The object with these symbols. */
  readonly object: SymbolObject;
  /** Path of the file with the symbols; `undefined` if there is none. */
  readonly origin: string | undefined;
  /** Whether all symbols come from a bundle. */
  readonly bundled: boolean;
  /**
   * Whether the symbols are known to belong to the recorded object: by build id, for a kernel by
   * its address. `false` if there are no symbols.
   */
  readonly verified: boolean;
  /** Load segments of an ELF file; empty for other objects. */
  readonly segments: readonly LoadSegment[];
  /** Files that exist but are from another build, or unreadable. */
  readonly refused: readonly RefusedFile[];
  /** Paths of the ELF files that were tried, whether they exist or not. */
  readonly looked: readonly string[];
  /**
   * The first few errors: parts of symbols or debug information that are unreadable or
   * contradictory.
   */
  readonly faults: readonly SymbolsError[];
  /** The count of such errors. */
  readonly faultCount: number;
  /** Variables and types in the debug information; `undefined` if there is none. */
  data(): Promise<ObjectData | undefined>;
  /**
   * Looks up addresses.
   *
   * @param addresses addresses in the object, as its kind defines
   * @param times time of each address, nanoseconds in the recording's clock. Only JIT-compiled code
   * needs them; without them the newest code is found
   */
  find(addresses: Float64Array, times?: Float64Array): Promise<Resolution[]>;
  /** Closes the files. */
  close(): void;
}

/** The part of symbols that depends only on the files that were opened for them. */
abstract class OpenedSymbols {
  /** The object with these symbols. */
  readonly object: SymbolObject;
  readonly #opened: OpenedFiles;

  constructor(object: SymbolObject, opened: OpenedFiles) {
    this.object = object;
    this.#opened = opened;
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

  close(): void {
    this.#opened.close();
  }
}

/** Addresses that are looked up in one turn of the event loop. */
const LOOK_UPS_A_TURN = 1024;

/** An object's symbols in files. */
export class FileSymbols extends OpenedSymbols implements ObjectSymbols {
  readonly bundled: boolean = false;
  readonly #lookup: Lookup;
  readonly #turn: ResolverOptions["turn"];

  /**
   * Symbols of a lookup.
   *
   * @param opened the files that it reads
   * @param turn called between parts of a long look-up
   */
  constructor(
    object: SymbolObject,
    lookup: Lookup,
    opened: OpenedFiles,
    turn?: ResolverOptions["turn"],
  ) {
    super(object, opened);
    this.#lookup = lookup;
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
}

/** The bundle's entry for an object's address; `undefined` if it has none. */
export function bundledResolution(
  bundled: BundleObject | undefined,
  address: number,
  withLines: boolean,
  show: (name: string) => string,
): Resolution | undefined {
  const entry = bundled?.find(address);
  if (entry === undefined) return undefined;
  if (entry.cause !== undefined) return unresolved(entry.cause);
  // Without a symbol, the frames give the name.
  return resolution(
    entry.symbol,
    withLines || entry.symbol === undefined ? entry.frames : [],
    show,
  );
}

/**
 * An object's symbols in a bundle. Files are opened only if the bundle lacks an address, which is
 * rare.
 */
export class BundledSymbols extends OpenedSymbols implements ObjectSymbols {
  readonly #bundled: BundleObject;
  readonly #context: ResolverContext;
  readonly #inFiles: () => Promise<Lookup>;
  #lookup: Lookup | undefined;

  /**
   * Symbols in a bundle, with those in files as a fallback.
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
    super(object, opened);
    this.#bundled = bundled;
    this.#context = context;
    this.#inFiles = inFiles;
  }

  get origin(): string | undefined {
    return this.#lookup?.origin ?? this.#bundled.info.origin;
  }

  get bundled(): boolean {
    return this.#lookup?.origin === undefined;
  }

  get verified(): boolean {
    // The bundle's entry was found by build id, if the object has one.
    return (this.#lookup?.verified ?? true) &&
      (this.object.buildId !== undefined || !canHaveBuildId(this.object));
  }

  get segments(): readonly LoadSegment[] {
    return this.#lookup?.segments ?? this.#bundled.info.segments ?? [];
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
      // The bundle's cause says more than this machine's: its machine had the binaries.
      if (answer !== undefined && (answer.cause === undefined || known === undefined)) {
        found[i] = answer;
      }
    });
    return found;
  }
}
