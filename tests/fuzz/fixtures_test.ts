/** Former findings of the fuzzer, tried on all targets. */
import { assert, assertEquals, assertMatch, assertStringIncludes, assertThrows } from "@std/assert";
import { inFolder, tool } from "../support/tool.ts";
import { asFile, Numbers } from "../../fixtures/synthesize/recording.ts";
import { speRecording } from "../support/spe_recording.ts";
import { schedulerRecording } from "../../packages/session/intervals/testing.ts";
import { dataSource, memoryRecording } from "../support/memory_recording.ts";
import { Random } from "./random.ts";
import { attempt } from "./runner.ts";
import { demo } from "./commands.ts";
import { ARCHIVES, unpack, UNPACKING } from "./kinds/archives.ts";
import { BUNDLES, NAMED_BY_BUNDLE } from "./kinds/bundles.ts";
import { nameJit, NAMING_JIT } from "./kinds/jit.ts";
import { packed, PACKINGS } from "./kinds/packing.ts";
import { OPENING, PROGRAMS, runBeside } from "./kinds/programs.ts";
import { askTables, READING, readTables } from "./kinds/tables.ts";
import { KINDS, targets, toolCalls } from "./targets.ts";

/**
 * Without code, or with remaining text, as in these recordings, these commands end with exit code
 * 1.
 */
const PARTLY = new Set(["pt", "redact", "annotate"]);

const FOLDER = new URL("../../fixtures/hostile/", import.meta.url).pathname;

/** Picks the nth element, counted again from the first one after the last. */
class Way extends Random {
  readonly #n: number;

  constructor(n: number) {
    super(n);
    this.#n = n;
  }

