import { assert, assertEquals, assertThrows } from "@std/assert";
import { Blocks, StoppedError } from "./blocks.ts";

Deno.test("blocks are filled, claimed and emptied in turn", () => {
  const filling = Blocks.of(2, 64);
  const emptying = new Blocks(filling.shared);
  assertEquals([emptying.tryClaim(), filling.room()], [-1, 0]);
  filling.fill();
  assertEquals(filling.room(), 1);
  filling.fill();
  assertEquals([emptying.claim(), filling.tryClaim(), emptying.tryClaim()], [0, 1, -1]);
  assert(emptying.memory(0) !== emptying.memory(1));
  assert(emptying.memory(0) === filling.memory(2));
  emptying.empty(0);
  // There is room for one; for another one only once this thread has helped.
  assertEquals(filling.room(), 2);
  filling.fill();
  let helped = 0;
  const help = (): boolean => {
    filling.empty(++helped);
    return true;
  };
  assertEquals([filling.room(help), helped], [3, 1]);
  filling.close();
  assertEquals([emptying.claim(), emptying.claim()], [2, -1]);
});

Deno.test("who waits for blocks where another thread has failed gets an error", () => {
  const one = Blocks.of(1, 64);
  one.fill();
  const other = new Blocks(one.shared);
  other.stop();
  assertThrows(() => one.room(), StoppedError, "another thread failed");
  assertThrows(() => one.claim(), StoppedError);
  assertThrows(() => one.turn(1), StoppedError);
});
