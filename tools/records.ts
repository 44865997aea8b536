/** Prints the records of a perf.data file, one JSON object a line: `deno run records FILE`. */
import { isRecordName, recordsText } from "../packages/dump/mod.ts";
import { PerfDataReader } from "../packages/format/mod.ts";
import { openSource } from "../packages/format/file_source.ts";
import {
  choiceFlag,
  complain,
  fileArgument,
  numberFlag,
  parseFlags,
  runTool,
  typesFlag,
  userPath,
  writeAll,
} from "./_cli.ts";

const HELP = `Usage: deno run records [OPTION]... [FILE]

Prints the records of a perf.data file in file order, one JSON object a line.
The schema is in docs/records.md.

FILE is perf.data where not given; - is standard input.

  --type A,B      only records of these types, such as SAMPLE,MMAP2
  --from OFFSET   only records from this file offset on
  --limit N       at most N records
  --csv           rows of CSV instead
  --u64 string    64-bit values that are no addresses in quotes, for consumers
                  that lose digits of large numbers; default: number
  --no-inflate    COMPRESSED records as they are, not what is inside of them
  --help          this text
`;

await runTool("records", HELP, async (argv) => {
  const args = parseFlags(argv, {
    boolean: ["csv", "no-inflate"],
    string: ["type", "from", "limit", "u64"],
  });
  const name = fileArgument(args);
  const types = typesFlag(args, isRecordName);
  const from = numberFlag(args, "from");
  const limit = numberFlag(args, "limit");
  let damaged = false;
  const reader = await PerfDataReader.open(openSource(userPath(name)), {
    diagnostics: (error) => {
      damaged = true;
      complain(`records: ${name}: ${error.located()}`);
    },
  });
  const text = recordsText(reader, {
    format: args["csv"] ? "csv" : "ndjson",
    u64: choiceFlag(args, "u64", ["number", "string"]) ?? "number",
    inflate: !args["no-inflate"],
    ...(types === undefined ? {} : { types }),
    ...(from === undefined ? {} : { from }),
    ...(limit === undefined ? {} : { limit }),
  });
  for await (const block of text) writeAll(block);
  return damaged ? 1 : 0;
});
