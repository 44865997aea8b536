/** Runs `repair`. */
import { repairRecording } from "@perfdata/edit";
import { openSource } from "@perfdata/format/files";
import { aboutAsync, complain, oneFile, Progress, writeLine } from "../shared/cli.ts";
import { rereadable, writeRecording } from "../shared/edited_file.ts";
import type { FlagsOf } from "../shared/flag_table.ts";
import type { FLAGS } from "../repair.ts";

export async function run(flags: FlagsOf<typeof FLAGS>): Promise<number> {
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
