import { assert, assertEquals } from "@std/assert";
import { bytesSource, memorySink } from "@perfdata/format/bytes";
import { emptyAttr, PerfDataReader, PerfDataWriter } from "@perfdata/format/records";
import { encodeFeature, type Feature } from "@perfdata/format/features";
import { HEADER_MEM_TOPOLOGY, HEADER_NUMA_TOPOLOGY } from "@perfdata/format/constants";
import fc from "fast-check";
import { headerLines } from "@perfdata/dump";

/** The lines of a feature, from a file with only this feature. */
async function linesOf(feature: Feature, wanted: RegExp): Promise<string[]> {
  const sink = memorySink();
  const writer = await PerfDataWriter.file(sink, { events: [{ attr: emptyAttr() }] });
  await writer.close([{ id: feature.id, bytes: encodeFeature(feature) }]);
  const reader = await PerfDataReader.open(bytesSource(sink.bytes()));
  const lines = await Array.fromAsync(headerLines(reader));
  return lines.flatMap((line) => wanted.exec(line)?.[1] ?? []);
}

async function cpuList(cpus: string): Promise<string | undefined> {
  const nodes = [{ node: 0, mem_total: 1n, mem_free: 1n, cpus }];
  const feature: Feature = { id: HEADER_NUMA_TOPOLOGY, name: "NUMA_TOPOLOGY", value: { nodes } };
  return (await linesOf(feature, /cpu list : (.*)$/))[0];
}

/** Expands a list to CPUs, sorts them, and formats ranges. */
function expanded(text: string): string {
  const cpus = new Set<number>();
  for (const part of text.split(",")) {
    const [from = 0, to = from] = part.split("-").map(Number);
    for (let cpu = from; cpu <= to; cpu++) cpus.add(cpu);
  }
  const sorted = [...cpus].sort((a, b) => a - b);
  const parts: number[][] = [];
  for (const cpu of sorted) {
    if (parts.at(-1)?.at(-1) === cpu - 1) parts.at(-1)?.push(cpu);
    else parts.push([cpu]);
  }
  return parts.map((run) => run.length === 1 ? `${run[0]}` : `${run[0]}-${run.at(-1)}`).join(",");
}

Deno.test("featureLines: CPU lists are sorted without overlaps, as in perf", async () => {
  const range = fc.tuple(fc.nat(60), fc.nat(9))
    .map(([from, more]) => more === 0 ? `${from}` : `${from}-${from + more}`);
  const lists = fc.array(range, { minLength: 1, maxLength: 8 }).map((parts) => parts.join(","));
  await fc.assert(fc.asyncProperty(lists, async (list) => {
    assertEquals(await cpuList(list), expanded(list));
  }));
});

Deno.test("featureLines: a CPU list with many ranges is not expanded", async () => {
  const ranges = Array.from({ length: 300 }, (_, i) => `${i * 65536}-${i * 65536 + 65536}`);
  const before = Deno.memoryUsage().rss;
  assertEquals(await cpuList(ranges.join(",")), "0-19660800");
  assert(Deno.memoryUsage().rss - before < 100 << 20);
});

Deno.test("featureLines: memory blocks come from the bitmap, whatever size the node states", async () => {
  const mem = async (size: bigint, set: bigint[]) => {
    const nodes = [{ node: 0n, size, nbits: BigInt(64 * set.length), set }];
    const value = { version: 1n, block_size_bytes: 0x8000000n, nodes };
    const feature: Feature = { id: HEADER_MEM_TOPOLOGY, name: "MEM_TOPOLOGY", value };
    return (await linesOf(feature, /^#\s+0 (.*)$/))[0];
  };
  // Laid out by hand: blocks of 128 MB.
  assertEquals(await mem(64n, [0b1011n]), "[384M]: 0-1,3");
  assertEquals(await mem(1n << 60n, [0b1011n, 1n << 63n]), "[512M]: 0-1,3,127");
  assertEquals(await mem(3n, [0b1011n]), "[256M]: 0-1");
  // perf truncates the list to 99 characters.
  const every =
    `0,2,4,6,8,10,12,14,16,18,20,22,24,26,28,30,32,34,36,38,40,42,44,46,48,50,52,54,56,58`;
  assertEquals(
    await mem(128n, [0x5555555555555555n, 0x5555555555555555n]),
    `[8G]: ${every},60,62,64,66,68`,
  );
});
