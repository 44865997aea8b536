import { assertEquals } from "@std/assert";
import { StackTable, UserFrames } from "./stacks.ts";

/** The frames of a node, innermost first. */
function placesOf({ parent, place }: StackTable, node: number): number[] {
  const found: number[] = [];
  for (let of = node; of >= 0; of = parent[of] as number) found.push(place[of] as number);
  return found;
}

/** Interns a stack. */
function intern(frames: UserFrames, stacks: StackTable, places: readonly number[]): number {
  frames.count = 0;
  for (const place of places) frames.add(place, 0, place);
  return frames.node(stacks);
}

Deno.test("UserFrames: stacks that share callers with the stack before give their own frames", () => {
  const stacks = new StackTable();
  const frames = new UserFrames();
  let seed = 1;
  const random = (limit: number): number => {
    seed = Math.imul(seed, 1103515245) + 12345 & 0x7fffffff;
    return (seed >>> 8) % limit;
  };
  const nodes = new Map<string, number>();
  let places: number[] = [];
  for (let i = 0; i < 4000; i++) {
    // The innermost frames change; sometimes a caller in the middle does, or all of them.
    places = places.slice(random(places.length + 1));
    for (let more = random(4); more > 0; more--) places.unshift(random(3));
    if (random(8) === 0 && places.length > 0) places[random(places.length)] = 3;
    if (i === 150) { for (let deep = 0; deep < 300; deep++) places.unshift(random(2)); }
    const node = intern(frames, stacks, places);
    assertEquals(placesOf(stacks, node), places);
    const key = places.join();
    assertEquals(nodes.get(key) ?? node, node, "equal stacks are one node");
    nodes.set(key, node);
  }
  assertEquals(nodes.size > 500, true);
});

Deno.test("UserFrames: stacks that were cleared are interned again", () => {
  const stacks = new StackTable();
  const frames = new UserFrames();
  intern(frames, stacks, [7, 8, 9]);
  stacks.reset();
  frames.forget();
  const other = intern(new UserFrames(), stacks, [5]);
  const node = intern(frames, stacks, [7, 8, 9]);
  assertEquals([placesOf(stacks, other), placesOf(stacks, node)], [[5], [7, 8, 9]]);
});
