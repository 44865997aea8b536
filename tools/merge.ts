/** `merge`: combines several recordings into one. */
import { type MergeInput, type MergeOptions, mergeRecordings } from "@perfdata/edit/slice";
import { PerfDataReader } from "@perfdata/format/records";
import { openSource } from "@perfdata/format/files";
import {
  aboutAsync,
  complain,
  Complaints,
  parseWord,
  Progress,
  UsageError,
  writeLine,
} from "./shared/cli.ts";
import { type Command, command, main } from "./shared/command.ts";
import { rereadable, writeRecording } from "./shared/edited_file.ts";
import { OUTPUT_FLAGS } from "./shared/flag_sets.ts";
import type { FlagsOf, Help } from "./shared/flag_table.ts";

const HELP: Help = {
  about: "several recordings become one",
  usage: ["[flags] -o OUTPUT FILE..."],
  text: `
FILE is a perf.data file or directory, or - for a pipe, which goes through a temporary file.

Events with the same attr become one. Process ids of the n-th host are n * 4194304 higher, so that
processes of different hosts stay apart; the upper 32 bits of each event id are the number of the
file of a sample. docs/merge.md says what is joined and what is lost.
`,
  examples: [
    "perfdata merge host1.data host2.data -o all.data",
    "perfdata merge host*.data -o - | perfdata funcs -",
  ],
  exit: "0 done; 1 a recording is damaged (what can be read is merged)",
};

const FLAGS = {
  "--time HOW": `wall: align by time of day (CLOCK_DATA), the default for several hosts; start: all
    begin at the same time; keep: as recorded`,
  "--json": "print the report as one JSON object",
  ...OUTPUT_FLAGS,
} as const;

async function run(flags: FlagsOf<typeof FLAGS>): Promise<number> {
  const { on, value, operands } = flags;
  if (operands.length === 0) throw new UsageError("no recordings are given");
  const twice = operands.find((name, i) => operands.indexOf(name) < i);
  if (twice !== undefined) throw new UsageError(`${twice} is given twice`);
  const time: MergeOptions["time"] = value.time === undefined
    ? undefined
    : parseWord("time", value.time, ["wall", "start", "keep"] as const);
  const inputs: MergeInput[] = [];
  const complaints: Complaints[] = [];
  let bytes = 0;
  for (const name of operands) {
    const own = new Complaints(`merge: ${name}`);
    complaints.push(own);
    inputs.push({
      name,
      reader: await aboutAsync(name, async () => {
        const source = await rereadable(openSource(name, { interruptible: true }));
        bytes += source.size;
        return await PerfDataReader.open(source, { diagnostics: own.take });
      }),
    });
  }
  const report = await writeRecording("merge", flags, async ({ output }) => {
    const progress = new Progress("merge", bytes);
    const done = await mergeRecordings(inputs, output, {
      time,
      progress: progress.add,
    });
    progress.finish();
    return done;
  });
  for (const own of complaints) own.finish();
  for (const loss of report.losses) complain(`merge: ${loss}`);
  const say = value.output === "-" ? complain : writeLine;
  if (on.json) {
    say(JSON.stringify({
      events: report.events,
      inputs: report.inputs.map((
        { name, host, pidOffset, idOffset, timeOffset, cpuOffset, samples },
      ) => ({
        name,
        host: host ?? null,
        samples,
        pid_offset: pidOffset,
        id_offset: Number(idOffset),
        time_offset: Number(timeOffset),
        cpu_offset: cpuOffset,
      })),
      losses: report.losses,
    }));
  } else {
    for (const { name, host, pidOffset, timeOffset, cpuOffset, samples } of report.inputs) {
      say(
        `${name}: ${samples} samples of ${host ?? "an unnamed host"}, process ids ` +
          `+${pidOffset}, times ${timeOffset < 0n ? "" : "+"}${timeOffset} ns` +
          (cpuOffset === 0 ? "" : `, CPUs +${cpuOffset}`),
      );
    }
  }
  return complaints.some(({ count }) => count > 0) ? 1 : 0;
}

export const tool: Command = command({ name: "merge", help: HELP, flags: FLAGS, run });

if (import.meta.main) await main(tool);
