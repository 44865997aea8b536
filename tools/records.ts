/** `records`: prints the records of a recording, one JSON object a line. */
import { writeRecords } from "@perfdata/dump/records";
import { PerfDataReader } from "@perfdata/format";
import { openSource } from "@perfdata/format/file-source";
import { bundledSymbols, tellUnnamed } from "./_bundle_flag.ts";
import {
  about,
  aboutAsync,
  type Command,
  command,
  Complaints,
  type FlagsOf,
  main,
  oneFile,
  parseWord,
  progressOf,
  UsageError,
  writeOut,
} from "./_cli.ts";
import { given, parseOffset, parseTypes } from "./_record_flags.ts";

const HELP =
  `records: prints the records of a perf.data file in file order, one JSON object per line

usage: perfdata records [flags] [FILE]

FILE is a perf.data file or directory, or - for a pipe (default: perf.data).

docs/records.md describes the objects.

      --type LIST    only records of these types: SAMPLE,MMAP2
      --from OFFSET  only records from this file offset on
      --limit N      print at most N records
      --order ORDER  file (default), as they stand in the file, or time, as perf delivers them
      --csv          print CSV instead
      --u64 FORM     string: print 64-bit integers other than addresses in quotes, for consumers
                     that lose digits of large numbers (default: number)
      --symbols FILE add function names from a bundle that "perfdata symbols bundle" made; sets
                     the order to time
      --no-demangle  leave C++ and Rust names mangled
      --no-inflate   print COMPRESSED records as they are, not the records in them
      --temp DIR     sort there what is too much for memory, of a pipe
      --debug        print the stack trace of an error
  -h, --help         print this help

examples:
  perfdata records --type SAMPLE perf.data | jq -r .ip | sort | uniq -c | sort -rn | head
  perf record -o - -- ./program | perfdata records --csv - > records.csv

Exit codes: 0 done; 1 the file is damaged (what can be read is printed); 2 wrong usage.
`;

const FLAGS = {
  boolean: ["csv", "no-inflate", "no-demangle"],
  string: ["type", "from", "limit", "order", "u64", "symbols", "temp"],
} as const;

async function run({ on, value, operands }: FlagsOf<typeof FLAGS>): Promise<number> {
  const file = oneFile(operands);
  if (value.symbols !== undefined && value.order === "file") {
    throw new UsageError("--symbols needs --order time: what is mapped where changes with time");
  }
  const complaints = new Complaints(`records: ${file}`);
  const options = given({
    format: on.csv ? "csv" as const : "ndjson" as const,
    order: parseWord("order", value.order, ["file", "time"]),
    u64: parseWord("u64", value.u64, ["number", "string"]),
    types: parseTypes(value.type),
    from: parseOffset("from", value.from),
    limit: parseOffset("limit", value.limit),
    diagnostics: complaints.take,
    inflate: !on["no-inflate"],
  });
  const source = about(file, () => openSource(file));
  const reader = await aboutAsync(
    file,
    () => PerfDataReader.open(source, { diagnostics: complaints.take }),
  );
  const symbols = value.symbols === undefined
    ? undefined
    : await bundledSymbols(value.symbols, !on["no-demangle"]);
  const { add, finish } = progressOf("records", reader.fileSize);
  await writeRecords(reader, writeOut, { ...options, ...given({ symbols }), progress: add })
    .finally(finish);
  complaints.finish();
  if (symbols !== undefined) tellUnnamed("records", value.symbols ?? "", symbols);
  return complaints.count > 0 ? 1 : 0;
}

/** The command. */
export const tool: Command = command({ name: "records", help: HELP, flags: FLAGS, run });

if (import.meta.main) await main(tool);
