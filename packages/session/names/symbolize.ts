import {
  type ObjectSymbols,
  type Resolution,
  type SymbolObject,
  UNRESOLVED_CAUSES,
  type UnresolvedCause,
} from "@perfdata/symbols/resolver";
import type { SymbolResolver } from "@perfdata/symbols";
import { ADDRESS_USE } from "../places/address_table.ts";
import type { RecordedAddresses } from "../places/addresses.ts";
import { enlarge, intAt, uintAt } from "@perfdata/format/bytes";
import { KERNEL_HIDDEN, KERNEL_UNMAPPED } from "../places/places.ts";
import { KernelBeside } from "./kernel_beside.ts";

/** The looked-up addresses of one object. */
export interface SymbolizedObject {
  /** Its index in {@linkcode RecordedAddresses.objects}. */
  readonly number: number;
  /** Its symbols, which are closed before the next object. */
  readonly symbols: ObjectSymbols;
  /** Rows of the address table, sorted by address. */
  readonly rows: Uint32Array;
  /** Result of each row. */
  readonly resolutions: readonly Resolution[];
}

/** Called during look-ups with the number of finished addresses and of all addresses. */
export type LookUpProgress = (done: number, all: number) => void;

function lookedUp({ count, object, uses }: RecordedAddresses["table"]): number {
  let n = 0;
  for (let row = 0; row < count; row++) {
    const of = intAt(object, row);
    if ((of >= 0 || of === KERNEL_UNMAPPED) && uses[row] !== 0) n++;
  }
  return n;
}

/**
 * Looks up the addresses of a recording, object by object. Rows of `table` get the object in which
 * they were found: see `KernelBeside`.
 *
 * @param open Opens the symbols of an object, which the caller closes.
 */
export async function* symbolizeWith(
  { objects, table }: Pick<RecordedAddresses, "objects" | "table">,
  open: (object: number) => Promise<ObjectSymbols>,
): AsyncGenerator<SymbolizedObject, void, void> {
  const beside = new KernelBeside(table, objects);
  const counts = new Uint32Array(objects.length);
  const isLooked = (row: number) => (table.object[row] as number) >= 0 && table.uses[row] !== 0;
  for (let row = 0; row < table.count; row++) {
    if (!isLooked(row)) continue;
    const object = table.object[row] as number;
    counts[object] = (counts[object] as number) + 1;
  }
  const rowsOf = Array.from(counts, (count) => new Uint32Array(count));
  counts.fill(0);
  for (let row = 0; row < table.count; row++) {
    if (!isLooked(row)) continue;
    const object = table.object[row] as number;
    (rowsOf[object] as Uint32Array)[counts[object] as number] = row;
    counts[object] = (counts[object] as number) + 1;
  }
  for (const [number, unsorted] of rowsOf.entries()) {
    const rows = byAddress(unsorted, table.address);
    if (rows.length === 0) continue;
    const addresses = pick(table.address, rows);
    const symbols = await open(number);
    const resolutions = await symbols.find(addresses, pick(table.times, rows));
    const kept = number === beside.kernel
      ? beside.found(rows, (i) => resolutions[i]?.symbol !== undefined)
      : undefined;
    yield kept === undefined ? { number, symbols, rows, resolutions } : {
      ...{ number, symbols },
      rows: kept.map((i) => uintAt(rows, i)),
      resolutions: Array.from(kept, (i) => resolutions[i] as Resolution),
    };
  }
}

/** Sorts rows by address. */
function byAddress(rows: Uint32Array, address: Float64Array): Uint32Array {
  // Sorting numbers is much faster than comparing rows, so address and row index are packed into
  // one number, if that is exact.
  const size = 2 ** Math.ceil(Math.log2(rows.length + 1));
  const packed = pick(address, rows);
  const most = 2 ** 52 / size;
  let isExact = true;
  for (let i = 0; i < packed.length; i++) {
    const number = packed[i] as number;
    isExact &&= number < most && number > -most;
    packed[i] = number * size + i;
  }
  if (!isExact) return rows.sort((a, b) => (address[a] as number) - (address[b] as number));
  packed.sort();
  const sorted = new Uint32Array(rows.length);
  for (let i = 0; i < packed.length; i++) {
    const both = packed[i] as number;
    sorted[i] = rows[both - Math.floor(both / size) * size] as number;
  }
  return sorted;
}

