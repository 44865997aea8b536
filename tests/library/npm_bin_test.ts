/**
 * The script that starts the commands of npm's package `perfdata`, with programs in place of Deno
 * that write down how they were started.
 */
import { assertEquals } from "@std/assert";
import { dirname } from "node:path";
import { ignored, notInstalled } from "../support/ignored.ts";
import { inFolder, runProgram } from "../support/tool.ts";

const BIN = Deno.readTextFileSync(new URL("../../publish/bin.js", import.meta.url))
  .replace("/*PERMISSIONS*/", '"--allow-read"').replace("/*DENO*/", "2.9.6");

/** The folder of an installed program. */
const folderOf = async (name: string): Promise<string> =>
  dirname((await runProgram("sh", ["-c", `command -v ${name}`])).out.trim());

/** A program in place of Deno. */
interface Fake {
  /** Its folder: `path`, or that of npm's package `deno`. */
  readonly at: string;
  readonly name: string;
  readonly version: string;
  /** Exit code of `deno run`. */
  readonly code: number;
}

/** Writes a program that adds its name and first argument to the file `starts`. */
function writeFake(folder: string, { at, name, version, code }: Fake): void {
  Deno.mkdirSync(`${folder}/${at}`, { recursive: true });
  const text = [
    "#!/bin/sh",
    `echo "${at}/${name} $1" >> "${folder}/starts"`,
    `if [ "$1" = --version ]; then echo "deno ${version} (stable)"; exit 0; fi`,
    `exit ${code}`,
    "",
  ];
  Deno.writeTextFileSync(`${folder}/${at}/${name}`, text.join("\n"), { mode: 0o755 });
  if (at !== "path") {
    Deno.writeTextFileSync(`${folder}/${at}/package.json`, `{"version":"${version}"}`);
  }
}

/** Started programs, exit code and standard error of `perfdata funcs x`, with these programs. */
async function started(
  ...fakes: readonly Fake[]
): Promise<{ readonly starts: string[]; readonly code: number; readonly err: string }> {
  const node = await folderOf("node");
  let found;
  await inFolder(async (folder) => {
    const bin = `${folder}/node_modules/perfdata/bin`;
    Deno.mkdirSync(bin, { recursive: true });
    Deno.mkdirSync(`${folder}/path`);
    Deno.writeTextFileSync(`${bin}/package.json`, '{"type":"module"}');
    Deno.writeTextFileSync(`${bin}/perfdata.js`, BIN);
    for (const fake of fakes) writeFake(folder, fake);
    const { code, err } = await runProgram(`${node}/node`, [`${bin}/perfdata.js`, "funcs", "x"], {
      env: { PATH: `${folder}/path:/nonexistent` },
    });
    const starts = Deno.readTextFileSync(`${folder}/starts`).trim().split("\n");
    found = { starts, code, err };
  });
  return found as unknown as Awaited<ReturnType<typeof started>>;
}

const onPath = (version: string, code: number): Fake => ({
  at: "path",
  name: "deno",
  version,
  code,
});
const beside = (version: string): Fake => ({
  at: "node_modules/deno",
  name: "deno",
  version,
  code: 0,
});
const NPX: Fake = { at: "path", name: "npx", version: "", code: 0 };

const needs = ignored(notInstalled("node"));

Deno.test({
  name: "bin of npm: a command that succeeds starts one program",
  ...needs,
  async fn() {
    const one = (start: string) => ({ starts: [start], code: 0, err: "" });
    assertEquals(await started(onPath("2.9.6", 0), NPX), one("path/deno run"));
    assertEquals(
      await started(onPath("2.9.6", 0), beside("2.10.0")),
      one("node_modules/deno/deno run"),
    );
    assertEquals(await started(onPath("2.9.6", 0), beside("2.8.3")), one("path/deno run"));
    assertEquals(await started(NPX), one("path/npx -y"));
  },
});

Deno.test({
  name: "bin of npm: a command that fails has its own exit code, and an old Deno is named",
  ...needs,
  async fn() {
    const starts = ["path/deno run", "path/deno --version"];
    assertEquals(await started(onPath("2.9.0", 2), NPX), { starts, code: 2, err: "" });
    assertEquals(await started(onPath("2.8.3", 1), NPX), {
      starts,
      code: 1,
      err: "perfdata: the Deno on the PATH is 2.8.3, expected 2.9 or later: " +
        "run `deno upgrade`, or `npm install deno` beside perfdata\n",
    });
  },
});
