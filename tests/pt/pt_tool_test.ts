/**
 * `pt` as a user runs it, on programs stepped with ptrace: its output is compared with the steps.
 */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import type { EncodedSteps, EncodeOptions } from "../../fixtures/stepped/encode.ts";
import {
  cannotStep,
  encodeProgram,
  type StepOptions,
  type SteppedProgram,
  stepProgram,
} from "../../fixtures/stepped/program.ts";
import { steppedFile } from "../../fixtures/stepped/recording.ts";
import { tool, type ToolResult } from "../support/tool.ts";
import { ignored } from "../support/ignored.ts";
import { tableRows } from "../support/parquet_rows.ts";

const root = new URL("../../", import.meta.url).pathname;

/**
 * Runs a command as `perfdata` does, without perf's cache of binaries, which may contain those of
 * this machine.
 */
function pt(args: readonly string[], input?: Uint8Array, name = "pt"): Promise<ToolResult> {
  return tool("perfdata", [name, ...args], { input, env: { PERF_BUILDID_DIR: "/nonexistent" } });
}

/** First addresses of the functions of a statically linked program. */
function functionsOf(path: string): Map<string, bigint> {
  const { stdout } = new Deno.Command("nm", { args: [path] }).outputSync();
  const functions = new Map<string, bigint>();
  for (const line of new TextDecoder().decode(stdout).split("\n")) {
    const [, address, name] = line.match(/^([0-9a-f]+) [tT] (\w+)$/) ?? [];
    if (address !== undefined && name !== undefined) functions.set(name, BigInt(`0x${address}`));
  }
  return functions;
}

interface Case {
  readonly folder: string;
  readonly path: string;
  readonly program: SteppedProgram;
  readonly encoded: EncodedSteps;
}

async function withProgram(
  options: StepOptions,
  variant: EncodeOptions,
  use: (made: Case) => Promise<void>,
): Promise<void> {
  const folder = Deno.makeTempDirSync({ prefix: "perfdata-pt-tool-" });
  try {
    const program = stepProgram(folder, options);
    const encoded = encodeProgram(program, variant);
    const path = `${folder}/perf.data`;
    Deno.writeFileSync(path, await steppedFile(program, encoded, variant));
    await use({ folder, path, program, encoded });
  } finally {
    Deno.removeSync(folder, { recursive: true });
  }
}

/** Compares calls over time, as Perfetto and the Firefox Profiler get them, with the call trace. */
async function checkSlices(path: string): Promise<void> {
  const calls = await pt(["--calls", "--json", path]);
  const expected = calls.out.trimEnd().split("\n").map((line) => JSON.parse(line));
  const chrome = await pt(["chrome", "-o", "-", path], undefined, "export");
  const { traceEvents } = JSON.parse(chrome.out);
  const slices = traceEvents.filter(({ ph }: { ph: string }) => ph === "X");
  assertEquals(slices.length, expected.length);
  for (const [i, { name, dur, tid, args }] of slices.entries()) {
    const call = expected[i];
    assertEquals([name, tid, args.insns], [call.function, call.tid, call.insns]);
    assert(Math.abs(dur * 1000 - call.duration) < 1);
  }
  const firefox = await pt(["firefox", "-o", `${path}.gz`, path], undefined, "export");
  assertEquals(firefox.code, 0, firefox.err);
  const unpacked = Deno.readFileSync(`${path}.gz`);
  const stream = new Blob([unpacked]).stream().pipeThrough(new DecompressionStream("gzip"));
  const { threads: [{ samples }] } = JSON.parse(await new Response(stream).text());
  assertEquals(samples.weightType, "tracing-ms");
  // A stack lasts until the next one begins, or the thread stops.
  for (let i = 0; i + 1 < samples.length; i++) {
    if (samples.stack[i] === null) continue;
    const distance = samples.time[i + 1] - samples.time[i];
    assert(Math.abs(samples.weight[i] - distance) < 2e-6, `sample ${i}: ${distance}`);
  }
  assert(samples.length > 100);
}

