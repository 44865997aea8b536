/** Progress of commands that take long, and the state that they leave when they are interrupted. */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { progressText } from "../../tools/shared/cli.ts";
import { ignored, notInstalled } from "../support/ignored.ts";
import { denoFolder, inFolder, tool, toolArguments } from "../support/tool.ts";

const ROOT = new URL("../../", import.meta.url).pathname;

Deno.test("progress: bytes and their rate give share, speed and remaining time", () => {
  assertEquals(progressText(420e6, 1e9, 1.2e9), "42%, 1.2 GB/s, 1 s left");
  assertEquals(progressText(50e6, 100e9, 50e6), "0%, 50 MB/s, 33 min left");
  assertEquals(progressText(5e9, undefined, 2.5e9), "5000 MB, 2.5 GB/s");
});

Deno.test("progress: no remaining time is shown without a rate, and after the last byte", () => {
  assertEquals(progressText(0, 1e9, 0), "0%");
  assertEquals(progressText(0, undefined, 0), "0 MB");
  // The recording is read twice.
  assertEquals(progressText(150, 100, 1), "100%");
});

/** Commands that take a while on a large recording, with their other inputs. */
const COMMANDS: readonly (readonly string[])[] = [
  ["info"],
  ["funcs"],
  ["tree"],
  ["script"],
  ["records"],
  ["dump"],
  ["rate"],
  ["annotate", "-", "spin"],
  ["export", "folded", "-o", "out"],
  ["flame", "-o", "out.html"],
  ["slice", "--sample-every", "2", "-o", "out.data"],
  ["convert", "-o", "out.data"],
  ["redact", "-o", "out.data"],
  ["repair", "-o", "out.data"],
  ["readperf", "-o", "folder"],
  ["symbols", "bundle", "-o", "out.symbols"],
  ["symbols", "trust"],
  ["export", "pprof", "-o", "out"],
  ["export", "parquet", "-o", "tables", "-"],
  ["diff", "-", `${ROOT}fixtures/recorded/two-events.perf.data`],
  ["sched", "latency"],
  ["c2c"],
  ["lock"],
  ["sql", "SELECT 1", "-"],
];

/** Runs commands on a slow recording, each with a terminal as standard error. */
async function onTerminal(
  folder: string,
  words: readonly string[],
  script: string,
  term = "xterm",
): Promise<string> {
  const [name = "", ...args] = words;
  const own = `${folder}/${[...words, term].join("_").replaceAll(/\W/g, "_")}`;
  Deno.mkdirSync(own);
  const command = [Deno.execPath(), ...toolArguments(name), ...args]
    .map((word) => `'${word}'`).join(" ");
  Deno.writeTextFileSync(`${own}/run.sh`, script.replace("COMMAND", `${command}`));
  const { stdout } = await new Deno.Command("script", {
    args: ["-qec", "sh run.sh", "/dev/null"],
    cwd: own,
    env: { TERM: term, PERFDATA_CWD: own, HOME: folder, DENO_DIR: denoFolder() },
    stdin: "null",
  }).output();
  return new TextDecoder().decode(stdout);
}

Deno.test(
  "progress: each command shows it on a terminal for a slow pipe; TERM=dumb gets no escapes",
  ignored(notInstalled("script")),
  () =>
    inFolder(async (folder) => {
      const file = `${ROOT}fixtures/recorded/callchain.perf.data`;
      // A pipe whose second half comes after two seconds.
      const pipe = await tool("convert", ["-o", "-", file]);
      const bytes = Uint8Array.from(pipe.stdout);
      Deno.writeFileSync(`${folder}/first`, bytes.subarray(0, bytes.length - 3000));
      Deno.writeFileSync(`${folder}/last`, bytes.subarray(bytes.length - 3000));
      const slow = "(cat ../first; sleep 2; cat ../last) | COMMAND >/dev/null";
      const dumb = await onTerminal(folder, ["funcs"], slow.replace(" >/dev/null", ""), "dumb");
      assertMatch(dumb, /OVERHEAD/);
      assertEquals(dumb.includes("\x1b"), false, dumb);
      for (let i = 0; i < COMMANDS.length; i += 6) {
        await Promise.all(
          COMMANDS.slice(i, i + 6).map(async (words) => {
            const text = await onTerminal(folder, words, slow);
            const said = text.split("\r\x1b[K").slice(1).join("\n");
            assertMatch(said, /^\S+: (?:\d+ MB|names: \d+%|\d+%)/, `${words}: ${text}`);
          }),
        );
      }
    }),
);

/** Commands that open their output before the recording has been read. */
const OPENS_EARLY: ReadonlySet<string> = new Set([
  "slice --sample-every 2 -o out.data",
  "convert -o out.data",
  "redact -o out.data",
  "readperf -o folder",
  "symbols bundle -o out.symbols",
]);

/** Waits until another process creates the entry in the folder. */
async function firstEntry(folder: string, changes: Deno.FsWatcher): Promise<void> {
  if ([...Deno.readDirSync(folder)].length > 0) return;
  for await (const _ of changes) if ([...Deno.readDirSync(folder)].length > 0) return;
}

Deno.test(
  "output: an interrupt during reading leaves no part of the file",
  () =>
    inFolder(async (folder) => {
      const file = `${ROOT}fixtures/recorded/callchain.perf.data`;
      const { stdout: bytes } = await tool("convert", ["-o", "-", file]);
      const writers = COMMANDS.filter((words) => words.includes("-o"));
      let begun = 0;
      await Promise.all(writers.map(async (words) => {
        const [name = "", ...args] = words;
        const own = `${folder}/${words.join("_").replaceAll(/\W/g, "_")}`;
        Deno.mkdirSync(own);
        using changes = Deno.watchFs(own);
        const child = new Deno.Command(Deno.execPath(), {
          args: [...toolArguments(name), ...args],
          cwd: own,
          env: { PERFDATA_CWD: own, HOME: folder, DENO_DIR: denoFolder() },
          stdin: "piped",
          stdout: "null",
          stderr: "piped",
        }).spawn();
        const errors = child.stderr.getReader();
        const writer = child.stdin.getWriter();
        await writer.write(bytes.subarray(0, bytes.length - 3000));
        // It waits for the rest, with its output open if it opens that early.
        if (OPENS_EARLY.has(words.join(" "))) {
          await firstEntry(own, changes);
          begun++;
        }
        child.kill("SIGINT");
        const { code, signal } = await child.status;
        await writer.abort().catch(() => {});
        await errors.cancel();
        assert(code === 130 || signal === "SIGINT", `${words}: ${code} ${signal}`);
        assertEquals([...Deno.readDirSync(own)].map(({ name }) => name), [], `${words}`);
      }));
      assertEquals([writers.length, begun], [10, OPENS_EARLY.size]);
    }),
);
