import { assert, assertEquals } from "@std/assert";
import { fileSource } from "@perfdata/format/files";
import { Numbers } from "../../fixtures/synthesize/recording.ts";
import { corpusFiles } from "../../tests/support/corpus.ts";
import { ignored } from "../../tests/support/ignored.ts";
import { noPerf, perfText } from "../../tests/support/perf.ts";
import { testSeed } from "../../tests/support/seed.ts";
import { RecordingService } from "../recording/recording_service.ts";
import { ranOf } from "./switched.ts";

Deno.test("ranOf: ranges equal those of a simulated scheduler", () => {
  const numbers = new Numbers(testSeed());
  let compared = 0;
  for (let round = 0; round < 40; round++) {
    const cpus = 1 + numbers.below(3);
    const rows: { time: number; pid: number; tid: number; cpu: number; out: number }[] = [];
    /** Running thread, by CPU and moment. */
    const had = Array.from({ length: cpus }, () => [] as number[]);
    const pidOf = (tid: number) => tid < 14 ? 10 : tid;
    const running = new Array<number>(cpus).fill(0);
    for (let time = 0; time < 300; time++) {
      for (let cpu = 0; cpu < cpus; cpu++) {
        const now = running[cpu] as number;
        if (now !== 0 && (numbers.below(6) === 0 || time === 299)) {
          rows.push({ time, pid: pidOf(now), tid: now, cpu, out: 1 });
          running[cpu] = 0;
        } else if (now === 0 && time < 299 && numbers.below(3) === 0) {
          const tid = 10 + numbers.below(8);
          // A thread that left a CPU at this moment does not get another one at the same moment.
          if (running.includes(tid) || rows.some((row) => row.time === time && row.tid === tid)) {
            continue;
          }
          rows.push({ time, pid: pidOf(tid), tid, cpu, out: 0 });
          running[cpu] = tid;
        }
      }
      for (const [cpu, tid] of running.entries()) (had[cpu] as number[])[time] = tid;
    }
    // In file order, as the buffers of the CPUs were written.
    rows.sort((a, b) => a.cpu - b.cpu || a.time - b.time);
    const column = (name: "pid" | "tid" | "cpu" | "out" | "time") => rows.map((row) => row[name]);
    const switched = {
      time: Float64Array.from(column("time")),
      pid: Int32Array.from(column("pid")),
      tid: Int32Array.from(column("tid")),
      cpu: Int32Array.from(column("cpu")),
      out: Uint8Array.from(column("out")),
      more: false,
    };
    for (const by of ["thread", "process", "cpu"] as const) {
      const ran = ranOf(switched, by);
      for (let time = 0; time < 300; time++) {
        const wanted = new Set<number>();
        for (const [cpu, moments] of had.entries()) {
          const tid = moments[time] as number;
          if (tid !== 0) wanted.add(by === "cpu" ? cpu : by === "thread" ? tid : pidOf(tid));
        }
        const found = [...ran].filter(([, list]) =>
          list.some((from, i) => i % 2 === 0 && from <= time && time < (list[i + 1] as number))
        ).map(([key]) => key);
        assertEquals(found.sort(), [...wanted].sort(), `${by} at ${time}`);
        compared++;
      }
      for (const list of ran.values()) {
        const begins = [...list].filter((_, i) => i % 2 === 0);
        assertEquals(begins, begins.toSorted((a, b) => a - b));
      }
    }
  }
  assert(compared > 30_000, `${compared} moments`);
});

Deno.test({
  name: "RecordingService.switched: gives the context switches of perf script",
  ...ignored(noPerf()),
  async fn() {
    const file = new URL("../../fixtures/recorded/switch.perf.data", import.meta.url).pathname;
    const printed = await perfText(["script", "--show-switch-events", "--ns"], file);
    const wanted = [
      ...printed?.stdout.matchAll(
        /^.*?\s(\d+)\s+(?:\[\d+\]\s+)?(\d+)\.(\d{9}):\s+PERF_RECORD_SWITCH(?:_CPU_WIDE)? (IN|OUT)/gm,
      ) ?? [],
    ].map(([, tid, seconds, ns, way]) => `${tid} ${BigInt(`${seconds}${ns}`)} ${way}`);
    using source = fileSource(file);
    const service = new RecordingService(source, file);
    const { start, switches } = await service.index();
    const switched = await service.switched();
    const found = [...switched.time.keys()].map((row) =>
      `${switched.tid[row]} ${BigInt(start ?? 0) + BigInt(switched.time[row] as number)} ` +
      (switched.out[row] === 1 ? "OUT" : "IN")
    );
    assertEquals(found.sort(), wanted.sort());
    assert(switches && found.length >= 4, `${found.length} switches`);
  },
});

/** Records scheduling; `undefined` if that is not permitted. */
function scheduled(folder: string): string | undefined {
  const path = `${folder}/data`;
  const { success } = new Deno.Command("perf", {
    args: ["record", "-q", "-B", "-a", "-c", "1", "-m", "1024", "-e", "sched:sched_switch"]
      .concat("-o", path, "--", "sh", "-c", "for i in 1 2 3; do sleep 0.01; ls / | cat; done"),
    stdin: "null",
    stdout: "null",
    stderr: "null",
  }).outputSync();
  return success ? path : undefined;
}

Deno.test({
  name: "RecordingService.switched: without SWITCH records, gives those of sched:sched_switch",
  ...ignored(noPerf()),
  async fn() {
    const folder = Deno.makeTempDirSync({ prefix: "perfdata-switched-" });
    try {
      const files = corpusFiles().filter(({ path }) => path.includes("symbol-tests.trace.zip.d"))
        .map(({ path }) => path);
      const own = scheduled(folder);
      if (own !== undefined) files.push(own);
      let compared = 0;
      for (const file of files) {
        const fields = "comm,pid,tid,cpu,time,event,trace";
        const printed = await perfText(["script", "--ns", "-F", fields], file);
        const wanted = [
          ...printed?.stdout.matchAll(
            /^.*?\s(-?\d+)\/-?\d+\s+\[(\d+)\]\s+(\d+)\.(\d{9}):\s+sched:sched_switch: .*? prev_pid=(\d+) .*? next_pid=(\d+) /gm,
          ) ?? [],
        ].flatMap(([, pid, cpu, seconds, ns, from, to]) => [
          `${BigInt(`${seconds}${ns}`)} ${Number(cpu)} ${from} of ${pid} OUT`,
          `${BigInt(`${seconds}${ns}`)} ${Number(cpu)} ${to} of -1 IN`,
        ]);
        using source = fileSource(file);
        const service = new RecordingService(source, file);
        const { start, switches } = await service.index();
        const switched = await service.switched();
        const found = [...switched.time.keys()].map((row) =>
          `${BigInt(start ?? 0) + BigInt(switched.time[row] as number)} ${switched.cpu[row]} ` +
          `${switched.tid[row]} of ${switched.pid[row]} ${switched.out[row] === 1 ? "OUT" : "IN"}`
        );
        assertEquals(found.sort(), wanted.sort(), file);
        assert(switches && !switched.more);
        compared += found.length;
      }
      console.log(`${compared} switches of ${files.length} recordings`);
      assert(files.length === 0 || compared >= 20, `${compared} switches`);
    } finally {
      Deno.removeSync(folder, { recursive: true });
    }
  },
});
