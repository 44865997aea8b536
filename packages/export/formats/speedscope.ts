import { ByteText, floatAt, intAt, numberAt } from "@perfdata/format/bytes";
import { frameStacks, functionName, groupSamples, type Profile } from "@perfdata/profile";
import { oneFunctionEach } from "../tree/one_function.ts";

/** Options of {@linkcode speedscope}. */
export interface SpeedscopeOptions {
  /** Whether inlined functions are frames; default true. */
  readonly inline?: boolean;
}

/**
 * A profile for speedscope (its file format is described in
 * https://www.speedscope.app/file-format-schema.json): one "sampled" profile per event and thread,
 * with periods as weights.
 *
 * Samples of a thread are in time order if the profile has times; the axis is the sum of the
 * weights, not the clock.
 */
export function* speedscope(
  apart: Profile,
  { inline = true }: SpeedscopeOptions = {},
): Generator<Uint8Array<ArrayBuffer>, void, void> {
  // speedscope ranks frames, so a function must have only one.
  const profile = oneFunctionEach(apart);
  const { events, files, threads, samples } = profile;
  const frames = framesOf(profile);
  const stacks = frameStacks(profile, { by: "function", inline });
  const text = new ByteText();
  text.string(
    `{"$schema":"https://www.speedscope.app/file-format-schema.json","exporter":"perfdata",` +
      `"name":${JSON.stringify(profile.title)},"shared":{"frames":[`,
  );
  for (const [frame, { name, file: number, line }] of frames.entries()) {
    const file = files[number];
    text.string(
      (frame > 0 ? ",\n" : "\n") + JSON.stringify({
        name,
        file,
        ...(line > 0 ? { line } : {}),
      }),
    );
    if (text.isFull) yield text.take();
  }
  text.string(`]},"profiles":[`);
  let comma = "\n";
  for (const { event, thread, rows } of groupSamples(profile)) {
    const { comm, pid, tid } = threads.at(thread) ?? { comm: "", pid: -1, tid: -1 };
    const { name, unit } = events[event] ?? { name: "", unit: "count" };
    const title = `${comm} ${pid}/${tid}${events.length > 1 ? ` ${name}` : ""}`;
    text.string(
      `${comma}{"type":"sampled","name":${JSON.stringify(title)},` +
        `"unit":"${unit === "nanoseconds" ? unit : "none"}","startValue":0,"endValue":`,
    );
    comma = ",\n";
    let sum = 0;
    for (const row of rows) sum += floatAt(samples.period, row);
    text.number(sum);
    text.string(`,"samples":[`);
    const path: number[] = [];
    for (let i = 0; i < rows.length; i++) {
      text.string(i > 0 ? ",[" : "[");
      const stack = intAt(samples.stack, intAt(rows, i));
      path.length = 0;
      for (
        let row = stack < 0 ? -1 : intAt(stacks.of, stack);
        row >= 0;
        row = intAt(stacks.parent, row)
      ) {
        path.push(intAt(stacks.item, row));
      }
      for (let at = path.length - 1; at >= 0; at--) {
        text.number(numberAt(path, at));
        if (at > 0) text.byte(0x2c);
      }
      text.byte(0x5d);
      if (text.isFull) yield text.take();
    }
    text.string(`],"weights":[`);
    for (let i = 0; i < rows.length; i++) {
      if (i > 0) text.byte(0x2c);
      text.number(floatAt(samples.period, intAt(rows, i)));
      if (text.isFull) yield text.take();
    }
    text.string("]}");
  }
  text.string("\n]}\n");
  yield text.take();
}

/**
 * A function in speedscope's format, with the first of its lines, which is shown beside the name.
 */
interface SpeedscopeFrame {
  readonly name: string;
  file: number;
  line: number;
}

function framesOf(profile: Profile): SpeedscopeFrame[] {
  const { functions, frames } = profile;
  const all = functions.name.map((_, number): SpeedscopeFrame => ({
    name: functionName(profile, number),
    file: -1,
    line: 0,
  }));
  for (let i = 0; i < frames.function.length; i++) {
    const frame = all[intAt(frames.function, i)];
    const line = intAt(frames.line, i);
    if (frame === undefined || line === 0 || (frame.line > 0 && line >= frame.line)) continue;
    frame.line = line;
    frame.file = intAt(frames.file, i);
  }
  return all;
}
