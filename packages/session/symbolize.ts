import type {
  ObjectSymbols,
  RefusedFile,
  Resolution,
  SymbolObject,
  SymbolResolver,
} from "@perfdata/symbols";
import { UNRESOLVED_CAUSES, type UnresolvedCause } from "@perfdata/symbols/trust-report";
import { ADDRESS_USE } from "./address_table.ts";
import type { RecordedAddresses } from "./addresses.ts";
import { KERNEL_HIDDEN } from "./places.ts";

/** The addresses of one object, looked up. */
export interface SymbolizedObject {
  /** Its number in {@linkcode RecordedAddresses.objects}. */
  readonly number: number;
  /** Its symbols; they are closed after this object. */
  readonly symbols: ObjectSymbols;
  /** Rows of the address table, by address. */
  readonly rows: Uint32Array;
  /** What became of each of them. */
  readonly resolutions: readonly Resolution[];
}

/**
 * Looks up the addresses of a recording, object by object, so that the symbols of one are in memory
 * at a time.
 *
 * @example
 * ```ts
 * import { symbolize } from "@perfdata/session/symbols";
 * import { SymbolResolver } from "@perfdata/symbols";
 * import { assertEquals } from "@std/assert";
 *
 * const column = Float64Array.of(1);
 * const table = {
 *   count: 1,
 *   object: Int32Array.of(0),
 *   address: Float64Array.of(0x1136),
 *   uses: Uint8Array.of(1),
 *   samples: column,
 *   periods: column,
 *   times: column,
 * };
 * const objects = [{ path: "/usr/bin/gone", kind: "elf" as const }];
 * const resolver = new SymbolResolver({ open: () => undefined, read: () => undefined });
 * for await (const { resolutions } of symbolize({ objects, table }, resolver)) {
 *   assertEquals(resolutions[0]?.cause, "file missing");
 * }
 * ```
 */
export async function* symbolize(
  { objects, table }: Pick<RecordedAddresses, "objects" | "table">,
  resolver: SymbolResolver,
): AsyncGenerator<SymbolizedObject, void, void> {
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
  for (const [number, object] of objects.entries()) {
    const rows = byAddress(rowsOf[number] as Uint32Array, table.address);
    if (rows.length === 0) continue;
    const addresses = pick(table.address, rows);
    const symbols = await resolver.open(object);
    try {
      const resolutions = await symbols.find(addresses, pick(table.times, rows));
      yield { number, symbols, rows, resolutions };
    } finally {
      symbols.close();
    }
  }
}

