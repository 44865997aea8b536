/** Name of a kernel module in `script`, compared with perf. */
import { assertEquals } from "@std/assert";
import { emptyAttr } from "@perfdata/format/records";
import { HEADER_BUILD_ID } from "@perfdata/format/constants";
import { asFile, type Item } from "../../fixtures/synthesize/recording.ts";
import { noPerf, perfText } from "../support/perf.ts";
import { inFolder, tool } from "../support/tool.ts";

const FOLDER = "/lib/modules/6.1.0/kernel/drivers";
/** File of each module, its load address, and whether the build-id table has it. */
const MODULES: readonly { path: string; at: bigint; listed: boolean; misc?: number }[] = [
  { path: `${FOLDER}/gpu/drm/drm.ko`, at: 0xffff_ffff_c010_0000n, listed: false },
  { path: `${FOLDER}/snd/snd-seq.ko.xz`, at: 0xffff_ffff_c020_0000n, listed: false },
  { path: `${FOLDER}/net/r8169.ko`, at: 0xffff_ffff_c030_0000n, listed: true },
  // Marked as a user file in the table, as perf 3.13 wrote some modules.
  { path: `${FOLDER}/own/own.ko`, at: 0xffff_ffff_c050_0000n, listed: true, misc: 2 },
  { path: "[ath9k]", at: 0xffff_ffff_c040_0000n, listed: false },
];

async function recording(): Promise<Uint8Array> {
  const maps = MODULES.map(({ path: filename, at: addr }) => ({
    type: 1,
    name: "MMAP",
    misc: 1,
    body: { pid: -1, tid: 0, addr, len: 0x1_0000n, pgoff: 0n, filename },
  }));
  const kernel = { addr: 0xffff_ffff_8100_0000n, len: 0x100_0000n, pgoff: 0xffff_ffff_8100_0000n };
  const items = [
    {
      type: 1,
      name: "MMAP",
      misc: 1,
      body: { pid: -1, tid: 0, ...kernel, filename: "[kernel.kallsyms]_text" },
    },
    ...maps,
    { type: 3, name: "COMM", misc: 0, body: { pid: 7, tid: 7, comm: "work" } },
    ...MODULES.map(({ at }, i) => ({
      type: 9,
      name: "SAMPLE",
      misc: 1,
      body: { ip: at + 16n, pid: 7, tid: 7, time: BigInt(1000 * i), period: 1n },
    })),
  ].map((record) => ({ record }) as Item);
  const known = MODULES.filter(({ listed }) => listed).map(({ path: filename, misc }) => ({
    misc: misc ?? 1,
    type: 0,
    pid: -1,
    build_id: new Uint8Array(20).fill(0xab),
    filename,
  }));
  const attr = { ...emptyAttr(), size: 120, sample_type: 7n, sample_period: 1n };
  const features = [{ id: HEADER_BUILD_ID, name: "BUILD_ID" as const, value: known }];
  return await asFile({ events: [{ attr, ids: [1n] }], items, features }, true);
}

const dsos = (text: string) => [...text.matchAll(/\(([^()]*)\)$/gm)].map(([, dso]) => dso);

Deno.test("script: a kernel module has its name, or its file if the build id table has one", () =>
  inFolder(async (folder) => {
    const data = `${folder}/perf.data`;
    await Deno.writeFile(data, await recording());
    const { out, err } = await tool("script", ["-F", "ip,dso", data]);
    assertEquals(dsos(out), ["[drm]", "[snd_seq]", MODULES[2]?.path, "[own]", "[ath9k]"], err);
    const missing = noPerf();
    if (missing !== undefined) return console.log(`not compared with perf: ${missing}`);
    const perf = await perfText(["script", "-F", "ip,dso"], data);
    assertEquals(dsos(out), dsos(perf?.stdout ?? ""));
  }));
