/** Before memory is exhausted, a line tells the need and a remedy, instead of V8's abort. */
import { assert, assertEquals } from "@std/assert";
import { emptyAttr, PerfDataWriter } from "@perfdata/format/records";
import {
  PERF_SAMPLE_IP,
  PERF_SAMPLE_PERIOD,
  PERF_SAMPLE_TID,
  PERF_SAMPLE_TIME,
} from "@perfdata/format/constants";
import { fileSink } from "@perfdata/format/files";
import { unwrapped } from "../support/tool.ts";

const root = new URL("../../", import.meta.url).pathname;

/** Samples of distinct processes without other records. */
async function storm(path: string, processes: number): Promise<void> {
  const attr = {
    ...emptyAttr(),
    sample_type: BigInt(PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_PERIOD),
    flags: { ...emptyAttr().flags, sample_id_all: true },
  };
  const sink = fileSink(path);
  const writer = await PerfDataWriter.file(sink, { events: [{ attr }] });
  const sample = new Uint8Array(40);
  const view = new DataView(sample.buffer);
  view.setUint32(0, 9, true);
  view.setUint16(4, 2, true);
  view.setUint16(6, 40, true);
  view.setBigUint64(8, 0x1000n, true);
  view.setBigUint64(32, 1n, true);
  for (let i = 0; i < processes; i++) {
    view.setInt32(16, 1000 + i, true);
    view.setInt32(20, 1000 + i, true);
    view.setBigUint64(24, BigInt(1000 * (i + 1)), true);
    await writer.write(sample);
  }
  await writer.close();
  sink.close();
}

/**
 * Commands whose tables grow with the number of processes, with whether the smallest heap is
 * enough.
 */
const COMMANDS: readonly (readonly string[])[] = [
  ["funcs", "--limit", "3"],
  ["funcs", "--children", "--limit", "3"],
  ["rate", "--by", "thread"],
  ["info"],
  ["tree"],
  ["tree", "--root", "thread"],
  ["diff", "--by", "time"],
  ["script"],
  ["records"],
  ["dump"],
  ["readperf"],
  ["export", "folded", "--with-tid"],
  ["export", "pprof", "-f", "-o", "OUT"],
  ["export", "firefox", "-f", "-o", "OUT"],
  ["export", "speedscope", "-f", "-o", "OUT"],
  ["export", "chrome", "-f", "-o", "OUT"],
  ["flame", "-f", "-o", "OUT.html"],
  ["flame", "-f", "-o", "OUT.svg"],
  ["slice", "--comm", "x", "-f", "-o", "OUT"],
];

Deno.test("short memory: a command succeeds or reports it in a line", async () => {
  const folder = Deno.makeTempDirSync();
  const path = `${folder}/storm.data`;
  let compared = 0;
  let refused = 0;
  try {
    await storm(path, 100_000);
    for (const [name = "", ...args] of COMMANDS) {
      for (const heap of [40]) {
        const found = await new Deno.Command(Deno.execPath(), {
          args: [
            "run",
            "-A",
            `--v8-flags=--max-old-space-size=${heap}`,
            `${root}tools/${name}.ts`,
            ...args.map((arg) => arg.replace("OUT", `${folder}/out`)),
            path,
            ...(name === "diff" ? [path] : []),
          ],
          env: { NO_COLOR: "1" },
          stdout: "null",
        }).output();
        const err = unwrapped(new TextDecoder().decode(found.stderr));
        const what = `${name} ${args.join(" ")}, ${heap} MB: ${err.slice(0, 300)}`;
        assert(found.code === 0 || found.code === 1, what);
        assert(!err.includes("out of memory"), what);
        if (/allows more/.test(err)) {
          assert(
            /memory: .*--max-old-space-size=\d+ allows more(, --.* need less)?$/m.test(err),
            what,
          );
          refused++;
        }
        compared++;
      }
    }
  } finally {
    Deno.removeSync(folder, { recursive: true });
  }
  console.log(`${compared} runs, ${refused} of them refused`);
  assert(compared >= 19 && refused >= 1);
});

Deno.test("heap guard: garbage is collected before memory counts as exhausted", async () => {
  // Ten times the limit without retaining anything; then more than fits.
  const script = `    import { guardHeap } from "@perfdata/format/files";
    import { checkMemory } from "@perfdata/format/bytes";
    guardHeap();
    let all = [];
    for (let i = 0; i < 20_000_000; i++) {
      if (i % 4096 === 0) checkMemory();
      all.push({ i });
      if (all.length === 100_000) all = [];
    }
    console.log("garbage");
    try {
      for (let i = 0;; i++) {
        if (i % 4096 === 0) checkMemory();
        all.push({ i });
      }
    } catch (error) {
      console.log(error.name);
    }`;
  const { stdout, code } = await new Deno.Command(Deno.execPath(), {
    args: [
      "run",
      "--allow-read",
      "--v8-flags=--max-old-space-size=80",
      `data:text/javascript,${
        encodeURIComponent(
          script.replaceAll(/"@perfdata\/format\/([a-z-]+)"/g, (_, name: string) =>
            `"file://${root}packages/format/doors/${name}.ts"`),
        )
      }`,
    ],
  }).output();
  assertEquals([code, new TextDecoder().decode(stdout)], [0, "garbage\nOutOfMemory\n"]);
});
