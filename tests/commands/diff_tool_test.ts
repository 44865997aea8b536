/**
 * `diff` and `annotate` on recordings made here. `diff` counts page faults, whose number the
 * program determines: of one program twice, and of one with more faults in one function. Shares are
 * compared with `perf diff` and `funcs`.
 */
import { assert, assertAlmostEquals, assertEquals, assertStringIncludes } from "@std/assert";
import { noBrowser, withPage } from "../../packages/export/browser_testing.ts";
import { perfText } from "../support/perf.ts";
import { inFolder, tool } from "../support/tool.ts";
import { skipped } from "../support/ignored.ts";

const ROOT = new URL("../../", import.meta.url).pathname;
const BROWSERLESS = await noBrowser();
/** Arguments of work.c: rounds, for 0.4 s or 2,000 samples, and the cost of `slow` in percent. */
const WORK = ["6000", "100"] as const;
/** Page faults of `even` and, in most recordings, of `slow` in faults.c. */
const FAULTS = 2000;

/** Runs a program. Returns `false` if it is missing or fails. */
function works(program: string, args: readonly string[], cwd: string): boolean {
  try {
    const { success } = new Deno.Command(program, {
      args: [...args],
      cwd,
      stdout: "null",
      stderr: "null",
    }).outputSync();
    return success;
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
    return false;
  }
}

/**
 * Builds a program of tests/support/diff and records it once for each list of arguments;
 * `undefined` if that is not possible.
 */
function record(
  folder: string,
  program: "work" | "faults",
  runs: readonly (readonly string[])[],
): string[] | undefined {
  const source = `${ROOT}tests/support/diff/${program}.c`;
  const flags = ["-O1", "-g", "-fno-omit-frame-pointer", "-o", program, source];
  if (!works("gcc", flags, folder)) return undefined;
  const event = program === "work" ? ["cpu-clock:u", "-F", "5000"] : ["page-faults:u", "-c", "1"];
  const paths: string[] = [];
  for (const [i, args] of runs.entries()) {
    const path = `${folder}/${i}.data`;
    const command = ["record", "-q", "-e", ...event, "-g", "-o", path, "--"];
    if (!works("perf", [...command, `./${program}`, ...args], folder)) return undefined;
    paths.push(path);
  }
  return paths;
}

interface Row {
  readonly name: string;
  readonly before: { readonly value: number; readonly samples: number };
  readonly after: { readonly value: number; readonly samples: number };
  readonly change: number;
  readonly interval?: readonly [number, number];
  readonly significant: boolean;
}

async function rows(args: readonly string[]): Promise<Row[]> {
  const { out, err, code } = await tool("diff", ["--json", ...args]);
  assertEquals(code, 0, err);
  return out.trimEnd().split("\n").slice(1).map((line) => JSON.parse(line));
}

