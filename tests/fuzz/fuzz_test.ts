/** A run of the fuzzer on fixed inputs. `deno task fuzz` searches for new findings. */
import { assertEquals } from "@std/assert";
import { testSeed } from "../support/seed.ts";
import { fuzz } from "./fuzz.ts";

/** Number of inputs that take a quarter of a minute of processor time. */
const INPUTS = 500;

Deno.test("damaged inputs: every entry point of the library and every tool ends in a result or an expected error", async () => {
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
