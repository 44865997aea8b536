/** Code of the kernel outside its mapping has the names that perf prints, in all commands. */
import { assertEquals } from "@std/assert";
import { recordingOf } from "../../packages/profile/testing.ts";
import { perfText, perfVersion } from "../support/perf.ts";
import { inFolder, tool } from "../support/tool.ts";

const KERNEL = 0xffff_ffff_8100_0000n;
/** Code that runs at boot, beyond the kernel's mapping of 16 MB. */
const BOOT = KERNEL + 0x1c0_0000n;
/** Nothing is there: the kernel's symbols end before it. */
const BEYOND = 0xffff_ffff_a000_0010n;
const SYMBOLS: readonly (readonly [bigint, string])[] = [
  [KERNEL, "_text"],
  [KERNEL + 0x100n, "poll"],
  [KERNEL + 0x200n, "do_idle"],
  [KERNEL + 0x300n, "other"],
  [BOOT, "_sinittext"],
  [BOOT + 0x100n, "start_kernel"],
  [BOOT + 0x200n, "x86_64_start_kernel"],
  [BOOT + 0x300n, "_einittext"],
];

/** Writes a recording and a copy of kallsyms: sampled, calling and missing code beside the mapping. */
async function write(folder: string): Promise<{ data: string; kallsyms: string }> {
  const caller = BOOT + 0x209n;
  const bytes = await recordingOf({
    maps: [{
      ...{ path: "[kernel.kallsyms]_text", at: KERNEL, size: 0x100_0000n, pgoff: KERNEL },
      ...{ misc: 1, pid: -1 },
    }],
    samples: [
      [KERNEL + 0x110n, KERNEL + 0x210n, BOOT + 0x1d9n, caller],
      [BOOT + 0x1e0n, caller],
      [BEYOND, KERNEL + 0x210n, caller],
    ].map((ips, i) => ({ tid: 7, time: BigInt(i + 1), misc: 1, ips })),
  });
  const data = `${folder}/perf.data`, kallsyms = `${folder}/kallsyms`;
  Deno.writeFileSync(data, bytes);
  const line = ([at, name]: readonly [bigint, string]) => `${at.toString(16)} T ${name}\n`;
  Deno.writeTextFileSync(kallsyms, SYMBOLS.map(line).join(""));
  return { data, kallsyms };
}

Deno.test({
  name: "script, funcs: code beside the kernel's mapping has the names that perf prints",
  ignore: perfVersion() === undefined,
  fn: () =>
    inFolder(async (folder) => {
      const { data, kallsyms } = await write(folder);
      const ours = await tool("script", ["--kallsyms", kallsyms, data]);
      const theirs = await perfText(["script", `--kallsyms=${kallsyms}`], data);
      assertEquals(ours.out, theirs?.stdout);
      assertEquals(ours.out.includes("start_kernel+0xe0 ([kernel.kallsyms])"), true, ours.out);

      for (const flag of [[], ["--children"]]) {
        const mode = flag.length === 0 ? "--no-children" : "--children";
        const report = await perfText([
          ...["report", "--stdio", mode, "-g", "none", `--kallsyms=${kallsyms}`],
        ], data);
        const rows = [...report?.stdout.matchAll(/^ *([\d.]+%.*)$/gm) ?? []]
          .map(([, row = ""]) => row.trim().split(/ +/));
        const funcs = await tool("funcs", [...flag, "--json", "--kallsyms", kallsyms, data]);
        const own = funcs.out.trimEnd().split("\n").map((line) => JSON.parse(line))
          .map(({ children, overhead, comm, dso, sym }) => [
            ...[children ?? [], overhead].flat().map((share) => `${share.toFixed(2)}%`),
            ...[comm, dso, "[k]", sym],
          ]);
        assertEquals(own.toSorted(), rows.toSorted(), mode);
      }
    }),
});

Deno.test("folded, records, dump, a bundle: code beside the kernel's mapping is the kernel's", () =>
  inFolder(async (folder) => {
    const { data, kallsyms } = await write(folder);
    const given = ["--kallsyms", kallsyms];
    const folded = await tool("export", ["folded", ...given, "-o", "-", data]);
    assertEquals(folded.out.trimEnd().split("\n"), [
      "t7;x86_64_start_kernel;do_idle;[unknown] 1",
      "t7;x86_64_start_kernel;start_kernel 1",
      "t7;x86_64_start_kernel;start_kernel;do_idle;poll 1",
    ]);
    const bundle = `${folder}/symbols`;
    assertEquals((await tool("symbols", ["bundle", ...given, "-o", bundle, data])).code, 0);
    const bundled = await tool("export", ["folded", "--symbols", bundle, "-o", "-", data]);
    assertEquals(bundled.out, folded.out);
    for (const from of [["--symbols", ...given], ["--symbols", bundle]]) {
      const records = await tool("records", [...from, "--type", "SAMPLE", data]);
      assertEquals(
        records.out.trimEnd().split("\n").map((line) => JSON.parse(line))
          .map(({ sym, dso }) => `${sym} ${dso}`),
        ["poll [kernel.kallsyms]", "start_kernel [kernel.kallsyms]", "null null"],
      );
    }
    const dump = await tool("dump", ["--symbols", bundle, data]);
    assertEquals(dump.out.match(/(?<=^\.{5} +\d+: ffffffff82c0).*$/gm), [
      "01d9 start_kernel+0xd9 ([kernel.kallsyms])",
      "0209 x86_64_start_kernel+0x9 ([kernel.kallsyms])",
      "01e0 start_kernel+0xe0 ([kernel.kallsyms])",
      "0209 x86_64_start_kernel+0x9 ([kernel.kallsyms])",
      "0209 x86_64_start_kernel+0x9 ([kernel.kallsyms])",
    ]);
  }));
