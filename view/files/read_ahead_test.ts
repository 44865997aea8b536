import { assertEquals } from "@std/assert";
import { readAhead } from "./read_ahead.ts";

/** A file that notes the ranges that are read. */
class WatchedFile extends Blob {
  readonly ranges: string[] = [];

  override slice(start = 0, end: number = this.size): Blob {
    this.ranges.push(`${start}-${end}`);
    return super.slice(start, end);
  }
}

const BYTES = Uint8Array.from({ length: 50 }, (_, i) => i);

Deno.test("readAhead: consecutive reads come from large chunks, one of which is read ahead", async () => {
  const file = new WatchedFile([BYTES]);
  const source = readAhead(file, 16);
  const read: number[] = [];
  for (let at = 0; at < 50; at += 7) {
    const into = new Uint8Array(7);
    read.push(...into.subarray(0, await source.readAt(into, at)));
  }
  assertEquals(read, [...BYTES]);
  assertEquals(file.ranges, ["0-7", "7-23", "23-39", "39-50"]);
});

Deno.test("readAhead: a read at another offset gets only its bytes; the read after it reads ahead", async () => {
  const file = new WatchedFile([BYTES]);
  const source = readAhead(file, 16);
  const into = new Uint8Array(4);
  for (const at of [0, 4, 40, 20, 24]) {
    assertEquals([await source.readAt(into, at), [...into]], [4, [at, at + 1, at + 2, at + 3]]);
  }
  assertEquals(file.ranges, ["0-4", "4-20", "20-36", "40-44", "20-24", "36-50"]);
});

Deno.test("readAhead: a read beyond the end gets the bytes before it", async () => {
  const source = readAhead(new Blob([BYTES]), 16);
  const into = new Uint8Array(8);
  assertEquals(await source.readAt(into, 46), 4);
  assertEquals(await source.readAt(into, 50), 0);
  assertEquals(await source.readAt(into, 60), 0);
});

Deno.test("readAhead: several reads at the same time get their own bytes", async () => {
  const source = readAhead(new Blob([BYTES]), 8);
  const parts = [0, 10, 20, 30, 40].map((at) => ({ at, into: new Uint8Array(10) }));
  await Promise.all(parts.map(({ at, into }) => source.readAt(into, at)));
  assertEquals(parts.flatMap(({ into }) => [...into]), [...BYTES]);
});
