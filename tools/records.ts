/** `records`: prints the records of a recording, one JSON object a line. */
import { writeRecords } from "@perfdata/dump/records";
import { PerfDataReader } from "@perfdata/format";
import { openSource } from "@perfdata/format/file-source";
import { bundledSymbols, tellUnnamed } from "./_bundle_flag.ts";
import {
  about,
  aboutAsync,
  Complaints,
  main,
  oneFile,
  parseFlags,
  UsageError,
  writeOut,
} from "./_cli.ts";
import { given, parseOffset, parseTypes, parseWord } from "./_record_flags.ts";

const HELP = `records: prints the records of a perf.data file in file order, one JSON object a line

usage: records [flags] [FILE]         FILE is a perf.data file, or - for a pipe; default: perf.data

docs/records.md says what the objects hold.

      --type LIST    only records of these types: SAMPLE,MMAP2
      --from OFFSET  only records from this file offset on
      --limit N      at most N records
      --order time   by time as perf delivers them, not as they stand in the file
      --csv          rows of CSV instead
      --u64 string   64-bit integers that are no addresses in quotes, for consumers that lose
                     digits of large numbers (default: number)
      --symbols FILE names of functions from a symbol bundle ("symbols bundle" makes it) with each
                     sample; by time, as --order time
      --no-demangle  names of C++ and Rust functions as the files have them
      --no-inflate   COMPRESSED records as they are, not what is inside of them
      --debug        with errors, print where in the program they come from
  -h, --help         print this

examples:
  records --type SAMPLE perf.data | jq -r .ip | sort | uniq -c | sort -rn | head
  perf record -o - -- ./program | records --csv - > records.csv

Exit codes: 0 done; 1 the file is damaged (what can be read is printed); 2 wrong usage.
`;

await main("records", async (argv) => {
  const { on, value, operands } = parseFlags(argv, {
    boolean: ["csv", "no-inflate", "no-demangle"],
    string: ["type", "from", "limit", "order", "u64", "symbols"],
  });
  if (on.help) {
    writeOut(HELP);
    return 0;
  }
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
    : await bundledSymbols(value.symbols, reader, !on["no-demangle"], complaints.take);
  await writeRecords(reader, writeOut, { ...options, ...given({ symbols }) });
  complaints.finish();
  if (symbols !== undefined) tellUnnamed("records", value.symbols ?? "", symbols);
  return complaints.count > 0 ? 1 : 0;
});
