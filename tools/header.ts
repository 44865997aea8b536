/** `header`: prints what a recording says about itself. */
import { headerLines } from "@perfdata/dump";
import { encodeText, PerfDataReader } from "@perfdata/format";
import { headerFile, openSource } from "@perfdata/format/file-source";
import { about, aboutAsync, Complaints, main, oneFile, parseFlags, writeOut } from "./_cli.ts";

const HELP =
  `header: prints what a perf.data file says about itself and the machine that recorded it

usage: header [flags] [FILE]          FILE is a perf.data file, or - for a pipe; default: perf.data

It prints the text of perf report --header-only -I, then what perf 6.1 leaves out of it.

      --perf         only what perf 6.1 prints
      --debug        with errors, print where in the program they come from
  -h, --help         print this

Exit codes: 0 done; 1 the file is damaged (what can be read is printed); 2 wrong usage.
`;

await main("header", async (argv) => {
  const { on, operands } = parseFlags(argv, { boolean: ["perf"], string: [] });
  if (on.help) {
    writeOut(HELP);
    return 0;
  }
  const file = oneFile(operands);
  const complaints = new Complaints(`header: ${file}`);
  const path = about(file, () => headerFile(file));
  const source = about(file, () => openSource(path));
  const reader = await aboutAsync(
    file,
    () => PerfDataReader.open(source, { diagnostics: complaints.take }),
  );
  // The pipe of a running recording has no time of its own.
  const mtime = (file === "-" ? null : Deno.statSync(path).mtime) ?? new Date();
  for await (const line of headerLines(reader, { mtime, more: !on.perf })) {
    writeOut(encodeText(`${line}\n`));
  }
  complaints.finish();
  return complaints.count > 0 ? 1 : 0;
});
