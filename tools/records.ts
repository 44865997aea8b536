/** `records`: prints the records of a recording as JSON, one object a line. */
import { type Command, command, main } from "./shared/command.ts";
import { SYMBOL_FILE_FLAGS, TEMP_FLAG } from "./shared/flag_sets.ts";
import { type Help } from "./shared/flag_table.ts";

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

export const FLAGS = {
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

export const tool: Command = command({
  name: "records",
  help: HELP,
  flags: FLAGS,
  job: () => import("./run/records.ts"),
});

if (import.meta.main) await main(tool);
