/** `--temp DIR`: a pipe's records that exceed a memory limit are sorted in a file. */
import { assertEquals, assertStringIncludes } from "@std/assert";
import { inFolder, tool } from "../support/tool.ts";

const FILE = new URL("../../fixtures/recorded/callchain.perf.data", import.meta.url).pathname;

Deno.test("--temp: output stays the same, and no file is left behind", async () => {
  const input = await Deno.readFile(FILE);
  await inFolder(async (folder) => {
    for (const words of [["funcs"], ["dump", "--order", "time"], ["records", "--order", "time"]]) {
      const without = await tool("perfdata", [...words, "-"], { input });
      assertEquals(await tool("perfdata", [...words, "--temp", folder, "-"], { input }), without);
    }
    assertEquals([...Deno.readDirSync(folder)], []);
  });
});

Deno.test("--temp: an unusable folder gives one line", async () => {
  await inFolder(async (folder) => {
    const missing = await tool("perfdata", ["funcs", "--temp", `${folder}/none`, FILE]);
    assertEquals([missing.code, missing.out], [1, ""]);
    assertEquals(missing.err, `funcs: ${folder}/none: no such file or directory\n`);
    const file = await tool("perfdata", ["funcs", "--temp", FILE, FILE]);
    assertEquals([file.code, file.err], [1, `funcs: ${FILE}: is not a directory\n`]);
    // The task of a command that writes nothing lacks the permission.
    const task = await tool("funcs", ["--temp", folder, FILE]);
    assertEquals(task.code, 1);
    assertStringIncludes(task.err, "funcs: --temp needs the permission to write: perfdata NAME");
    // `hex` sorts nothing.
    assertEquals((await tool("perfdata", ["hex", "--temp", folder, FILE])).code, 2);
  });
});
