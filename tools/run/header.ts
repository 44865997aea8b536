/** Runs `header`. */
import { encodeText, visible } from "@perfdata/format/bytes";
import { headerFile, openSource } from "@perfdata/format/files";
import { about, aboutAsync, oneFile, writeOut } from "../shared/cli.ts";
import type { FlagsOf } from "../shared/flag_table.ts";
import { openRecording } from "../shared/open_recording.ts";
import type { FLAGS } from "../header.ts";

export async function run({ on, operands }: FlagsOf<typeof FLAGS>): Promise<number> {
  const file = oneFile(operands);
  const path = about(file, () => headerFile(file));
  const source = about(file, () => openSource(path));
  return await aboutAsync(file, async () => {
    const { recording, complaints } = await openRecording("header", file, { source });
    // A pipe has no modification time.
    const mtime = (file === "-" ? null : Deno.statSync(path).mtime) ?? new Date();
    for await (const line of recording.header({ mtime, more: !on.perf })) {
      // Escape control characters so that a host name cannot break the line.
      writeOut(encodeText(`${line.replace(/(?!\t)\p{Cc}/gu, visible)}\n`));
    }
    complaints.finish();
    return complaints.count > 0 ? 1 : 0;
  });
}
