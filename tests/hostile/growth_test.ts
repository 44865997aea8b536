/**
 * Work grows linearly with inputs that are small and easily made. It is counted, not timed
 * (`work.ts`), so that the machine and its load do not matter.
 */
import { assert, assertEquals } from "@std/assert";
import { GROWING } from "./growing.ts";
import type { WorkLine } from "./work.ts";

/** Limit of the factor by which work grows when the input doubles. */
const MOST_GROWTH = 2.5;
/** Work below this is that of reading any file. */
const LEAST_WORK = 50_000;

/** Commands for each kind: those that read it most closely. */
const COMMANDS: Readonly<Record<string, readonly string[]>> = {
  "kernel modules": ["funcs"],
  "names of the kernel's code": ["script"],
  "mappings of a process": ["tree"],
  "mappings at one address": ["info"],
  "processes": ["funcs"],
  "names of a thread": ["script"],
  "entries of a call chain": ["tree"],
  "call chains": ["tree"],
  "events": ["info"],
  "build ids": ["info", "header"],
  "slashes in a name": ["info", "script"],
  "words of the command": ["header"],
  "formats of tracepoints": ["script"],
  "fields of a tracepoint": ["script"],
  "brackets in a tracepoint": ["script"],
  "blanks and letters in a tracepoint": ["script"],
  "quotes in a tracepoint": ["script"],
  "parentheses in a tracepoint": ["script"],
  "locks of a thread": ["lock"],
  "threads at a lock": ["lock"],
  "waits for a lock": ["lock"],
  "switches": ["sched"],
};

async function workOf(kind: string, command: string): Promise<WorkLine[]> {
  const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: [
      ...[
        "run",
        "--no-check",
        "-A",
        "--config",
        new URL("../../deno.json", import.meta.url).pathname,
      ],
      ...[new URL("work.ts", import.meta.url).pathname, kind, command],
    ],
    stdin: "null",
  }).output();
  const decoder = new TextDecoder();
  assertEquals(code, 0, decoder.decode(stderr));
  return decoder.decode(stdout).trim().split("\n").filter((line) => line.startsWith("{"))
    .map((line): WorkLine => JSON.parse(line));
}

Deno.test("growth: every growing recording has a command that reads it", () => {
  assertEquals(Object.keys(COMMANDS), Object.keys(GROWING));
});

for (const [kind, commands] of Object.entries(COMMANDS)) {
  for (const command of commands) {
    Deno.test(`growth: ${command}, ${kind}: twice as many take at most 2.5 times the work`, async () => {
      const lines = await workOf(kind, command);
      assert(lines.length > 0);
      for (const { call, work } of lines) {
        assertEquals(work.length, 11, call);
        for (const [i, most] of work.entries()) {
          const before = work[i - 1];
          if (before === undefined || most < LEAST_WORK) continue;
          assert(most <= MOST_GROWTH * before, `${call}: ${work.join(", ")}`);
        }
      }
    });
  }
}