function pick(column: Float64Array, rows: Uint32Array): Float64Array {
  const picked = new Float64Array(rows.length);
  for (let i = 0; i < rows.length; i++) picked[i] = column[rows[i] as number] as number;
  return picked;
}

/** Weights of a set of addresses. */
export interface TrustCount {
  /** Distinct addresses, including those in call chains and branch stacks. */
  addresses: number;
  /** Samples at these addresses, by their `ip`. */
  samples: number;
  /** Sum of the periods of these samples. */
  period: number;
}

/** Counts of looked-up addresses. */
export interface TrustCounts {
  /** All addresses, samples and periods. */
  readonly all: TrustCount;
  /** Addresses with a function. */
  readonly resolved: TrustCount;
  /** Addresses with a source line. */
  readonly lines: TrustCount;
  /**
   * Addresses of `resolved` whose symbol file may be another build, because there is no build id to
   * compare.
   */
  readonly unverified: TrustCount;
  /**
   * Addresses of `resolved` with the name of the newest of several pieces of JIT code: see
   * `Resolution`.
   */
  readonly newest: TrustCount;
  /** Addresses without a function, by cause; of a recording, all causes in the order of the output. */
  readonly unresolved: ReadonlyMap<UnresolvedCause, TrustCount>;
}

/** Trust in the symbols of one object. */
export interface ObjectTrust
  extends
    TrustCounts,
    Pick<ObjectSymbols, "origin" | "bundled" | "refused" | "looked" | "faultCount"> {
  /** The object; `undefined` for unmapped addresses. */
  readonly object: SymbolObject | undefined;
  /** Messages about the first few parts of the debug information that cannot be read. */
  readonly faults: readonly string[];
}

/** Trust in the symbols of a recording. */
export interface SymbolTrust extends TrustCounts {
  /** Trust by object, those with most samples first. */
  readonly objects: readonly ObjectTrust[];
}

/**
 * Counts the addresses of a recording with and without symbols, the latter by cause.
 *
 * @param each called with each object after it was looked up
 *
 * @example
 * ```ts
 * import { symbolTrust } from "@perfdata/session";
 * import { SymbolResolver } from "@perfdata/symbols";
 * import { assertEquals } from "@std/assert";
 *
 * const table = {
 *   count: 1,
 *   object: Int32Array.of(0),
 *   address: Float64Array.of(0x1136),
 *   uses: Uint8Array.of(1),
 *   samples: Float64Array.of(5),
 *   periods: Float64Array.of(5000),
 *   times: Float64Array.of(0),
 * };
 * const objects = [{ path: "/usr/bin/gone", kind: "elf" as const }];
 * const resolver = new SymbolResolver({ open: () => undefined, read: () => undefined });
 * const trust = await symbolTrust({ objects, table }, resolver);
 * assertEquals(trust.unresolved.get("file missing"), { addresses: 1, samples: 5, period: 5000 });
 * ```
 */
export async function symbolTrust(
  recorded: Pick<RecordedAddresses, "objects" | "table">,
  resolver: SymbolResolver,
  each?: (object: SymbolizedObject) => void,
  progress?: LookUpProgress,
): Promise<SymbolTrust> {
  const outcomes = new LookUpOutcomes();
  const all = progress === undefined ? 0 : lookedUp(recorded.table);
  let done = 0;
  progress?.(0, all);
  const open = (number: number) => resolver.open(recorded.objects[number] as SymbolObject);
  for await (const symbolized of symbolizeWith(recorded, open)) {
    // Only one object's symbols are in memory.
    try {
      outcomes.add(symbolized);
      each?.(symbolized);
    } finally {
      symbolized.symbols.close();
    }
    done += symbolized.rows.length;
    progress?.(done, all);
  }
  progress?.(all, all);
  return outcomes.trust(recorded);
}

/**
 * Bits of an outcome with a function. An outcome without a function is the number of a cause, from
 * 1 on.
 */
const OUTCOME = { FUNCTION: 0x40, LINES: 0x20, NEWEST: 0x10 } as const;
/** Number of possible outcomes. */
const OUTCOMES = 0x80;

/** Symbol files of an object, and errors in them. */
export type ObjectOutcome =
  & Pick<
    ObjectTrust,
    "origin" | "bundled" | "refused" | "looked" | "faults" | "faultCount"
  >
  & { readonly verified: boolean };

