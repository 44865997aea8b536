/** `repair`: writes a sound recording from a damaged one. */
import { repairRecording } from "@perfdata/edit";
import { openSource } from "@perfdata/format/files";
import { aboutAsync, complain, oneFile, Progress, writeLine } from "./shared/cli.ts";
import { type Command, command, main } from "./shared/command.ts";
import { rereadable, writeRecording } from "./shared/edited_file.ts";
import { OUTPUT_FLAGS } from "./shared/flag_sets.ts";
import type { FlagsOf, Help } from "./shared/flag_table.ts";

const HELP: Help = {
  about: "makes a sound recording from a damaged one",
  usage: ["[flags] -o OUTPUT [FILE]"],
  text: `
FILE is a perf.data file, also one that was cut off, overwritten in parts, or whose recording was
killed, or - for a pipe (default: perf.data). It is not changed.

Whole records before and after damage stay; the header, the feature table and the index of AUX data
are rebuilt. Each range of lost bytes is printed, with the reason. docs/repair.md says how
sound records are recognized.
`,
  examples: [
    "perfdata repair killed.data -o perf.data && perf report",
    "perfdata repair --json cut.data -o whole.data | jq .lost",
  ],
  exit: "0 all is back; 1 bytes or features are lost, or nothing can be repaired",
};

const FLAGS = {
  "--json": "print the report as one JSON object",
  ...OUTPUT_FLAGS,
} as const;

async function run(flags: FlagsOf<typeof FLAGS>): Promise<number> {
  const { on, value, operands } = flags;
  const name = oneFile(operands);
  return await aboutAsync(name, async () => {
    const source = await rereadable(openSource(name, { interruptible: true }));
    const report = await writeRecording("repair", flags, async ({ output }) => {
      const progress = new Progress("repair", source.size);
      const done = await repairRecording(source, output, progress.add);
      progress.finish();
      return done;
    });
    const { lost, findings, headerRebuilt, copied } = report;
    const bytes = lost.reduce((sum, { size }) => sum + size, 0);
    const records = copied.kept + copied.replaced;
    const say = value.output === "-" ? complain : writeLine;
    if (on.json) {
      say(JSON.stringify({
        records,
        header_rebuilt: headerRebuilt,
        lost_bytes: bytes,
        lost,
        findings,
      }));
    } else {
      if (headerRebuilt) say("file header: made anew from the attr table");
      for (const finding of findings) say(finding);
      for (const { offset, size, reason } of lost) {
        say(`0x${offset.toString(16)}: ${size} bytes lost: ${reason}`);
      }
      // The data that an AUXTRACE record announces may be beyond the end of the file.
      const cut = lost.reduce(
        (sum, { offset, size }) => offset < source.size ? sum : sum + size,
        0,
      );
      const inside = bytes - cut;
      const percent = (100 * inside / source.size).toFixed(1);
      say(
        `${records} records repaired; ${inside} of ${source.size} bytes lost (${percent}%)` +
          (cut > 0 ? `; ${cut} bytes after them were cut off` : ""),
      );
    }
    // Damaged features and attr tables are findings, not bytes lost.
    const isWhole = bytes === 0 && findings.length === 0;
    if (!isWhole && value.output !== "-") {
      const what = [
        ...(bytes > 0 ? [`${bytes} bytes`] : []),
        ...(findings.length > 0 ? [`${findings.length} other findings`] : []),
      ];
      complain(`repair: ${name}: not all of it is left: ${what.join(", ")}`);
    }
    return isWhole ? 0 : 1;
  });
}

export const tool: Command = command({ name: "repair", help: HELP, flags: FLAGS, run });

if (import.meta.main) await main(tool);
