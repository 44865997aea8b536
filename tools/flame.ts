/** `flame`: writes a flame graph as an HTML page or an SVG image. */
import { flameData, flamePage, flameSvg } from "@perfdata/export/tree";
import { aboutAsync, complain, oneFile, parseWord, readyOutput, UsageError } from "./shared/cli.ts";
import { type Command, command, main } from "./shared/command.ts";
import {
  FOCUS_FLAG,
  FORCE_FLAG,
  ITRACE_FLAG,
  PROFILE_FLAGS,
  TRANSFORM_FLAGS,
  WEIGHT_FLAG,
} from "./shared/flag_sets.ts";
import type { FlagsOf, Help } from "./shared/flag_table.ts";
import { chosenEvent, readProfile, writeChunks } from "./shared/open_profile.ts";
import { transformed } from "./shared/transformed.ts";
import { parseWeight } from "./shared/weight.ts";

const HELP: Help = {
  about: "writes a flame graph of a recording: one HTML file that needs no network",
  usage: ["[flags] -o OUTPUT [FILE]"],
  text: `
FILE is a perf.data file or directory, or - for a pipe (default: perf.data), or a profile of another
tool: text of perf script, folded stacks, pprof, .cpuprofile (docs/imports.md).
A directory of tables, as "export parquet" writes, is read like one recording.

It is the page of perfdata view with sums by slices of time in it: search for text or /expression/,
click to zoom, choose event, processes, threads and a range of time, see functions, callers and the
timeline; ? lists the keys. docs/flame.md says more.
`,
  examples: [
    "perfdata flame -o flame.html perf.data",
    "perfdata flame --svg --time 1s-2s -o second.svg perf.data",
    "perf record -g -o - -- ./program | perfdata flame -o flame.html -",
  ],
  exit: "0 done; 1 the recording is damaged (what can be read is drawn), or has no samples",
};

const FLAGS = {
  "-o, --output FILE": "where it goes; - is standard output; NAME.svg is a picture",
  ...FORCE_FLAG,
  "--svg": "a picture (SVG) that needs no script",
  "--event NAME": "picture: the samples of this event (default: that with most)",
  "--root WORD": "picture: the first row is the process (default), thread or none",
  "--color WORD": "picture: colors say the object (default) or the kind",
  "--icicle": "picture: callers above",
  "--callers": "picture: the sampled functions first, then their callers",
  "--width N": "picture: its width in pixels (default: 1200)",
  "--pt": `what ran, by time, from the Intel PT of the recording instead of samples; the default if
    there are no samples`,
  "--no-inline": "leave inlined functions out",
  ...FOCUS_FLAG,
  ...TRANSFORM_FLAGS,
  ...WEIGHT_FLAG,
  ...ITRACE_FLAG,
  ...PROFILE_FLAGS,
} as const;

async function run(flags: FlagsOf<typeof FLAGS>): Promise<number> {
  const { on, value, operands } = flags;
  const output = value.output;
  if (output === undefined) throw new UsageError("no output: -o flame.html, or -o -");
  readyOutput(output, { force: on.force, temp: value.temp });
  const root = parseWord("root", value.root, ["process", "thread", "none"]);
  const color = parseWord("color", value.color, ["object", "kind"]);
  const width = Number(value.width ?? 1200);
  if (!(width >= 100 && width <= 100_000)) {
    throw new UsageError(`--width is ${value.width}, expected pixels from 100 on`);
  }
  const isPicture = on.svg || output.endsWith(".svg");
  if (value.event !== undefined && !isPicture) {
    throw new UsageError("--event chooses what a picture shows; a page has all events");
  }
  const name = oneFile(operands);
  return await aboutAsync(name, async () => {
    const { profile: read, isWhole } = await readProfile("flame", name, flags, {
      weight: parseWeight(value.weight),
      itrace: value.itrace,
      timed: !isPicture,
      debugInformation: true,
      pt: on.pt,
    });
    const { profile, event } = chosenEvent("flame", name, {
      profile: transformed("flame", name, flags, read),
      wanted: value.event,
      hasAll: !isPicture,
    });
    const data = flameData([profile], { inline: !on["no-inline"] });
    if (data.omittedNodes > 0) {
      const most = (data.omittedShare * 100).toPrecision(2);
      complain(
        `flame: ${data.omittedNodes} boxes of at most ${most}% of an event are part of their callers`,
      );
    }
    const text = isPicture
      ? flameSvg(data, {
        width,
        icicle: on.icicle,
        coloring: color ?? "object",
        selection: {
          event,
          root: root ?? "process",
          order: on.callers ? "callers" : "merged",
        },
      })
      : await flamePage(data);
    const bytes = await writeChunks(output, on.force, [new TextEncoder().encode(text)]);
    if (output !== "-") complain(`flame: ${output}: ${bytes} bytes`);
    return isWhole ? 0 : 1;
  });
}

export const tool: Command = command({
  name: "flame",
  help: HELP,
  flags: FLAGS,
  rules: [{ flag: "itrace", excludes: ["pt"] }],
  run,
});

if (import.meta.main) await main(tool);
