/**
 * Times above 2^53 ns (CLOCK_REALTIME, an uptime of more than 104 days) in every text made from a
 * trace. A recording with a later clock gives the texts of the original, with all times later by
 * the same amount.
 */
import { assert, assertEquals } from "@std/assert";
import type { EncodeOptions } from "../../fixtures/stepped/encode.ts";
import { cannotStep, encodeProgram, stepProgram } from "../../fixtures/stepped/program.ts";
import { movedInTime, steppedRecording, withSamples } from "../../fixtures/stepped/recording.ts";
import { asFile } from "../../fixtures/synthesize/recording.ts";
import { ignored } from "../support/ignored.ts";
import { perfText, perfVersion } from "../support/perf.ts";
import { inFolder, tool } from "../support/tool.ts";

/**
 * Offsets of the clock in ns: the year 2023, just past 2^53, and just below the largest signed
 * number.
 */
const AHEAD: readonly bigint[] = [
  1_700_000_000_123_456_789n,
  2n ** 53n + 4_321n,
  9_200_000_000_999_999_999n,
];

/** Commands that print times to the nanosecond. */
const EXACT: readonly (readonly [string, ...string[]])[] = [
  ["pt", "--calls"],
  ["pt", "--calls", "--json"],
  ["pt", "--branches"],
  ["pt", "--branches", "--json"],
  ["pt", "--insns"],
  ["pt", "--insns", "--json"],
  ["pt", "--events"],
  ["pt", "--events", "--json"],
  ["pt", "--latency", "fib"],
  ["pt", "--latency", "fib", "--json"],
  ["script", "--ns", "--itrace=bep"],
  ["script", "--ns", "--itrace=i7ie"],
  ["script", "--ns", "--itrace=i300ns"],
  ["script", "--ns", "--itrace=Ge"],
  ["script", "--ns", "--call-trace"],
  ["export", "--pt", "-o", "-", "chrome"],
];

/** Commands that print no time, or only durations. */
const SAME: readonly (readonly [string, ...string[]])[] = [
  ["pt"],
  ["pt", "--json"],
  ["export", "--pt", "-o", "-", "firefox"],
  ["export", "--pt", "-o", "-", "folded"],
  ["export", "--pt", "-o", "-", "speedscope"],
];

const TIMES = [
  // Seconds, or microseconds, with decimals.
  /(?<=^|[^\w.])(\d+)\.(\d{9})(?!\w)/g,
  /(?<="ts":)(\d+)\.(\d{3})/g,
  // In `--latency`, "time" beside "insns" is a duration.
  /(?<="time":)(\d+)(?!\d|,"insns")/g,
] as const;

/** Adds an offset to all times of a text, and counts them. */
function later(text: string, by: bigint, count: { times: number }): string {
  const moved = TIMES.reduce(
    (text, pattern) =>
      text.replaceAll(pattern, (_, whole: string, decimals: unknown) => {
        const digits = typeof decimals === "string" ? decimals : "";
        const ns = String(BigInt(whole + digits) + by).padStart(digits.length + 1, "0");
        count.times++;
        return digits === "" ? ns : `${ns.slice(0, -digits.length)}.${ns.slice(-digits.length)}`;
      }),
    text,
  );
  return moved;
}

/** Lines without alignment spaces: longer times need more of them. */
function linesOf(text: string): string[] {
  return text.split("\n").map((line) => line.replace(/ +/g, " ").trim());
}

Deno.test(
  "times above 2^53 ns: exact in every text of a trace",
  ignored(cannotStep()),
  async () => {
    await inFolder(async (folder) => {
      const program = stepProgram(folder, { program: "calls", flags: ["-O1", "-static"] });
      const variant: EncodeOptions = { psbEvery: 500, tsc: true, mtc: true, cyc: true };
      const encoded = encodeProgram(program, variant);
      const { recording } = withSamples(
        steppedRecording(program, encoded, variant),
        program,
        encoded,
        331,
      );
      const write = async (name: string, by: bigint) => {
        const path = `${folder}/${name}/perf.data`;
        Deno.mkdirSync(`${folder}/${name}`);
        Deno.writeFileSync(path, await asFile(movedInTime(recording, by), true));
        return path;
      };
      const near = await write("near", 0n);
      const run = async (command: string, args: readonly string[], path: string) => {
        const { out, err } = await tool(command, [...args, path]);
        assert(out.length > 0, `${command} ${args.join(" ")}: ${err}`);
        return out;
      };
      const count = { times: 0 };
      for (const [i, by] of AHEAD.entries()) {
        const far = await write(`far${i}`, by);
        for (const [command, ...args] of EXACT) {
          // One offset is enough for texts that the same code prints.
          if (i > 0 && args.includes("--json")) continue;
          const expected = linesOf(later(await run(command, args, near), by, count));
          const printed = linesOf(await run(command, args, far));
          const at = expected.findIndex((line, i) => line !== printed[i]);
          assertEquals(printed[at], expected[at], `${command} ${args.join(" ")}: line ${at + 1}`);
          assertEquals(printed.length, expected.length);
        }
        if (i > 0) continue;
        for (const [command, ...args] of SAME) {
          assertEquals(await run(command, args, far), await run(command, args, near));
        }
      }
      // The requested part is in times of the clock.
      const all = (await run("pt", ["--events"], near)).trimEnd().split("\n");
      const [first = "", last = ""] = [all[10], all.at(-10)].map((line) =>
        /\d+\.\d{9}/.exec(line ?? "")?.[0]
      );
      const [by = 0n] = AHEAD;
      const part = await run("pt", ["--events", "--time", `${first},${last}`], near);
      const range = later(` ${first} ${last}`, by, count).trim().replace(" ", ",");
      const far = await run("pt", ["--events", "--time", range], `${folder}/far0/perf.data`);
      assertEquals(linesOf(far), linesOf(later(part, by, count)));
      assert(part.trimEnd().split("\n").length < all.length - 5);
      console.log(`${count.times} times compared`);
      assert(count.times > 50_000, `${count.times} times`);
    });
  },
);

Deno.test(
  "script: times above 2^53 ns of a trace equal perf's",
  ignored(cannotStep() ?? (perfVersion() === undefined ? "no perf" : undefined)),
  async () => {
    await inFolder(async (folder) => {
      const program = stepProgram(folder, { program: "calls", flags: ["-O1", "-static"] });
      const variant: EncodeOptions = { psbEvery: 500, tsc: true, mtc: true };
      const encoded = encodeProgram(program, variant);
      const alone = steppedRecording(program, encoded, variant);
      const { recording } = withSamples(alone, program, encoded, 331);
      const [by = 0n] = AHEAD;
      let lines = 0;
      for (
        const [of, ...args] of [
          [alone, "--itrace=be"],
          [alone, "--ns", "--itrace=i50ie"],
          [recording, "--ns", "--itrace=Ge"],
        ] as const
      ) {
        const path = `${folder}/perf.data`;
        Deno.writeFileSync(path, await asFile(movedInTime(of, by), true));
        const all = [...args, "-F", "tid,time,event,ip"];
        const theirs = (await perfText(["script", ...all], path))?.stdout ?? "";
        const ours = linesOf((await tool("script", [...all, path])).out);
        assertEquals(ours, linesOf(theirs), args.join(" "));
        lines += ours.length;
      }
      console.log(`${lines} lines compared`);
      assert(lines > 3_000, `${lines} lines`);
    });
  },
);
