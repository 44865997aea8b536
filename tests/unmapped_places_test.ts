/**
 * What shows functions only says the same whether each address where nothing is mapped is a place of its
 * own, or all of them are one.
 */
import { assert, assertEquals } from "@std/assert";
import { callTree, flameData, folded, ProfileConsumer, totals, treeLines } from "@perfdata/export";
import { bytesSource, PerfDataReader } from "@perfdata/format";
import { runEngine } from "@perfdata/session/engine";
import { openResolver } from "@perfdata/symbols/open-resolver";
import { corpusFiles } from "./corpus.ts";

const recorded = new URL("../fixtures/recorded/", import.meta.url).pathname;
const synthesized = new URL("../fixtures/synthesized/", import.meta.url).pathname;

/** Larger files take long, and are like the others. */
const LARGEST = 1 << 20;

/** What is shown of a recording, and how many places it took. */
async function shown(bytes: Uint8Array<ArrayBuffer>, unmapped: boolean) {
  const reader = await PerfDataReader.open(bytesSource(bytes), { diagnostics: () => {} });
  const consumers = [
    new ProfileConsumer({ unmapped }),
    new ProfileConsumer({ unmapped, timed: true }),
  ];
  const engine = await runEngine(reader, consumers, { diagnostics: () => {} });
  // What takes long: names of this kernel, and lines.
  const resolver = openResolver({
    parameters: false,
    debugInformation: false,
    kallsyms: "/dev/null",
    ...engine.recorded.machine,
  });
  const [sums, rows] = await Promise.all(
    consumers.map(async (one) => (await one.profile({ resolver, title: "" })).profile),
  );
  assert(sums !== undefined && rows !== undefined);
  const decoder = new TextDecoder();
  const events = sums.events.map((_, event) => event);
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
  return { texts, places: engine.places.count, samples: sums.samples.length };
}

Deno.test("functions are the same with one place for all that is not mapped", async () => {
  const files = corpusFiles().map(({ path }) => path);
  for (const folder of [recorded, synthesized]) {
    for (const { name, isFile } of Deno.readDirSync(folder)) {
      if (isFile && name.endsWith(".data")) files.push(folder + name);
    }
  }
  let [compared, fewer, saved] = [0, 0, 0];
  for (const path of files) {
    const bytes = Deno.readFileSync(path);
    if (bytes.length > LARGEST) continue;
    const apart = await shown(bytes, true).catch(() => undefined);
    // What cannot be read at all is another test's.
    if (apart === undefined || apart.samples === 0) continue;
    const joined = await shown(bytes, false);
    assertEquals(joined.texts, apart.texts, path);
    assert(joined.places <= apart.places, path);
    compared++;
    if (joined.places === apart.places) continue;
    fewer++;
    saved += apart.places - joined.places;
  }
  console.log(`${compared} recordings compared; ${fewer} of them have ${saved} places less`);
  assert(compared >= 10 && fewer >= 1, "too little was compared");
});