Deno.test("diff: a slower function is the one change, with its size", async (t) => {
  await inFolder(async (folder) => {
    const slows = [FAULTS, FAULTS, 1.5 * FAULTS, 1.5 * FAULTS];
    const runs = slows.map((slow) => [`${FAULTS}`, `${slow}`]);
    const paths = record(folder, "faults", runs);
    if (paths === undefined) return await skipped(t, "no gcc, or no perf that records");
    const [a = "", b = "", slower = ""] = paths;
    const same = await rows([a, b]);
    // Only faults before `main` differ between runs.
    assertEquals(same.filter((row) => row.significant), []);
    const counts = (rows: readonly Row[]) =>
      rows.filter(({ name }) => name === "slow").map(({ before, after }) => [
        before.samples,
        after.samples,
      ]);
    assertEquals(counts(same), [[FAULTS, FAULTS]]);

    const changed = await rows([a, slower]);
    assertEquals(counts(changed), [[FAULTS, 1.5 * FAULTS]]);
    const slow = changed.find(({ name }) => name === "slow");
    assertEquals(slow?.significant, true);
    // Half and half before, 60 % after; some dozens of faults are those of the start.
    assertAlmostEquals(slow?.change ?? 0, 0.1, 0.002);

    // The shares equal those of perf diff.
    const perf = new Deno.Command("sh", {
      args: ["-c", 'ulimit -v 8000000; exec timeout 300 perf diff "$@"', "perf", a, slower],
      env: { LC_ALL: "C", PAGER: "cat" },
    }).outputSync();
    const text = new TextDecoder().decode(perf.stdout);
    const line = /^ +([\d.]+)% +([+-][\d.]+)% +faults +\[\.\] slow/m.exec(text);
    if (line !== null) {
      assertAlmostEquals((slow?.before.value ?? 0) * 100, Number(line[1]), 0.0051);
      assertAlmostEquals((slow?.change ?? 0) * 100, Number(line[2]), 0.0101);
    } else await skipped(t, "this perf prints no comparison");

    const repeated = await rows(["--by", "period", ...paths.slice(0, 2), "vs", ...paths.slice(2)]);
    const [low = 0, high = 0] = repeated.find(({ name }) => name === "slow")?.interval ?? [];
    // `slow` is half of the total; half as much again is a quarter of the base.
    assert(low > 0.2 && low < 0.25 && high > 0.24 && high < 0.3, `${low} … ${high}`);

    const failing = await tool("diff", ["--fail-above", "5%", a, slower]);
    assertEquals(failing.code, 1);
    assertStringIncludes(failing.err, "slow grew by");
    assertEquals(
      (await tool("diff", ["--fail-above", "5%", slower, a])).err.includes("slow grew"),
      false,
    );

    const picture = `${folder}/diff.svg`;
    assertEquals((await tool("diff", ["-o", picture, a, slower])).code, 0);
    const name = (path: string) => path.slice(path.lastIndexOf("/") + 1);
    assertStringIncludes(Deno.readTextFileSync(picture), `>${name(a)} → ${name(slower)} · `);
    const page = `${folder}/diff.html`;
    assertEquals((await tool("diff", ["-o", page, a, slower])).code, 0);
    if (BROWSERLESS !== undefined) return await skipped(t, BROWSERLESS);
    await withPage(page, async (page, { errors }) => {
      await page.waitForFunction(() =>
        (globalThis as unknown as { perfdata?: { open?: { comparison?: object } } }).perfdata?.open
          ?.comparison !== undefined
      );
      await page.waitForSelector(".flame-canvas");
      const [before, now] = await page.evaluate(`(async () => {
        const query = { direction: "up", zoom: [], least: 0 };
        const boxes = await perfdata.open.client.call("compareFlame", perfdata.shown, query, "now");
        const fn = perfdata.open.comparison.names.findIndex((name) => /^slow\\b/.test(name));
        // Without main at an interrupt in its first instructions, so in a box of its own then.
        const sum = (values) => values.reduce((all, one, i) => boxes.item[i] === fn ? all + one : all, 0);
        return [sum(boxes.other) / boxes.otherSum, sum(boxes.total) / boxes.sum];
      })()`) as [number, number];
      // Half and half before, 60 % after.
      assertAlmostEquals(now - before, 0.1, 0.002);
      assertEquals(errors, []);
    });
  });
});

Deno.test("annotate: the samples of lines add up to those of funcs", async (t) => {
  await inFolder(async (folder) => {
    const [path] = record(folder, "work", [WORK]) ?? [];
    if (path === undefined) return await skipped(t, "no gcc, or no perf that records");
    const funcs = await tool("funcs", ["--json", "--no-inline", path]);
    const own = funcs.out.trimEnd().split("\n").map((line) => JSON.parse(line))
      .find(({ sym }) => sym === "slow");
    const { out, code } = await tool("annotate", ["--json", path, "slow"]);
    assertEquals(code, 0);
    const lines = out.trimEnd().split("\n").map((line) => JSON.parse(line)) as {
      file: string;
      line: number;
      self: { samples: number };
      total: { samples: number };
      calls: { name: string; inlined: boolean; samples: number }[];
    }[];
    const inlined = lines.flatMap(({ calls }) => calls).filter(({ name }) => name === "mix");
    const sum = (values: number[]) => values.reduce((all, value) => all + value, 0);
    assertEquals(
      sum(lines.map(({ self }) => self.samples)) + sum(inlined.map(({ samples }) => samples)),
      own.samples,
    );
    assert(inlined.length > 0 && inlined.every((call) => call.inlined));
    assert(lines.every(({ file }) => file.endsWith("/tests/support/diff/work.c")));

    const text = await tool("annotate", ["--lines", path, "slow"]);
    assertStringIncludes(text.out, "slow in work: ");
    assert(/work\.c:\d+:.* h = mix\(h \+ i\);/.test(text.out), text.out);
    const wrong = await tool("annotate", [path, "slo"]);
    assertEquals([wrong.code, wrong.out], [1, ""]);
    assertStringIncludes(wrong.err, "there are slow");
  });
});

