/** Why an address could not be given a symbol. */
export type UnresolvedCause =
  /** The mapped file, and every file that could stand for it, is not here. */
  | "file missing"
  /** Only files of another build are here. */
  | "build id differs"
  /** The file is here, but has no symbol table, or none that covers the address. */
  | "no symbols"
  /** The kernel's addresses were hidden from the user who recorded them. */
  | "kallsyms restricted"
  /** Code of a JIT compiler that left no map or dump. */
  | "JIT"
  /** Nothing was mapped at the address. */
  | "unmapped";

/** All causes, in the order in which they are shown. */
export const UNRESOLVED_CAUSES: readonly UnresolvedCause[] = [
  "file missing",
  "build id differs",
  "no symbols",
  "kallsyms restricted",
  "JIT",
  "unmapped",
];

/** How far the symbols of an analysis can be trusted. */
export interface TrustReport {
  /** Addresses that were asked for. */
  readonly addresses: number;
  /** Those that got a symbol. */
  readonly resolved: number;
  /** The others, by cause. */
  readonly unresolved: Readonly<Record<UnresolvedCause, number>>;
  /** Unresolved addresses by the file they lie in, most first. */
  readonly files: readonly {
    /** Name of the mapping. */
    readonly file: string;
    /** Why its addresses have no symbol. */
    readonly cause: UnresolvedCause;
    /** How many addresses. */
    readonly addresses: number;
  }[];
}

/**
 * Counts what became of addresses.
 *
 * @example
 * ```ts
 * import { TrustCounter } from "@perfdata/symbols";
 * import { assertEquals } from "@std/assert";
 *
 * const counter = new TrustCounter();
 * counter.resolved(98);
 * counter.unresolved("file missing", "/opt/app/server", 2);
 * const report = counter.report();
 * assertEquals(report.addresses, 100);
 * assertEquals(report.unresolved["file missing"], 2);
 * ```
 */
export class TrustCounter {
  #resolved = 0;
  readonly #unresolved = new Map<UnresolvedCause, Map<string, number>>();

  /** Counts addresses that got a symbol. */
  resolved(addresses = 1): void {
    this.#resolved += addresses;
  }

  /**
   * Counts addresses that got none.
   *
   * @param cause why
   * @param file name of the mapping they lie in; `""` for `unmapped`
   */
  unresolved(cause: UnresolvedCause, file: string, addresses = 1): void {
    let files = this.#unresolved.get(cause);
    if (files === undefined) this.#unresolved.set(cause, files = new Map());
    files.set(file, (files.get(file) ?? 0) + addresses);
  }

  /** Adds what another counter, such as that of a worker, has reported. */
  add(report: TrustReport): void {
    this.#resolved += report.resolved;
    for (const { file, cause, addresses } of report.files) {
      this.unresolved(cause, file, addresses);
    }
  }

  /** The counts so far. */
  report(): TrustReport {
    const unresolved = Object.fromEntries(
      UNRESOLVED_CAUSES.map((cause) => [cause, 0]),
    ) as Record<UnresolvedCause, number>;
    const files: { file: string; cause: UnresolvedCause; addresses: number }[] = [];
    let total = this.#resolved;
    for (const [cause, byFile] of this.#unresolved) {
      for (const [file, addresses] of byFile) {
        unresolved[cause] += addresses;
        total += addresses;
        files.push({ file, cause, addresses });
      }
    }
    files.sort((a, b) => b.addresses - a.addresses || (a.file < b.file ? -1 : 1));
    return { addresses: total, resolved: this.#resolved, unresolved, files };
  }
}
