/** `info`: a recording in short. */
import { PerfDataReader } from "@perfdata/format";
import { openSource } from "@perfdata/format/file-source";
import { adviceOf } from "@perfdata/report/advice";
import { recordingInfo } from "@perfdata/report/info";
import { infoLines } from "@perfdata/report/info-text";
import { snakeKeys } from "@perfdata/report/json-line";
import {
  aboutAsync,
  type Command,
  command,
  Complaints,
  type FlagsOf,
  main,
  oneFile,
  Progress,
  writeLines,
  writeOut,
} from "./shared/cli.ts";
import { complainRounded } from "./shared/periods.ts";
import { sampleJobs } from "./shared/record_flags.ts";

const HELP = `info: prints a summary of a recording

usage: perfdata info [flags] [FILE]

FILE is a perf.data file or directory, or - for a pipe (default: perf.data).

Prints who recorded what, when and how; how many samples there are and how many were lost; what
stacks and symbols will be like; what is damaged; and which command to run next.

      --json             print one JSON object; docs/info.md describes its members
      --jobs N           threads that read samples (default: all processors for large files)
      --temp DIR         sort data that does not fit into memory in a file there (for a pipe)
      --debug            print the stack trace of an error
  -h, --help             print this help

examples:
  perfdata info perf.data
  perfdata info --json perf.data | jq .events

Exit codes: 0 done; 1 the recording is damaged (what can be read is counted); 2 wrong usage.
`;

const FLAGS = { boolean: ["json"], string: ["jobs", "temp"] } as const;

async function run({ on, value, operands }: FlagsOf<typeof FLAGS>): Promise<number> {
  const name = oneFile(operands);
  return await aboutAsync(name, async () => {
    const complaints = new Complaints(`info: ${name}`);
    const reader = await PerfDataReader.open(openSource(name), { diagnostics: complaints.take });
    const progress = new Progress("info", reader.fileSize);
    const jobs = await sampleJobs(value.jobs, reader);
    const workers = jobs === 1
      ? undefined
      : (await import("@perfdata/report/info-workers")).infoWorkers(name, jobs);
    const info = await recordingInfo(reader, { progress: progress.add, workers });
    progress.finish();
    if (on.json) {
      const text = JSON.stringify(
        snakeKeys({
          ...info,
          damage: complaints.count,
          advice: adviceOf(info, complaints.count, name),
        }),
        // Times in ns are beyond 2^53 only after 104 days of uptime; as text they are always exact.
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

/** The command. */
export const tool: Command = command({ name: "info", help: HELP, flags: FLAGS, run });

if (import.meta.main) await main(tool);
