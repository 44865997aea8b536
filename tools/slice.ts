/** `slice`: keeps a part of a recording. */
import { copyRecording, Slice } from "@perfdata/edit";
import { PerfDataReader } from "@perfdata/format";
import { openSource } from "@perfdata/format/file-source";
import {
  aboutAsync,
  type Command,
  command,
  complain,
  Complaints,
  type FlagsOf,
  main,
  oneFile,
  parseNumbers,
  Progress,
  UsageError,
} from "./_cli.ts";
import { OUTPUT_FLAGS, OUTPUT_HELP, share, summary, writeRecording } from "./_edit.ts";
import { parseTime, resolveTime, sampleSpan } from "./_time.ts";

const HELP = `slice: keeps a part of a recording

usage: perfdata slice [flags] -o OUTPUT [FILE]

FILE is a perf.data file or directory, or - for a pipe (default: perf.data).

Samples stay that pass all conditions, and with them all that explains them: mappings, names and
forks up to the end of the slice. docs/slice.md says what goes and what is made anew.

      --time RANGE       1.5s-2s or 500ms- after the first sample, 10%-20% of the recording, or
                         12.5,13 in seconds of its clock
      --pid LIST         only these processes: 12 or 12,14-16
      --tid LIST         only these threads
      --cpu LIST         only these CPUs, also of AUX data
      --sample-every N   of the samples that pass, each N-th
${OUTPUT_HELP}\
      --debug            print the stack trace of an error
  -h, --help             print this help

examples:
  perfdata slice --time 12s-15s big.data -o part.data
  perfdata slice --pid 4711 --sample-every 10 -o - big.data | perfdata funcs -

Exit codes: 0 done; 1 the recording is damaged (what can be read is written), or no sample passes;
2 wrong usage.
`;

const FLAGS = {
  boolean: [...OUTPUT_FLAGS.boolean],
  string: [...OUTPUT_FLAGS.string, "time", "pid", "tid", "cpu", "sample-every"],
  alias: OUTPUT_FLAGS.alias,
} as const;

async function run(flags: FlagsOf<typeof FLAGS>): Promise<number> {
  const { value, operands } = flags;
  const name = oneFile(operands);
  const range = value.time === undefined ? undefined : parseTime(value.time);
  const numbers = (flag: "pid" | "tid" | "cpu") =>
    value[flag] === undefined ? undefined : parseNumbers(flag, value[flag]);
  const [pids, tids, cpus] = [numbers("pid"), numbers("tid"), numbers("cpu")];
  const every = value["sample-every"];
  if (every !== undefined && !/^[1-9]\d*$/.test(every)) {
    throw new UsageError(`--sample-every is ${every}, expected a number from 1 on`);
  }
  return await aboutAsync(name, async () => {
    const complaints = new Complaints(`slice: ${name}`);
    const source = openSource(name, { interruptible: true });
    const reader = await PerfDataReader.open(source, { diagnostics: complaints.take });
    const time = range && await resolveTime(range, () => sampleSpan(reader));
    const edit = new Slice(reader, {
      ...(time === undefined ? {} : { time }),
      ...(pids === undefined ? {} : { pids }),
      ...(tids === undefined ? {} : { tids }),
      ...(cpus === undefined ? {} : { cpus }),
      ...(every === undefined ? {} : { sampleEvery: Number(every) }),
    });
    await writeRecording("slice", flags, async ({ output, path }) => {
      const progress = new Progress("slice", reader.fileSize);
      const copied = await copyRecording(reader, output, { edit, progress: progress.add });
      progress.finish();
      summary("slice", copied, path);
    });
    complaints.finish();
    const { samples, kept, wholeAux } = edit.stats;
    if (wholeAux > 0) {
      complain(`slice: ${name}: AUX data is not cut in time: ${wholeAux} buffers stay whole`);
    }
    if (kept === 0 && samples > 0) {
      complain(`slice: ${name}: ${share(kept, samples, "samples")} pass all conditions`);
      return 1;
    }
    return complaints.count > 0 ? 1 : 0;
  });
}

/** The command. */
export const tool: Command = command({ name: "slice", help: HELP, flags: FLAGS, run });

if (import.meta.main) await main(tool);
