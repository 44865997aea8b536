import { assertEquals, assertRejects, assertThrows } from "@std/assert";
import { EventLoopTurns, nextTurn } from "./event_loop.ts";
import { bytesSource } from "./source.ts";

Deno.test("turn: a timer that is due runs before the work continues", async () => {
  const turns = new EventLoopTurns(undefined, 0);
  let ran = false;
  setTimeout(() => ran = true, 0);
  for (let i = 0; i < 1e6 && !ran; i++) await turns.turn();
  assertEquals(ran, true);
});

Deno.test("nextTurn: a message sent before the turn is received in it", async () => {
  const { port1, port2 } = new MessageChannel();
  const got: number[] = [];
  port1.onmessage = ({ data }) => void got.push(data);
  for (let i = 0; i < 10; i++) {
    port2.postMessage(i);
    await nextTurn();
  }
  await nextTurn();
  port1.close();
  assertEquals(got, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
});

Deno.test("turn: yields to the event loop without setTimeout", async () => {
  const { setTimeout } = globalThis;
  const refused = () => {
    throw new Error("a timer");
  };
  globalThis.setTimeout = refused as unknown as typeof setTimeout;
  try {
    await new EventLoopTurns(undefined, 0).turn();
  } finally {
    globalThis.setTimeout = setTimeout;
  }
});

Deno.test("turn: no turn is due before the time has passed", () => {
  assertEquals(new EventLoopTurns(undefined, Infinity).turn(), undefined);
});

Deno.test("turn: an abort during the turn rejects with its reason", async () => {
  const controller = new AbortController();
  const turns = new EventLoopTurns(controller.signal, 0);
  setTimeout(() => controller.abort(new Error("enough")), 0);
  await assertRejects(
    async () => {
      for (let i = 0; i < 1e6; i++) await turns.turn();
    },
    Error,
    "enough",
  );
  assertThrows(() => turns.turn(), Error, "enough");
});

Deno.test("source: reads return the bytes of the source, and throw after an abort", async () => {
  const controller = new AbortController();
  const source = new EventLoopTurns(controller.signal, 0).source(bytesSource(Uint8Array.of(7, 8)));
  const into = new Uint8Array(1);
  assertEquals([source.size, await source.readAt(into, 1), into[0]], [2, 1, 8]);
  controller.abort(new Error("enough"));
  await assertRejects(async () => await source.readAt(into, 0), Error, "enough");
});
