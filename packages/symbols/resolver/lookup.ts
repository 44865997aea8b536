import type { LoadSegment } from "./address_map.ts";
import type { JitFiles } from "../jit/jit_files.ts";
import type { ObjectData } from "./object_data.ts";
import type { SearchPlaces } from "../files/file_search.ts";
import type { OpenedFiles } from "../files/opened_files.ts";
import { type Resolution, unresolved } from "./resolution.ts";
import type { UnresolvedCause } from "./trust_report.ts";
import type { KallsymsTexts } from "./kallsyms_text.ts";
import type { ResolverOptions } from "./options.ts";

/** Shared by the look-ups of all objects of a `SymbolResolver`. */
export interface ResolverContext {
  /** Its options. */
  readonly options: ResolverOptions;
  /** Where files are looked for. */
  readonly places: SearchPlaces;
  /** A name as it is to be shown. */
  readonly show: (name: string) => string;
  /** How `perf` shows names, by which it chooses among aliases; `undefined` if names stay as is. */
  readonly shownByPerf: ((name: string) => string) | undefined;
  /** The copies of kallsyms that were read. */
  readonly kallsyms: KallsymsTexts;
  /** The jitdump files. */
  readonly jit: JitFiles;
}

/** The symbols of an object as files have them, not a bundle. */
export interface Lookup {
  /** The file that they come from. */
  readonly origin?: string;
  /** What of an ELF file is loaded from where. */
  readonly segments?: readonly LoadSegment[];
  /** Whether they are known to be those of what was recorded. */
  readonly verified: boolean;
  /** What debug information says of variables and types; `undefined` if there is none. */
  readonly data?: (() => Promise<ObjectData>) | undefined;
  /** Looks addresses up, see `ObjectSymbols`. */
  find(addresses: Float64Array, times: Float64Array | undefined): Resolution[];
}

/** No symbols: every look-up says why. */
export function noSymbols(cause: UnresolvedCause): Lookup {
  const answer = unresolved(cause);
  return { verified: false, find: (addresses) => Array.from(addresses, () => answer) };
}

/** No symbols, after a search of which it is known what was refused. */
export function nothingFound({ refused }: OpenedFiles): Lookup {
  const was = (why: string) => refused.some(({ reason }) => reason === why);
  return noSymbols(
    was("build id differs") || was("no build id")
      ? "build id differs"
      : was("not readable")
      ? "not readable"
      : "file missing",
  );
}
