/**
 * `addr2line`: prints function, file and line of addresses in a binary, with the flags and the
 * output of binutils' `addr2line`.
 */
import { type Command, command, main } from "./shared/command.ts";
import type { Help } from "./shared/flag_table.ts";

const HELP: Help = {
  about: "prints the function, file and line of addresses in a binary",
  usage: ["[flags] [ADDRESS…]"],
  text: `
An ADDRESS is hexadecimal; without any, they are read from standard input, one per line.
`,
  notes: `
Separate debug information is found by .gnu_debuglink, by build id under /usr/lib/debug, and in
the files that dwz and split DWARF (FILE.dwp, .dwo) make.
`,
  examples: [
    "perfdata addr2line -e program -f -i -C 0x401136",
    "perfdata addr2line -e program -ifpC < addresses.txt",
  ],
  exit: "0 done; 1 the file cannot be read",
};

export const FLAGS = {
  "-e, --exe FILE": "the binary (default: a.out)",
  "-f, --functions": "also print the function",
  "-i, --inlines": "also print the functions that the code was inlined into",
  "-a, --addresses": "also print the address",
  "-p, --pretty-print": "print each frame on one line",
  "-s, --basenames": "print file names without directories",
  "-C, --demangle": "demangle C++ and Rust names",
  "--symbols FILE": `read FILE, made by "perfdata symbols bundle", instead of the binary; -e then
    only selects the object in it`,
  "-j, --section NAME": "addresses are offsets in that section",
} as const;

export const tool: Command = command({
  name: "addr2line",
  help: HELP,
  flags: FLAGS,
  rules: [{ flag: "section", excludes: ["symbols"] }],
  job: () => import("./run/addr2line.ts"),
});

if (import.meta.main) await main(tool);
