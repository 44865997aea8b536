/** The flags that select samples have the same meaning in all commands, and in perf. */
import { assert, assertEquals } from "@std/assert";
import { perfText, perfVersion } from "../support/perf.ts";
import { inFolder, tool, type ToolOptions } from "../support/tool.ts";
import { PROGRAM, runs } from "../support/unwound.ts";
import { skipped } from "../support/ignored.ts";

type Args = readonly string[];
type Count = (out: string) => number;

const lines = (out: string): string[] => out.split("\n").filter((line) => line !== "");
const sum = (values: readonly number[]): number => values.reduce((all, value) => all + value, 0);
const json = (out: string) => lines(out).map((line) => JSON.parse(line));

/** Number of samples that a command counted or showed. */
const TOOLS: readonly [name: string, args: Args, count: Count][] = [
  ["funcs", ["--json"], (out) => sum(json(out).map(({ samples }) => samples))],
  [
    "tree",
    ["--json", "--root", "none"],
    (out) => sum(json(out).map(({ self_samples }) => self_samples)),
  ],
  ["script", ["-G", "-F", "tid,time,ip"], (out) => lines(out).length],
  ["records", ["--type", "SAMPLE"], (out) => lines(out).length],
  ["export", ["speedscope", "-o", "-"], (out) => {
    const { profiles } = JSON.parse(out) as { profiles: { samples: unknown[] }[] };
    return sum(profiles.map(({ samples }) => samples.length));
  }],
];

Deno.test({
  name:
    "--time, --comm, --pid, --tid, --cpu, --dso and --symbol: all commands select perf's samples",
  ignore: perfVersion() === undefined,
  fn: (t) =>
    inFolder(async (folder) => {
      Deno.writeTextFileSync(`${folder}/a.cc`, PROGRAM);
      const [one, two] = [`${folder}/one`, `${folder}/two`], data = `${folder}/perf.data`;
      const flags = ["-O2", "-fno-omit-frame-pointer", "-pthread"];
      const failed = runs("g++", ...flags, "-o", one, `${folder}/a.cc`) ??
        runs("cp", one, two) ??
        runs(
          ...["perf", "record", "-q", "-e", "cpu-clock:u", "-F", "1999", "-g", "--sample-cpu"],
          ...["-o", data, "sh", "-c", `${one} 1200 & ${two} 1200; wait`],
        );
      if (failed !== undefined) {
        await skipped(t, `${failed}`);
        return;
      }
      const perfCount = async (...args: string[]) => {
        const fields = ["script", "-G", "--ns", "-F", "comm,pid,tid,cpu,time,ip,sym", ...args];
        return lines((await perfText(fields, data))?.stdout ?? "");
      };
      const all = await perfCount();
      const [, pid = "", tid = ""] = /(\d+)\/(\d+)/.exec(all.at(-1) ?? "") ?? [];
      const [, cpu = ""] = /\[(\d+)\]/.exec(all.at(-1) ?? "") ?? [];
      const times = all.map((line) => Number(/ (\d+\.\d+):/.exec(line)?.[1]));
      const [first = 0, last = 0] = [Math.min(...times), Math.max(...times)];
      const inside = (from: number, to: number) =>
        times.filter((time) => time - first >= from && time - first <= to).length;
      const half = (last - first) / 2;
      const half_ms = Math.round(1000 * half);
      const symbol = (names: RegExp) => all.filter((line) => names.test(line)).length;
      const table: [args: Args, expected: number][] = [
        [[], all.length],
        [["--time", "10%-20%"], (await perfCount("--time", "10%-20%")).length],
        [["--time", "50%-"], (await perfCount("--time", "50%-100%")).length],
        [["--time", `0s-${half_ms}ms`], inside(0, half_ms / 1000)],
        [["--comm", "one"], all.filter((line) => /^\s*one\s/.test(line)).length],
        [["--comm", "/^t.o$/,one"], all.filter((line) => /^\s*(one|two)\s/.test(line)).length],
        [["--pid", pid], all.filter((line) => line.includes(` ${pid}/`)).length],
        [["--tid", tid], all.filter((line) => line.includes(`/${tid} `)).length],
        [["--cpu", String(Number(cpu))], all.filter((line) => line.includes(`[${cpu}]`)).length],
        [["--dso", "two"], (await perfCount("--dsos", two)).length],
        [["--symbol", "spin"], symbol(/ spin$/)],
        [["--symbol", "/^sp.n$/,compare"], symbol(/ (spin|compare)$/)],
        [
          [
            "--symbol",
            "std::_Function_handler<long (int), again::{lambda(int)#1}>::_M_invoke,spin",
          ],
          symbol(/ (spin|std::_Function_handler<long \(int\), again.*::_M_invoke)$/),
        ],
        [
          ["--comm", "one", "--symbol", "spin", "--time", "0%-50%"],
          (await perfCount("--time", "0%-50%")).filter((line) => /^\s*one .* spin$/.test(line))
            .length,
        ],
      ];
      const bundle = `${folder}/perf.symbols`;
      assertEquals((await tool("symbols", ["bundle", "-o", bundle, data])).code, 0);
      const stream = Deno.readFileSync(data);
      let compared = 0;
      const compare = async ([name, args, count]: typeof TOOLS[number]) => {
        const counted = async (more: Args, file: string, options: ToolOptions = {}) => {
          const { out, err, code } = await tool(name, [...args, ...more, file], options);
          assert(
            code === 0 || err.includes("matches nothing"),
            `${name} ${more.join(" ")}: ${err}`,
          );
          compared++;
          return out.trim() === "" ? 0 : count(out);
        };
        // tree and export share the selection.
        for (const [more, expected] of name === "export" ? table.slice(-2) : table) {
          assertEquals(await counted(more, data), expected, `${name} ${more.join(" ")}`);
        }
        // From a pipe, with names of a bundle, inlined functions and lines: the same samples.
        const [more, expected] = table.at(-1) ?? [[], 0];
        const named = ["--symbols", bundle, "--symfs", folder];
        assertEquals(await counted([...more, ...named], data), expected, `${name}, a bundle`);
        if (name === "funcs" || name === "tree") {
          assertEquals(await counted([...more, "--srcline"], data), expected, `${name} --srcline`);
        }
        if (name !== "script") {
          const inline = name === "funcs" || name === "tree" ? ["--no-inline"] : ["--inline"];
          assertEquals(await counted([...more, ...inline], data), expected, `${name} ${inline}`);
        }
        const byNumber = ["--comm", "one", "--pid", pid, "--symbol", "spin"];
        const here = await counted(byNumber, data);
        assertEquals(await counted(byNumber, "-", { input: stream }), here, `${name}, a pipe`);
      };
      await Promise.all(TOOLS.map(compare));
      console.log(`${compared} counts of ${TOOLS.length} commands, ${all.length} samples`);
      assert(all.length > 50, `${all.length} samples`);
    }),
});
