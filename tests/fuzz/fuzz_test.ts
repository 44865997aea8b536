/** A run of the fuzzer on the same inputs each time; `deno task fuzz` looks for what is not known. */
import { assertEquals } from "@std/assert";
import { testSeed } from "../seed.ts";
import { fuzz } from "./fuzz.ts";

/** So many take half a minute of processor time: 5,839 runs, none above 2 s, in 550 MB. */
const INPUTS = 1500;

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
