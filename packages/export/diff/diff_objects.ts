import { type Profile, type ProfileThread, runObject } from "@perfdata/profile";

type Sides = readonly (Pick<Profile, "objects"> & { readonly threads: Iterable<ProfileThread> })[];

/** A pair of objects that are matched. */
export interface SameObject {
  /** Name on the base side. */
  readonly before: string;
  /** Name on the other side. */
  readonly after: string;
  /**
   * Reason: `--same`, equal build ids, or each being the only program that the other side lacks.
   */
  readonly by: "named" | "build id" | "program";
}

/**
 * Objects that are matched although their names differ: a program that was renamed, or built in
 * another place. Objects whose names differ in numbers only are matched anyway.
 *
 * @param named Pairs of names that the caller knows.
 */
export function sameObjects(
  before: Sides,
  after: Sides,
  named: ReadonlyMap<string, string> = new Map(),
): SameObject[] {
  const [old, now] = [objectsOf(before), objectsOf(after)];
  const found: SameObject[] = [...named].map(([before, after]) => ({
    before: runObject(before),
    after: runObject(after),
    by: "named",
  }));
  const isFree = (name: string, side: "before" | "after") =>
    !found.some((same) => same[side] === name);
  const only = (own: ReadonlyMap<string, Found>, other: ReadonlyMap<string, Found>) =>
    [...own].filter(([name]) => !other.has(name));
  for (const [name, { buildIds }] of only(old, now)) {
    if (!isFree(name, "before")) continue;
    const other = only(now, old).find(([candidate, { buildIds: ids }]) =>
      isFree(candidate, "after") && [...ids].some((id) => buildIds.has(id))
    );
    if (other !== undefined) found.push({ before: name, after: other[0], by: "build id" });
  }
  const programs = (own: Found[], side: "before" | "after") =>
    own.filter(({ isProgram, name }) => isProgram && isFree(name, side));
  const [a, ...moreA] = programs(only(old, now).map(([, of]) => of), "before");
  const [b, ...moreB] = programs(only(now, old).map(([, of]) => of), "after");
  if (a !== undefined && b !== undefined && moreA.length === 0 && moreB.length === 0) {
    found.push({ before: a.name, after: b.name, by: "program" });
  }
  return found;
}

interface Found {
  readonly name: string;
  readonly buildIds: Set<string>;
  /** Whether it is an executable, as its name and the commands suggest. */
  isProgram: boolean;
}

function objectsOf(profiles: Sides): Map<string, Found> {
  const found = new Map<string, Found>();
  for (const { objects, threads } of profiles) {
    const comms = new Set<string>();
    for (const { comm } of threads) comms.add(comm);
    for (const { name: own, buildId } of objects) {
      const name = runObject(own);
      let object = found.get(name);
      if (object === undefined) {
        found.set(name, object = { name, buildIds: new Set(), isProgram: false });
      }
      if (buildId !== undefined) object.buildIds.add(buildId);
      // The kernel truncates commands to 15 bytes.
      object.isProgram ||= comms.has(name.slice(0, 15));
    }
  }
  return found;
}
