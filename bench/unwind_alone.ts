// Unwinds the copied stacks of a recording in one thread, without names: the work of
// `samply import --save-only`. A contestant of bench/stacks.ts.
//
//   deno run -A bench/unwind_alone.ts FILE

import { PerfDataReader } from "@perfdata/format/records";
import { collect } from "@perfdata/perfdata/collect";
import { machineFiles, machinePlaces, pathSource } from "@perfdata/perfdata/files";
import { profileColumns, SampleCollector } from "@perfdata/profile";
import { SymbolResolver } from "@perfdata/symbols";

const [file] = Deno.args;
if (file === undefined) {
  console.error("unwind_alone: which recording?");
  Deno.exit(2);
}
const places = machinePlaces();
const { engine } = await collect(
  await PerfDataReader.open(pathSource(file)),
  new SampleCollector(profileColumns({})),
  { symbols: ({ recorded: machine }) => new SymbolResolver(machineFiles, { machine, places }) },
);
console.log(`${engine.unwound?.all.stacks ?? 0} stacks, ${engine.stacks.count} nodes`);
