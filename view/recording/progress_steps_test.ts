import { assertEquals } from "@std/assert";
import type { ProgressState } from "../worker/protocol.ts";
import { ProgressSteps } from "./progress_steps.ts";

Deno.test("ProgressSteps: the total includes both passes over a file", () => {
  const states: ProgressState[] = [];
  const steps = new ProgressSteps((state) => states.push(state));
  // The engine announces before the scan that it reads the file twice.
  steps.read("Reading", 0, 100, 100);
  steps.named("Naming", 3, 10);
  steps.read("Reading", 100, 100);
  assertEquals(states, [
    { what: "Reading", unit: "bytes", done: 0, total: 200 },
    { what: "Naming", unit: "addresses", done: 3, total: 10 },
    { what: "Reading", unit: "bytes", done: 100, total: 200 },
  ]);
  // What is decoded begins at its own first byte.
  steps.read("Decoding", 5, 50);
  assertEquals(states.at(-1), { what: "Decoding", unit: "bytes", done: 5, total: 50 });
});
