import { assertEquals } from "@std/assert";
import { CallTree } from "./pt_call_tree.ts";
import { LatencyTable } from "./pt_latency.ts";
import { grained, PlaceSums } from "./pt_place_sums.ts";

Deno.test("PlaceSums.join: taken sums are added at the places of the other thread", () => {
  const sums = new PlaceSums();
  sums.room(3000);
  sums.add(2, 10, 1.5, 0);
  sums.add(2999, 4, 2, 3);
  sums.add(2, 1, 2, 1);
  const words = sums.take();
  assertEquals([...words], [2, 11, 17, 1, 2999, 4, 8, 12]);
  assertEquals([sums.insnsOf[2], sums.timeOf[2], sums.cyclesOf[2999]], [0, 0, 0]);
  const other = new PlaceSums();
  other.add(5, 1, 1, 1);
  const placeOf = new Int32Array(3000).fill(-1);
  placeOf[2] = 5;
  placeOf[2999] = 6;
  other.join(words, placeOf);
  assertEquals([other.insnsOf[5], other.timeOf[5], other.cyclesOf[5]], [12, 18, 2]);
  assertEquals([other.insnsOf[6], other.timeOf[6], other.cyclesOf[6]], [4, 8, 12]);
  assertEquals(other.isExact, true);
  other.add(6, 1, 2 ** 43, 0);
  assertEquals(other.isExact, false);
});

Deno.test("grained: a number gives the nearest multiple of 2^-10", () => {
  assertEquals([grained(1 / 1024), grained(1.4 / 1024), grained(1.6 / 1024), grained(7)], [
    1 / 1024,
    1 / 1024,
    2 / 1024,
    7,
  ]);
});

Deno.test("CallTree.node: equal parent, place and thread give the same node", () => {
  const tree = new CallTree();
  const root = tree.node(-1, 4, 7);
  const child = tree.node(root, 5, 7);
  assertEquals([root, child, tree.node(-1, 4, 7), tree.node(root, 5, 7)], [0, 1, 0, 1]);
  assertEquals([tree.node(-1, 4, 8), tree.node(child, 5, 7), tree.add(-1, 4, 7)], [2, 3, 4]);
  tree.addTo(child, 3, 2);
  tree.addTo(child, 1, 5);
  assertEquals([tree.insns[1], tree.time[1], tree.isExact], [4, 11, true]);
  // Each after its parent, by thread and place.
  tree.node(root, 3, 7);
  assertEquals([...tree.ordered((a, b) => a - b)], [0, 5, 1, 3, 4, 2]);
});

Deno.test("CallTree.join: taken nodes get the places of the other thread", () => {
  const tree = new CallTree();
  for (let i = 0; i < 300; i++) tree.node(-1, i, 1);
  tree.addTo(tree.node(299, 7, 1), 2, 3);
  const words = tree.take();
  assertEquals([words.length, tree.count], [301 * 5, 0]);
  assertEquals([...words.subarray(1500)], [299, 7, 1, 2, 6]);
  const other = new CallTree();
  const root = other.node(-1, 1000, 1);
  const placeOf = Int32Array.from({ length: 300 }, (_, i) => i + 1000);
  other.join(words, (place) => place === 299 ? root : -1, placeOf);
  const joined = other.node(root, 1007, 1);
  assertEquals([other.count, other.insns[joined], other.time[joined]], [2, 2, 6]);
});

Deno.test("LatencyTable: calls give counts, histogram and the slowest ten; join gives the same", () => {
  const table = new LatencyTable();
  for (let i = 0; i < 12; i++) table.add(1, 7, 1000 + i, 10 * i, true);
  table.add(1, 8, 999, 110, true);
  table.add(1, 8, 5, -1, true);
  table.add(1, 8, 5, 77, false);
  table.addOwn(1, 500, 60);
  const check = (number: number, from: LatencyTable, time: number) => {
    const stats = from.of(number);
    assertEquals([stats?.calls, stats?.open, stats?.time], [15, 1, time]);
    assertEquals(stats?.slowest.map(({ duration }) => duration), [
      ...[110, 110, 100, 90, 80, 70, 60, 50, 40, 30],
    ]);
    // Of equally slow calls, the first by time.
    assertEquals([stats?.slowest[0]?.time, stats?.slowest[1]?.tid], [999, 7]);
    assertEquals(stats?.histogram?.reduce((sum, n) => sum + n, 0), 13);
  };
  check(1, table, 500);
  const part = table.take();
  assertEquals(table.of(1), undefined);
  const other = new LatencyTable();
  other.join(part, (number) => number + 1);
  check(2, other, 0);
});
