/** Runs `info`. */
import { adviceOf, infoLines } from "@perfdata/report/figures";
import { snakeKeys } from "@perfdata/format/bytes";
import { aboutAsync, oneFile, writeLines, writeOut } from "../shared/cli.ts";
import type { FlagsOf } from "../shared/flag_table.ts";
import { openRecording } from "../shared/open_recording.ts";
import { complainRounded } from "../shared/periods.ts";
import { sampleThreads } from "../shared/sample_threads.ts";
import type { FLAGS } from "../info.ts";

export async function run({ on, value, operands }: FlagsOf<typeof FLAGS>): Promise<number> {
  const name = oneFile(operands);
  return await aboutAsync(name, async () => {
    const { recording, complaints, progress } = await openRecording("info", name, {
      threads: sampleThreads(name, value.jobs),
    });
    const info = await recording.info();
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
