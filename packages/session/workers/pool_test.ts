import { assertEquals, assertRejects } from "@std/assert";
import { OutOfMemory, settleable } from "@perfdata/format/bytes";
import type { WorkerThread } from "./thread.ts";
import { listQueue, Pool, type PoolServer, servePool } from "./pool.ts";
import { threadWithin } from "./testing.ts";

type Open<Order, Found, Totals> = (
  task: string,
  note: (note: unknown) => void,
) => Promise<PoolServer<Order, Found, Totals>> | PoolServer<Order, Found, Totals>;

function threadOf<Order, Found, Totals>(open: Open<Order, Found, Totals>): WorkerThread {
  return threadWithin<string, Order, Found, Totals>((scope) => servePool(open, scope));
}

/** A server that doubles each order and returns the sum of the orders as its totals. */
const adding: Open<number, Uint8Array, number> = () => {
  let sum = 0;
  return {
    take: (order) => {
      sum += order;
      return Uint8Array.of(order * 2);
    },
    totals: () => sum,
  };
};

Deno.test("Pool: each order has one result, and the sums of the threads are those of all orders", async () => {
  const orders = Array.from({ length: 100 }, (_, i) => i);
  for (const [count, ahead] of [[1, 1], [2, 1], [3, 2], [7, 5]] as const) {
    const results: [number, number | undefined][] = [];
    using pool = new Pool<string, number, Uint8Array, number>(count, () => threadOf(adding));
    pool.begin("", listQueue(orders, (found, order) => results.push([order, found[0]])), { ahead });
    const totals = await pool.totals();
    results.sort(([a], [b]) => a - b);
    assertEquals(results, orders.map((order) => [order, order * 2]));
    assertEquals([...totals.values()].reduce((a, b) => a + b), 4950);
  }
});

Deno.test("Pool: a thread that never gets ready is not waited for once the queue is empty", async () => {
  const never = settleable<PoolServer<number, Uint8Array, number>>();
  const opens = [adding, () => never.promise];
  using pool = new Pool<string, number, Uint8Array, number>(
    2,
    () => threadOf(opens.shift() ?? adding),
  );
  pool.begin("", listQueue([3, 4]));
  assertEquals([...await pool.totals()], [[0, 7]]);
});

Deno.test("Pool: threads get their orders early if asked to, and at most `ahead` of them", async () => {
  const asked: number[] = [];
  const queue = {
    isEmpty: false,
    next: (thread: number) => asked.push(thread),
    found: () => {},
  };
  for (const [early, expected] of [[true, [0, 0, 1, 1]], [false, []]] as const) {
    asked.length = 0;
    using pool = new Pool<string, number, Uint8Array, number>(2, () => threadOf(adding));
    pool.begin("", queue, { ahead: 2, early });
    assertEquals(asked, [...expected]);
    await pool.turn();
  }
});

Deno.test("Pool: notes arrive before the result of their order", async () => {
  const seen: unknown[] = [];
  const noting: Open<number, number, undefined> = (task, note) => ({
    take: (order) => {
      note(`${task} ${order}`);
      return order;
    },
  });
  using pool = new Pool<string, number, number>(1, () => threadOf(noting));
  pool.begin("task", listQueue([1, 2], (found) => seen.push(found), (note) => seen.push(note)));
  await pool.totals();
  assertEquals(seen, ["task 1", 1, "task 2", 2]);
});

Deno.test("Pool: buffers of orders and of results are transferred, not copied", async () => {
  const order = new Uint8Array([7]);
  let kept: Uint8Array | undefined;
  const keeping: Open<Uint8Array, { readonly column: Uint8Array }, undefined> = () => ({
    take: (given) => ({ column: kept = given.slice() }),
  });
  using pool = new Pool<string, Uint8Array, { readonly column: Uint8Array }>(
    1,
    () => threadOf(keeping),
  );
  pool.begin("", listQueue([order]), { transfer: ({ buffer }) => [buffer as ArrayBuffer] });
  await pool.totals();
  assertEquals([order.length, kept?.length], [0, 0]);
});

Deno.test("Pool: an error in open, take, totals or found rejects with an error of the same class", async () => {
  const failing = (error: Error) => () => {
    throw error;
  };
  const server = { take: (order: number) => order };
  const cases: readonly [Open<number, number, number>, (found: number) => void][] = [
    [failing(new Error("open")), () => {}],
    [() => ({ ...server, take: failing(new Error("take")) }), () => {}],
    [() => ({ ...server, totals: failing(new Error("totals")) }), () => {}],
    [() => server as PoolServer<number, number, number>, failing(new Error("found"))],
  ];
  const messages = ["open", "take", "totals", "found"];
  for (const [i, [open, found]] of cases.entries()) {
    using pool = new Pool<string, number, number, number>(2, () => threadOf(open));
    pool.begin("", listQueue([1, 2, 3], found));
    await assertRejects(() => pool.totals(), Error, messages[i] as string);
    await assertRejects(() => pool.turn(), Error, messages[i] as string);
  }
  using pool = new Pool<string, number, number, number>(
    1,
    () => threadOf(failing(new OutOfMemory("too large")) as Open<number, number, number>),
  );
  pool.begin("", listQueue([1]));
  await assertRejects(() => pool.until(() => undefined), OutOfMemory, "too large");
});