/** Outcomes of one thread, for sending to another thread. */
export interface OutcomesPart {
  /** By row. */
  readonly outcomes: Uint8Array<ArrayBuffer>;
  /** By object; `undefined` for objects without look-ups. */
  readonly objects: readonly (ObjectOutcome | undefined)[];
}

/** Results for addresses that are looked up in parts, and counted at the end. */
export class LookUpOutcomes {
  /** By row; 0 if it was not looked up. */
  #outcomes = new Uint8Array(1 << 10);
  readonly #objects: (ObjectOutcome | undefined)[] = [];

  /**
   * Adds the results for addresses of an object.
   *
   * @param first Index of the first row.
   */
  add({ number, symbols, rows, resolutions }: SymbolizedObject, first = 0): void {
    const { origin, bundled, verified, refused, looked, faultCount } = symbols;
    const faults = symbols.faults.map(({ message }) => message);
    this.#addObject(number, { origin, bundled, verified, refused, looked, faults, faultCount });
    let last: Resolution | undefined;
    let outcome = 0;
    for (let i = 0; i < rows.length; i++) {
      const found = resolutions[i] as Resolution;
      // Consecutive addresses of a function often share their result.
      if (found !== last) outcome = outcomeOf(last = found);
      this.#set(first + (rows[i] as number), outcome);
    }
  }

  /** Symbol files of the objects, by index. */
  get objects(): readonly (ObjectOutcome | undefined)[] {
    return this.#objects;
  }

  /** The outcomes of the first `count` rows, for sending to another thread. */
  part(count: number): OutcomesPart {
    this.#set(count, 0);
    return { outcomes: this.#outcomes.slice(0, count), objects: this.#objects };
  }

  /**
   * Adds the outcomes of another thread.
   *
   * @param rows The rows here, by the other thread's rows.
   * @param objects The objects here, by the other thread's objects.
   */
  join(part: OutcomesPart, rows: Int32Array, objects: Int32Array): void {
    for (const [number, object] of part.objects.entries()) {
      if (object !== undefined) this.#addObject(objects[number] as number, object);
    }
    for (const [row, outcome] of part.outcomes.entries()) {
      if (outcome !== 0) this.#set(rows[row] as number, outcome);
    }
  }

  #set(row: number, outcome: number): void {
    if (row >= this.#outcomes.length) this.#outcomes = enlarge(this.#outcomes, row + 1);
    this.#outcomes[row] = outcome;
  }

  #addObject(number: number, object: ObjectOutcome): void {
    const known = this.#objects[number];
    const refused = [...known?.refused ?? []];
    for (const file of object.refused) {
      const { path, reason, origin } = file;
      if (!refused.some((r) => r.path === path && r.reason === reason && r.origin === origin)) {
        refused.push(file);
      }
    }
    const faults = [...new Set([...known?.faults ?? [], ...object.faults])];
    const faultCount = Math.max(known?.faultCount ?? 0, object.faultCount, faults.length);
    this.#objects[number] = { ...object, refused, faults, faultCount };
  }

