import { assertEquals } from "@std/assert";
import { CallTimeline, CallTree } from "@perfdata/pt/decode";
import type { Item } from "../../../fixtures/synthesize/recording.ts";
import { at, psb, small } from "../../pt/testing.ts";
import { functionNames, type Profile } from "../columns/profile.ts";
import { sampleLines } from "../testing.ts";
import { ptProfile, type PtProfileSource } from "./pt_profile.ts";

const BUILD_ID = "ab".repeat(20);

/**
 * Threads 7 (named `seven`) and 8 (unnamed); places of two programs and an unmapped one, in random
 * order.
 */
async function source() {
  const body = { pid: 7, tid: 7, comm: "seven" };
  const sample_id = { pid: 7, tid: 7, time: at(-800), cpu: 0, identifier: 21n };
  const comm: Item = { record: { type: 3, name: "COMM", misc: 0, body, sample_id }, event: 1 };
  const { trace, names } = await small({
    cpus: [psb(0), psb(0)],
    tids: [7, 8],
    items: [comm],
  });
  const { code } = trace;
  const [b, a] = ["/usr/bin/b", "/bin/a"].map((path) =>
    code.places.addObject({ kind: "elf", path, buildId: path === "/bin/a" ? BUILD_ID : undefined })
  );
  const place = (object: number | undefined, address: number) =>
    code.places.row(object ?? -1, 0, address);
  const places = {
    b20: place(b, 0x20),
    b5: place(b, 0x5),
    a10: place(a, 0x10),
    nowhere: place(-1, 0x9000),
  };
  await names.resolve();
  return { trace, names, places };
}

/** Tree: 8 runs b+20; 7 runs b+20, which calls a+10 and an unmapped address, and b+5. */
function treeOf(places: Awaited<ReturnType<typeof source>>["places"]): CallTree {
  const tree = new CallTree();
  tree.addTo(tree.node(-1, places.b20, 8), 1, 2);
  const root = tree.node(-1, places.b20, 7);
  tree.addTo(tree.node(root, places.nowhere, 7), 4, 2.6);
  tree.addTo(tree.node(root, places.a10, 7), 10, 3);
  tree.addTo(tree.node(-1, places.b5, 7), 2, 50);
  return tree;
}

async function made(
  options: Pick<PtProfileSource, "timed"> & Partial<PtProfileSource>,
): Promise<Profile> {
  const { places, ...about } = await source();
  return ptProfile({ ...about, tree: treeOf(places), ...options });
}

Deno.test("ptProfile: stacks of a trace give instructions and time of each, by thread and address", async () => {
  const profile = await made({ timed: true, title: "trace", trust: "all" });
  assertEquals(profile.events, [
    { name: "time", unit: "nanoseconds" },
    { name: "instructions", unit: "count" },
  ]);
  assertEquals([profile.title, profile.trust, profile.span], ["trace", "all", undefined]);
  // The root of 7 has no instructions of its own. 4 times 2.6 is 10.4, which is 10 rounded.
  assertEquals(sampleLines(profile), [
    ...["seven 0 1 100 5", "seven 1 1 2 5"],
    ...["seven 0 1 10 9000 20", "seven 1 1 4 9000 20"],
    ...["seven 0 1 30 10 20", "seven 1 1 10 10 20"],
    ...[":8 0 1 2 20", ":8 1 1 1 20"],
  ]);
  assertEquals([...profile.threads].map(({ pid, tid }) => `${pid} ${tid}`), ["7 7", "8 8"]);
  assertEquals(profile.objects, [
    { name: "b", path: "/usr/bin/b" },
    { name: "[unknown]", path: "[unknown]" },
    { name: "a", path: "/bin/a", buildId: BUILD_ID },
  ]);
  // Names without symbols are addresses; a place is in the profile once, whoever calls it.
  assertEquals([functionNames(profile), profile.places.object.length], [
    ["0x5", "0x20", "0x9000", "0x10"],
    4,
  ]);
});

Deno.test("ptProfile: a trace without times has instructions only", async () => {
  const profile = await made({ timed: false });
  assertEquals([profile.events, profile.title, profile.trust], [
    [{ name: "instructions", unit: "count" }],
    "",
    "",
  ]);
  assertEquals(sampleLines(profile), [
    ...["seven 0 1 2 5", "seven 0 1 4 9000 20", "seven 0 1 10 10 20", ":8 0 1 1 20"],
  ]);
});

Deno.test("ptProfile: a timeline gives a sample for each interval, and one without a stack for each gap and end", async () => {
  const timeline = new CallTimeline();
  // Nodes 1 to 3 are the root of 7, the unmapped place and a+10; node 0 is the root of 8.
  timeline.add(7, 1, 1000, 1500);
  timeline.add(8, 0, 1200, 1300);
  timeline.add(7, 3, 1500, 1700);
  timeline.add(7, 1, 1900, 2000);
  const profile = await made({ timed: true, timeline });
  assertEquals(profile.events, [{ name: "time", unit: "nanoseconds" }]);
  const { samples } = profile;
  const times = [...samples.time ?? []];
  assertEquals(sampleLines(profile).map((line, i) => `${times[i]}: ${line}`), [
    "1000: seven 0 1 500 20",
    "1200: :8 0 1 100 20",
    "1500: seven 0 1 200 10 20",
    // From 1700 to 1900 the thread did not run.
    "1700: seven 0 1 0 -",
    "1900: seven 0 1 100 20",
    "2000: seven 0 1 0 -",
    "1300: :8 0 1 0 -",
  ]);
  assertEquals(profile.span, [1000, 2000]);
});

Deno.test("ptProfile: functions of a file without a build id are marked as unverified", async () => {
  const profile = await made({ timed: false });
  // Places without a symbol are never marked as unverified.
  assertEquals([...profile.functions.kind], [0, 0, 0, 0]);
  const { places, names, ...about } = await source();
  names.functionNames[names.functions[places.a10] ?? -1] = {
    ...{ name: "f", object: "/bin/a", verified: false },
  };
  const marked = ptProfile({ ...about, names, tree: treeOf(places), timed: false });
  assertEquals([...marked.functions.kind], [0, 0, 0, 8]);
});
