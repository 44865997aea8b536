/** Stacks and registers of AArch64, compared with gdb and perf. */
import { assertEquals } from "@std/assert";
import { skipped } from "../support/ignored.ts";
import { perfText } from "../support/perf.ts";
import { tool } from "../support/tool.ts";

Deno.test("script: stacks of AArch64 with signed return addresses, leaf functions and a signal handler are those of gdb", async () => {
  const folder = "fixtures/aarch64";
  const args = ["--symfs", folder, "-F", "ip,sym", `${folder}/stacks.perf.data`];
  const { code, out, err } = await tool("script", args);
  assertEquals(code, 0, err);
  const found = out.trim().split("\n\n").map((sample) =>
    sample.split("\n").filter((line) => line.trim() !== "").map((frame) =>
      frame.trim().split(" ")[1]
    )
  );
  const expected = Deno.readTextFileSync(`${folder}/stacks.txt`).trim().split("\n")
    .map((line) => line.split(" "));
  assertEquals(found, expected);
  // A function that a signal interrupted is in the stack, though it has no frame on it.
  assertEquals(expected.filter((frames) => frames.join().includes("restore,faults")).length, 6);
});

Deno.test("script: registers of AArch64 have the names of perf", async (t) => {
  const path = "fixtures/aarch64/stacks.perf.data";
  const { out } = await tool("script", ["-F", "tid,time,uregs", path]);
  const names = [...(out.split("\n")[0] ?? "").matchAll(/ ([a-z]\w*):0x/g)].map(([, name]) => name);
  const all = Array.from({ length: 30 }, (_, i) => `x${i}`);
  assertEquals(names, [...all, "lr", "sp", "pc"]);
  const theirs = await perfText(["script", "-F", "tid,time,uregs"], path);
  if (theirs === undefined) return await skipped(t, "perf is not installed");
  assertEquals(out, theirs.stdout);
});
