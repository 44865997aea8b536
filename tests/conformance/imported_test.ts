/** Imported profiles of other tools: sums equal those of the tool that made them. */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { ignored, notInstalled } from "../support/ignored.ts";
import { noPerf, perfText } from "../support/perf.ts";
import { inFolder, tool } from "../support/tool.ts";

const recorded = new URL("../../fixtures/recorded/", import.meta.url).pathname;
const RECORDINGS = ["callchain", "all-cpus", "two-events", "rounds", "per-thread", "zstd"];

async function output(name: string, args: string[], input?: Uint8Array): Promise<string> {
  const { code, out, err } = await tool(name, args, { input });
  assertEquals(code, 0, `${name} ${args.join(" ")}: ${err}`);
  return out;
}

/** The text of perf script. */
async function ofPerf(flags: string[], path: string): Promise<string> {
  const { code, stdout, stderr } = await perfText(["script", ...flags], path) ??
    { code: 1, stdout: "", stderr: "no perf" };
  assertEquals(code, 0, stderr);
  return stdout;
}

/** Samples and periods by event, command and object, since names may be looked up differently. */
function byObject(json: string): Map<string, [samples: number, period: number]> {
  const sums = new Map<string, [number, number]>();
  for (const line of json.trimEnd().split("\n")) {
    const { event, comm, pid, tid, dso, samples, period } = JSON.parse(line);
    const key = [event, comm, pid, tid, dso].join(" ");
    const [n, p] = sums.get(key) ?? [0, 0];
    sums.set(key, [n + samples, p + period]);
  }
  return new Map([...sums].sort(([a], [b]) => a < b ? -1 : 1));
}

Deno.test(
  "perf script text: funcs prints the sums of the recording",
  ignored(noPerf()),
  () =>
    inFolder(async (folder) => {
      let rows = 0;
      for (const name of RECORDINGS) {
        const path = `${recorded}${name}.perf.data`;
        const stdout = await ofPerf(["-F", "+pid,+period"], path);
        const text = `${folder}/${name}.txt`;
        Deno.writeTextFileSync(text, stdout);
        const funcs = (file: string) =>
          output("funcs", ["--json", "--no-inline", "--sort", "pid,tid,comm,dso,sym", file]);
        const found = byObject(await funcs(text));
        assertEquals(found, byObject(await funcs(path)), name);
        rows += found.size;
      }
      console.log(`perf script: ${rows} sums of ${RECORDINGS.length} recordings compared`);
      assert(rows >= 25, `${rows} rows`);
    }),
);

Deno.test(
  "perf script text: stacks equal those of the recording",
  ignored(noPerf()),
  () =>
    inFolder(async (folder) => {
      const path = `${recorded}callchain.perf.data`;
      // Without names, which perf may find elsewhere: depth and weight of stacks.
      const depths = (text: string) =>
        text.trimEnd().split("\n").map((line) => {
          const at = line.lastIndexOf(" ");
          return `${line.slice(0, at).split(";").length} ${line.slice(at)}`;
        }).sort();
      const stdout = await ofPerf(["-F", "+period"], path);
      const own = depths(await output("export", ["folded", "-o", "-", path]));
      Deno.writeTextFileSync(`${folder}/text`, stdout);
      assertEquals(depths(await output("export", ["folded", "-o", "-", `${folder}/text`])), own);
      // From standard input, compressed with gzip.
      const stream = new Blob([stdout]).stream().pipeThrough(new CompressionStream("gzip"));
      const packed = new Uint8Array(await new Response(stream).arrayBuffer());
      assertEquals(depths(await output("export", ["folded", "-o", "-", "-"], packed)), own);
    }),
);

Deno.test(
  "perfdata script text: funcs prints the same as for perf's",
  ignored(noPerf()),
  () =>
    inFolder(async (folder) => {
      const path = `${recorded}all-cpus.perf.data`;
      Deno.writeTextFileSync(`${folder}/own`, await output("script", [path]));
      Deno.writeTextFileSync(`${folder}/perf`, await ofPerf([], path));
      const objects = async (file: string) => byObject(await output("funcs", ["--json", file]));
      assertEquals(await objects(`${folder}/own`), await objects(`${folder}/perf`));
    }),
);

