import { floatAt, intAt } from "@perfdata/format/bytes";
import type { Profile, ProfileThread } from "./profile.ts";

/** Names of processes or threads, by id. */
export interface NamesById {
  /** The name of each id. */
  readonly name: ReadonlyMap<number, string>;
  /**
   * Other names of an id while it was sampled, in the order of the threads. Only ids with several
   * names are in it.
   */
  readonly others: ReadonlyMap<number, readonly string[]>;
}

/** The names of the processes and threads of a profile. */
export interface ThreadNames {
  /** By process. */
  readonly processes: NamesById;
  /** By thread. */
  readonly threads: NamesById;
}

/**
 * Chooses one name for each process and each thread of a profile.
 *
 * A thread has the name with most of its samples, of all events; of several with equally many, the
 * last one. A process has the name of its main thread. If that has no sample, it has the name with
 * most of the process's samples.
 *
 * @example
 * ```ts
 * import { ProfileBuilder, threadNames } from "@perfdata/profile";
 * import { assertEquals } from "@std/assert";
 *
 * const builder = new ProfileBuilder({ events: [{ name: "cycles", unit: "count" }] });
 * const sample = { stack: -1, event: 0, period: 1 };
 * builder.sample({ ...sample, thread: builder.thread(7, 7, "g++") });
 * builder.sample({ ...sample, thread: builder.thread(7, 7, "cc1plus"), count: 5 });
 * const { processes } = threadNames(builder.profile());
 * assertEquals([processes.name.get(7), processes.others.get(7)], ["cc1plus", ["g++"]]);
 * ```
 */
export function threadNames(
  { threads, samples }: {
    readonly threads: Pick<Profile["threads"], "length" | "at">;
    readonly samples: Pick<Profile["samples"], "length" | "thread" | "count">;
  },
): ThreadNames {
  const counts = new Float64Array(threads.length);
  for (let row = 0; row < samples.length; row++) {
    const thread = intAt(samples.thread, row);
    counts[thread] = floatAt(counts, thread) + (samples.count[row] ?? 0);
  }
  return {
    processes: namesBy("pid", threads, counts),
    threads: namesBy("tid", threads, counts),
  };
}

/** The names by id. A process has the names of its main thread, if that was sampled. */
function namesBy(
  by: "pid" | "tid",
  threads: Pick<Profile["threads"], "length" | "at">,
  counts: Float64Array,
): NamesById {
  // The last thread by id, and the previous thread with the same id by thread.
  const lastOf = new Map<number, number>();
  const before = new Int32Array(threads.length);
  for (let number = 0; number < threads.length; number++) {
    const id = (threads.at(number) as ProfileThread)[by];
    before[number] = lastOf.get(id) ?? -1;
    lastOf.set(id, number);
  }
  const names = { name: new Map<number, string>(), others: new Map<number, readonly string[]>() };
  for (const [id, last] of lastOf) {
    const sums = new Map<string, number>();
    let hasMain = false;
    for (let number = last; number >= 0; number = intAt(before, number)) {
      const { pid, tid, comm } = threads.at(number) as ProfileThread;
      const isMain = by === "tid" || pid === tid;
      if (hasMain && !isMain) continue;
      if (isMain && !hasMain) sums.clear();
      hasMain = isMain;
      sums.set(comm, (sums.get(comm) ?? 0) + floatAt(counts, number));
    }
    // The newest names are first, and remain so among names with equally many samples.
    const [[name] = [""]] = [...sums].sort(([, a], [, b]) => b - a);
    names.name.set(id, name);
    if (sums.size === 1) continue;
    names.others.set(id, [...sums.keys()].filter((other) => other !== name).reverse());
  }
  return names;
}
