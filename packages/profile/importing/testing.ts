// Test support: inputs of importers as bytes, and profiles as lines.
import { bytesSource, type RandomAccessSource } from "@perfdata/format/bytes";
import { functionName, type Profile } from "../columns/profile.ts";

export function textSource(text: string): RandomAccessSource {
  return bytesSource(new TextEncoder().encode(text));
}

/**
 * A line per row of samples: event, comm, pid/tid, count, period, and the functions, outermost
 * first.
 */
export function importedLines(profile: Profile): string[] {
  const { samples, stacks, places, frames, threads, events, objects, functions } = profile;
  return Array.from({ length: samples.length }, (_, i) => {
    const names: string[] = [];
    for (let at = samples.stack[i] ?? -1; at >= 0; at = stacks.parent[at] ?? -1) {
      const place = stacks.place[at] ?? -1;
      for (let k = places.start[place] ?? 0; k < (places.start[place + 1] ?? 0); k++) {
        const frame = places.frames[k] ?? -1;
        const number = frames.function[frame] ?? -1;
        const object = objects[functions.object[number] ?? -1]?.name ?? "?";
        const file = profile.files[frames.file[frame] ?? -1];
        names.unshift(
          `${functionName(profile, number)}@${object}` +
            (file === undefined ? "" : `:${file}:${frames.line[frame]}`) +
            ((functions.kind[number] ?? 0) > 0 ? `/${functions.kind[number]}` : ""),
        );
      }
    }
    const thread = threads.at(samples.thread[i] ?? -1);
    return [
      events[samples.event[i] ?? -1]?.name,
      `${thread?.comm} ${thread?.pid}/${thread?.tid}`,
      ...[samples.count[i], samples.period[i]],
      names.join(" > ") || "-",
    ].join("; ");
  });
}
