import { fromBase64, inflate, unpack } from "@perfdata/export/tree";
import { assertEquals } from "@std/assert";
import { eventsRecording } from "../../fixtures/synthesize/events.ts";
import type { ReportData } from "../../view/worker/worker_source.ts";
import { inFolder, tool } from "../support/tool.ts";

Deno.test("view -o: the event with most samples comes first, and one event of two PMUs is one entry", async () => {
  await inFolder(async (folder) => {
    const file = `${folder}/perf.data`;
    Deno.writeFileSync(
      file,
      await eventsRecording({ "cpu_atom/cycles/P": 2, "faults": 3, "cpu_core/cycles/P": 4 }),
    );
    const { code, out } = await tool("view", ["-o", "-", file]);
    assertEquals(code, 0);
    const [, packed = ""] = /id="data">([^<]*)</.exec(out) ?? [];
    const { profile } = unpack<ReportData>(await inflate(fromBase64(packed)));
    assertEquals(profile?.events.map(({ name, pmus }) => [name, pmus ?? []]), [
      ["cycles:P", ["cpu_atom", "cpu_core"]],
      ["faults", []],
    ]);
  });
});
