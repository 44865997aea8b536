// Compares `tools/addr2line.ts` with binutils' `addr2line -i -f` and `llvm-symbolizer --inlines` on the
// same distinct addresses, spread over the code of a large binary and read from standard
// input.
//
//   deno run -A bench/addr2line_program.ts /tmp/program     builds such a binary: 150 MB, C++, DWARF 5
//   deno run -A bench/addr2line.ts /tmp/program [RUNS [NAME=COMMAND…]]
//
// Further programs can be given as NAME=COMMAND, such as that of gimli's addr2line crate:
// "gimli=/path/to/addr2line -i -f -e /tmp/program".
import { type Contestant, line, takeTurns } from "./_turns.ts";

const [binary, runCount = "5", ...others] = Deno.args;
if (binary === undefined) {
  console.error("addr2line: which binary?");
  Deno.exit(2);
}
const folder = Deno.makeTempDirSync();
const tool = new URL("../tools/addr2line.ts", import.meta.url).pathname;

const input = `${folder}/addresses`;
const programs: Record<string, readonly string[]> = {
  "binutils": ["addr2line", "-i", "-f", "-e", binary],
  "llvm-symbolizer": [
    ...["llvm-symbolizer", `--obj=${binary}`],
    ...["--inlines", "--functions=linkage", "--no-demangle"],
  ],
  "perfdata": [
    ...[Deno.execPath(), "run", "--no-prompt", "--allow-read", "--allow-env=PERFDATA_CWD"],
    ...[tool, "-i", "-f", "-e", binary],
  ],
  ...Object.fromEntries(others.map((other) => {
    const [name, command] = other.split(/=(.*)/s);
    return [name, (command ?? "").split(" ")];
  })),
};
const contestants: Record<string, Contestant> = Object.fromEntries(
  Object.entries(programs).map(([name, command]) => [name, { command, input }]),
);

const { stdout } = new Deno.Command("readelf", { args: ["-SW", binary] }).outputSync();
const text = /\] \.text\s+PROGBITS\s+([0-9a-f]+) [0-9a-f]+ ([0-9a-f]+)/.exec(
  new TextDecoder().decode(stdout),
);
if (text === null) throw new Error(`${binary}: no .text`);
const start = parseInt(text[1] ?? "", 16), size = parseInt(text[2] ?? "", 16);

try {
  console.log(`${binary}: ${(Deno.statSync(binary).size / 1e6).toFixed(0)} MB`);
  for (const count of [1, 10_000, 100_000]) {
    const addresses = Array.from(
      { length: count },
      (_, i) => `0x${(start + Math.floor((i + 0.5) * size / count)).toString(16)}\n`,
    );
    Deno.writeTextFileSync(input, addresses.join(""));
    const runs = takeTurns(contestants, Number(runCount), [binary, input]);
    console.log(`${count} addresses`);
    for (const [name, each] of Object.entries(runs)) {
      for (const peer of ["binutils", "llvm-symbolizer"]) {
        if (name !== peer) console.log(line(`${name} / ${peer}`, each, runs[peer] ?? []));
      }
    }
  }
} finally {
  Deno.removeSync(folder, { recursive: true });
}