Deno.test("folded stacks: an export is imported unchanged", () =>
  inFolder(async (folder) => {
    for (const flags of [["--samples"], ["--samples", "--all", "--inline"], ["--with-tid"]]) {
      const args = ["folded", "-f", "-o"];
      await output("export", [...args, `${folder}/a`, ...flags, `${recorded}callchain.perf.data`]);
      const again = flags.filter((flag) => flag !== "--samples");
      await output("export", [...args, `${folder}/b`, ...again, `${folder}/a`]);
      assertEquals(Deno.readTextFileSync(`${folder}/b`), Deno.readTextFileSync(`${folder}/a`));
    }
  }));

Deno.test("pprof: an export is imported with the same functions", () =>
  inFolder(async (folder) => {
    for (const name of RECORDINGS) {
      const path = `${recorded}${name}.perf.data`;
      const file = `${folder}/${name}.pb.gz`;
      await output("export", ["pprof", "-o", file, path]);
      const args = ["--json", "--sort", "pid,tid,comm,dso,sym"];
      const [found, own] = [
        await output("funcs", [...args, file]),
        await output("funcs", [...args, path]),
      ];
      assertEquals(byObject(found), byObject(own), name);
    }
  }));

const PROGRAM = `package main
import ("os"; "runtime/pprof"; "time")
//go:noinline
func work(n int) int { s := 0; for i := 0; i < n; i++ { s += i * i % 7 }; return s }
func inlined(n int) int { s := 0; for i := 0; i < n; i++ { s ^= i }; return s }
//go:noinline
func outer(n int) int { return work(n) + inlined(n) }
var kept [][]byte
func main() {
  cpu, _ := os.Create(os.Args[1]); pprof.StartCPUProfile(cpu)
  s := 0
  for t := time.Now(); time.Since(t) < 700*time.Millisecond; { s += outer(100000) }
  pprof.StopCPUProfile(); cpu.Close()
  for i := 0; i < 1000; i++ { kept = append(kept, make([]byte, 10000+s%2)) }
  heap, _ := os.Create(os.Args[2]); pprof.WriteHeapProfile(heap); heap.Close()
}
`;

Deno.test(
  "pprof of a Go program: funcs and tree print the sums of go tool pprof -raw",
  ignored(notInstalled("go")),
  () =>
    inFolder(async (folder) => {
      Deno.writeTextFileSync(`${folder}/main.go`, PROGRAM);
      const go = (...args: string[]) => {
        const { success, stdout, stderr } = new Deno.Command("go", { args, cwd: folder })
          .outputSync();
        assert(success, new TextDecoder().decode(stderr));
        return new TextDecoder().decode(stdout);
      };
      go("run", "main.go", `${folder}/cpu.pb.gz`, `${folder}/heap.pb.gz`);
      let compared = 0;
      for (
        const [file, event, count, sum] of [
          ["cpu", "cpu", 0, 1],
          ["heap", "alloc_space (bytes)", 0, 1],
          ["heap", "inuse_space (bytes)", 2, 3],
        ] as const
      ) {
        const path = `${folder}/${file}.pb.gz`;
        const raw = go("tool", "pprof", "-raw", path);
        // Location: address, mapping, function and file; inlined lines come first.
        const innermost = new Map<string, string>();
        const locations = raw.slice(raw.indexOf("\nLocations\n"), raw.indexOf("\nMappings\n"));
        for (const [, id = "", name = ""] of locations.matchAll(/^ +(\d+): 0x\w+ M=\d+ (\S+)/gm)) {
          innermost.set(id, name);
        }
        const expected = new Map<string, [number, number]>();
        const samples = raw.slice(0, raw.indexOf("\nLocations\n"));
        for (const line of samples.split("\n")) {
          const [left = "", right] = line.split(":");
          if (right === undefined || !/^[ \d]+$/.test(left) || !/^[ \d]+$/.test(right)) continue;
          const values = left.trim().split(/ +/).map(Number);
          const name = innermost.get(right.trim().split(" ")[0] ?? "") ?? "";
          const [n, value] = [values[count] ?? 0, values[sum] ?? 0];
          if (n === 0 && value === 0) continue;
          const [before, period] = expected.get(name) ?? [0, 0];
          expected.set(name, [before + n, period + value]);
        }
        const found = new Map<string, [number, number]>();
        for (const line of (await output("funcs", ["--json", path])).trimEnd().split("\n")) {
          const row = JSON.parse(line);
          if (row.event !== event) continue;
          const [n, period] = found.get(row.sym) ?? [0, 0];
          found.set(row.sym, [n + row.samples, period + row.period]);
        }
        const sorted = (sums: Map<string, [number, number]>) => [...sums].sort();
        assertEquals(sorted(found), sorted(expected), event);
        compared += found.size;
      }
      console.log(`go tool pprof: ${compared} functions compared`);
      assert(compared >= 5, `${compared} functions`);
      // Compared with a recording of another event.
      const { code, err } = await tool("diff", [
        `${folder}/cpu.pb.gz`,
        `${recorded}callchain.perf.data`,
      ]);
      assertEquals(code, 0, err);
      assertStringIncludes(err, "cpu-clock is compared as cpu");
    }),
);

