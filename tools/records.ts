/** `records`: prints the records of a recording as JSON, one object a line. */
import { recordsFile } from "@perfdata/dump/workers";
import { PerfDataReader } from "@perfdata/format/records";
import { openSource } from "@perfdata/format/files";
import { bundledSymbols, isRecording, reportUnnamed } from "./shared/bundle_flag.ts";
import {
  about,
  aboutAsync,
  complain,
  Complaints,
  oneFile,
  parseWord,
  progressOf,
  UsageError,
} from "./shared/cli.ts";
import { type Command, command, main } from "./shared/command.ts";
import { SYMBOL_FILE_FLAGS, TEMP_FLAG } from "./shared/flag_sets.ts";
import { flagRows, type FlagsOf, type Help } from "./shared/flag_table.ts";
import {
  choosesSamples,
  givenFilters,
  nameFilters,
  parseNames,
  sampleFilter,
} from "./shared/sample_flags.ts";
import { whyNothing } from "./shared/nothing.ts";
import { given, parseCount, parseJobs, parseOffset } from "./shared/record_flags.ts";
import { textJobs } from "@perfdata/session";
import { parseTypes } from "./shared/type_flag.ts";

const HELP: Help = {
  about: "prints the records of a perf.data file in file order, one JSON object per line",
  usage: ["[flags] [FILE]"],
  text: `
FILE is a perf.data file or directory, or - for a pipe (default: perf.data).

docs/records.md describes the objects.
`,
  examples: [
    "perfdata records --type SAMPLE perf.data | jq -r .ip | sort | uniq -c | sort -rn | head",
    "perfdata records --comm nginx --time 10s-12s perf.data | jq -r .cpu | sort -n | uniq -c",
    "perfdata records --type SAMPLE --symbols --unwind perf.data | jq .callchain_symbols",
    "perf record -o - -- ./program | perfdata records --csv - > records.csv",
  ],
  exit: "0 done; 1 the file is damaged (what can be read is printed)",
};

const FLAGS = {
  "--type LIST": "only records of these types: SAMPLE,MMAP2",
  "--cpu LIST": "only records of these CPUs: 0,3 or 0-3",
  "--pid LIST": "only records of these processes",
  "--tid LIST": "only records of these threads",
  "--time RANGE": `only records of this time: 1.5s-2s or 500ms- after the first sample, 10%-20% of
    the recording, or 12.5,13 in seconds of its clock`,
  "--event NAMES": "only samples of these events: a,b or /expression/",
  "--comm NAMES": "only samples of these commands; implies --order time",
  "--dso NAMES": "only samples in these objects; implies --order time",
  "--symbol NAMES": "only samples in these functions, which are looked up as with --symbols",
  "--from OFFSET": "only records from this file offset on",
  "--limit N": "print at most N records",
  "--order ORDER": `file (default), as they are in the file, or time, as perf delivers them;
    samples then have the name of their thread`,
  "--csv": "print CSV instead",
  "--fields": `add the fields of tracepoints, as an object by name: those of their recorded format,
    and those that user events with EventHeader describe`,
  "--u64 FORM": `string: print 64-bit integers other than addresses in quotes, for consumers that
    lose digits of large numbers (default: number)`,
  "--symbols [FILE]": `add function names, from this machine or from a bundle that "perfdata
    symbols bundle" made; implies --order time`,
  "--inline": "add inlined functions, from the files of this machine",
  "--srcline": "add source lines, from the files of this machine",
  ...SYMBOL_FILE_FLAGS,
  "--unwind": `callchain is the whole stack: unwound from the copy that perf record --call-graph
    dwarf makes, joined from branch records (lbr) or later records; implies --order time`,
  "--stitch-lbr": "with --unwind: as perf report --stitch-lbr",
  "--no-inflate": "print COMPRESSED records as they are, not the records in them",
  "--jobs N": `number of threads (default: one a processor, 8 at most, for files of 256 MB or
    more); --limit, --symbols, --symbol, --unwind and pipes use one`,
  ...TEMP_FLAG,
} as const;

type RecordsFlags = FlagsOf<typeof FLAGS>;

/**
 * Separates the file from the value of `--symbols`: in `--symbols perf.data` the flag has no value,
 * and `perf.data` is the recording.
 *
 * @returns The file, and `symbols`: the path of a bundle, `""` for this machine's files,
 * `undefined` for no symbols.
 */
