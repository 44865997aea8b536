/**
 * Details that are not shown may be merged: functions are the same whether unmapped addresses are
 * separate places or one, and commands whether their threads are separate or not.
 */
import { assert, assertEquals, AssertionError } from "@std/assert";
import {
  type Profile,
  profileColumns,
  recordedProfile,
  SampleCollector,
  totals,
} from "@perfdata/profile";
import { callTree, flameData, treeLines } from "@perfdata/export/tree";
import { folded } from "@perfdata/export";
import { bytesSource } from "@perfdata/format/bytes";
import { PerfDataReader } from "@perfdata/format/records";
import { runEngine } from "@perfdata/session";
import { openResolver } from "@perfdata/symbols/files";
import { corpusFiles } from "../support/corpus.ts";

const recorded = new URL("../../fixtures/recorded/", import.meta.url).pathname;
const synthesized = new URL("../../fixtures/synthesized/", import.meta.url).pathname;

/** Limit of the file size. Larger files take long, and are similar. */
const LARGEST = 1 << 19;

/** Output for a recording, and its number of places. */
async function shown(bytes: Uint8Array<ArrayBuffer>, unmapped: boolean) {
  const reader = await PerfDataReader.open(bytesSource(bytes), { diagnostics: () => {} });
  const consumers = [
    new SampleCollector(profileColumns({ unmapped })),
    new SampleCollector(profileColumns({ unmapped, timed: true })),
    new SampleCollector(profileColumns({ unmapped, threads: false })),
  ];
  const engine = await runEngine(reader, consumers, { diagnostics: () => {} });
  // Slow parts: names of this kernel, and lines.
  const resolver = openResolver({
    parameters: false,
    debugInformation: false,
    kallsyms: "/dev/null",
    machine: engine.recorded,
  });
  const [sums, rows, commands] = await Promise.all(
    consumers.map(async (one) => (await recordedProfile(one, { resolver, title: "" })).profile),
  );
  assert(sums !== undefined && rows !== undefined && commands !== undefined);
  const decoder = new TextDecoder();
  const events = sums.events.map((_, event) => event);
  const byCommand = (profile: Profile) =>
    events.flatMap((event) => [
      ...[...folded(profile, { event })].map((part) => decoder.decode(part)),
      ...treeLines(callTree(profile, { event, root: "command" }), { leastShare: 0 }),
    ]);
  assertEquals(byCommand(commands), byCommand(sums));
  assertEquals([commands.trust, totals(commands)], [sums.trust, totals(sums)]);
  const texts = {
    trust: [sums.trust, rows.trust],
    totals: [totals(sums), totals(rows)],
    folded: events.flatMap((event) =>
      [...folded(sums, { event, tid: true, kernel: true })].map((part) => decoder.decode(part))
    ),
    tree: events.flatMap((event) =>
      [true, false].flatMap((callers) =>
        treeLines(callTree(sums, { event, callers, root: "thread" }), { leastShare: 0 })
      )
    ),
    flame: JSON.stringify(flameData([rows])),
  };
  const fewer = { places: engine.places.count, rows: commands.samples.length };
  return { texts, fewer, samples: sums.samples.length };
}

Deno.test("joined samples: with places and threads merged from parts, functions and comms have the sums of one pass", async () => {
  const files = corpusFiles().map(({ path }) => path);
  for (const folder of [recorded, synthesized]) {
    for (const { name, isFile } of Deno.readDirSync(folder)) {
      if (isFile && name.endsWith(".data")) files.push(folder + name);
    }
  }
  let [compared, places, rows] = [0, 0, 0];
  for (const path of files) {
    const bytes = Deno.readFileSync(path);
    if (bytes.length > LARGEST) continue;
    const apart = await shown(bytes, true).catch((error) => {
      // Another test covers unreadable files.
      if (error instanceof AssertionError) throw error;
    });
    if (apart === undefined || apart.samples === 0) continue;
    const joined = await shown(bytes, false);
    assertEquals(joined.texts, apart.texts, path);
    compared++;
    places += apart.fewer.places - joined.fewer.places;
    rows += apart.samples - joined.fewer.rows;
  }
  console.log(`${compared} recordings compared: ${places} places and ${rows} rows were joined`);
  assert(compared >= 30 && places > 20 && rows > 5, "too little was compared");
});
