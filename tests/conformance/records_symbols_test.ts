/** Names and unwound stacks that `records` adds to samples, compared with `perf script`. */
import { assert, assertEquals } from "@std/assert";
import { perfText, perfVersion } from "../support/perf.ts";
import { inFolder, tool } from "../support/tool.ts";
import { PROGRAM, runs } from "../support/unwound.ts";
import { skipped } from "../support/ignored.ts";

interface Named {
  readonly sym: string | null;
  readonly symoff: string | null;
  readonly dso: string | null;
}

interface Line extends Named {
  readonly type: string;
  readonly pid: number;
  readonly tid: number;
  readonly time: number;
  readonly comm: string;
  readonly callchain: readonly string[];
  readonly callchain_symbols: readonly (Named | null)[];
  readonly stack_user?: unknown;
  readonly body: { addr: string; len: string; pgoff: string; filename: string };
}

const lines = (text: string): Line[] => text.trim().split("\n").map((line) => JSON.parse(line));

/** A sample of `perf script -F comm,tid,time,ip,sym,symoff,dso`: head and frames. */
function perfSamples(text: string): string[][] {
  return text.split("\n\n").filter((block) => block.trim() !== "").map((block) => {
    const [head = "", ...frames] = block.trim().split("\n");
    const [, comm, tid, seconds, ns] = /^(.*?)\s+(\d+)\s+(\d+)\.(\d{9}):/.exec(head) ?? [];
    return [
      `${comm} ${tid} ${BigInt(`${seconds}${ns}`)}`,
      ...frames.map((frame) => frame.trim().replace(/^[0-9a-f]+ /, ""))
        // A return address of 0, which perf prints as the byte before it, is no frame.
        .filter((frame) => !frame.startsWith("[unknown] ([unknown])")),
    ];
  });
}

const named = ({ sym, symoff, dso }: Named): string =>
  `${sym === null ? "[unknown]" : `${sym}+${symoff}`} (${dso ?? "[unknown]"})`;

/** The same for our lines. */
function ourSamples(all: readonly Line[]): string[][] {
  return all.filter(({ type }) => type === "SAMPLE").map((line) => [
    `${line.comm} ${line.tid} ${line.time}`,
    ...line.callchain_symbols.filter((symbol) => symbol !== null).map(named),
  ]);
}

const FIELDS = ["script", "--no-inline", "--ns", "-F", "comm,tid,time,ip,sym,symoff,dso"];

Deno.test({
  name: "records --symbols --unwind: threads, functions and stacks equal those of perf script",
  ignore: perfVersion() === undefined,
  fn: (t) =>
    inFolder(async (folder) => {
      Deno.writeTextFileSync(`${folder}/a.cc`, PROGRAM);
      const program = `${folder}/a`;
      const record = (graph: string, data: string) =>
        runs(
          ...["perf", "--buildid-dir", `${folder}/debug`, "record", "-q", "-e", "cpu-clock:u"],
          ...["-F", "1999", "--call-graph", graph, "-o", data, program, "1200"],
        );
      const [fp, dwarf] = [`${folder}/fp.data`, `${folder}/dwarf.data`];
      const flags = ["-O2", "-fno-omit-frame-pointer", "-pthread", "-o", program];
      const failed = runs("g++", ...flags, `${folder}/a.cc`) ?? record("fp", fp) ??
        record("dwarf,24576", dwarf);
      if (failed !== undefined) {
        await skipped(t, `${failed}`);
        return;
      }
      let compared = 0;
      for (const data of [fp, dwarf]) {
        const perf = perfSamples((await perfText(FIELDS, data))?.stdout ?? "");
        const args = ["--symbols", ...(data === dwarf ? ["--unwind"] : [])];
        const { out, code } = await tool("records", [...args, data]);
        assertEquals(code, 0);
        const all = lines(out);
        const ours = ourSamples(all);
        assertEquals(ours.map(([head]) => head), perf.map(([head]) => head));
        const same = ours.filter((sample, i) => sample.join("\n") === perf[i]?.join("\n")).length;
        // Where the two differ, perf's stack ends earlier (see the test of unwinding).
        ours.forEach((sample, i) => {
          const theirs = perf[i] ?? [];
          // perf 6.1 misplaces PLT stubs, and has no names for those of IFUNCs.
          const shared = sample.findIndex((frame, k) =>
            frame !== theirs[k] && !frame.includes("@plt+")
          );
          assert(
            shared < 0 || theirs.length < sample.length || data === dwarf,
            `${sample.join("\n")}\n--\n${theirs.join("\n")}`,
          );
        });
        assert(same > 0.7 * ours.length && ours.length > 20, `${data}: ${same} of ${ours.length}`);
        compared += same;
        if (data === dwarf) checkAddresses(all);
        const piped = await tool("records", [...args, "-"], { input: Deno.readFileSync(data) });
        // Stacks through the vdso depend on its build id, which follows the data of a file.
        const through = ours.map((sample) => sample.some((frame) => frame.endsWith("([vdso])")));
        const rest = <T>(samples: readonly T[]) => samples.filter((_, i) => !through[i]);
        const chains = (text: string) =>
          rest(lines(text).filter(({ type }) => type === "SAMPLE").map((line) => line.callchain));
        assert(rest(ours).length > 20, `${rest(ours).length} of ${ours.length} samples`);
        assertEquals(rest(ourSamples(lines(piped.out))), rest(ours), "names of a pipe");
        assertEquals(chains(piped.out), chains(out), "stacks of a pipe");
      }
      console.log(`${compared} samples equal`);
      // A CSV line has the same.
      const csv = await tool("records", [
        "--csv",
        "--symbols",
        "--type",
        "SAMPLE",
        "--limit",
        "3",
        fp,
      ]);
      assert(csv.out.includes('""comm"":""a""') && csv.out.includes('""sym"":'), csv.out);
    }),
});

/** A stack's address minus its mapping's equals symbol plus distance. */
function checkAddresses(all: readonly Line[]): void {
  const starts = new Map<string, bigint>();
  let checked = 0;
  for (const line of all) {
    if (line.type !== "SAMPLE") continue;
    assertEquals(line.stack_user, undefined);
    assertEquals(line.callchain.length, line.callchain_symbols.length);
    line.callchain.forEach((address, i) => {
      const { sym, symoff, dso } = line.callchain_symbols[i] ?? {};
      if (sym === null || sym === undefined || symoff === null || symoff === undefined) return;
      // Functions with equal names are distinguished by their distance.
      const start = BigInt(address) - BigInt(symoff);
      const key = `${line.pid} ${dso} ${sym}`;
      const known = starts.get(key);
      if (known !== undefined && known === start) checked++;
      starts.set(key, start);
    });
  }
  assert(checked > 100, `${checked} addresses`);
}
