import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { PerfDataReader } from "@perfdata/format/records";
import { fileSource } from "@perfdata/format/files";
import { RecordingService } from "./recording_service.ts";

const FIXTURES = new URL("../../fixtures/recorded/", import.meta.url).pathname;

/** Bits of `misc`, from `perf_event.h`. */
const [OUT, PREEMPTED] = [1 << 13, 1 << 14];

Deno.test("RecordList.rows: a context switch has its direction and whether it was a preemption", async () => {
  let [isOut, isPreempted] = [0, 0];
  for (const name of ["switch", "all-cpus"]) {
    using source = fileSource(`${FIXTURES}${name}.perf.data`);
    const types = ["SWITCH", "SWITCH_CPU_WIDE"];
    const { rows } = await new RecordingService(source, name).records({ types }, 0, 1000);
    const said = new Map(rows.map(({ offset, text }) => [offset, text]));
    const reader = await PerfDataReader.open(source);
    for await (const batch of reader.batches()) {
      for (let i = 0; i < batch.count; i++) {
        const text = said.get(batch.offsetOf(i));
        if (text === undefined) continue;
        const misc = batch.misc(i);
        const wanted = (misc & OUT) === 0
          ? "in"
          : (misc & PREEMPTED) === 0
          ? "out"
          : "out, preempted";
        assertEquals(text.replace(/(?:, )?next_prev.*/, ""), wanted);
        isOut += misc & OUT ? 1 : 0;
        isPreempted += misc & PREEMPTED ? 1 : 0;
      }
    }
  }
  assert(isOut > 20 && isPreempted > 0, `${isOut} ${isPreempted}`);
});

Deno.test("RecordList.rows: the text of a FORK has the child's tid", async () => {
  using source = fileSource(`${FIXTURES}all-cpus.perf.data`);
  const { rows } = await new RecordingService(source, "").records({ types: ["FORK"] }, 0, 1);
  // `perf script --show-task-events` prints PERF_RECORD_FORK(257:259):(257:257).
  assertEquals([rows[0]?.pid, rows[0]?.tid], [257, 257]);
  assertStringIncludes(`${rows[0]?.text}`, "tid 259");
});
