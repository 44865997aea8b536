import { chooseEvent } from "../views/chosen_event.ts";
import { functionNames, type Profile } from "../columns/profile.ts";

/** Comparable profiles, with the changes that were necessary. */
export interface ComparableProfiles {
  /** The profiles, in their order. */
  readonly profiles: Profile[];
  /** Name of the compared event of each profile, if it differs from the requested one. */
  readonly events: (string | undefined)[];
  /** Whether objects of functions were removed, because one profile has no objects. */
  readonly byNameAlone: boolean;
}

/**
 * Makes profiles comparable, some of which come from other tools. If a profile lacks the requested
 * event, its main event gets that name. If a profile has no objects, functions of all profiles lose
 * theirs.
 */
export function comparable(profiles: readonly Profile[], event: string): ComparableProfiles {
  const byNameAlone = profiles.some(({ objects }) => objects.length === 0);
  const events: (string | undefined)[] = [];
  const made = profiles.map((profile) => {
    const known = chooseEvent(profile, event);
    const { profile: chosen, event: number } = known ?? { profile, event: mainEvent(profile) };
    events.push(known === undefined ? chosen.events[number]?.name : undefined);
    const named = {
      ...chosen,
      events: chosen.events.map((each, i) => i === number ? { ...each, name: event } : each),
    };
    return byNameAlone ? withoutObjects(named) : named;
  });
  return { profiles: made, events, byNameAlone };
}

/** The index of the event with most samples. */
function mainEvent(profile: Profile): number {
  const main = chooseEvent(profile)?.profile.events[0]?.name;
  return Math.max(0, profile.events.findIndex(({ name }) => name === main));
}

/** The profile without objects, so that functions are identified by name only. */
function withoutObjects(profile: Profile): Profile {
  const { functions, places } = profile;
  return {
    ...profile,
    objects: [],
    functions: {
      ...functions,
      name: functionNames(profile),
      object: new Int32Array(functions.object.length).fill(-1),
    },
    places: { ...places, object: new Int32Array(places.object.length).fill(-1) },
  };
}
