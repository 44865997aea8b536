/**
 * Records programs with the installed `perf`, bundles their symbols, removes the binaries, and
 * compares the names of `records --symbols` and `dump --symbols` with those of `perf script` and
 * `addr2line`.
 */
import { assert, assertEquals } from "@std/assert";
import { parse } from "@std/csv";
import { denoFolder, runProgram, tool } from "../support/tool.ts";
import { ignored, notInstalled } from "../support/ignored.ts";
import { noRecording } from "../support/recorded_program.ts";

const SOURCES = new URL("../support/symbol_bundle/", import.meta.url).pathname;

/** Runs a program in a folder. Returns its output. */
async function run(command: readonly string[], cwd: string): Promise<string> {
  const [program = "", ...args] = command;
  const { code, out, err } = await runProgram(program, args, { cwd, env: { LC_ALL: "C" } });
  if (code !== 0) throw new Error(`${command.join(" ")}: ${err}`);
  return out;
}

/** Runs a command in a folder that is also the user's home. Returns its output. */
async function perfdata(name: string, args: readonly string[], cwd: string): Promise<string> {
  const env = { HOME: cwd, DENO_DIR: denoFolder() };
  const { code, out, err } = await tool(name, args, { cwd, env });
  if (code !== 0) throw new Error(`${name} ${args.join(" ")}: ${err}`);
  return out;
}

/** Symbol of an address in a line of `records`. */
interface Symbols {
  readonly sym: string | null;
  /** perf 6.1 records no build id for objects that occur only in call chains. */
  readonly verified?: false;
  readonly symoff: string | null;
  readonly dso: string | null;
  readonly srcline?: string;
  readonly inlined?: readonly { readonly sym: string; readonly srcline?: string }[];
}

interface Line extends Symbols {
  readonly type: string;
  readonly time: number;
  readonly ip: string;
  readonly callchain: readonly string[];
  readonly callchain_symbols: readonly (Symbols | null)[];
}

/** In the format of `perf script -F ip,sym,symoff,dso`, without the ip. */
function perfForm({ verified: _, ...symbols }: Symbols): string {
  // perf has no name for the target of a stub without a symbol, which binutils name by address.
  return ownForm(symbols).replace(/^\*ABS\*\+0x[0-9a-f]+@plt/, "@plt");
}

/** `main+0x27` */
function nameOf({ sym, symoff }: Symbols): string {
  return `${sym}+${symoff}`;
}

/** The same with the names of `records`, and the mark. */
function ownForm(symbols: Symbols): string {
  const { sym, dso } = symbols;
  return `${sym === null ? "[unknown]" : nameOf(symbols)} (${dso ?? "[unknown]"})`;
}

