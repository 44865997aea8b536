/** Runs `flame`. */
import { flameData, flamePage, flameSvg } from "@perfdata/export/tree";
import {
  aboutAsync,
  complain,
  oneFile,
  parseWord,
  readyOutput,
  UsageError,
} from "../shared/cli.ts";
import type { FlagsOf } from "../shared/flag_table.ts";
import { chosenEvent, readProfile, writeChunks } from "../shared/open_profile.ts";
import { transformed } from "../shared/transformed.ts";
import { parseWeight } from "../shared/weight.ts";
import type { FLAGS } from "../flame.ts";

export async function run(flags: FlagsOf<typeof FLAGS>): Promise<number> {
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
      : await flamePage(data, (await import("@perfdata/page")).VIEW_PARTS);
    const bytes = await writeChunks(output, on.force, [new TextEncoder().encode(text)]);
    if (output !== "-") complain(`flame: ${output}: ${bytes} bytes`);
    return isWhole ? 0 : 1;
  });
}
