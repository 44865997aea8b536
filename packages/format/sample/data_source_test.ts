import { assertEquals } from "@std/assert";
import { dataSourcePart, dataSourceText } from "./data_source.ts";

/** A load that hit the level `mem_lvl_num` (bits 33-36), in `mem_region` (bits 46-50). */
const source = (level: bigint, region = 0n): bigint => 2n | 2n << 5n | level << 33n | region << 46n;

Deno.test("dataSourceText: level numbers 1-15 have the names of the kernel's header", () => {
  const names = Array.from(
    { length: 15 },
    (_, i) => dataSourcePart(source(BigInt(i + 1)), "level"),
  );
  assertEquals(names.map((name) => name.replace(/ hit$/, "")), [
    "L1",
    "L2",
    "L3",
    "L4",
    "L2 MHB",
    "Memory-side Cache",
    "L0",
    "Uncached",
    "CXL",
    "I/O",
    "Any cache",
    "LFB/MAB",
    "RAM",
    "PMEM",
    "N/A",
  ]);
});

Deno.test("dataSourceText: prints the region in bits 46-50 if it is set", () => {
  const region = (number: bigint) => dataSourcePart(source(13n, number), "region");
  assertEquals([0n, 2n, 4n, 7n, 8n, 15n, 16n].map(region), [
    "N/A",
    "Local CA shared cache",
    "Other CA I/O agent",
    "MMIO",
    "Memory region 0",
    "Memory region 7",
    "Region 16",
  ]);
  const text = dataSourceText(source(13n));
  assertEquals(dataSourceText(source(13n, 9n)), `${text}|RGN Memory region 1`);
});
