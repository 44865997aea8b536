import { byteAt, intAt } from "@perfdata/format/bytes";
import type { Profile } from "../columns/profile.ts";
import { FUNCTION_KIND } from "../columns/profile.ts";
import { NodeTable } from "../columns/node_table.ts";

/**
 * Adds an innermost frame with the name of a state to samples in that state. The frame is a
 * function of a separate object, so that pictures color it.
 *
 * @param states By row of the samples: the index of a name, plus one; 0 for no state.
 * @param names Names of the frames.
 * @param object Path of the object of these frames. An object of the profile with this path is
 * reused.
 *
 * @example
 * ```ts
 * import { functionNames, ProfileBuilder, withStateFrames } from "@perfdata/profile";
 * import { assertEquals } from "@std/assert";
 *
 * const builder = new ProfileBuilder({ events: [{ name: "wall", unit: "nanoseconds" }] });
 * const stack = builder.stack(-1, builder.place(-1, 1, [{ name: "read" }]));
 * builder.sample({ stack, event: 0, thread: builder.thread(7, 7, "demo"), period: 10 });
 * const profile = withStateFrames(builder.profile(), Uint8Array.of(1), ["[waiting]"], "[off-cpu]");
 * assertEquals(functionNames(profile), ["read", "[waiting]"]);
 * assertEquals([...profile.stacks.parent], [-1, 0]);
 * ```
 */
export function withStateFrames(
  profile: Profile,
  states: Uint8Array,
  names: readonly string[],
  object: string,
): Profile {
  const { functions, frames, places, stacks, samples } = profile;
  const known = profile.objects.findIndex(({ path }) => path === object);
  const objects = known < 0
    ? [...profile.objects, { name: object, path: object }]
    : profile.objects;
  const objectNumber = known < 0 ? profile.objects.length : known;
  const firstFunction = functions.name.length;
  const firstFrame = frames.function.length;
  const firstPlace = places.object.length;
  const each = (of: (k: number) => number): Int32Array => Int32Array.from(names, (_, k) => of(k));
  const nodes = new NodeTable();
  const parents: number[] = [];
  const items: number[] = [];
  const stack = samples.stack.slice(0, samples.length);
  for (let row = 0; row < samples.length; row++) {
    const state = byteAt(states, row);
    if (state === 0) continue;
    const node = nodes.node(intAt(stack, row), firstPlace + state - 1);
    if (node === parents.length) {
      parents.push(intAt(stack, row));
      items.push(firstPlace + state - 1);
    }
    stack[row] = stacks.parent.length + node;
  }
  return {
    ...profile,
    objects,
    functions: {
      ...functions,
      name: [...functions.name, ...names],
      object: joined(functions.object, each(() => objectNumber)),
      kind: Uint8Array.from([...functions.kind, ...names.map(() => FUNCTION_KIND.OTHER)]),
    },
    frames: {
      function: joined(frames.function, each((k) => firstFunction + k)),
      file: joined(frames.file, each(() => -1)),
      line: joined(frames.line, each(() => 0)),
    },
    places: {
      object: joined(places.object, each(() => objectNumber)),
      address: Float64Array.from([...places.address, ...names.map(() => 0)]),
      start: joined(places.start, each((k) => places.frames.length + k + 1)),
      frames: joined(places.frames, each((k) => firstFrame + k)),
    },
    stacks: {
      parent: joined(stacks.parent, Int32Array.from(parents)),
      place: joined(stacks.place, Int32Array.from(items)),
    },
    samples: { ...samples, stack },
  };

  function joined(first: Int32Array, last: Int32Array): Int32Array {
    const all = new Int32Array(first.length + last.length);
    all.set(first);
    all.set(last, first.length);
    return all;
  }
}
