/** Before memory ends, a line says what is needed and what helps: never V8's abort. */
import { assert, assertEquals } from "@std/assert";
import {
  emptyAttr,
  PERF_SAMPLE_IP,
  PERF_SAMPLE_PERIOD,
  PERF_SAMPLE_TID,
  PERF_SAMPLE_TIME,
  PerfDataWriter,
} from "@perfdata/format";
import { fileSink } from "@perfdata/format/file-sink";

const root = new URL("../", import.meta.url).pathname;

/** Samples that are each of a process that nothing else is known of. */
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

Deno.test("a recording of very many processes is refused in a line where memory is short", async () => {
  const path = Deno.makeTempFileSync({ suffix: ".data" });
  try {
    await storm(path, 300_000);
    const cases: readonly (readonly [string[], number])[] = [
      [["funcs", "--limit", "3"], 1],
      [["funcs", "--limit", "3", "--sort", "dso,sym"], 0],
      [["rate", "--by", "thread"], 1],
      [["rate", "--by", "cpu"], 0],
    ];
    for (const [[name = "", ...args], code] of cases) {
      const found = await new Deno.Command(Deno.execPath(), {
        args: [
          "run",
          "-A",
          "--v8-flags=--max-old-space-size=120",
          `${root}tools/${name}.ts`,
          ...args,
          path,
        ],
        env: { NO_COLOR: "1" },
      }).output();
      const err = new TextDecoder().decode(found.stderr);
      const what = `${name} ${args.join(" ")}: ${err}`;
      assertEquals(found.code, code, what);
      assert(!err.includes("out of memory"), what);
      if (code === 1) {
        assertEquals(err.trimEnd().split("\n").length, 1, what);
        assert(/need about \d+ MB of memory/.test(err), what);
      }
    }
  } finally {
    Deno.removeSync(path);
  }
});
