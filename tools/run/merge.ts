/** Runs `merge`. */
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
} from "../shared/cli.ts";
import { rereadable, writeRecording } from "../shared/edited_file.ts";
import type { FlagsOf } from "../shared/flag_table.ts";
import type { FLAGS } from "../merge.ts";

export async function run(flags: FlagsOf<typeof FLAGS>): Promise<number> {
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
