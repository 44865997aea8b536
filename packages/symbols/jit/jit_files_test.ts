import { assertEquals } from "@std/assert";
import { bytesSource } from "../files/binary_source.ts";
import { Bytes } from "../testing/elf_writer.ts";
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

Deno.test("JitFiles.perfMap: the map of a process in a container is found in the container, by the pid there", () => {
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
  // With --symfs, files are of another machine, whose pids mean nothing on this one.
  assertEquals(nameIn(filesOf(container), "/other"), undefined);
  assertEquals(nameIn(filesOf(container, "/proc/70/root/tmp/perf-1.map")), undefined);
  assertEquals(
    nameIn(filesOf({ ...container, "/proc/70/status": status(70) })),
    undefined,
  );
});

Deno.test("JitFiles.open: the jitdump of a process in a container is found in the container, by the pid there", () => {
  /** Files with these jitdumps, each of which has the pid in its header. */
  const files = (dumps: Readonly<Record<string, number>>, ...pids: number[]): SymbolFiles => ({
    open(path) {
      const pid = dumps[path];
      if (pid === undefined) return undefined;
      const header = new Bytes(true, true).u32(0x4a695444).u32(1).u32(40).u32(62).u32(0).u32(pid);
      return bytesSource(header.u64(0).u64(0).done());
    },
    read: (path) =>
      path === "/proc/70/status" ? new TextEncoder().encode(status(...pids)) : undefined,
  });
  const opened = (files: SymbolFiles, jitdump: string, symfs = "") => {
    const jit = new JitFiles(files, symfs);
    const object = { path: "/tmp/perf-70.map", jitdump };
    return [jit.dumpPath(object), jit.open(object)?.header.pid];
  };
  const inside = "/proc/70/root/tmp/jit-1.dump";
  const both = { [inside]: 1, "/tmp/jit-1.dump": 2, "/tmp/jit-70.dump": 3, "/s/tmp/jit-1.dump": 4 };
  assertEquals(opened(files(both, 70, 1), "/tmp/jit-1.dump"), [inside, 1]);
  // Without a running process that has this pid in a container, the file is on this machine.
  assertEquals(opened(files(both, 70, 2), "/tmp/jit-1.dump"), ["/tmp/jit-1.dump", 2]);
  assertEquals(opened(files(both), "/tmp/jit-1.dump"), ["/tmp/jit-1.dump", 2]);
  assertEquals(opened(files({}, 70, 1), "/tmp/jit-1.dump"), ["/tmp/jit-1.dump", undefined]);
  assertEquals(opened(files(both, 70, 1), "/tmp/jit-70.dump"), ["/tmp/jit-70.dump", 3]);
  assertEquals(opened(files(both, 70, 1), "/tmp/jit-1.dump", "/s"), ["/s/tmp/jit-1.dump", 4]);
});
