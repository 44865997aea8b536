import { byteAt, intAt } from "@perfdata/format/bytes";
import { functionName, type Profile } from "@perfdata/profile";

/**
 * Merges functions with equal name and object, inlined or not, since tools would rank them
 * separately.
 *
 * A profile keeps them apart, so that they can be colored and counted separately.
 */
export function oneFunctionEach(profile: Profile): Profile {
  const { functions, frames } = profile;
  const numbers = new Map<string, number>();
  const kept: number[] = [];
  const of = Int32Array.from(functions.name, (_, number) => {
    const key = `${functions.object[number]} ${functionName(profile, number)}`;
    let one = numbers.get(key);
    if (one === undefined) {
      numbers.set(key, one = kept.length);
      kept.push(number);
    }
    return one;
  });
  if (kept.length === of.length) return profile;
  return {
    ...profile,
    functions: {
      name: kept.map((number) => functions.name[number] as string),
      object: Int32Array.from(kept, (number) => intAt(functions.object, number)),
      kind: Uint8Array.from(kept, (number) => byteAt(functions.kind, number)),
    },
    frames: { ...frames, function: frames.function.map((number) => intAt(of, number)) },
  };
}
