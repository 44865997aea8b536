import { pickSamples, type Profile, ThreadTable } from "@perfdata/profile";
import { type PlainStacks, selectedRows, type Selection } from "./selection.ts";
import type { ViewProfile } from "@perfdata/export/tree";
import { floatAt, intAt, numberAt } from "@perfdata/format/bytes";

/**
 * Converts the selection to a profile, for the formats of other tools. Its places are functions, since
 * a {@linkcode ViewProfile} has no addresses and lines.
 *
 * @param plain Stacks without inlined functions, to leave these out.
 */
export function selectedProfile(
  view: ViewProfile,
  selection: Selection,
  plain?: PlainStacks,
): Profile {
  const { functions, objects, samples: all } = view;
  const stacks = plain?.stacks ?? view.stacks;
  const count = functions.name.length;
  const numbers = Int32Array.from({ length: count }, (_, fn) => fn);
  const threads = new ThreadTable();
  const threadOf = view.threads.map(({ pid, tid, comm }) => threads.add(pid, tid, comm));
  const rows = selectedRows(view, selection);
  const samples = pickSamples(all, rows);
  const { time } = samples;
  const last = rows.length - 1;
  return {
    events: view.events,
    threads,
    objects,
    files: [],
    functions: {
      name: functions.name.map((name, fn) => {
        const object = objects[intAt(functions.object, fn)]?.name ?? "unknown";
        // Functions without a name have the name of their object.
        return name === `[${object}]` || (name === object && name.startsWith("[")) ? "" : name;
      }),
      object: functions.object,
      kind: functions.kind,
    },
    frames: {
      function: numbers,
      file: new Int32Array(count).fill(-1),
      line: new Int32Array(count),
    },
    places: {
      object: functions.object,
      address: new Float64Array(count),
      start: Int32Array.from({ length: count + 1 }, (_, fn) => fn),
      frames: numbers,
    },
    stacks: { parent: stacks.parent, place: stacks.item },
    samples: {
      ...samples,
      thread: samples.thread.map((thread) => numberAt(threadOf, thread)),
      stack: plain === undefined
        ? samples.stack
        : samples.stack.map((row) => row < 0 ? row : intAt(plain.of, row)),
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