Deno.test(
  ".cpuprofile of Node: funcs counts the samples of its nodes",
  ignored(notInstalled("node")),
  () =>
    inFolder(async (folder) => {
      const script = `${folder}/work.js`;
      Deno.writeTextFileSync(
        script,
        "function fib(n) { return n < 2 ? n : fib(n - 1) + fib(n - 2) }\n" +
          "const t = Date.now(); while (Date.now() - t < 300) [3, 2].sort(() => fib(12));\n",
      );
      const args = [
        "--cpu-prof",
        `--cpu-prof-dir=${folder}`,
        "--cpu-prof-name=n.cpuprofile",
        script,
      ];
      const { success } = new Deno.Command("node", { args }).outputSync();
      assert(success);
      const { nodes, samples, startTime, endTime, timeDeltas } = JSON.parse(
        Deno.readTextFileSync(`${folder}/n.cpuprofile`),
      );
      const counts = new Map<number, number>();
      for (const id of samples) counts.set(id, (counts.get(id) ?? 0) + 1);
      const expected = new Map<string, number>();
      // V8's hitCount of a node also has samples that it did not keep, and not the first one.
      for (const { id, callFrame } of nodes) {
        const count = counts.get(id) ?? 0;
        if (count === 0) continue;
        const { functionName, url, lineNumber, columnNumber } = callFrame;
        const anonymous = `(anonymous):${lineNumber + 1}:${columnNumber + 1}`;
        const key = `${functionName || anonymous} ${url.slice(url.lastIndexOf("/") + 1)}`;
        expected.set(key, (expected.get(key) ?? 0) + count);
      }
      const found = new Map<string, number>();
      let period = 0;
      const rows = await output("funcs", ["--json", `${folder}/n.cpuprofile`]);
      for (const line of rows.trimEnd().split("\n")) {
        const row = JSON.parse(line);
        found.set(`${row.sym} ${row.dso === "[unknown]" ? "" : row.dso}`, row.samples);
        period += row.period;
      }
      assertEquals([...found].sort(), [...expected].sort());
      assertEquals(period, (endTime - startTime - timeDeltas[0]) * 1000);
      console.log(`node --cpu-prof: ${found.size} functions compared`);
      assertMatch(await output("tree", [`${folder}/n.cpuprofile`]), /fib/);
    }),
);

Deno.test("foreign profiles: commands that only read recordings name the tool that made them", () =>
  inFolder(async (folder) => {
    Deno.writeTextFileSync(`${folder}/a.folded`, "demo;main;work 3\n");
    const { code, err } = await tool("records", [`${folder}/a.folded`]);
    assertEquals(code, 1);
    assertStringIncludes(err, "text of folded stacks, which report, view, flame, tree");
    for (const [flag, value] of [["--weight", "off-cpu"], ["--time", "1-2"]] as const) {
      const { code, err } = await tool("tree", [flag, value, `${folder}/a.folded`]);
      assertEquals([code, /profile[s]? of (an)?other tool/.test(err)], [2, true], err);
    }
    const wrong = await tool("funcs", [`--sort=pid`, `${folder}/a.folded`]);
    assertEquals(wrong.code, 2, wrong.err);
    const none = await tool("flame", ["-o", "-", "--tid", "7", `${folder}/a.folded`]);
    assertEquals(none.code, 1, none.err);
    assertStringIncludes(none.err, "no samples");
  }));