Deno.test("diff, annotate: names of functions are those of funcs, not of debug information", async (t) => {
  await inFolder(async (folder) => {
    Deno.writeTextFileSync(
      `${folder}/alias.c`,
      `volatile unsigned long sink;
__attribute__((noinline)) void inside(int n) __asm__("outside");
void inside(int n) { for (int i = 0; i < n; i++) sink += i * 3; }
int main() { for (int i = 0; i < 100; i++) inside(1000000); }
`,
    );
    if (!works("gcc", ["-O1", "-g", "-o", "alias", "alias.c"], folder)) {
      return await skipped(t, "gcc is not installed");
    }
    const path = `${folder}/perf.data`;
    const args = ["record", "-q", "-e", "cpu-clock:u", "-F", "2000", "-o", path, `${folder}/alias`];
    if (!works("perf", args, folder)) return await skipped(t, "no perf that records");
    const rows = async (name: string, ...args: string[]) =>
      (await tool(name, args)).out.trimEnd().split("\n").map((line) => JSON.parse(line));
    const funcs = (await rows("funcs", "--json", path)).filter(({ dso }) => dso === "alias");
    assertEquals(funcs[0]?.sym, "outside");
    const diffs = (await rows("diff", "--json", path, path)).slice(1)
      .filter(({ object, before }) => object === "alias" && before.value > 0);
    const names = (all: { sym?: string; name?: string }[]) =>
      all.map(({ sym, name }) => sym ?? name).sort();
    assertEquals(names(diffs), names(funcs));
    const lines = await rows("annotate", "--json", path, "outside");
    assert(lines.length > 0 && lines.every(({ function: name }) => name === "outside"));
  });
});

Deno.test("annotate --insns: samples of instructions are those of perf annotate", async () => {
  await inFolder(async (folder) => {
    const [path] = record(folder, "work", [WORK]) ?? [];
    if (path === undefined || !works("objdump", ["--version"], folder)) return;
    const { out, code } = await tool("annotate", ["--insns", "--json", path, "slow"]);
    assertEquals(code, 0);
    const ours = out.trimEnd().split("\n").map((line) => JSON.parse(line)) as {
      address: string;
      text: string;
      samples: number;
      line: number;
    }[];
    const args = ["annotate", "--stdio", "--show-nr-samples", "-s", "slow"];
    const theirs = await perfText(args, path);
    const rows = [...(theirs?.stdout ?? "").matchAll(/^ *(\d+) : +([0-9a-f]+): +(\S+)/gm)];
    console.log(`annotate: ${rows.length} instructions compared with perf annotate`);
    assert(rows.length > 15, `only ${rows.length} instructions`);
    assertEquals(
      ours.map(({ address, samples }) => [address, samples]),
      rows.map(([, samples, address]) => [`0x${address}`, Number(samples)]),
    );
    // Disassemblers differ in suffixes.
    const word = (text: string) => text.split(" ")[0]?.replace(/[lqw]$/, "");
    assertEquals(ours.map(({ text }) => word(text)), rows.map(([, , , text]) => word(text ?? "")));
    assert(ours.every(({ line }) => line > 0));
    const text = await tool("annotate", ["--insns", path, "slow"]);
    assert(/^ *\d+\.\d\d% +\d+\.\d\d% {2}[^0-9a-f]* *[0-9a-f]+: {2}\w+/m.test(text.out), text.out);
  });
});

Deno.test("diff: wrong usage gives exit code 2 and one line", async () => {
  const file = `${ROOT}fixtures/recorded/callchain.perf.data`;
  for (
    const args of [[file], [file, "vs"], ["--by", "tim", file, file], [
      "--fail-above",
      "x",
      file,
      file,
    ]]
  ) {
    const { code, out, err } = await tool("diff", args);
    assertEquals([code, out], [2, ""], args.join(" "));
    assertEquals(err.trimEnd().split("\n").length, 1);
  }
});

Deno.test("diff: recordings without a common event give the events of each", async () => {
  const [clock, faults] = ["callchain", "addr"].map((name) =>
    `${ROOT}fixtures/recorded/${name}.perf.data`
  ) as [string, string];
  const { code, out, err } = await tool("diff", [clock, faults]);
  assertEquals([code, out], [1, ""]);
  assertEquals(
    err.trimEnd().split("\n").at(-1),
    "diff: the other side has no samples of cpu-clock, only of page-faults",
  );
});
