/** Runs `info`. */
import { PerfDataReader } from "@perfdata/format/records";
import { openSource } from "@perfdata/format/files";
import { adviceOf, infoLines, recordingInfo } from "@perfdata/report/figures";
import { snakeKeys } from "@perfdata/format/bytes";
import { aboutAsync, Complaints, oneFile, Progress, writeLines, writeOut } from "../shared/cli.ts";
import type { FlagsOf } from "../shared/flag_table.ts";
import { complainRounded } from "../shared/periods.ts";
import { parseJobs } from "../shared/record_flags.ts";
import { sampleJobs } from "@perfdata/session";
import type { FLAGS } from "../info.ts";

export async function run({ on, value, operands }: FlagsOf<typeof FLAGS>): Promise<number> {
  const name = oneFile(operands);
  return await aboutAsync(name, async () => {
    const complaints = new Complaints(`info: ${name}`);
    const reader = await PerfDataReader.open(openSource(name), { diagnostics: complaints.take });
    const progress = new Progress("info", reader.fileSize);
    const jobs = await sampleJobs(parseJobs(value.jobs), reader);
    const workers = jobs === 1
      ? undefined
      : (await import("@perfdata/report/workers")).infoWorkers(name, jobs);
    const info = await recordingInfo(reader, { progress: progress.add, workers });
    progress.finish();
    if (on.json) {
      const text = JSON.stringify(
        snakeKeys({
          ...info,
          damage: complaints.count,
          advice: adviceOf(info, complaints.count, name),
        }),
        // Times in ns exceed 2^53 after 104 days of uptime; as text they are exact.
        (_, value) => typeof value === "bigint" ? `${value}` : value,
      );
      writeOut(`${text}\n`);
    } else {
      writeLines(infoLines(info, complaints.count, name));
    }
    complainRounded("info", name, info.events);
    complaints.finish();
    return complaints.count > 0 ? 1 : 0;
  });
}