/** Each call is a row of a table, with the values of the call trace. */
async function checkTable(path: string): Promise<void> {
  const calls = await pt(["--calls", "--json", path]);
  const expected = calls.out.trimEnd().split("\n").map((line) => JSON.parse(line));
  const tables = `${path}.tables`;
  const made = await pt(["parquet", "--pt-calls", "-o", tables, path], undefined, "export");
  assertEquals(made.code, calls.code, made.err);
  const rows = await tableRows(tables, "pt_calls");
  assertEquals(rows.length, expected.length);
  for (const [i, row] of rows.entries()) {
    const { time, returned = true, tid, cpu, duration, depth, insns, cycles = 0, ...rest } =
      expected[i];
    assertEquals(
      [row["tid"], row["cpu"] ?? undefined, row["depth"], row["insns"], row["is_returned"]],
      [tid, cpu, depth, BigInt(insns), returned],
    );
    assertEquals([row["function"], row["object"]], [rest.function, rest.object]);
    assertEquals(Number(row["cycles"] ?? 0), cycles);
    assertEquals(Number(row["duration"] ?? -1), duration ?? -1);
    assertEquals(Number(row["ts"] ?? -1), time === undefined ? -1 : Math.floor(time));
  }
  const query = "SELECT count(*) AS calls, count(DISTINCT function) AS functions FROM pt_calls";
  const asked = await pt(["--csv", query, tables], undefined, "sql");
  const functions = new Set(expected.map((call) => call.function));
  assertEquals(asked.out, `calls,functions\n${expected.length},${functions.size}\n`);
  assert(expected.length > 50, `${expected.length} calls`);
}

const TIMED: EncodeOptions = {
  psbEvery: 5000,
  compressReturns: true,
  tsc: true,
  mtc: true,
  cyc: true,
};
const STATIC = ["-O1", "-static"];

/** Number of executions of an address by each thread. */
function executions({ truth, truthTid }: EncodedSteps, address: bigint): Map<number, number> {
  const counts = new Map<number, number>();
  for (const [i, ip] of truth.entries()) {
    if (ip !== address) continue;
    const tid = truthTid[i] as number;
    counts.set(tid, (counts.get(tid) ?? 0) + 1);
  }
  return counts;
}

