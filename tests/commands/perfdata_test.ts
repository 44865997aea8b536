/** The command `perfdata`: table of commands, help, suggestions, permissions and completion. */
import { assert, assertEquals, assertMatch, assertStringIncludes, assertThrows } from "@std/assert";
import { SHELLS } from "../../tools/shared/completion.ts";
import { UsageError } from "../../tools/shared/cli.ts";
import { parseFlags } from "../../tools/shared/command.ts";
import { flagRows, helpText } from "../../tools/shared/flag_table.ts";
import { entries } from "../../tools/perfdata.ts";
import { inFolder, runProgram, tool, toolArguments, type ToolResult } from "../support/tool.ts";
import { notInstalled, skipped } from "../support/ignored.ts";

const root = new URL("../../", import.meta.url).pathname;
const fixture = `${root}fixtures/recorded/callchain.perf.data`;
const { tasks } = JSON.parse(Deno.readTextFileSync(`${root}deno.json`)) as {
  tasks: Record<string, { description: string; command: string }>;
};

Deno.test("README: the install command has the permissions of the task perfdata", () => {
  const readme = Deno.readTextFileSync(new URL("../../README.md", import.meta.url));
  const [, flags = ""] =
    /^deno install -g .*?(--no-prompt .*) tools\/perfdata\.ts$/m.exec(readme) ?? [];
  const task = permissions("perfdata").map((flag) => flag.replace("=PERFDATA_CWD,", "="));
  assertEquals(flags.split(" ").sort(), task);
  assert(task.length >= 6, `${task}`);
});

/** The permissions of a task. */
function permissions(task: string): string[] {
  const command = tasks[task]?.command ?? "";
  return [...command.matchAll(/ (--(?:allow|no)-\S+)/g)].map(([, flag]) => flag ?? "").sort();
}

/** Runs `perfdata` within this process. */
async function perfdata(...args: string[]): Promise<Pick<ToolResult, "code" | "out" | "err">> {
  const { code, out, err } = await tool("perfdata", args);
  return { code, out, err };
}

Deno.test("deno.json: each command is a task with its description and the permissions it needs", () => {
  const cwd = (more: string) => `--allow-env=PERFDATA_CWD${more},TERM`;
  for (const { name, about, needs = [] } of entries) {
    assertEquals(tasks[name]?.description, about, name);
    assertEquals(
      permissions(name),
      [
        "--no-prompt",
        "--allow-read",
        ...(needs.includes("write") ? ["--allow-write"] : []),
        ...(needs.includes("symbols")
          ? [
            `--allow-run=cat${needs.includes("serve") ? ",/usr/bin/xdg-open" : ""}${
              needs.includes("shell") || needs.includes("download") ? ",/bin/sh" : ""
            }`,
          ]
          : []),
        ...(needs.includes("serve") ? ["--allow-net=127.0.0.1"] : []),
        cwd(
          needs.includes("symbols")
            ? ",HOME,PERF_BUILDID_DIR,XDG_CACHE_HOME,DEBUGINFOD_CACHE_PATH" +
              (needs.includes("download")
                ? ",DEBUGINFOD_URLS,DEBUGINFOD_TIMEOUT,DEBUGINFOD_MAXSIZE"
                : "")
            : "",
        ),
      ].sort(),
      name,
    );
  }
  // `perfdata` has the permissions of all commands.
  const all = new Map<string, Set<string>>();
  for (const flag of entries.flatMap(({ name }) => permissions(name))) {
    const [name = "", values] = flag.split("=");
    const known = all.get(name) ?? new Set();
    for (const value of values?.split(",") ?? []) known.add(value);
    all.set(name, known);
  }
  assertEquals(
    permissions("perfdata").map((flag) => {
      const [name, values] = flag.split("=");
      return [name, values?.split(",").sort() ?? []];
    }),
    [...all].map(([name, values]) => [name, [...values].sort()]).sort(),
  );
});

Deno.test("--help: each command prints usage, examples, exit codes and all of its flags", async () => {
  let flags = 0;
  for (const { name, load } of entries) {
    const { tool } = await load();
    assertEquals(tool.name, name);
    const help = helpText(tool);
    assertStringIncludes(help, `\nusage: perfdata ${name} `);
    assertMatch(help, /\nexamples:\n {2}\S/);
    assertMatch(help, /\nExit codes: 0 [^;]+;\s1 [^;]+;\s2\swrong\susage\.\n$/);
    for (const line of help.split("\n")) assert(line.length <= 100, `${name}: ${line}`);
    assertEquals((await perfdata(name, "--help")).out, help, name);
    const described = [...help.matchAll(/^ {2}(?: {4}|-(\w), )--([\w-]+)/gm)];
    assertEquals(
      described.map(([, short, flag]) => [short, flag]),
      flagRows(tool.flags).map(({ short, flag }) => [short, flag]),
      name,
    );
    flags += described.length;
  }
  assert(flags > 400, `${flags} flags`);
});

