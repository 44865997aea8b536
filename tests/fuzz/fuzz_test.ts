/** A run of the fuzzer on the same inputs each time; `deno task fuzz` looks for what is not known. */
import { assertEquals } from "@std/assert";
import { testSeed } from "../support/seed.ts";
import { fuzz } from "./fuzz.ts";

/** So many take a quarter of a minute of processor time. */
const INPUTS = 500;

Deno.test("damaged inputs end in an answer: every entry of the library, every tool", async () => {
  const output = await Deno.makeTempDir({ prefix: "perfdata-fuzz-findings-" });
  const { inputs, runs, findings } = await fuzz({
    end: { inputs: INPUTS },
    seed: testSeed(),
    ownOnly: true,
    output,
  });
  console.log(`fuzz: ${inputs} inputs, ${runs} runs`);
  assertEquals(findings, []);
  assertEquals(inputs, INPUTS);
  await Deno.remove(output, { recursive: true });
});
