import { pickSamples, placesOfFunctions, type Profile, ThreadTable } from "@perfdata/profile";
import { changedRow, type ChangedStacks, keptRows, type Selection } from "./selection.ts";
import type { ViewProfile } from "@perfdata/export/tree";
import { floatAt, intAt, numberAt } from "@perfdata/format/bytes";

/**
 * Converts the selection to a profile, for the formats of other tools. Its places are functions, since
 * a {@linkcode ViewProfile} has no addresses and lines.
 *
 * @param changed Stacks in place of those of the profile.
 */
export function selectedProfile(
  view: ViewProfile,
  selection: Selection,
  changed?: ChangedStacks,
): Profile {
  const { functions, objects, samples: all } = view;
  const stacks = changed?.stacks ?? view.stacks;
  const threads = new ThreadTable();
  const threadOf = view.threads.map(({ pid, tid, comm }) => threads.add(pid, tid, comm));
  const rows = keptRows(view, selection, changed);
  const samples = pickSamples(all, rows);
  const { time } = samples;
  const last = rows.length - 1;
  return {
    events: view.events,
    threads,
    objects,
    ...placesOfFunctions(functions),
    functions: {
      name: functions.name.map((name, fn) => {
        const object = objects[intAt(functions.object, fn)]?.name ?? "unknown";
        // Functions without a name have the name of their object.
        return name === `[${object}]` || (name === object && name.startsWith("[")) ? "" : name;
      }),
      object: functions.object,
      kind: functions.kind,
    },
    stacks: { parent: stacks.parent, place: stacks.item },
    samples: {
      ...samples,
      thread: samples.thread.map((thread) => numberAt(threadOf, thread)),
      stack: changed === undefined
        ? samples.stack
        : samples.stack.map((row) => changedRow(changed, row)),
    },
    epoch: BigInt(view.start),
    ...(time === undefined || last < 0
      ? {}
      : { span: [floatAt(time, 0), floatAt(time, last)] as const }),
    switches: [],
    title: view.title,
    trust: view.trust,
  };
}
