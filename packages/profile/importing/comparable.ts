import { chooseEvent } from "../views/chosen_event.ts";
import { functionNames, type Profile } from "../columns/profile.ts";

/** Profiles as they can be compared, and what was changed for that. */
export interface ComparableProfiles {
  /** The profiles, in their order. */
  readonly profiles: Profile[];
  /** By profile: the event that is compared with the wanted one, if it has another name. */
  readonly events: (string | undefined)[];
  /** Whether functions have lost their objects, since those of one profile have none. */
  readonly byNameAlone: boolean;
}

/**
 * Makes profiles comparable, of which some are of other tools: the main event of a profile that has not the wanted
 * one goes by its name, and functions are compared without their objects if a profile has no objects at all.
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

/** The number of the event with most samples. */
function mainEvent(profile: Profile): number {
  const main = chooseEvent(profile)?.profile.events[0]?.name;
  return Math.max(0, profile.events.findIndex(({ name }) => name === main));
}

/** A profile whose functions go by their names alone. */
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