Deno.test(
  "pt: calls, instructions and lists equal the steps",
  ignored(cannotStep()),
  async () => {
    await withProgram(
      { program: "calls", flags: STATIC },
      TIMED,
      async ({ path, folder, encoded, program }) => {
        const table = await pt(["--json", path]);
        assertEquals(table.code, 0, table.err);
        const rows = table.out.trimEnd().split("\n").map((line) => JSON.parse(line));
        const functions = functionsOf(program.path);
        let compared = 0;
        for (
          const name of ["fib", "deep", "choose", "by_value", "thunk", "here", "main", "strings"]
        ) {
          const address = functions.get(name);
          const row = rows.find((row) => row.name === name);
          if (address === undefined) continue;
          const [times = 0] = executions(encoded, address).values();
          assertEquals(row?.calls, times, name);
          compared++;
        }
        assert(compared === 8);
        assertEquals(rows.reduce((sum, row) => sum + row.insns, 0), encoded.truth.length);

        const insns = await pt(["--insns", "--json", path]);
        const lines = insns.out.trimEnd().split("\n");
        assertEquals(lines.length, encoded.truth.length);
        const addresses = lines.map((line) => BigInt(JSON.parse(line).ip));
        assertEquals(addresses, [...encoded.truth]);
        assert(JSON.parse(lines[0] as string).text !== undefined);

        // Each branch leads from an instruction to the next executed one; if tracing ends, the last
        // instruction did the branch.
        const branches = await pt(["--branches", "--json", path]);
        let at = 0;
        let ends = 0;
        for (const line of branches.out.trimEnd().split("\n")) {
          const { event, from, to, ip } = JSON.parse(line);
          if (event !== "branch" && event !== "disabled") continue;
          const address = BigInt(event === "branch" ? from.ip : ip);
          at = encoded.truth.indexOf(address, at);
          assert(at >= 0, line);
          if (event === "disabled") ends++;
          else assertEquals(BigInt(to.ip), encoded.truth[++at], line);
        }
        assert(at > encoded.truth.length - 20 && ends > 5, `${at} and ${ends}`);

        // A range of time before the trace contains nothing.
        const nothing = await pt(["--time", "0,1", path]);
        assertStringIncludes(nothing.err, "--time 0,1 matches nothing");

        const calls = await pt(["--calls", "--json", "--function", "fib", path]);
        const fib = calls.out.trimEnd().split("\n").map((line) => JSON.parse(line));
        assertEquals(fib.length, rows.find(({ name }) => name === "fib").calls);
        assert(fib.every(({ duration, insns }) => duration >= 0 && insns > 0));

        const latency = await pt(["--latency", "fib", "--json", path]);
        const { histogram } = JSON.parse(latency.out);
        const counted = histogram.reduce((n: number, { calls }: { calls: number }) => n + calls, 0);
        assertEquals(counted, fib.length);
        assert(histogram.every(({ calls }: { calls: number }) => calls > 0), "an empty bucket");
        const drawn = (await pt(["--latency", "fib", path])).out.split("slowest:")[0] ?? "";
        const bars = drawn.trimEnd().split("\n").slice(1);
        assertEquals(bars.length, histogram.length);
        assert(bars.every((bar) => bar.endsWith("#")), drawn);

        // Folded stacks have the same time as the table, and fib has its caller above it.
        const folded = await pt(["folded", "--event", "time", path], undefined, "export");
        const stacks = folded.out.trimEnd().split("\n").map((line) => {
          const at = line.lastIndexOf(" ");
          return { frames: line.slice(0, at).split(";"), time: Number(line.slice(at + 1)) };
        });
        const inStacks = stacks.reduce((sum, { time }) => sum + time, 0);
        const inTable = rows.reduce((sum, { self }) => sum + self, 0);
        assert(Math.abs(inStacks - inTable) <= stacks.length, `${inStacks} and ${inTable}`);
        assert(stacks.every(({ frames }) => frames[0] === "stepped"));
        assert(stacks.some(({ frames }) => frames.slice(-3).join(";") === "main;fib;fib"));
        const deep = Math.max(
          ...stacks.map(({ frames }) => frames.filter((name) => name === "deep").length),
        );
        assertEquals(deep, 201);

        await checkSlices(path);
        await checkTable(path);

        const before = [...Deno.readDirSync(folder)].length;
        for (const words of [[], ["--temp", folder]]) {
          const piped = await pt(["--json", ...words, "-"], Deno.readFileSync(path));
          assertEquals(piped.out, table.out);
        }
        assertEquals([...Deno.readDirSync(folder)].length, before);
      },
    );
  },
);

Deno.test(
  "pt: two processes and their threads on one CPU have their own instructions",
  ignored(cannotStep()),
  async () => {
    const options = { program: "processes", flags: STATIC, quantum: 300 };
    await withProgram(options, TIMED, async ({ path, encoded, program }) => {
      const functions = functionsOf(program.path);
      const calls = await pt(["--calls", "--json", path]);
      assertEquals(calls.code, 0, calls.err);
      const byThread = new Map<string, number>();
      for (const line of calls.out.trimEnd().split("\n")) {
        const { tid, function: name, returned } = JSON.parse(line);
        const key = `${name} ${tid}`;
        byThread.set(key, (byThread.get(key) ?? 0) + 1);
        if (name === "work" || name === "other") assertEquals(returned, undefined, line);
      }
      let compared = 0;
      for (const name of ["work", "other"]) {
        for (const [tid, times] of executions(encoded, functions.get(name) ?? -1n)) {
          assertEquals(byThread.get(`${name} ${tid}`), times, `${name} of ${tid}`);
          compared++;
        }
      }
      assertEquals(compared, 4);
      // A selected thread has exactly the instructions that it executed.
      const [tid] = [...program.pidOf.keys()];
      const own = encoded.truthTid.filter((other) => other === tid).length;
      const table = await pt(["--json", "--tid", String(tid), path]);
      const rows = table.out.trimEnd().split("\n").map((line) => JSON.parse(line));
      assertEquals(rows.reduce((sum, row) => sum + row.insns, 0), own);
    });
  },
);