function fileAndSymbols({ on, value, operands }: RecordsFlags): [file: string, symbols?: string] {
  const { symbols, symbol } = value;
  const given: Readonly<Record<string, string | undefined>> = value;
  const here = on.inline || on.srcline || symbol !== undefined ||
    flagRows(SYMBOL_FILE_FLAGS).some(({ flag }) => given[flag] !== undefined);
  if (symbols === undefined) return here ? [oneFile(operands), ""] : [oneFile(operands)];
  return symbols !== "" && operands.length === 0 && (symbols === "-" || isRecording(symbols))
    ? [symbols, ""]
    : [oneFile(operands), symbols];
}

async function run(flags: RecordsFlags): Promise<number> {
  const { on, value } = flags;
  const [file, symbols] = fileAndSymbols(flags);
  if (value.order === "file") {
    const flag = on.unwind
      ? "unwind"
      : (["symbol", "dso", "comm"] as const).find((name) => value[name] !== undefined) ??
        (symbols === undefined ? undefined : "symbols");
    if (flag !== undefined) {
      throw new UsageError(
        `--${flag} needs --order time: what threads are called, and what is mapped, changes with time`,
      );
    }
  }
  const jobs = parseJobs(value.jobs);
  const names = {
    ...nameFilters(flags),
    event: value.event === undefined ? undefined : parseNames("event", value.event),
  };
  const complaints = new Complaints(`records: ${file}`);
  const options = given({
    format: on.csv ? "csv" as const : "ndjson" as const,
    order: parseWord("order", value.order, ["file", "time"]),
    u64: parseWord("u64", value.u64, ["number", "string"]),
    types: parseTypes(value.type),
    from: parseOffset("from", value.from),
    limit: parseCount("limit", value.limit),
    diagnostics: complaints.take,
    inflate: !on["no-inflate"],
    stitchLbr: on["stitch-lbr"],
    fields: on.fields,
  });
  const source = about(file, () => openSource(file));
  const reader = await aboutAsync(
    file,
    () => PerfDataReader.open(source, { diagnostics: complaints.take }),
  );
  const bundled = symbols === undefined || symbols === ""
    ? undefined
    : await bundledSymbols(symbols, !on["no-demangle"]);
  const lookUps = symbols === "" || on.unwind
    ? new (await import("./shared/record_symbols.ts")).RecordLookUps(
      { ...flags, value: { ...value, symbols: symbols === "" ? undefined : symbols } },
      file,
    )
    : undefined;
  using looked = symbols === "" ? lookUps?.names : undefined;
  const isChosen = choosesSamples(flags) || value.event !== undefined;
  const filter = isChosen
    ? given({ ...names, ...await aboutAsync(file, () => sampleFilter(flags, reader)) })
    : undefined;
  const { add, finish } = progressOf("records", reader.fileSize);
  const { engine, count, cut } = await recordsFile(reader, file, textJobs(jobs, reader), {
    ...options,
    ...given({
      filter,
      symbols: bundled ?? looked,
      unwind: on.unwind ? lookUps?.resolverFor : undefined,
      jit: looked === undefined ? undefined : lookUps?.resolverFor,
    }),
    progress: add,
  }).finally(finish);
  complaints.finish();
  const { type, from, event } = value;
  if (count === 0 && value.limit !== "0" && (isChosen || (type ?? from) !== undefined)) {
    const why = await whyNothing(file, { ...givenFilters(flags), event, type, from }, names);
    complain(`records: ${file}: no records: ${why}`);
  }
  if (cut > 0) {
    complain(`records: ${file}: ${cut} samples of tracepoints have no fields: their data are cut`);
  }
  if (on.fields && await engine.described.tracing() === undefined) {
    complain(
      `records: ${file}: no fields: the recording has no formats of tracepoints (TRACING_DATA)`,
    );
  }
  if (bundled !== undefined) reportUnnamed("records", symbols ?? "", bundled);
  lookUps?.report(engine, on.unwind);
  return complaints.count > 0 ? 1 : 0;
}

export const tool: Command = command({ name: "records", help: HELP, flags: FLAGS, run });

if (import.meta.main) await main(tool);
