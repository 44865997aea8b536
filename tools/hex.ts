/** Prints the bytes of a perf.data file and what they mean: `deno run hex FILE`. */
import { HEX_SECTIONS, hexLines, type HexTextOptions, isRecordName } from "../packages/dump/mod.ts";
import { openSource } from "../packages/format/file_source.ts";
import {
  choiceFlag,
  fileArgument,
  numberFlag,
  parseFlags,
  runTool,
  typesFlag,
  userPath,
  writeAll,
} from "./_cli.ts";

const HELP = `Usage: deno run hex [OPTION]... [FILE]

Prints every byte of a perf.data file with the field that it belongs to.
Lines that begin with !! say what is wrong with the bytes below.

FILE is perf.data where not given; - is standard input.

  --at OFFSET       the line with this byte, marked, and those around it
  --context N       so many lines before and after it; default: 8
  --section NAME    only header, attrs, ids, data, features or aux
  --record N        only the record with this number, counted from 0
  --type A,B        only records of these types, such as SAMPLE,MMAP2
  --inflate         list the records inside of COMPRESSED ones below them
  --json            one JSON object a run of bytes
  --help            this text
`;

/** Bytes of text that are written at once. */
const BLOCK = 1 << 16;

await runTool("hex", HELP, async (argv) => {
  const args = parseFlags(argv, {
    boolean: ["json", "inflate"],
    string: ["at", "context", "section", "record", "type"],
  });
  const types = typesFlag(args, isRecordName);
  const at = numberFlag(args, "at");
  const context = numberFlag(args, "context");
  const record = numberFlag(args, "record");
  const section = choiceFlag(args, "section", HEX_SECTIONS);
  const options: HexTextOptions = {
    json: Boolean(args["json"]),
    inflate: Boolean(args["inflate"]),
    color: Deno.stdout.isTerminal() && !Deno.noColor,
    ...(types === undefined ? {} : { types }),
    ...(at === undefined ? {} : { at }),
    ...(context === undefined ? {} : { context }),
    ...(record === undefined ? {} : { record }),
    ...(section === undefined ? {} : { section }),
  };
  const encoder = new TextEncoder();
  let text = "";
  for await (const line of hexLines(openSource(userPath(fileArgument(args))), options)) {
    text += `${line}\n`;
    if (text.length >= BLOCK) {
      writeAll(encoder.encode(text));
      text = "";
    }
  }
  writeAll(encoder.encode(text));
});