/** Rows by their address. */
function byAddress(rows: Uint32Array, address: Float64Array): Uint32Array {
  // To sort numbers alone is much quicker than to compare rows: an address and the place of its row
  // go into one, where that is exact.
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

/** How many of what: distinct addresses, samples by their `ip`, and the sum of their periods. */
export interface TrustCount {
  /** Distinct addresses, those of call chains and branch stacks included. */
  addresses: number;
  /** Samples. */
  samples: number;
  /** Their periods. */
  period: number;
}

/** How far the symbols of one object can be trusted. */
export interface ObjectTrust {
  /** The object; `undefined` for addresses where nothing was mapped or known to be. */
  readonly object: SymbolObject | undefined;
  /** The file that its symbols come from. */
  readonly origin: string | undefined;
  /** Whether they come from a bundle. */
  readonly bundled: boolean;
  /** All of its addresses. */
  readonly all: TrustCount;
  /** Those that have a function. */
  readonly resolved: TrustCount;
  /** Those of them that have a source line. */
  readonly lines: TrustCount;
  /**
   * Those of `resolved` whose file is not known to be of the recorded build: there is no build id
   * to compare.
   */
  readonly unverified: TrustCount;
  /** The others, by cause. */
  readonly unresolved: ReadonlyMap<UnresolvedCause, TrustCount>;
  /** Files that were there but are of another build, or cannot be read. */
  readonly refused: readonly RefusedFile[];
  /** Parts of the debug information that cannot be read: the first few of them. */
  readonly faults: readonly string[];
  /** How many such parts there are. */
  readonly faultCount: number;
}

/** How far the symbols of a recording can be trusted. */
export interface SymbolTrust {
  /** All addresses, samples and periods. */
  readonly all: TrustCount;
  /** Those that have a function. */
  readonly resolved: TrustCount;
  /** Those of them that have a source line. */
  readonly lines: TrustCount;
  /** Those of `resolved` whose file is not known to be of the recorded build. */
  readonly unverified: TrustCount;
  /** The others, by cause; all causes are there, in the order in which they are shown. */
  readonly unresolved: ReadonlyMap<UnresolvedCause, TrustCount>;
  /** The same by object, those with most samples first. */
  readonly objects: readonly ObjectTrust[];
}

/**
 * Counts which addresses of a recording have symbols, and why the others have none.
 *
 * @param each is given each object with its look-ups as it is counted
 *
 * @example
 * ```ts
 * import { symbolTrust } from "@perfdata/session/symbols";
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
): Promise<SymbolTrust> {
  const { table } = recorded;
  const objects: ObjectTrust[] = [];
  for await (const symbolized of symbolize(recorded, resolver)) {
    const { symbols, rows, resolutions } = symbolized;
    const counts = emptyCounts();
    const { verified } = symbols;
    // Addresses of a function follow each other, and share what was found.
    for (let i = 0; i < rows.length;) {
      const found = resolutions[i] as Resolution;
      const sum = zero();
      for (; i < rows.length && resolutions[i] === found; i++) {
        addRow(sum, table, rows[i] as number);
      }
      count(counts, sum, found, verified);
    }
    each?.(symbolized);
    objects.push({
      object: symbols.object,
      origin: symbols.origin,
      bundled: symbols.bundled,
      ...counts,
      refused: symbols.refused,
      faults: symbols.faults.map(({ message }) => message),
      faultCount: symbols.faultCount,
    });
  }
  const nowhere: [(object: number) => boolean, UnresolvedCause][] = [
    [(object) => object < 0 && object !== KERNEL_HIDDEN, "unmapped"],
    [(object) => object === KERNEL_HIDDEN, "kallsyms restricted"],
  ];
  for (const [isThere, cause] of nowhere) {
    const counts = emptyCounts();
    const answer: Resolution = { symbol: undefined, frames: [], cause };
    const sum = zero();
    for (let row = 0; row < table.count; row++) {
      if (isThere(table.object[row] as number)) addRow(sum, table, row);
    }
    count(counts, sum, answer, true);
    if (counts.all.addresses > 0) {
      objects.push({
        object: undefined,
        origin: undefined,
        bundled: false,
        ...counts,
        refused: [],
        faults: [],
        faultCount: 0,
      });
    }
  }
  // Equal ones in an order that does not depend on that of the records.
  const name = ({ object }: ObjectTrust): string => object?.path ?? "";
  objects.sort((a, b) =>
    b.all.samples - a.all.samples || b.all.addresses - a.all.addresses ||
    (name(a) < name(b) ? -1 : 1)
  );
  const total = emptyCounts();
  for (const { all, resolved, lines, unverified, unresolved } of objects) {
    add(total.all, all);
    add(total.resolved, resolved);
    add(total.lines, lines);
    add(total.unverified, unverified);
    for (const [cause, counted] of unresolved) add(total.unresolved.get(cause), counted);
  }
  return { ...total, objects };
}

interface Counts {
  readonly all: TrustCount;
  readonly resolved: TrustCount;
  readonly lines: TrustCount;
  readonly unverified: TrustCount;
  readonly unresolved: Map<UnresolvedCause, TrustCount>;
}

const zero = (): TrustCount => ({ addresses: 0, samples: 0, period: 0 });

function emptyCounts(): Counts {
  const unresolved = new Map(UNRESOLVED_CAUSES.map((cause) => [cause, zero()]));
  return { all: zero(), resolved: zero(), lines: zero(), unverified: zero(), unresolved };
}

/** Counts addresses that share what was found. */
function count(
  counts: Counts,
  sum: TrustCount,
  { cause, frames }: Resolution,
  verified: boolean,
): void {
  add(counts.all, sum);
  if (cause !== undefined) add(counts.unresolved.get(cause), sum);
  else {
    add(counts.resolved, sum);
    if (frames.some(({ line }) => line > 0)) add(counts.lines, sum);
    if (!verified) add(counts.unverified, sum);
  }
}

function addRow(to: TrustCount, table: RecordedAddresses["table"], row: number): void {
  // What is only there for tools that look up the byte before a return address does not count.
  if (table.uses[row] === ADDRESS_USE.BEFORE_RETURN || table.uses[row] === 0) return;
  to.addresses++;
  to.samples += table.samples[row] as number;
  to.period += table.periods[row] as number;
}

function add(to: TrustCount | undefined, more: TrustCount): void {
  if (to === undefined) return;
  to.addresses += more.addresses;
  to.samples += more.samples;
  to.period += more.period;
}
