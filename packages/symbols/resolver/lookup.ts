import type { LoadSegment } from "./address_map.ts";
import type { JitFiles } from "../jit/jit_files.ts";
import type { ObjectData } from "./object_data.ts";
import type { SearchPlaces } from "../files/file_search.ts";
import type { OpenedFiles } from "../files/opened_files.ts";
import { type Resolution, unresolved } from "./resolution.ts";
import type { UnresolvedCause } from "./trust_report.ts";
import type { KallsymsTexts } from "./kallsyms_text.ts";
import type { ResolverOptions } from "./options.ts";

/** State shared by all look-ups of a `SymbolResolver`. */
export interface ResolverContext {
  readonly options: ResolverOptions;
  readonly places: SearchPlaces;
  /** Demangles a name for display. */
  readonly show: (name: string) => string;
  /**
   * Demangles a name as `perf` does, for the choice among aliases; `undefined` if names stay
   * mangled.
   */
  readonly shownByPerf: ((name: string) => string) | undefined;
  readonly kallsyms: KallsymsTexts;
  /** Jitdump files. */
  readonly jit: JitFiles;
}

/** An object's symbols in files, as opposed to a bundle. */
export interface Lookup {
  /** Path of the file with the symbols. */
  readonly origin?: string;
  /** Load segments of an ELF file. */
  readonly segments?: readonly LoadSegment[];
  /** Whether the symbols are known to belong to the recorded object. */
  readonly verified: boolean;
  /** Variables and types in the debug information; `undefined` if there is none. */
  readonly data?: (() => Promise<ObjectData>) | undefined;
  /** Looks up addresses, see `ObjectSymbols`. */
  find(addresses: Float64Array, times: Float64Array | undefined): Resolution[];
}

/** A lookup without symbols: every result has this cause. */
export function noSymbols(cause: UnresolvedCause): Lookup {
  const answer = unresolved(cause);
  return { verified: false, find: (addresses) => Array.from(addresses, () => answer) };
}

/** A lookup without symbols. The cause depends on the files that the search refused. */
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
