/** What the fuzzer once found: each is tried on everything. */
import { assert, assertEquals } from "@std/assert";
import { asFile, Numbers } from "../../fixtures/synthesize/recording.ts";
import { speRecording } from "../support/spe_recording.ts";
import { schedulerRecording } from "../../packages/session/intervals/testing.ts";
import { dataSource, memoryRecording } from "../support/memory_recording.ts";
import { Random } from "./random.ts";
import { attempt } from "./runner.ts";
import { OPENING, runBeside, targets, toolCalls } from "./targets.ts";

/** Without code or with texts that remain, as in these recordings, they do what they can and end with 1. */
const PARTLY = new Set(["pt", "redact", "annotate"]);

const FOLDER = new URL("../../fixtures/hostile/", import.meta.url).pathname;

Deno.test("what the fuzzer once found ends in an answer", async () => {
  const found = (targets()).filter(({ kind }) => kind === "recording");
  assert(found.length >= 20, `${found.length} targets`);
  const folder = await Deno.makeTempDir({ prefix: "perfdata-hostile-" });
  const wrong: string[] = [];
  let files = 0;
  try {
    for (const { name, isFile } of Deno.readDirSync(FOLDER)) {
      if (!isFile || !name.endsWith(".data")) continue;
      files++;
      const bytes = Deno.readFileSync(FOLDER + name);
      const place = { path: `${folder}/input.data`, folder };
      Deno.writeFileSync(place.path, bytes);
      for (const target of found) {
        // Two of four ways of calling a tool: the next file has the others.
        for (const turn of files % 2 === 0 ? [0, 1] : [2, 3]) {
          const signature = await attempt(target, bytes, place, new Random(turn));
          if (signature !== undefined) wrong.push(`${name}: ${signature}`);
        }
      }
    }
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
  assertEquals(wrong, []);
  assert(files > 0);
  console.log(`${files} files, ${found.length} targets`);
});

Deno.test("the fuzzer calls the tools in ways in which they do their jobs", async () => {
  const recordings = ["callchain", "tracepoint", "stat"].map((name) => `recorded/${name}`)
    .concat("synthesized/pt-cpus")
    .map((name) => new URL(`../../fixtures/${name}.perf.data`, import.meta.url).pathname);
  const folder = await Deno.makeTempDir({ prefix: "perfdata-calls-" });
  const failed: string[] = [];
  // Two processes load and store the same data: a hit in a line that another CPU has changed.
  const memory = `${folder}/memory.data`;
  const [LOAD, STORE, HIT_L3, HITM] = [2, 4, 2 | 64, 16];
  Deno.writeFileSync(
    memory,
    await memoryRecording({
      mappings: [7, 8].map((pid) => (
        { pid, addr: 0x700000, size: 0x4000, offset: 0, path: "/nowhere/data", shared: true }
      )),
      accesses: [7, 8].flatMap((pid) =>
        [LOAD, STORE].map((op) => ({
          ...{ pid, tid: pid, ip: 0x700100n, addr: 0x701000n, cpu: pid },
          data_src: dataSource({ op, lvl: HIT_L3, snoop: op === LOAD ? HITM : 0 }),
          ...{ weight: 5n, weight_struct: { var1_dw: 5, var2_w: 1, var3_w: 2 } },
          ...{ phys_addr: 0n, data_page_size: 4096n, code_page_size: 4096n },
        }))
      ),
    }),
  );
  const spe = `${folder}/spe.data`;
  const made = { cpuid: "0x00000000410fd0c1", contexts: true, short: false };
  Deno.writeFileSync(spe, await asFile(speRecording(new Numbers(1), made), true));
  const locks = `${folder}/locks.data`;
  Deno.writeFileSync(
    locks,
    await schedulerRecording([
      { time: 1000n, tid: 7, waits: [8n, 1], chain: [0x1000n] },
      { time: 2000n, tid: 7, got: 8n },
    ], { events: ["begin", "end"] }),
  );
  try {
    const done = new Set<string>();
    const called = new Set<string>();
    for (const path of [...recordings, memory, spe, locks]) {
      for (const { name, args, run } of toolCalls({ path, folder })) {
        const call = `${name} ${args.filter((arg) => arg !== path).join(" ")}`;
        called.add(call);
        const { code, err } = await run();
        if (code === 0 || PARTLY.has(name)) done.add(call);
        else failed.push(`${call}: ${err}`);
      }
    }
    assert(called.size >= 25, `${called.size} calls`);
    assertEquals([...called].filter((call) => !done.has(call)), [], failed.join("\n"));
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("beside a sound program, the commands that open it do their jobs", async () => {
  const demo = Deno.readFileSync(new URL("../../fixtures/demo/demo", import.meta.url));
  const folder = await Deno.makeTempDir({ prefix: "perfdata-beside-" });
  try {
    for (const call of OPENING) {
      assertEquals(await runBeside(call, demo, folder), 0, call.join(" "));
    }
    assert(OPENING.length >= 10);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});