Deno.test(
  "pt: signals, faults and siglongjmp leave no stale calls",
  ignored(cannotStep()),
  async () => {
    const options = { program: "signals", flags: ["-O1", "-static"] };
    await withProgram(options, TIMED, async ({ path, encoded, program }) => {
      const functions = functionsOf(program.path);
      const calls = await pt(["--calls", "--json", path]);
      assertEquals(calls.code, 0, calls.err);
      const depths = new Map<string, Set<number>>();
      const counts = new Map<string, number>();
      for (const line of calls.out.trimEnd().split("\n")) {
        const { function: name, depth } = JSON.parse(line);
        counts.set(name, (counts.get(name) ?? 0) + 1);
        depths.set(name, (depths.get(name) ?? new Set()).add(depth));
      }
      for (const name of ["tick", "jump", "skip", "divide"]) {
        const [times] = executions(encoded, functions.get(name) ?? -1n).values();
        assertEquals(counts.get(name), times, name);
      }
      // Division by zero always has the same call depth: earlier calls were ended.
      assertEquals(depths.get("divide")?.size, 1);
    });
  },
);

Deno.test("pt: a bundle with code replaces the binaries", ignored(cannotStep()), async () => {
  await withProgram(
    { program: "signals", flags: ["-O1"], limit: 60_000 },
    TIMED,
    async ({ path, folder }) => {
      const bundle = `${path}.symbols`;
      const made = await pt(["bundle", "--code", path, "-o", bundle], undefined, "symbols");
      assertEquals(made.code, 0, made.err);
      const empty = `${folder}/empty`;
      Deno.mkdirSync(empty);
      const elsewhere = ["--symfs", empty, "--symbols", bundle];
      let bytes = 0;
      for (
        const [tool, args] of [["pt", ["--insns"]], ["pt", []], ["script", [
          "--insn-trace",
        ]]] as const
      ) {
        const here = await pt([...args, path], undefined, tool);
        const there = await pt([...args, ...elsewhere, path], undefined, tool);
        assertEquals(there.out, here.out);
        bytes += there.out.length;
      }
      assert(bytes > 1_000_000, `${bytes} bytes`);
      const without = await pt(["--insns", "--symfs", empty, path]);
      assertStringIncludes(without.err, "file missing");
    },
  );
});

Deno.test(
  "pt: missing code is reported with its share, and the rest is decoded",
  ignored(cannotStep()),
  async () => {
    const options = { program: "calls", flags: ["-O1"] };
    await withProgram(options, TIMED, async ({ path, folder }) => {
      const empty = `${folder}/empty`;
      Deno.mkdirSync(empty);
      const gone = await pt(["--symfs", empty, path]);
      assertEquals(gone.code, 1);
      assertStringIncludes(gone.err, "not decoded: ");
      assertStringIncludes(gone.err, "no code at hand");
      assertStringIncludes(gone.err, "libc.so.6: file missing");
      const errors = await pt(["--errors", "--json", "--symfs", empty, path]);
      assert(errors.out.split("\n").length > 10);
      const [first = ""] = errors.out.split("\n");
      assertEquals(JSON.parse(first).reason, "no code at hand");
    });
  },
);

Deno.test("pt: each error is one line", async () => {
  const recording = `${root}fixtures/recorded/addr.perf.data`;
  const none = await pt([recording]);
  assertEquals(none.code, 1);
  assertStringIncludes(none.err, "no AUX data; record with");
  const wrong = await pt(["--cals", recording]);
  assertEquals(wrong.code, 2);
  assertStringIncludes(wrong.err, "--calls");
  const both = await pt(["--calls", "--insns", recording]);
  assertEquals(both.code, 2);
});
