/** A test that cannot run counts as ignored: a passing test that prints "skipped" would hide it. */
import { assert, assertEquals } from "@std/assert";
import { notInstalled } from "./ignored.ts";

const ROOT = new URL("../../", import.meta.url).pathname;

function* testFiles(folder: string): Generator<string> {
  for (const { name, isDirectory } of Deno.readDirSync(folder)) {
    if (name === "node_modules" || name.startsWith(".")) continue;
    if (isDirectory) yield* testFiles(`${folder}/${name}`);
    else if (/(_test|_?testing)\.ts$/.test(name)) yield `${folder}/${name}`;
  }
}

Deno.test('ignored tests: no test prints "skipped" and passes', () => {
  let files = 0;
  const found: string[] = [];
  for (const folder of ["packages", "tests", "tools"]) {
    for (const path of testFiles(ROOT + folder)) {
      files++;
      if (path.endsWith("/tests/support/ignored_test.ts")) continue;
      if (/console\.\w+\(\s*["'`]skip/i.test(Deno.readTextFileSync(path))) found.push(path);
    }
  }
  assert(files > 180, `${files} files`);
  assertEquals(found, [], "use ignored() or skipped() of tests/support/ignored.ts");
});

Deno.test("ignored: a missing program gives its name and how to install it", () => {
  assertEquals(notInstalled("no-such-program"), "no-such-program is not installed");
  assertEquals(
    notInstalled(Deno.execPath(), "no-such-program", "none-either"),
    "no-such-program is not installed",
  );
  assertEquals(notInstalled(Deno.execPath()), undefined);
});
