/** Runs `report`. */
import { browse, browseLive, engineOf } from "../shared/browse.ts";
import { aboutAsync, isInteractive, isOnTerminal, oneFile } from "../shared/cli.ts";
import type { FlagsOf } from "../shared/flag_table.ts";
import { terminalKeyboard } from "../shared/keyboard.ts";
import { chosenEvent, readProfile } from "../shared/open_profile.ts";
import { reportTransforms, wantedTransforms } from "../shared/transformed.ts";
import type { FLAGS } from "../report.ts";

type ReportFlags = FlagsOf<typeof FLAGS>;

export async function run(flags: ReportFlags): Promise<number> {
  const { on, value, operands } = flags;
  const name = oneFile(operands);
  if (name === "-" && !on.stdio) return await live(flags);
  if (on.stdio || !isInteractive()) return await asFuncs(name, flags);
  return await aboutAsync(name, async () => {
    const { profile: all, isWhole, source } = await readProfile("report", name, flags, {
      timed: true,
      itrace: value.itrace,
      debugInformation: !on["no-inline"],
    });
    const { profile, event } = chosenEvent("report", name, {
      profile: all,
      wanted: value.event,
      hasAll: true,
    });
    const shown = { profile, source, engine: engineOf(profile, flags) };
    const transforms = wantedTransforms(flags);
    if (transforms.length > 0) {
      const { engine } = shown;
      const texts = transforms.map(({ text }) => text);
      const query = { event, weight: "period", inline: true, transforms: texts } as const;
      reportTransforms(`report: ${name}`, transforms, {
        dropped: [{
          event: profile.events[event]?.name ?? "",
          share: engine.droppedShare(query),
        }],
        isEmpty: engine.table(query).samples === 0,
      });
    }
    await browse({ tool: "report", name, flags, shown, event, sort: sortOf(flags) });
    return isWhole ? 0 : 1;
  });
}

function sortOf({ on }: ReportFlags): "total" | "self" {
  return on["no-children"] ? "self" : "total";
}

/** Shows a recording while it arrives through a pipe; without a terminal, prints its table. */
async function live(flags: ReportFlags): Promise<number> {
  const keyboard = isOnTerminal() && flags.value.itrace === undefined
    ? terminalKeyboard()
    : undefined;
  if (keyboard === undefined) return await asFuncs("-", flags);
  const { LiveRecording } = await import("../shared/live_recording.ts");
  const shown = { tool: "report", name: "-", flags };
  const recording = new LiveRecording({ ...shown, debugInformation: !flags.on["no-inline"] });
  // The user may quit before the end of the pipe, which is then not read.
  Deno.exit(await browseLive(recording, { ...shown, keyboard, sort: sortOf(flags) }));
}

/** Prints the table of `funcs`, for `--stdio` and without a terminal. */
async function asFuncs(name: string, { on, value }: ReportFlags): Promise<number> {
  const args = [
    ...Object.entries({ ...on, "stdio": false, "no-children": false }).flatMap(([flag, isOn]) =>
      isOn ? [`--${flag}`] : []
    ),
    ...Object.entries({ ...value, source: undefined }).flatMap(([flag, given]) =>
      given === undefined ? [] : [`--${flag}=${given}`]
    ),
  ];
  const { tool } = await import("../funcs.ts");
  return await tool.run([...args, "--", name]);
}
