// Unwinds the copied stacks of a recording in one thread, without names: the work of
// `samply import --save-only`. A contestant of bench/stacks.ts.
//
//   deno run -A bench/unwind_alone.ts FILE

import { open } from "@perfdata/perfdata";
import { profileColumns, SampleCollector } from "@perfdata/profile";

const [file] = Deno.args;
if (file === undefined) {
  console.error("unwind_alone: which recording?");
  Deno.exit(2);
}
using recording = await open(file);
const { engine } = await recording.collect(new SampleCollector(profileColumns({})));
console.log(`${engine.unwound?.all.stacks ?? 0} stacks, ${engine.stacks.count} nodes`);
