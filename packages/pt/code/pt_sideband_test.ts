import { assert, assertEquals } from "@std/assert";
import { bytesSource } from "@perfdata/format/bytes";
import { PerfDataReader } from "@perfdata/format/records";
import { runEngine } from "@perfdata/session";
import { readAuxTrace } from "@perfdata/session/auxtrace";
import { PtSideband } from "./pt_sideband.ts";
import { asFile } from "../../../fixtures/synthesize/recording.ts";
import { PT_FEATURES, ptConfig, ptEvents } from "../../../fixtures/stepped/recording.ts";
import { SCHED_SWITCH, schedSwitch, TRACING_DATA } from "../../../fixtures/stepped/sched_switch.ts";
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

/** Switches of CPU 0 from thread 7 to 8. `format` changes the recorded format of sched_switch. */
async function switchesOf(format: (usual: string) => string) {
  const sample = { pid: 7, tid: 7, time: 5n, cpu: 0, identifier: 31n };
  const { value } = TRACING_DATA as unknown as {
    value: { systems: readonly { name: string; formats: readonly string[] }[] };
  };
  const formats = value.systems[0]?.formats.map(format);
  const options = { psbEvery: 1, tsc: true, compressReturns: true, mtc: false, cyc: false };
  const tracing = {
    ...TRACING_DATA,
    value: { ...value, systems: [{ name: "sched", formats }] },
  } as unknown as typeof TRACING_DATA;
  const source = bytesSource(
    await asFile({
      events: [...ptEvents(ptConfig({ ...options, events: false })), SCHED_SWITCH],
      items: [schedSwitch(7, 8, sample)],
      features: [tracing, ...PT_FEATURES],
    }, true) as Uint8Array<ArrayBuffer>,
  );
  const sideband = new PtSideband(await readAuxTrace(await PerfDataReader.open(source)));
  await runEngine(await PerfDataReader.open(source), [sideband]);
  const { count = 0, tid = [] } = sideband.switches.get(0) ?? {};
  return { tids: [...tid].slice(0, count), undescribed: sideband.undescribed };
}

Deno.test("PtSideband: next_pid is read where the format of the recording has it", async () => {
  assertEquals((await switchesOf((usual) => usual)).tids, [8]);
  // In another kernel, the field has the offset of prev_pid here.
  const moved = (usual: string) =>
    usual.replace("next_pid;\toffset:56", "next_pid;\toffset:24").replace(
      "prev_pid;\toffset:24",
      "prev_pid;\toffset:56",
    );
  assertEquals((await switchesOf(moved)).tids, [7]);
  const { tids, undescribed } = await switchesOf((usual) =>
    usual.replace("pid_t next_pid", "pid_t next_tid")
  );
  assertEquals([tids, undescribed], [[], ["sched:sched_switch"]]);
});
