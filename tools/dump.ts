/**
 * `dump`: prints each record of a recording as `perf report -D` does.
 */
import { type Command, command, main } from "./shared/command.ts";
import { TEMP_FLAG } from "./shared/flag_sets.ts";
import type { Help } from "./shared/flag_table.ts";

const HELP: Help = {
  about: `prints each record of a perf.data file as \`perf report -D\` does`,
  usage: ["[flags] [FILE]"],
  text: `
FILE is a perf.data file or directory, or - for a pipe (default: perf.data).
`,
  examples: [
    "perfdata dump perf.data | less",
    "perfdata dump --type MMAP2,COMM --no-hex perf.data",
    "perfdata dump --time 12.5,12.6 --cpu 3 perf.data",
    "perf record -o - -- ./program | perfdata dump -",
  ],
  exit: "0 done; 1 the file is damaged (undamaged records are printed)",
};

export const FLAGS = {
  "--type LIST": "only records of these types: SAMPLE,MMAP2 or 9,10",
  "--cpu LIST": "only records of these CPUs: 0,3 or 0-3",
  "--pid LIST": "only records of these processes",
  "--tid LIST": "only records of these threads",
  "--time RANGE": `only records of this time: 1.5s-2s or 500ms- after the first sample, 10%-20% of
    the recording, or 12.5,13 in seconds of its clock`,
  "--from OFFSET": "begin with the record that this byte of the file belongs to: 4096 or 0x1000",
  "--limit N": "stop after N records",
  "--no-hex": "omit the bytes of the records",
  "--no-aux": "omit AUX data, such as the packets of Intel PT",
  "--file-offsets": "print offsets of packets in the file, not in their AUXTRACE record",
  "--order ORDER": "time (default): as perf delivers them; file: as they are in the file",
  "--symbols FILE": `print the symbols of addresses from a bundle that "perfdata symbols bundle"
    made; uses one thread`,
  "--no-demangle": "leave C++ and Rust names mangled",
  "--jobs N": `number of threads (default: one a processor, 8 at most, for files of 256 MB or
    more); --limit, symbols, counters, AUX data and pipes use one`,
  ...TEMP_FLAG,
} as const;

export const tool: Command = command({
  name: "dump",
  help: HELP,
  flags: FLAGS,
  job: () => import("./run/dump.ts"),
});

if (import.meta.main) await main(tool);
