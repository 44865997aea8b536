/** Prints what a perf.data file says about itself: `deno run header FILE`. */
import { headerLines } from "../packages/dump/mod.ts";
import { encodeText, PerfDataReader } from "../packages/format/mod.ts";
import { openSource } from "../packages/format/file_source.ts";
import { complain, fileArgument, parseFlags, runTool, userPath, writeAll } from "./_cli.ts";

const HELP = `Usage: deno run header [FILE]

Prints what a perf.data file says about itself and the machine that recorded it:
the text of \`perf report --header-only -I\`, then what that perf leaves out.

FILE is perf.data where not given; - is standard input.

  --perf   only what perf 6.1 prints
  --help   this text
`;

await runTool("header", HELP, async (argv) => {
  const args = parseFlags(argv, { boolean: ["perf"] });
  const name = fileArgument(args);
  const path = userPath(name);
  const source = openSource(path);
  let damaged = false;
  const reader = await PerfDataReader.open(source, {
    diagnostics: (error) => {
      damaged = true;
      complain(`header: ${name}: ${error.located()}`);
    },
  });
  // The pipe of a running recording has no time of its own.
  const mtime = (path === "-" ? null : Deno.statSync(path).mtime) ?? new Date();
  for await (const line of headerLines(reader, { mtime, more: !args["perf"] })) {
    writeAll(encodeText(`${line}\n`));
  }
  return damaged ? 1 : 0;
});
