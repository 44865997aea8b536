import { byteAt, intAt } from "@perfdata/format/bytes";
import type { Profile, SampleColumns } from "../columns/profile.ts";

/** Selects samples of a profile; all samples pass a missing condition. */
export interface ProfileFilter {
  /** Test of the thread's name. */
  readonly comm?: ((name: string) => boolean) | undefined;
  /** Test of the short name of the sampled object. */
  readonly dso?: ((name: string) => boolean) | undefined;
  /** Test of the sampled function, or of one that is inlined at its place. */
  readonly symbol?: ((name: string) => boolean) | undefined;
}

/**
 * The profile with the samples that pass a filter.
 *
 * @example
 * ```ts
 * import { filterProfile, ProfileBuilder, totals } from "@perfdata/profile";
 * import { assertEquals } from "@std/assert";
 *
 * const builder = new ProfileBuilder({ events: [{ name: "cycles", unit: "count" }] });
 * for (const [comm, name] of [["a", "f"], ["b", "f"], ["a", "g"]] as const) {
 *   const stack = builder.stack(-1, builder.place(-1, 0, [{ name }]));
 *   builder.sample({ stack, event: 0, thread: builder.thread(1, 1, comm), period: 10 });
 * }
 * const some = filterProfile(builder.profile(), { comm: (name) => name === "a", symbol: (name) => name === "f" });
 * assertEquals(totals(some), [{ samples: 1, period: 10 }]);
 * ```
 */
export function filterProfile(profile: Profile, filter: ProfileFilter): Profile {
  const { comm, dso, symbol } = filter;
  if (comm === undefined && dso === undefined && symbol === undefined) return profile;
  const { threads, objects, functions, frames, places, stacks, samples } = profile;
  const threadPasses = comm && threads.numbers((thread) => comm(thread.comm) ? 1 : 0);
  const objectPasses = objects.map(({ name }) => dso?.(name) ?? true);
  const unmapped = dso?.("[unknown]") ?? true;
  const functionPasses = functions.name.map((name) => symbol?.(name) ?? true);
  const placePasses = (place: number): boolean => {
    const object = intAt(places.object, place);
    if (!(object < 0 ? unmapped : objectPasses[object])) return false;
    for (let i = intAt(places.start, place); i < intAt(places.start, place + 1); i++) {
      if (functionPasses[intAt(frames.function, intAt(places.frames, i))]) return true;
    }
    return false;
  };
  // By place: 1 + whether it passes; 0 before the test.
  const known = new Uint8Array(places.object.length);
  const kept = new Int32Array(samples.length);
  let count = 0;
  for (let i = 0; i < samples.length; i++) {
    if (threadPasses?.[intAt(samples.thread, i)] === 0) continue;
    const stack = intAt(samples.stack, i);
    if (stack < 0) {
      if (dso !== undefined || symbol !== undefined) continue;
    } else {
      const place = intAt(stacks.place, stack);
      if (known[place] === 0) known[place] = placePasses(place) ? 2 : 1;
      if (known[place] === 1) continue;
    }
    kept[count++] = i;
  }
  return { ...profile, samples: pickSamples(samples, kept.subarray(0, count)) };
}

/** The samples in some rows. */
export function pickSamples(samples: SampleColumns, rows: Int32Array): SampleColumns {
  const { stack, event, thread, count, period, time, cpu, pmu } = samples;
  const integers = (column: ArrayLike<number>) =>
    Int32Array.from(rows, (row) => column[row] as number);
  const floats = (column: Float64Array | Uint8Array) =>
    Float64Array.from(rows, (row) => column[row] as number);
  return {
    length: rows.length,
    stack: integers(stack),
    event: integers(event),
    thread: integers(thread),
    count: floats(count),
    period: floats(period),
    ...(time === undefined ? {} : { time: floats(time) }),
    ...(cpu === undefined ? {} : { cpu: integers(cpu) }),
    ...(pmu === undefined ? {} : { pmu: Uint8Array.from(rows, (row) => byteAt(pmu, row)) }),
  };
}
