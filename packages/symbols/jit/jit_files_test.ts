import { assertEquals } from "@std/assert";
import type { SymbolFiles } from "../files/symbol_files.ts";
import { innermostPid, JitFiles } from "./jit_files.ts";

const status = (...pids: number[]) =>
  `Name:\tjava\nPid:\t${pids[0]}\nNSpid:\t${pids.join("\t")}\nNSpgid:\t1\n`;

/** Files with these texts; foreign ones belong to another user. */
function filesOf(texts: Readonly<Record<string, string>>, foreign = ""): SymbolFiles {
  return {
    open: () => undefined,
    read: (path) => path in texts ? new TextEncoder().encode(texts[path]) : undefined,
    isForeign: (path) => path === foreign,
  };
}

function nameIn(files: SymbolFiles, symfs = ""): string | undefined {
  const map = new JitFiles(files, symfs).perfMap("/tmp/perf-70.map");
  return map?.name(map.lookup(0x1000));
}

Deno.test("innermostPid: the last number of a process that is in several namespaces", () => {
  assertEquals(innermostPid(status(70, 9, 1)), 1);
  assertEquals(innermostPid(status(70)), undefined);
  assertEquals(innermostPid("Name:\tNSpid:\t7\t8\n"), undefined);
  assertEquals(innermostPid(""), undefined);
});

Deno.test("JitFiles.perfMap: a process in a container has its map in there, under its number there", () => {
  const container = {
    "/proc/70/status": status(70, 1),
    "/proc/70/root/tmp/perf-1.map": "1000 10 inside\n",
  };
  assertEquals(nameIn(filesOf(container)), "inside");
  // The recorded path comes first.
  assertEquals(
    nameIn(filesOf({ ...container, "/tmp/perf-70.map": "1000 10 outside\n" })),
    "outside",
  );
  // Files of another machine are asked for by --symfs: its processes are not those of this one.
  assertEquals(nameIn(filesOf(container), "/other"), undefined);
  assertEquals(nameIn(filesOf(container, "/proc/70/root/tmp/perf-1.map")), undefined);
  assertEquals(
    nameIn(filesOf({ ...container, "/proc/70/status": status(70) })),
    undefined,
  );
});