Deno.test("perfdata: --help, help NAME and --version print overview, help and version", async () => {
  const overview = await perfdata("--help");
  assertEquals([overview.code, overview.err], [0, ""]);
  for (const { name, about } of entries) {
    assertStringIncludes(overview.out, `  ${name.padEnd(12)}${about}\n`);
  }
  assertEquals(await perfdata("help"), overview);
  const help = await perfdata("help", "dump");
  assertEquals(help, await perfdata("dump", "--help"));
  assertStringIncludes(help.out, "usage: perfdata dump ");

  const none = await perfdata();
  assertEquals([none.code, none.out, none.err], [2, "", overview.out]);

  const { version } = JSON.parse(Deno.readTextFileSync(`${root}packages/format/deno.json`));
  assertEquals(await perfdata("--version"), { code: 0, out: `perfdata ${version}\n`, err: "" });
});

Deno.test("perfdata FILE: without a terminal prints what info prints", async () => {
  assertEquals(await perfdata(fixture, "--json"), await perfdata("info", "--json", fixture));
});

Deno.test("perfdata: a misspelled command, flag or value gives the nearest valid one", async () => {
  for (
    const [args, err] of [
      [["dmup"], "perfdata: unknown command dmup; did you mean dump? see perfdata --help\n"],
      [
        ["no/such.data"],
        "perfdata: no/such.data is neither a command nor a file; see perfdata --help\n",
      ],
      [
        ["extract"],
        "perfdata: unknown command extract; did you mean extract-pt? see perfdata --help\n",
      ],
      [["quux"], "perfdata: unknown command quux; see perfdata --help\n"],
      [
        ["--verison"],
        "perfdata: unknown flag --verison; did you mean --version? see perfdata --help\n",
      ],
      [
        ["help", "funk"],
        "perfdata: unknown command funk; did you mean funcs? see perfdata --help\n",
      ],
      [
        ["dump", "--tyep", "MMAP"],
        "dump: unknown flag --tyep; did you mean --type? see perfdata dump --help\n",
      ],
      [
        ["funcs", "--sort", "com,sym"],
        "funcs: --sort: unknown key com; did you mean comm? see perfdata funcs --help\n",
      ],
      [
        ["records", "--type", "MAP2"],
        "records: --type: unknown record type MAP2; did you mean MMAP2? see perfdata records --help\n",
      ],
      [
        ["records", "--order", "tiem"],
        "records: --order is tiem, expected file or time; did you mean time? see perfdata records --help\n",
      ],
      [
        ["symbols", "bundel"],
        "symbols: unknown command bundel, expected bundle, trust, fetch, table or show; did you mean bundle? see perfdata symbols --help\n",
      ],
      [
        ["completion", "fihs"],
        "perfdata: completion: expected bash, zsh or fish; did you mean fish? see perfdata --help\n",
      ],
    ] as const
  ) {
    assertEquals(await perfdata(...args), { code: 2, out: "", err });
  }
});

Deno.test("flags: the value of a one-letter flag may follow without a space", async () => {
  const apart = await perfdata("script", "-F", "comm,ip,sym", fixture);
  assert(apart.out.split("\n").length > 20);
  assertEquals(await perfdata("script", "-Fcomm,ip,sym", fixture), apart);
  const folded = await perfdata("export", "folded", "-o", "-", fixture);
  assert(folded.out !== "");
  assertEquals(await perfdata("export", "folded", "-o-", fixture), folded);
  assertEquals((await perfdata("funcs", "--", "-oslash")).err.includes("unknown flag"), false);
});

Deno.test("perfdata NAME: the output is that of deno run NAME", async () => {
  for (const name of ["header", "funcs", "records"]) {
    const alone = await tool(name, [fixture]);
    const { code, out, err } = await perfdata(name, fixture);
    assert(out.length > 100);
    assertEquals([code, out, err], [alone.code, alone.out, alone.err]);
  }
  const missing = await perfdata("dump", "/nowhere/perf.data");
  assertEquals(missing, {
    code: 1,
    out: "",
    err: "dump: /nowhere/perf.data: no such file or directory\n",
  });
});

for (const shell of SHELLS) {
  Deno.test(`completion of ${shell} knows commands, flags and words`, async (t) => {
    const { code, out: script, err } = await perfdata("completion", shell);
    assertEquals([code, err], [0, ""]);
    const missing = notInstalled(shell);
    if (missing !== undefined) {
      await skipped(t, `completion in ${shell}: ${missing}`);
      return;
    }
    const path = Deno.makeTempFileSync();
    try {
      Deno.writeTextFileSync(path, script);
      /** Suggestions of the shell after some words. */
      const complete = async (...words: string[]): Promise<string[]> => {
        const line = words.join(" ");
        const code = shell === "bash"
          ? `. "$0"; COMP_WORDS=(${words.map((word) => `'${word}'`).join(" ")}); ` +
            `COMP_CWORD=${words.length - 1}; _perfdata; printf '%s\\n' "\${COMPREPLY[@]}"`
          : shell === "fish"
          ? `source $argv[1]; complete -C'${line}' | string split -f1 \\t`
          // Completion in zsh needs a terminal, so only the parsing of the script is tested.
          : `autoload -U compinit; compinit -u; . "$0" && whence -w _perfdata`;
        const found = await runProgram(shell, ["-c", code, path]);
        assertEquals(found.err, "", line);
        return found.out.split("\n").filter((word) => word !== "");
      };
      if (shell === "zsh") {
        assertEquals(await complete(), ["_perfdata: function"]);
        return;
      }
      await t.step("words", async () => {
        assertEquals(await complete("perfdata", "ext"), ["extract-pt"]);
        assertEquals(await complete("perfdata", "dump", "--no-h"), ["--no-hex"]);
        assertEquals(await complete("perfdata", "symbols", "tr"), ["trust"]);
        assertEquals(await complete("perfdata", "completion", "z"), ["zsh"]);
        assertEquals((await complete("perfdata", "funcs", "--")).length > 15, true);
      });
    } finally {
      Deno.removeSync(path);
    }
  });
}

