/** A short run of the fuzzer: half a minute, or what `PERFDATA_FUZZ_MINUTES` says. */
import { assert, assertEquals } from "@std/assert";
import { fuzz } from "./fuzz.ts";

Deno.test("damaged inputs end in an answer: every entry of the library, every tool", async () => {
  const minutes = Number(Deno.env.get("PERFDATA_FUZZ_MINUTES") ?? 0.5);
  const [seed = 0] = crypto.getRandomValues(new Uint32Array(1));
  console.log(`fuzz: seed ${seed}, ${minutes} minutes`);
  const output = await Deno.makeTempDir({ prefix: "perfdata-fuzz-findings-" });
  const { inputs, runs, findings } = await fuzz({ minutes, seed, output });
  console.log(`fuzz: ${inputs} inputs, ${runs} runs`);
  assertEquals(findings, [], `deno task fuzz --minutes ${minutes} --seed ${seed}`);
  assert(inputs > 20, `${inputs} inputs`);
  await Deno.remove(output, { recursive: true });
});
