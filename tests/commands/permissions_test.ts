/** Commands that write no file in a call drop the permission to write. */
import { assertEquals } from "@std/assert";
import { entries } from "../../tools/perfdata.ts";
import { inHost } from "../support/host.ts";

const FILE = new URL("../../fixtures/recorded/callchain.perf.data", import.meta.url).pathname;

/** Calls without an output, of commands that may have one. */
const CALLS: readonly (readonly [string, ...string[]])[] = [
  ["rate", FILE],
  ["diff", FILE, FILE],
  ["flame", "-o", "-", FILE],
  ["export", "folded", FILE],
  ["export", "pprof", "-o", "-", FILE],
  ["symbols", "trust", FILE],
  ["extract-pt", "--list", FILE],
];

Deno.test("permissions: commands that write no file drop the permission to write", async () => {
  const folder = await Deno.makeTempDir();
  const calls = [...CALLS, ["export", "folded", "-o", `${folder}/out`, FILE] as const];
  const kept: string[] = [];
  for (const [name, ...args] of calls) {
    const { tool } = await entries.find((entry) => entry.name === name)?.load() ?? {};
    let state = "";
    await inHost(async () => {
      // Some find nothing in the recording.
      await Promise.try(() => tool?.run(args)).catch(() => {});
      state = Deno.permissions.querySync({ name: "write" }).state;
    }, {
      args,
      flags: ["--allow-read", "--allow-write", "--allow-env"],
      cwd: Deno.cwd(),
    });
    if (state === "granted") kept.push([name, ...args].join(" "));
  }
  await Deno.remove(folder, { recursive: true });
  assertEquals(kept, [`export folded -o ${folder}/out ${FILE}`]);
});
