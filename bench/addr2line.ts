// Compares `tools/addr2line.ts` with binutils' `addr2line -i -f` and `llvm-symbolizer --inlines` on the
// same distinct addresses, spread over the code of one large binary. Whole processes, addresses from
// a file on standard input, output to a file; the programs take turns, the median of the runs counts:
// of seconds, and of the most memory that was resident at one time.
//
//   deno run -A bench/addr2line_program.ts /tmp/program     builds such a binary: 150 MB, C++, DWARF 5
//   deno run -A bench/addr2line.ts /tmp/program [RUNS [NAME=COMMAND…]]
//
// Further programs take part as NAME=COMMAND, such as that of gimli's addr2line crate:
// "gimli=/path/to/addr2line -i -f -e /tmp/program".

const [binary, runCount = "5", ...others] = Deno.args;
if (binary === undefined) {
  console.error("addr2line: which binary?");
  Deno.exit(2);
}
const runs = Number(runCount);
const folder = Deno.makeTempDirSync();
const tool = new URL("../tools/addr2line.ts", import.meta.url).pathname;

const contestants: Record<string, readonly string[]> = {
  "perfdata": [
    Deno.execPath(),
    "run",
    "--no-prompt",
    "--allow-read",
    "--allow-env=PERFDATA_CWD",
    tool,
    "-i",
    "-f",
    "-e",
    binary,
  ],
  "llvm-symbolizer": [
    "llvm-symbolizer",
    `--obj=${binary}`,
    "--inlines",
    "--functions=linkage",
    "--no-demangle",
  ],
  "binutils": ["addr2line", "-i", "-f", "-e", binary],
  ...Object.fromEntries(others.map((other) => {
    const [name, command] = other.split(/=(.*)/s);
    return [name, (command ?? "").split(" ")];
  })),
};

const { stdout } = new Deno.Command("readelf", { args: ["-SW", binary] }).outputSync();
const text = /\] \.text\s+PROGBITS\s+([0-9a-f]+) [0-9a-f]+ ([0-9a-f]+)/.exec(
  new TextDecoder().decode(stdout),
);
if (text === null) throw new Error(`${binary}: no .text`);
const start = parseInt(text[1] ?? "", 16), size = parseInt(text[2] ?? "", 16);

interface Run {
  readonly seconds: number;
  readonly megabytes: number;
}

function measure(command: readonly string[], input: string): Run {
  const quoted = command.map((word) => `'${word}'`).join(" ");
  const { stderr, success } = new Deno.Command("/usr/bin/time", {
    args: ["-f", "%e %M", "sh", "-c", `exec ${quoted} < ${input} > ${folder}/output`],
    stderr: "piped",
  }).outputSync();
  const [seconds, kilobytes] = new TextDecoder().decode(stderr).trim().split("\n").at(-1)
    ?.split(" ").map(Number) ?? [];
  if (!success || seconds === undefined || kilobytes === undefined) {
    throw new Error(`${quoted}: ${new TextDecoder().decode(stderr)}`);
  }
  return { seconds, megabytes: kilobytes / 1000 };
}

const median = (values: number[]): number => values.sort((a, b) => a - b)[values.length >> 1] ?? 0;

try {
  console.log(`${binary}: ${(Deno.statSync(binary).size / 1e6).toFixed(0)} MB, median of ${runs}`);
  for (const count of [1, 10_000, 100_000]) {
    const input = `${folder}/addresses`;
    const addresses = Array.from(
      { length: count },
      (_, i) => `0x${(start + Math.floor((i + 0.5) * size / count)).toString(16)}\n`,
    );
    Deno.writeTextFileSync(input, addresses.join(""));
    const results = new Map<string, Run[]>();
    for (let run = 0; run < runs; run++) {
      for (const [name, command] of Object.entries(contestants)) {
        const all = results.get(name) ?? [];
        all.push(measure(command, input));
        results.set(name, all);
      }
    }
    const ours = median((results.get("perfdata") ?? []).map((run) => run.seconds));
    console.log(`\n${count} addresses`);
    for (const [name, all] of results) {
      const seconds = median(all.map((run) => run.seconds));
      const memory = median(all.map((run) => run.megabytes));
      console.log(
        `  ${name.padEnd(16)} ${seconds.toFixed(2)} s  ${memory.toFixed(0).padStart(4)} MB  ` +
          `${(seconds / ours).toFixed(1)} × our time`,
      );
    }
  }
} finally {
  Deno.removeSync(folder, { recursive: true });
}
