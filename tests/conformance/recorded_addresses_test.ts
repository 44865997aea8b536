/**
 * Compares the addresses of recordings made here, and their symbols, with `perf script` and `perf
 * report`.
 */
import { assert, assertEquals } from "@std/assert";
import { PerfDataReader } from "@perfdata/format/records";
import { openSource } from "@perfdata/format/files";
import { ADDRESS_USE, symbolTrust } from "@perfdata/session";
import { recordedAddresses } from "@perfdata/session/code";
import { openResolver } from "@perfdata/symbols/files";
import { perfRecords } from "../support/perf.ts";

/** Several processes, with code of the kernel, the loader, libc and others. */
const WORK =
  `for i in 1 2 3; do seq 20000 | sort -R | gzip -9 | wc -c; done; ls -lR /usr/lib/gcc | md5sum`;

async function perf(folder: string, ...args: string[]): Promise<string> {
  const { success, stdout, stderr } = await new Deno.Command("sh", {
    args: [
      "-c",
      'ulimit -v 8000000; exec timeout 300 perf --buildid-dir "$0/cache" "$@"',
      folder,
      ...args,
    ],
    cwd: folder,
    env: { LC_ALL: "C", PAGER: "cat" },
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
  }).output();
  if (!success) throw new Error(`perf ${args.join(" ")}: ${new TextDecoder().decode(stderr)}`);
  return new TextDecoder().decode(stdout);
}

/** Splits `…+0x1f (object)` lines into the counted text: `object symbol+0x1f`. */
function callchainEntries(text: string): Map<string, number> {
  const found = new Map<string, number>();
  for (const line of text.split("\n")) {
    const match = /^\s+[0-9a-f]+ (.*) \((.*)\)$/.exec(line);
    if (match === null) continue;
    const key = `${match[2]} ${match[1]}`;
    found.set(key, (found.get(key) ?? 0) + 1);
  }
  return found;
}

/** perf 6.1 misplaces PLT stubs, and has no names for those of local IFUNCs. */
const isPlt = (key: string): boolean => key.includes("@plt+");

for (
  const [name, flags] of [
    ["a file with call chains", ["-g"]],
    ["a compressed file", ["-g", "-z"]],
    ["a file with build ids in its mappings", ["-g", "--buildid-mmap"]],
  ] as const
) {
  Deno.test({
    name: `addresses and symbols of ${name} equal those of perf script`,
    ignore: !perfRecords(),
    async fn() {
      const folder = await Deno.makeTempDir({ prefix: "perfdata-addresses-" });
      try {
        const data = `${folder}/perf.data`;
        await perf(
          folder,
          ...["record", "-q", "-F", "2000", "-e", "cpu-clock", ...flags, "-o", data],
          ...["--", "sh", "-c", WORK],
        );
        const script = await perf(
          folder,
          ...["script", "-i", data, "--no-demangle", "-F", "ip,sym,symoff,dso"],
        );
        const expected = callchainEntries(script);
        // Unless it is root, perf sees no kernel; otherwise there are hundreds.
        assert(expected.size > 10, `perf script prints ${expected.size} different addresses`);

        const recorded = await recordedAddresses(await PerfDataReader.open(openSource(data)));
        const { table } = recorded;
        const resolver = openResolver({
          places: { buildIdCache: `${folder}/cache`, debugRoot: "/usr/lib/debug" },
          demangle: false,
          machine: recorded,
        });
        const actual = new Set<string>();
        const samples = new Map<string, number>();
        await symbolTrust(recorded, resolver, ({ symbols, rows, resolutions }) => {
          const { path } = symbols.object;
          rows.forEach((row, i) => {
            samples.set(path, (samples.get(path) ?? 0) + (table.samples[row] ?? 0));
            if (!((table.uses[row] ?? 0) & (ADDRESS_USE.IP | ADDRESS_USE.CALLCHAIN))) return;
            const symbol = resolutions[i]?.symbol;
            const offset = (table.address[row] ?? 0) - (symbol?.start ?? 0);
            actual.add(
              symbol === undefined
                ? `${path} [unknown]`
                : `${path} ${symbol.name}+0x${offset.toString(16)}`,
            );
          });
        });
        const missing = [...expected.keys()].filter((key) => !actual.has(key));
        const added = [...actual].filter((key) => !expected.has(key));
        const unmapped = missing.filter((key) => key.startsWith("[unknown] "));
        console.log(
          `${name}: ${expected.size} addresses of perf, ${missing.length - unmapped.length} not ` +
            `ours, ${added.length} only ours, ${recorded.samples} samples`,
        );
        // perf looks up a mapped vdso in its own vdso, or nowhere.
        const known = (key: string) => isPlt(key) || key.startsWith("[vdso] ");
        assertEquals(missing.filter((key) => !unmapped.includes(key) && !known(key)), []);
        // The first entry of a PLT is no stub, and has no name; perf takes it for a stub.
        const stubs = new Set(missing.filter(isPlt).map((key) => key.slice(0, key.indexOf(" "))));
        const isHead = (key: string) =>
          key.endsWith(" [unknown]") && stubs.has(key.slice(0, key.indexOf(" ")));
        assertEquals(added.filter((key) => !known(key) && !isHead(key)), []);

        const report = await perf(
          folder,
          ...["report", "-i", data, "--stdio", "-g", "none", "--no-children", "-q"],
          ...["--sort", "dso", "-F", "sample,period,dso", "-t", ";", "--full-source-path", "-v"],
        );
        let total = 0, period = 0;
        for (const line of report.split("\n")) {
          const match = /^\s*(\d+)\s*;\s*(\d+)\s*;/.exec(line);
          if (match === null) continue;
          total += Number(match[1]);
          period += Number(match[2]);
        }
        assertEquals([recorded.samples, recorded.period], [total, period]);
      } finally {
        await Deno.remove(folder, { recursive: true });
      }
    },
  });
}
