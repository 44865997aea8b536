import { byteAt, floatAt, intAt } from "@perfdata/format/bytes";
import { PERF_RECORD_MISC_KERNEL, PERF_RECORD_MISC_USER } from "@perfdata/format/constants";
import { FUNCTION_KIND, type Profile, totals } from "@perfdata/profile";
import { SampleHistogram, UNMAPPED } from "@perfdata/session";
import { keysOf } from "./function_keys.ts";
import { type CodePlaces, PlaceNames } from "./function_names.ts";
import {
  type CountedCode,
  type CountedSamples,
  type FunctionOptions,
  FunctionTable,
  nameNeeds,
} from "./functions.ts";

/** The functions of a profile, with their stacks. */
export interface ProfileFunctions {
  /** The rows. */
  readonly table: FunctionTable;
  /** Places and stacks. */
  readonly code: CountedCode;
  /** Samples. */
  readonly counts: CountedSamples;
}

/**
 * The function table of a profile, which has names already. Functions of one name in objects of one
 * name are merged, since a profile does not have their starts.
 *
 * @param options Selection of rows; callees count if requested.
 * @throws {Error} If rows are grouped by CPUs that the profile does not have, by branches or by
 * data.
 *
 * @example
 * ```ts
 * import { ProfileBuilder } from "@perfdata/profile";
 * import { profileFunctions } from "@perfdata/report";
 * import { assertEquals } from "@std/assert";
 *
 * const builder = new ProfileBuilder({ events: [{ name: "cycles", unit: "count" }] });
 * const thread = builder.thread(7, 7, "demo");
 * const main = builder.place(-1, 0x10, [{ name: "main" }]);
 * builder.sample({ stack: builder.stack(-1, main), event: 0, thread, count: 2, period: 500 });
 * const { table } = profileFunctions(builder.profile(), { sort: ["comm", "sym"] });
 * const [row] = [...table.rows].map((row) => table.row(row));
 * assertEquals([row?.comm, row?.sym, row?.samples, row?.period], ["demo", "main", 2, 500]);
 * ```
 */
export function profileFunctions(
  profile: Profile,
  options: FunctionOptions = {},
): ProfileFunctions {
  const code = { places: placesOf(profile), stacks: profile.stacks };
  const counts = samplesOf(profile, options);
  const names = new PlaceNames(code.places, profile, nameNeeds(options), (name) => name);
  const how = { ...options, callees: options.callees === true };
  return { table: new FunctionTable(code, counts, names, undefined, how), code, counts };
}

/** The places by index. */
function placesOf({ places, frames, functions, objects }: Profile): CodePlaces {
  const { object, address, start } = places;
  const hi = (place: number): number => Math.floor(floatAt(address, place) / 2 ** 32) | 0;
  return {
    count: object.length,
    mapped: objects.map(({ name }) => ({ name, kernel: false })),
    objects: objects.map(({ path }) => ({ path, kind: "elf" })),
    object: (place) => intAt(object, place) < 0 ? UNMAPPED : intAt(object, place),
    address: (place) => floatAt(address, place),
    hi,
    lo: (place) => floatAt(address, place) % 2 ** 32 | 0,
    cpumode(place) {
      const outer = intAt(places.frames, intAt(start, place + 1) - 1);
      const kind = byteAt(functions.kind, intAt(frames.function, outer));
      return (kind & FUNCTION_KIND.LEVEL) === FUNCTION_KIND.KERNEL
        ? PERF_RECORD_MISC_KERNEL
        : PERF_RECORD_MISC_USER;
    },
  };
}

/** Columns of samples that a profile has. */
const COLLECTED: ReadonlySet<string> = new Set(["comm", "pid", "tid", "cpu"]);

/** The samples, summed up. */
function samplesOf(profile: Profile, { sort = [] }: FunctionOptions): CountedSamples {
  const { samples, threads } = profile;
  const columns = new Set(keysOf(sort).flatMap(({ context }) => context ?? []));
  const { cpu } = samples;
  if (columns.has("cpu") && cpu === undefined) throw new Error("the profile has no CPUs");
  const histogram = new SampleHistogram();
  for (let i = 0; i < samples.length; i++) {
    const thread = intAt(samples.thread, i);
    const context = histogram.context(
      samples.event[i] as number,
      thread,
      columns.has("pid") ? threads.pid(thread) : 0,
      columns.has("tid") ? threads.tid(thread) : 0,
      columns.has("cpu") ? cpu?.[i] as number : 0,
    );
    const [period, count] = [floatAt(samples.period, i), samples.count[i] as number];
    histogram.add(context, intAt(samples.stack, i), period, count);
  }
  return {
    ...{ histogram, totals: totals(profile), stacks: true },
    ...{ kind: "samples", pairs: undefined, details: undefined, cgroups: new Map() },
    eventNames: profile.events.map(({ name }) => name),
    collects: (column) => COLLECTED.has(column),
    comms: { name: (thread) => threads.comm(thread), tid: (thread) => threads.tid(thread) },
  };
}
