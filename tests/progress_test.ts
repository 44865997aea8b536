import { assertEquals } from "@std/assert";
import { progressText } from "../tools/_cli.ts";

Deno.test("progress: share, speed and time left", () => {
  assertEquals(progressText(420e6, 1e9, 0.35), "42%, 1.2 GB/s, 1 s left");
  assertEquals(progressText(50e6, 100e9, 1), "0%, 50 MB/s, 33 min left");
  assertEquals(progressText(5e9, undefined, 2), "5000 MB, 2.5 GB/s");
  // Read twice.
  assertEquals(progressText(150, 100, 1), "100%, 0 MB/s, 0 s left");
});