Deno.test({
  name: "records, dump --symbols: after binaries are deleted, names are those of perf script",
  ...ignored(noRecording() ?? notInstalled("g++", "addr2line")),
  async fn() {
    const folder = await Deno.makeTempDir({ prefix: "perfdata-bundled-" });
    try {
      const [c, cpp] = [`${folder}/calls`, `${folder}/templates`];
      const flags = ["-O2", "-g", "-fno-omit-frame-pointer", "-Wl,--build-id=sha1"];
      await run(["gcc", ...flags, "-o", c, `${SOURCES}calls.c`], folder);
      await run(["g++", ...flags, "-o", cpp, `${SOURCES}templates.cpp`], folder);
      const perf = (args: string) =>
        run([
          "bash",
          "-c",
          `ulimit -v 8000000; exec timeout 300 perf --buildid-dir "$0/cache" ${args}`,
          folder,
        ], folder);
      // Concurrent processes with different load addresses, and some that exec another program.
      await perf(
        `record -q -e cpu-clock -F 2000 -g -o perf.data -- bash -c '${c} & ${cpp} & ${c}; wait'`,
      );
      const script = await perf("script --no-inline -i perf.data -F time,ip,sym,symoff,dso --ns");
      await Deno.symlink("cache", `${folder}/.debug`);
      await perfdata("symbols", ["bundle", "perf.data"], folder);
      // addr2line runs before the binaries are removed.
      const samples = script.trim().split("\n\n").map((block) => {
        const [head = "", ...chain] = block.split("\n").filter((line) => line.trim() !== "");
        return {
          time: head.trim().replace(/:.*$/, ""),
          chain: chain.map((line) => /^\s*([0-9a-f]+) (.*)$/.exec(line)?.slice(1) ?? ["", line]),
        };
      });
      const inProgram = new Set<string>();
      for (const { chain: [first] } of samples) {
        const [address = "", text = ""] = first ?? [];
        if (text.endsWith(`(${c})`)) inProgram.add(address);
      }
      const places = new Map<string, string>();
      for (const address of inProgram) {
        const text = await run(["addr2line", "-f", "-i", "-e", c, address], folder);
        places.set(
          address,
          text.replace(/ \(discriminator \d+\)/g, "").replace(/^\?\?:0$/gm, "??:?"),
        );
      }
      for (const gone of [c, cpp, `${folder}/cache`, `${folder}/.debug`]) {
        await Deno.remove(gone, { recursive: true });
      }
      const text = await perfdata("records", [
        "--type",
        "SAMPLE",
        "--symbols",
        "perf.symbols",
        "perf.data",
      ], folder);
      const lines = text.trim().split("\n").map((line) => JSON.parse(line) as Line);
      assertEquals(lines.length, samples.length);
      let compared = 0;
      let sourceLines = 0;
      lines.forEach((line, i) => {
        const { time, chain } = samples[i] ?? { time: "", chain: [] };
        assertEquals((line.time / 1e9).toFixed(9), time);
        assertEquals(line.callchain.length, line.callchain_symbols.length);
        const named = line.callchain_symbols.filter((entry) => entry !== null);
        // perf 6.1 misplaces PLT stubs, and has no names for those of IFUNCs.
        const ours = named.map((entry, k) =>
          entry.sym?.endsWith("@plt") ? chain[k]?.[1] : perfForm(entry)
        );
        assertEquals(ours, chain.map(([, name]) => name));
        assertEquals(perfForm(line), perfForm(named[0] as Symbols));
        compared += named.length;
        const expected = places.get(chain[0]?.[0] ?? "");
        if (expected === undefined || line.dso !== c || line.sym?.endsWith("@plt")) return;
        // Code without debug information, such as _start, has no line. For a compiler's variant of
        // a function, addr2line prints the original's name.
        const frames = [...line.inlined ?? [], { ...line, sym: line.sym?.replace(/\..*/, "") }];
        const found = frames.map(({ sym, srcline }) => `${sym}\n${srcline ?? "??:?"}\n`).join("");
        assertEquals(found, expected);
        sourceLines++;
      });
      console.log(
        `${compared} names and ${sourceLines} places of ${lines.length} samples compared`,
      );
      assert(compared > 300 && sourceLines > 20);
      const csv = await perfdata("records", [
        "--csv",
        "--type",
        "SAMPLE",
        "--symbols",
        "perf.symbols",
        "perf.data",
      ], folder);
      const found = parse(csv).slice(1).map((row) => JSON.parse(row.at(-1) ?? "") as Line);
      const symbolsOf = (line: Line) => [line.sym, line.dso, line.inlined, line.callchain_symbols];
      assertEquals(found.map(symbolsOf), lines.map(symbolsOf));
      const plain = await perfdata("dump", ["perf.data"], folder);
      const named = await perfdata("dump", ["--symbols", "perf.symbols", "perf.data"], folder);
      assertEquals(
        named.replace(/^ \.{6} sym: .*\n/gm, "").replace(/^(\.{5} +\d+: [0-9a-f]{16}) .*$/gm, "$1"),
        plain,
      );
      const [ips, chains] = [
        /^ \.{6} sym: (<not found>|(?:\*ABS\*\+0x[0-9a-f]+@plt|.*?)\+0x[0-9a-f]+)/gm,
        /^\.{5} +\d+: [0-9a-f]{16} (.*?\+0x[0-9a-f]+ \(.*?\))/gm,
      ].map((line) => [...named.matchAll(line)].map(([, name]) => name));
      assertEquals(
        ips,
        lines.map((line) => line.sym === null ? "<not found>" : nameOf(line)),
      );
      const frames = lines.flatMap(({ callchain_symbols }) => callchain_symbols)
        .filter((entry) => entry !== null && entry.sym !== null);
      assertEquals(chains, frames.map((entry) => ownForm(entry as Symbols)));
    } finally {
      await Deno.remove(folder, { recursive: true });
    }
  },
});
