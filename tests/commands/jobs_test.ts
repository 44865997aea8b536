/** How many threads commands take, as docs/performance.md says. */
import { assertEquals, assertThrows } from "@std/assert";
import { UsageError } from "../../tools/shared/cli.ts";
import { ptJobs } from "../../tools/shared/pt_workers.ts";
import { parseJobs } from "../../tools/shared/record_flags.ts";

const MEGABYTE = 1 << 20;

/** A file that threads can open; its content does not matter. */
const FILE = new URL(import.meta.url).pathname;

Deno.test("threads: --jobs is a number from 1 to 64", () => {
  assertEquals(["1", "64", undefined].map(parseJobs), [1, 64, undefined]);
  for (const text of ["0", "65", "-1", "x", ""]) {
    assertThrows(() => parseJobs(text), UsageError, `--jobs is ${text}, expected 1 to 64`);
  }
});

Deno.test("threads that decode Intel PT: all processors from 16 MB on, of long lists from 1 MB on", () => {
  for (const [isLongList, from] of [[false, 16], [true, 1]] as const) {
    const size = from * MEGABYTE;
    assertEquals(ptJobs(FILE, undefined, size - 1, isLongList, 4), 1);
    assertEquals(ptJobs(FILE, undefined, size, isLongList, 4), 4);
    assertEquals(ptJobs(FILE, 3, 0, isLongList, 4), 3);
    assertEquals(ptJobs(FILE, 1, 2 ** 40, isLongList, 4), 1);
    // Input that can be read only once.
    assertEquals(ptJobs("-", 3, 2 ** 40, isLongList, 4), 1);
    assertEquals(ptJobs("/dev/null", 3, 2 ** 40, isLongList, 4), 1);
  }
});
