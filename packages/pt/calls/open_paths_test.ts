import { assertEquals } from "@std/assert";
import { OpenPaths, type PathBlocks } from "./pt_open_paths.ts";
import { PlaceSums } from "./pt_place_sums.ts";

/**
 * Path 0 has blocks 0 and 1, path 1 has block 2, path 2 has blocks 1 and 2. The place of a block is
 * its number + 5.
 */
const BLOCKS: PathBlocks = {
  place: Int32Array.of(5, 6, 7),
  places: 8,
  paths: {
    start: Int32Array.of(0, 2, 3, 5),
    blocks: Int32Array.of(0, 1, 2, 1, 2),
    insns: Int32Array.of(3, 4, 6),
  },
  // Instructions of the blocks.
  blocks: { insns: Int32Array.of(1, 2, 4) },
};

/** Instructions, ns and core clocks of the places of the blocks. */
function found({ insnsOf, timeOf, cyclesOf }: PlaceSums): (readonly [number, number, number])[] {
  return [5, 6, 7].map((place) => [
    ...[insnsOf[place] ?? NaN, timeOf[place] ?? NaN, cyclesOf[place] ?? NaN] as const,
  ]);
}

Deno.test("OpenPaths: the time since the last packet is divided among the instructions of the open paths", () => {
  const open = new OpenPaths();
  const sums = new PlaceSums();
  open.room(3);
  assertEquals(open.isWaiting, false);
  // 2 x 3 and 4 instructions.
  for (const path of [0, 1, 0]) open.add(path);
  assertEquals(open.isWaiting, true);
  open.fold(20, 40, BLOCKS, sums);
  assertEquals(found(sums), [[2, 4, 8], [4, 8, 16], [4, 8, 16]]);
  assertEquals([sums.insns, sums.time, open.isWaiting], [10, 20, false]);
  // A second fold counts nothing twice.
  open.fold(20, 40, BLOCKS, sums);
  assertEquals([sums.insns, sums.time], [10, 20]);
  open.add(2);
  open.fold(6, 0, BLOCKS, sums);
  assertEquals(found(sums), [[2, 4, 8], [6, 10, 16], [8, 12, 16]]);
});

Deno.test("OpenPaths.forget: the instructions of forgotten paths get their share of the next time", () => {
  const open = new OpenPaths();
  const sums = new PlaceSums();
  open.room(3);
  for (const path of [0, 0, 1]) open.add(path);
  open.forget(BLOCKS);
  assertEquals(open.isWaiting, true);
  // Another path has the number now.
  const other: PathBlocks = {
    ...BLOCKS,
    paths: { ...BLOCKS.paths, blocks: Int32Array.of(2, 2, 2, 2, 2), insns: Int32Array.of(8, 4, 8) },
  };
  open.add(0);
  open.fold(36, 18, other, sums);
  // 6 + 4 before, 8 of the other path: 2 ns each.
  assertEquals(found(sums), [[2, 4, 2], [4, 8, 4], [12, 24, 12]]);
  assertEquals([sums.insns, sums.time, open.isWaiting], [18, 36, false]);
  open.fold(36, 18, other, sums);
  assertEquals([sums.insns, sums.time], [18, 36]);
});

Deno.test("OpenPaths.addToNode: a node gets its instructions and share of the time once", () => {
  const open = new OpenPaths();
  const sums = new PlaceSums();
  open.room(3);
  const added: number[][] = [];
  const tree = { addTo: (...values: number[]) => void added.push(values) };
  open.addToNode(300, 2);
  open.addToNode(4, 1);
  open.addToNode(300, 5);
  open.add(1);
  open.add(1);
  assertEquals(open.hasNodes, true);
  open.fold(16, 0, BLOCKS, sums, tree);
  assertEquals(added, [[300, 7, 2], [4, 1, 2]]);
  assertEquals(open.hasNodes, false);
  open.add(1);
  open.fold(16, 0, BLOCKS, sums, tree);
  assertEquals(added.length, 2);
});