/** List flags in all commands (or the named ones), with their separators. */
const LISTS: Readonly<Record<string, readonly [between: string, tools?: readonly string[]]>> = {
  coalesce: [","],
  collapse: [","],
  comm: [","],
  cpu: [","],
  drop: [","],
  dso: [","],
  event: [",", ["slice", "records", "funcs"]],
  fields: [" "],
  focus: [","],
  function: [","],
  "guest-image": [","],
  image: [","],
  keep: ["|", ["redact"]],
  merge: [","],
  only: [",", ["redact"]],
  parallelism: [","],
  partition: [","],
  pid: [","],
  same: [","],
  sort: [","],
  symbol: [","],
  tid: [","],
  type: [","],
};

Deno.test("flags: each flag given twice adds to its list or is wrong usage", async () => {
  let joined = 0, refused = 0;
  for (const { name, load } of entries) {
    const { tool } = await load();
    const parse = (...args: string[]) => parseFlags(args, tool).value;
    for (const { short, flag, value } of flagRows(tool.flags)) {
      if (value === undefined) {
        assertThrows(() => parse(`--${flag}=no`), UsageError, `--${flag}`);
        refused++;
        continue;
      }
      const twice = [`--${flag}`, "x", `--${flag}=y`];
      const [between, tools = [name]] = LISTS[flag] ?? [];
      if (between !== undefined && tools.includes(name)) {
        assertEquals(parse(...twice)[flag], `x${between}y`, `${name} --${flag}`);
        joined++;
      } else {
        assertThrows(() => parse(...twice), UsageError, `--${flag} is given 2 times`);
        refused++;
        if (short !== undefined) {
          assertThrows(() => parse(`-${short}`, "x", `--${flag}`, "y"), UsageError, `--${flag}`);
        }
      }
      if (!value.startsWith("[")) {
        assertThrows(() => parse(`--${flag}`), UsageError, `--${flag} needs a value`);
      }
    }
  }
  console.log(`${joined} joined, ${refused} refused`);
  assert(joined > 60 && refused > 400, `${joined} joined, ${refused} refused`);
});

Deno.test("flags: the values of a repeated list flag all count; other repeated flags give one line", async () => {
  const file = `${root}fixtures/recorded/two-events.perf.data`;
  const [one, two, both] = await Promise.all(
    [["cpu-clock"], ["page-faults"], ["cpu-clock", "page-faults"]].map(async (events) => {
      const words = events.flatMap((event) => ["--event", event]);
      const { out, code, err } = await perfdata("records", ...words, file);
      assertEquals([code, err], [0, ""]);
      return out.split("\n").length - 1;
    }),
  );
  assert(one !== undefined && two !== undefined && one > 0 && two > 0);
  assertEquals(both, one + two);
  const { code, err } = await perfdata("funcs", "--limit", "3", "--limit=5", file);
  assertEquals(code, 2);
  assertEquals(err, "funcs: --limit is given 2 times, expected once; see perfdata funcs --help\n");
});

Deno.test("no file named: perf.data is read, else standard input if that is a pipe", async () => {
  const recording = `${root}fixtures/recorded/pipe.perf.data`;
  const input = Deno.readFileSync(recording);
  await inFolder(async (cwd) => {
    for (const name of ["funcs", "records", "info"]) {
      const piped = await tool(name, [], { cwd, input });
      const named = await tool(name, ["-"], { cwd, input });
      assertEquals([piped.code, piped.out], [0, named.out], name);
      assert(piped.out.length > 100, name);
      const none = await tool(name, [], { cwd });
      assertEquals(
        [none.code, none.err],
        [1, `${name}: perf.data: no such file or directory\n`],
        "no pipe",
      );
    }
    Deno.copyFileSync(`${root}fixtures/recorded/callchain.perf.data`, `${cwd}/perf.data`);
    // The other end of the pipe neither writes nor closes.
    const child = new Deno.Command(Deno.execPath(), {
      args: toolArguments("info"),
      cwd,
      env: { NO_COLOR: "1", PERFDATA_CWD: "" },
      stdin: "piped",
      stdout: "piped",
      stderr: "null",
    }).spawn();
    const { code, stdout } = await child.output();
    await child.stdin.close();
    assertEquals(code, 0);
    assertEquals(
      new TextDecoder().decode(stdout),
      (await tool("info", ["perf.data"], { cwd })).out,
    );
  });
});
