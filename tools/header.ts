/** `header`: prints the header of a recording: host, events, features. */
import { headerLines } from "@perfdata/dump";
import { encodeText, visible } from "@perfdata/format/bytes";
import { PerfDataReader } from "@perfdata/format/records";
import { headerFile, openSource } from "@perfdata/format/files";
import { about, aboutAsync, Complaints, oneFile, writeOut } from "./shared/cli.ts";
import { type Command, command, main } from "./shared/command.ts";
import type { FlagsOf, Help } from "./shared/flag_table.ts";

const HELP: Help = {
  about: "prints what a perf.data file says about itself and the machine that recorded it",
  usage: ["[flags] [FILE]"],
  text: `
FILE is a perf.data file or directory, or - for a pipe (default: perf.data).

The output is that of perf report --header-only -I, followed by what perf 6.1 omits.
`,
  examples: [
    "perfdata header perf.data",
    "perfdata header --perf perf.data | grep cmdline",
  ],
  exit: "0 done; 1 the file is damaged (what can be read is printed)",
};

const FLAGS = {
  "--perf": "print only what perf 6.1 prints",
} as const;

async function run({ on, operands }: FlagsOf<typeof FLAGS>): Promise<number> {
  const file = oneFile(operands);
  const complaints = new Complaints(`header: ${file}`);
  const path = about(file, () => headerFile(file));
  const source = about(file, () => openSource(path));
  const reader = await aboutAsync(
    file,
    () => PerfDataReader.open(source, { diagnostics: complaints.take }),
  );
  // A pipe has no modification time.
  const mtime = (file === "-" ? null : Deno.statSync(path).mtime) ?? new Date();
  for await (const line of headerLines(reader, { mtime, more: !on.perf })) {
    // Escape control characters so that a host name cannot break the line.
    writeOut(encodeText(`${line.replace(/(?!\t)\p{Cc}/gu, visible)}\n`));
  }
  complaints.finish();
  return complaints.count > 0 ? 1 : 0;
}

export const tool: Command = command({ name: "header", help: HELP, flags: FLAGS, run });

if (import.meta.main) await main(tool);
