/**
 * `symbols`: bundles the symbols of a recording, shows how trustworthy they are, and downloads
 * missing ones.
 */
import { type Command, command, main } from "./shared/command.ts";
import { FORCE_FLAG, SYMBOL_FLAGS, TEMP_FLAG } from "./shared/flag_sets.ts";
import type { Help } from "./shared/flag_table.ts";

const HELP: Help = {
  about: "bundles the symbols of a recording, and reports which are missing",
  usage: [
    "bundle [flags] [FILE]",
    "trust [flags] [FILE]",
    "fetch [--lines] [FILE]",
    "table [-o DIR] TABLES",
    "show [--json] BUNDLE",
  ],
  text: `
FILE is a perf.data file or directory, or - for a pipe (default: perf.data).

bundle  looks up every address that occurs in FILE, on the machine that has the binaries, and
        writes functions, source lines and inlined calls to a file that other commands take as
        --symbols, on machines that do not have the binaries
trust   prints for each object the share of addresses, samples and periods that have a function, and
        why the others have none
fetch   downloads the files that trust reports as missing, by build id, from the servers in
        DEBUGINFOD_URLS to the cache of debuginfod, which all commands search: objects with the
        most samples first. Interrupted downloads are continued; files of another build are deleted
table   writes the names of the frames of tables (see "perfdata export parquet") that have a build
        id: into them, or to DIR; so that they are looked up once for all recordings
show    lists what is in a bundle
`,
  notes: `
Files are searched for as perf does: the path itself, the build-id cache (~/.debug), /usr/lib/debug,
debuginfod's cache. A file whose build id differs is reported and not used.
`,
  examples: [
    "perfdata symbols bundle perf.data -o perf.symbols",
    "perfdata symbols bundle --code --source perf.data",
    "perfdata annotate --symbols perf.symbols perf.data main",
    "perfdata symbols trust perf.data --symbols perf.symbols",
    "perfdata symbols trust --json perf.data | jq .resolved.samples",
    'perfdata symbols table tables && perfdata sql "FROM functions" tables',
    "DEBUGINFOD_URLS=https://debuginfod.debian.net perfdata symbols fetch perf.data",
    "perfdata symbols show perf.symbols | less",
  ],
  exit: "0 done; 1 a file cannot be read, or part of it is damaged",
};

export const FLAGS = {
  "-o, --output FILE": "the bundle to write (default: perf.symbols); of table, a directory",
  ...FORCE_FLAG,
  "--code": `bundle: with the code of sampled functions, and of what Intel PT ran through, so that
    annotate, report, view and pt need no binaries`,
  "--source [DIR]": `bundle: the same with the lines of these functions, from files at their own
    paths, or in DIR by all or the last parts of their paths`,
  "--lines": "fetch: of objects that only lack source lines as well",
  "--json": "print JSON",
  ...SYMBOL_FLAGS,
  ...TEMP_FLAG,
} as const;

export const tool: Command = command({
  name: "symbols",
  help: HELP,
  flags: FLAGS,
  verbs: ["bundle", "trust", "fetch", "table", "show"],
  job: () => import("./run/symbols.ts"),
});

if (import.meta.main) await main(tool);
