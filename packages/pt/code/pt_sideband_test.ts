import { assert, assertEquals } from "@std/assert";
import { bytesSource, PerfDataReader } from "@perfdata/format";
import { runEngine } from "@perfdata/session/engine";
import { readAuxTrace } from "@perfdata/session/auxtrace";
import { PtSideband } from "./pt_sideband.ts";
import { skipped } from "../../../tests/support/ignored.ts";

Deno.test("PtSideband: context switches from sched_switch samples are those that perf prints", async (t) => {
  const folder = Deno.makeTempDirSync({ prefix: "perfdata-switch-" });
  try {
    const path = `${folder}/perf.data`;
    const perf = (...args: string[]) => {
      try {
        return new Deno.Command("perf", { args, stderr: "null" }).outputSync();
      } catch {
        return undefined;
      }
    };
    const made = perf("record", "-e", "sched:sched_switch", "-a", "-o", path, "sleep", "0.1");
    const printed = perf("script", "-i", path, "-F", "cpu,trace");
    if (made?.success !== true || printed?.success !== true) {
      await skipped(t, "perf cannot record sched_switch here");
      return;
    }
    const source = bytesSource(Deno.readFileSync(path));
    const sideband = new PtSideband(await readAuxTrace(await PerfDataReader.open(source)));
    await runEngine(await PerfDataReader.open(source), [sideband]);
    const expected = new Map<number, number[]>();
    for (const line of new TextDecoder().decode(printed.stdout).split("\n")) {
      const [, cpu, tid] = line.match(/\[(\d+)\].* next_pid=(\d+)/) ?? [];
      if (cpu === undefined) continue;
      const tids = expected.get(Number(cpu)) ?? [];
      if (tids.at(-1) !== Number(tid)) tids.push(Number(tid));
      expected.set(Number(cpu), tids);
    }
    let compared = 0;
    for (const [cpu, tids] of expected) {
      const found = sideband.switches.get(cpu);
      assertEquals([...found?.tid.subarray(0, found.count) ?? []], tids);
      compared += tids.length;
    }
    console.log(`${compared} switches compared`);
    assert(compared > 0);
  } finally {
    Deno.removeSync(folder, { recursive: true });
  }
});