  /** Counts all addresses. */
  trust({ objects: all, table }: Pick<RecordedAddresses, "objects" | "table">): SymbolTrust {
    // Sums by object, then of unmapped addresses and of addresses in a hidden kernel.
    const sums: (Float64Array | undefined)[] = [];
    const { length } = all;
    const shown = shownObjects(all);
    this.#set(table.count, 0);
    for (let row = 0; row < table.count; row++) {
      const use = table.uses[row];
      // Addresses that only serve look-ups of the byte before a return address do not count.
      if (use === 0 || use === ADDRESS_USE.BEFORE_RETURN) continue;
      const object = table.object[row] as number;
      const isHidden = object === KERNEL_HIDDEN;
      const outcome = object >= 0 ? this.#outcomes[row] as number : isHidden ? HIDDEN : NOT_MAPPED;
      const own = sums[object >= 0 ? shown[object] as number : isHidden ? length + 1 : length] ??=
        new Float64Array(
          3 * OUTCOMES,
        );
      const at = 3 * outcome;
      own[at] = (own[at] as number) + 1;
      own[at + 1] = (own[at + 1] as number) + (table.samples[row] ?? 0);
      own[at + 2] = (own[at + 2] as number) + (table.periods[row] ?? 0);
    }
    const objects: ObjectTrust[] = [];
    // The first outcome under each shown number: other versions of the object may have no look-ups.
    const outcomes = new Map<number, ObjectOutcome>();
    for (const [number, outcome] of this.#objects.entries()) {
      if (outcome === undefined) continue;
      const known = outcomes.get(shown[number] as number);
      if (known === undefined) outcomes.set(shown[number] as number, outcome);
    }
    for (let number = 0; number < length; number++) {
      const known = outcomes.get(number);
      const sum = sums[number];
      if (sum === undefined || known === undefined) continue;
      const { verified, ...rest } = known;
      const own = countsOf(sum, verified);
      objects.push({ object: all[number], ...own, ...rest });
    }
    for (const sum of [sums[length], sums[length + 1]]) {
      if (sum === undefined) continue;
      const own = countsOf(sum, true);
      const nothing = {
        ...{ origin: undefined, bundled: false },
        ...{ refused: [], looked: [], faults: [], faultCount: 0 },
      };
      objects.push({ object: undefined, ...own, ...nothing });
    }
    // Ties are sorted by name, independent of the order of records.
    const name = ({ object }: ObjectTrust): string => object?.path ?? "";
    objects.sort((a, b) =>
      b.all.samples - a.all.samples || b.all.addresses - a.all.addresses ||
      (name(a) < name(b) ? -1 : 1)
    );
    const total = emptyCounts();
    for (const { all, resolved, lines, unverified, newest, unresolved } of objects) {
      add(total.all, all);
      add(total.resolved, resolved);
      add(total.lines, lines);
      add(total.unverified, unverified);
      add(total.newest, newest);
      for (const [cause, counted] of unresolved) add(total.unresolved.get(cause), counted);
    }
    return { ...total, objects };
  }
}

/**
 * The number under which each object is shown. All versions of a JIT compiler's code in a process
 * are one object.
 */
export function shownObjects(objects: readonly SymbolObject[]): Int32Array {
  const first = new Map<string, number>();
  return Int32Array.from(objects, ({ kind, path }, number) => {
    if (kind !== "jit") return number;
    const known = first.get(path);
    if (known === undefined) first.set(path, number);
    return known ?? number;
  });
}

const NOT_MAPPED = UNRESOLVED_CAUSES.indexOf("unmapped") + 1;
const HIDDEN = UNRESOLVED_CAUSES.indexOf("kallsyms restricted") + 1;

function outcomeOf({ cause, frames, isNewest }: Resolution): number {
  if (cause !== undefined) return UNRESOLVED_CAUSES.indexOf(cause) + 1;
  return OUTCOME.FUNCTION | (isNewest === true ? OUTCOME.NEWEST : 0) |
    (frames.some(({ line }) => line > 0) ? OUTCOME.LINES : 0);
}

interface Counts extends TrustCounts {
  readonly unresolved: Map<UnresolvedCause, TrustCount>;
}

const zero = (): TrustCount => ({ addresses: 0, samples: 0, period: 0 });

function emptyCounts(): Counts {
  const unresolved = new Map(UNRESOLVED_CAUSES.map((cause) => [cause, zero()]));
  const counts = { all: zero(), resolved: zero(), lines: zero() };
  return { ...counts, unverified: zero(), newest: zero(), unresolved };
}

function countsOf(sums: Float64Array, verified: boolean): Counts {
  const counts = emptyCounts();
  for (let outcome = 0; outcome < OUTCOMES; outcome++) {
    const [addresses = 0, samples = 0, period = 0] = sums.subarray(3 * outcome, 3 * outcome + 3);
    if (addresses === 0) continue;
    const count = { addresses, samples, period };
    add(counts.all, count);
    if ((outcome & OUTCOME.FUNCTION) === 0) {
      const cause = UNRESOLVED_CAUSES[outcome - 1];
      add(cause && counts.unresolved.get(cause), count);
      continue;
    }
    add(counts.resolved, count);
    if ((outcome & OUTCOME.LINES) !== 0) add(counts.lines, count);
    if (!verified) add(counts.unverified, count);
    if ((outcome & OUTCOME.NEWEST) !== 0) add(counts.newest, count);
  }
  return counts;
}

function add(to: TrustCount | undefined, more: TrustCount): void {
  if (to === undefined) return;
  to.addresses += more.addresses;
  to.samples += more.samples;
  to.period += more.period;
}
