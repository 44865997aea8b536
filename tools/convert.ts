/** `convert`: another form of the same recording. */
import { copyRecording, DROP, type Edit, KEEP } from "@perfdata/edit";
import { isRandomAccess, PERF_RECORD_FINISHED_ROUND, PerfDataReader } from "@perfdata/format";
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
  Progress,
} from "./_cli.ts";
import { OUTPUT_FLAGS, OUTPUT_HELP, summary, writeRecording } from "./_edit.ts";

const HELP = `convert: writes a recording in another form

usage: perfdata convert [flags] -o OUTPUT [FILE]

FILE is a perf.data file or directory, or - for a pipe (default: perf.data).

A file becomes a pipe stream and a pipe stream a file; a directory that perf record --threads or
--kcore made becomes one file; compressed records are inflated. docs/convert.md says what is lost.

      --keep-compressed  leave compressed records as they are
${OUTPUT_HELP}\
      --debug            print the stack trace of an error
  -h, --help             print this help

examples:
  perfdata convert perf.data -o - | ssh host 'perf report -i -'
  perf record -o - -- ./program | perfdata convert -o perf.data -

Exit codes: 0 done; 1 the recording is damaged (what can be read is written); 2 wrong usage.
`;

const FLAGS = {
  boolean: [...OUTPUT_FLAGS.boolean, "keep-compressed"],
  string: [...OUTPUT_FLAGS.string],
  alias: OUTPUT_FLAGS.alias,
} as const;

/** The rounds of one file of a directory say nothing about the others: readers sort by time instead. */
const WITHOUT_ROUNDS: Edit = {
  record: (batch, i) => batch.type(i) === PERF_RECORD_FINISHED_ROUND ? DROP : KEEP,
};

async function run(flags: FlagsOf<typeof FLAGS>): Promise<number> {
  const { on, operands } = flags;
  const name = oneFile(operands);
  return await aboutAsync(name, async () => {
    const complaints = new Complaints(`convert: ${name}`);
    const source = openSource(name, { interruptible: true });
    const reader = await PerfDataReader.open(source, { diagnostics: complaints.take });
    const joined = isRandomAccess(source) && (source.seams?.length ?? 0) > 0;
    await writeRecording("convert", flags, async ({ output, path }) => {
      const progress = new Progress("convert", reader.fileSize);
      const copied = await copyRecording(reader, output, {
        keepCompressed: on["keep-compressed"],
        ...(joined ? { edit: WITHOUT_ROUNDS } : {}),
        lostFeature: complaints.take,
        progress: progress.add,
      });
      progress.finish();
      summary("convert", copied, path);
      if (joined) {
        complain(
          `convert: ${name}: ${copied.dropped} FINISHED_ROUND records left out, ` +
            "which hold for one file of the directory only",
        );
      }
    });
    complaints.finish();
    return complaints.count > 0 ? 1 : 0;
  });
}

/** The command. */
export const tool: Command = command({ name: "convert", help: HELP, flags: FLAGS, run });

if (import.meta.main) await main(tool);
