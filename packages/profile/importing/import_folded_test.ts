import { assertEquals, assertRejects } from "@std/assert";
import { PerfDataError } from "@perfdata/format/bytes";
import { importFolded } from "./import_folded.ts";
import { importedLines, textSource } from "./testing.ts";

const imported = (text: string, options = {}) =>
  importFolded(textSource(text), { title: "t", ...options });

Deno.test("importFolded: commands, marks, numbers and equal lines", async () => {
  const text = "demo;main;work_[i];sys_[k] 3\r\ndemo;main 1.5\n\nother-7/8;main;jit code_[j] 2\n" +
    "demo;main 1\nidle 4";
  assertEquals(importedLines(await imported(text)), [
    "samples; demo -1/-1; 3; 3; main@? > work@?/4 > sys@?/1",
    "samples; demo -1/-1; 3; 2.5; main@?",
    "samples; other 7/8; 2; 2; main@? > jit code@?/2",
    "samples; idle -1/-1; 4; 4; -",
  ]);
  const chosen = await imported(text, { filter: { pids: new Set([7]) } });
  assertEquals(importedLines(chosen).length, 1);
});

Deno.test("importFolded: a line without a number throws with its number", async () => {
  for (const line of ["main;work", "main;work x", "12", "main;work -3", "main;work 3e5"]) {
    await assertRejects(() => imported(`a;b 1\n${line}\n`), PerfDataError, "line 2: no number");
  }
});
