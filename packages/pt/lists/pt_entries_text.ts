import type { PtEntries } from "./pt_entries.ts";
import type { PtThreads } from "../code/pt_threads.ts";
import type { PtNames } from "../code/pt_names.ts";

/** An object of a thread's code, from packets alone. */
export interface ThreadObject {
  /** The thread. */
  readonly tid: number;
  /** Its name, if it has one. */
  readonly comm: string | undefined;
  /** Path of the object. */
  readonly object: string;
  /** Time in ns in the object. */
  readonly time: number;
  /** Number of entries. */
  readonly entries: number;
  /** Number of packets with an address in it. */
  readonly seen: number;
}

/** A function or address in packets. */
export interface EntryPoint {
  /** Name of the function; without a name, the address in its object. */
  readonly function: string;
  /** Path of its object. */
  readonly object: string;
  /** `false` if the name comes from an unverified file. */
  readonly verified?: false;
  /** Time in ns from there to the next address. */
  readonly time: number;
  /** Number of entries to its object there. */
  readonly entries: number;
  /** Number of packets with an address in it. */
  readonly seen: number;
}

/** Objects by thread, sorted by time. */
export function threadObjects(
  entries: PtEntries,
  pathOf: (object: number) => string,
  threads: PtThreads,
): ThreadObject[] {
  return entries.objects().map(({ tid, object, time, entries, seen }) => {
    return {
      tid,
      comm: threads.name(tid, Infinity),
      object: pathOf(object),
      time,
      entries,
      seen,
    };
  });
}

/** Functions and addresses, sorted by time. The names of all places have to be known. */
export function entryPoints(
  { timeOf, seenOf, entriesOf }: PtEntries,
  names: PtNames,
): EntryPoint[] {
  const rows = new Map<string, { -readonly [K in keyof EntryPoint]: EntryPoint[K] }>();
  for (const [place, name] of names.names.entries()) {
    const seen = seenOf[place] ?? 0;
    if (seen === 0) continue;
    const object = names.object(place);
    const trust = names.trust(place);
    const key = `${object}\0${names.labels[place]}`;
    let row = rows.get(key);
    if (row === undefined) {
      rows.set(key, row = { function: name, object, ...trust, time: 0, entries: 0, seen: 0 });
    }
    row.time += timeOf[place] as number;
    row.entries += entriesOf[place] as number;
    row.seen += seen;
  }
  return [...rows.values()].sort((a, b) =>
    b.time - a.time || b.seen - a.seen || (a.function < b.function ? -1 : 1)
  );
}