  override pick<T>(from: readonly T[]): T {
    return from[this.#n % from.length] as T;
  }
}

Deno.test("fuzz findings: recordings end in a result or an expected error", async () => {
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
        // All ways to call the tool that the file is named after. Two ways to call the others; the
        // next files have other ways.
        const { ways = 1 } = target;
        const most = name.startsWith(`${target.name}-`) ? ways : Math.min(2, ways);
        for (let i = 0; i < most; i++) {
          const signature = await attempt(target, bytes, place, new Way(2 * files + i), name);
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

Deno.test("fuzz findings: other inputs end in a result or an expected error", () =>
  inFolder(async (folder) => {
    const wrong: string[] = [];
    let files = 0;
    for (const { kind } of KINDS) {
      const own = targets().filter((target) => target.kind === kind);
      assert(own.length > 0, kind);
      for (const name of namesIn(`${FOLDER}${kind}`)) {
        files++;
        const bytes = Deno.readFileSync(`${FOLDER}${kind}/${name}`);
        const [, seed = "", turn = ""] = /^(.*)\.(\d+)$/.exec(name) ?? [];
        const place = { path: `${folder}/input.data`, folder };
        Deno.writeFileSync(place.path, bytes);
        for (const target of own) {
          const signature = await attempt(target, bytes, place, new Random(Number(turn)), seed);
          if (signature !== undefined) wrong.push(`${kind}/${name}: ${signature}`);
        }
      }
    }
    assertEquals(wrong, []);
    console.log(`${files} files`);
  }));

function namesIn(folder: string): string[] {
  try {
    return Array.from(Deno.readDirSync(folder), ({ name }) => name).sort();
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return [];
    throw error;
  }
}

Deno.test("fuzz targets: tools are called in ways that succeed", async () => {
  const recordings = ["callchain", "tracepoint", "stat"].map((name) => `recorded/${name}`)
    .concat("synthesized/pt-cpus")
    .map((name) => new URL(`../../fixtures/${name}.perf.data`, import.meta.url).pathname);
  const folder = await Deno.makeTempDir({ prefix: "perfdata-calls-" });
  const failed: string[] = [];
  // Two processes load and store the same data: a hit in a line that another CPU modified.
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

Deno.test("fuzz programs: commands that open an intact program succeed", () =>
  inFolder(async (folder) => {
    const programs = await PROGRAMS.seeds();
    assertEquals(programs.map(({ name }) => name), ["demo", "types and inlined calls"]);
    for (const { name, bytes } of programs) {
      for (const call of OPENING) {
        const { code, out, err } = await runBeside(call, name, bytes, folder);
        assertEquals(code, 0, `${call.join(" ")}: ${err}`);
        if (name === "demo") continue;
        const text = call.join(" ");
        // The innermost call, and the structure that it loads from.
        if (text.startsWith("tree")) assertStringIncludes(out, "inlined11");
        if (text.includes("type,")) assertMatch(out, /struct node .*next/);
      }
    }
    assert(OPENING.length >= 10);
  }));

Deno.test("fuzz jit: commands that read JIT compilers' files name code", () =>
  inFolder(async (folder) => {
    for (const call of NAMING_JIT) {
      const { code, out } = await nameJit(call, folder);
      assertEquals(code, 0, call.join(" "));
      if (!["funcs", "tree", "script"].includes(call[0])) continue;
      for (const name of ["plain", "lined", "later", "LazyCompile:*f"]) {
        assertStringIncludes(out, name, call.join(" "));
      }
    }
  }));

Deno.test("fuzz tables: commands that read tables succeed", () =>
  inFolder(async (folder) => {
    for (const call of READING) assertEquals(await readTables(call, folder), 0, call.join(" "));
    assertEquals(await askTables("FROM functions", folder), 0, "sql");
  }));

Deno.test("fuzz archives: commands that read archives succeed, however they are compressed", () =>
  inFolder(async (folder) => {
    for (const { name, bytes } of await ARCHIVES.seeds()) {
      const calls = UNPACKING[name] ?? [];
      assert(calls.length > 0, name);
      for (const packing of PACKINGS) {
        const file = packed(bytes.slice(), packing);
        for (const call of calls) {
          const { code, out } = await unpack(call, file, folder);
          assertEquals(code, 0, `${packing}: ${call.join(" ")}`);
          if (call.includes("--symfs") && call[0] === "funcs") assertStringIncludes(out, "work");
        }
      }
    }
  }));

Deno.test("fuzz archives: with --symfs, a second run in this process reads a replaced archive", () =>
  inFolder(async (folder) => {
    const [recording, files] = await ARCHIVES.seeds();
    const call = ["funcs", "--symfs", "ARCHIVE", "RECORDING"] as const;
    for (const [seed, isNamed] of [[files, true], [recording, false]] as const) {
      const { out } = await unpack(call, seed?.bytes ?? new Uint8Array(), folder);
      assertEquals(/\bwork\b/.test(out), isNamed, seed?.name);
    }
  }));

Deno.test("fuzz bundles: commands that read bundles name functions", () =>
  inFolder(async (folder) => {
    const path = `${folder}/perf.symbols`;
    const seeds = await BUNDLES.seeds();
    Deno.writeFileSync(
      path,
      seeds.find(({ name }) => name === "bundle with code")?.bytes ?? demo(),
    );
    for (const [command, ...args] of NAMED_BY_BUNDLE) {
      const given = args.map((arg) => arg === "BUNDLE" ? path : arg);
      const { code, out, err } = await tool(command, given);
      assertEquals(code, 0, `${command}: ${err}`);
      assertStringIncludes(out, command === "symbols" ? "demo" : "fib", command);
    }
  }));

Deno.test("fuzz seal: intact archives and bundles stay unchanged, and changed ones are readable", () =>
  inFolder(async (folder) => {
    for (const { kind, seeds, seal } of KINDS) {
      if (seal === undefined) continue;
      for (const { name, bytes } of await seeds()) {
        const sealed = bytes.slice();
        seal(sealed);
        assertEquals(sealed, bytes, `${kind}: ${name}`);
      }
    }
    const [bundle] = await BUNDLES.seeds();
    const changed = bundle?.bytes.slice() ?? new Uint8Array();
    changed.fill(0x61, -1);
    Deno.writeFileSync(`${folder}/bundle`, changed);
    const place = { path: `${folder}/bundle`, folder };
    const [target] = targets().filter(({ kind }) => kind === "bundle");
    assert(target !== undefined);
    const wrong = () => target.run(changed, place, new Random(1), "bundle");
    assertThrows(wrong, Error, "checksum");
    BUNDLES.seal?.(changed);
    wrong();
  }));
