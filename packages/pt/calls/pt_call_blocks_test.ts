import { BlockCache, PathTable } from "@perfdata/intel-pt";
import { assertEquals } from "@std/assert";
import { small } from "../testing.ts";
import { CallBlocks } from "./pt_call_blocks.ts";

Deno.test("CallBlocks.siteOfBlock: a number that two blocks had gives the call of each", async () => {
  const { trace } = await small({ cpus: [[]] });
  const blocks = new CallBlocks(trace.code);
  const cache = new BlockCache();
  cache.count = 8;
  blocks.use(cache, new PathTable(cache));
  blocks.forget();
  // The call of a block from before, whose target is decoded only now.
  const before = blocks.siteOfBlock(5, 0x1005, 0);
  const now = blocks.siteOfBlock(5, 0x2005, 0);
  assertEquals([before, now].map((site) => blocks.addressOfSite(site)), [0x1005, 0x2005]);
  assertEquals(blocks.siteOfBlock(5, 0x2005, 0), now);
});
