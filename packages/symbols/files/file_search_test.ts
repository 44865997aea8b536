import { assert, assertEquals } from "@std/assert";
import { bytesSource } from "./binary_source.ts";
import { ElfFile } from "../elf/elf_file.ts";
import { SymbolsError } from "../errors.ts";
import {
  buildIdsEqual,
  kernelCandidates,
  type SearchPlaces,
  type SearchResult,
  searchSymbolFiles,
  type WantedFile,
} from "./file_search.ts";
import { localFiles } from "./local_files.ts";
import { nodeDecompressors } from "./node_decompressors.ts";
import { OpenedFiles } from "./opened_files.ts";
import { inFolder, readElf, run } from "../testing/toolchain.ts";
import { ignored, notInstalled } from "../../../tests/support/ignored.ts";

/** Searches the files of this machine, and closes them. */
function search(wanted: WantedFile, places: SearchPlaces): SearchResult {
  const opened = new OpenedFiles(localFiles, { decompressors: nodeDecompressors });
  try {
    return opened.search(wanted, places);
  } finally {
    opened.close();
  }
}

const ID = "0123456789abcdef0123456789abcdef01234567";

Deno.test("searchSymbolFiles: places are tried in perf's order, then debuginfod's", () => {
  const search = searchSymbolFiles({ path: "/usr/lib/libx.so.1", buildId: ID }, {
    symfs: "/sysroot/",
    buildIdCache: "/home/u/.debug",
    debuginfodCache: "/home/u/.cache/debuginfod_client",
  });
  const tried: string[] = [];
  let step = search.next();
  for (; !step.done; step = search.next(undefined)) tried.push(step.value.path);
  const cache = "/home/u/.debug/.build-id/01/23456789abcdef0123456789abcdef01234567";
  assertEquals(tried, [
    "/sysroot/usr/lib/libx.so.1", // for its debug link
    `${cache}/elf`,
    cache,
    `${cache}/debug`,
    "/sysroot/usr/lib/debug/usr/lib/libx.so.1.debug",
    "/sysroot/usr/lib/debug/usr/lib/libx.so.1",
    "/sysroot/usr/lib/debug/.build-id/01/23456789abcdef0123456789abcdef01234567.debug",
    "/sysroot/usr/lib/.debug/libx.so.1",
    "/sysroot/usr/lib/debug/lib/libx.so.1",
    `/home/u/.cache/debuginfod_client/${ID}/debuginfo`,
    `/home/u/.cache/debuginfod_client/${ID}/executable`,
  ]);
  assertEquals(step.value, { buildId: ID, refused: [] });
});

Deno.test("searchSymbolFiles: the container of a running process is searched by build id only", () => {
  const tried = (wanted: WantedFile, places: SearchPlaces = {}) => {
    const search = searchSymbolFiles(wanted, places);
    const paths: string[] = [];
    for (let step = search.next(); !step.done; step = search.next(undefined)) {
      paths.push(step.value.path);
    }
    return paths;
  };
  const wanted = { path: "/usr/bin/app", pid: 70 };
  const inside = "/proc/70/root/usr/bin/app";
  assertEquals(tried({ ...wanted, buildId: ID }).at(-1), inside);
  // Another process may have the number by now.
  assert(!tried(wanted).includes(inside));
  assert(!tried({ ...wanted, buildId: ID }, { symfs: "/other" }).includes(inside));
  assert(
    !tried({ ...wanted, path: "[vdso]", buildId: ID }).some((path) => path.includes("/proc/")),
  );
});

Deno.test("searchSymbolFiles: the vdso is searched only in the build-id cache", () => {
  const search = searchSymbolFiles({ path: "[vdso]", buildId: ID }, { buildIdCache: "/d" });
  assertEquals(
    search.next().value,
    {
      path: "/d/.build-id/01/23456789abcdef0123456789abcdef01234567/vdso",
      origin: "build-id cache",
    },
  );
});

Deno.test("searchSymbolFiles: a file that is not ELF is reported and not used", () => {
  const search = searchSymbolFiles({ path: "/bin/script" });
  search.next();
  let step = search.next(new SymbolsError(0, "Not an ELF file"));
  while (!step.done) step = search.next(undefined);
  assertEquals(step.value.refused, [
    { path: "/bin/script", origin: "path", reason: "not readable" },
  ]);
});

Deno.test("buildIdsEqual: padding with zeros makes no difference", () => {
  assert(buildIdsEqual("ab12", "AB12" + "0".repeat(36)));
  assert(!buildIdsEqual("ab12", "ab1200" + "0".repeat(33) + "1"));
});

Deno.test("kernelCandidates: kernel files are listed in perf's order", () => {
  const wanted = { buildId: ID, release: "6.1.0-9-amd64" };
  const paths = kernelCandidates(wanted, { buildIdCache: "/d" }).map((c) => c.path);
  const entry = "/d/.build-id/01/23456789abcdef0123456789abcdef01234567";
  assertEquals(paths, [
    `${entry}/elf`,
    entry,
    "vmlinux",
    "/boot/vmlinux",
    "/boot/vmlinux-6.1.0-9-amd64",
    "/usr/lib/debug/boot/vmlinux-6.1.0-9-amd64",
    "/lib/modules/6.1.0-9-amd64/build/vmlinux",
    "/usr/lib/debug/lib/modules/6.1.0-9-amd64/vmlinux",
    "/usr/lib/debug/boot/vmlinux-6.1.0-9-amd64.debug",
    `/d/[kernel.kallsyms]/${ID}/kallsyms`,
    `/d/[kernel.kallsyms]/${ID}`,
  ]);
  // With another root, the release's names are not tried.
  assertEquals(kernelCandidates({ release: "6.1" }, { symfs: "/r" }).map((c) => c.path), [
    "/r/vmlinux",
    "/r/boot/vmlinux",
  ]);
});

Deno.test({
  name:
    "OpenedFiles.search: debug files of stripped binaries are found in all places, other builds are refused",
  ...ignored(notInstalled("gcc", "objcopy", "strip", "perf")),
  fn: () =>
    inFolder((folder) => {
      const make = (name: string, code: string): { id: string; elf: string; debug: string } => {
        const path = `${folder}/${name}`;
        Deno.writeTextFileSync(
          `${path}.c`,
          `int helper(void){return ${code};}int main(void){return helper();}`,
        );
        run("gcc", "-g", "-Wl,--build-id=sha1", "-o", `${path}.full`, `${path}.c`);
        run("objcopy", "--only-keep-debug", `${path}.full`, `${path}.debug`);
        run("strip", "-o", path, `${path}.full`);
        return { id: readElf(path).buildId() ?? "", elf: path, debug: `${path}.debug` };
      };
      const app = make("app", "1");
      const other = make("other", "2");
      assert(app.id !== other.id);

      const root = `${folder}/root`;
      const put = (from: string, to: string): void => {
        Deno.mkdirSync(to.slice(0, to.lastIndexOf("/")), { recursive: true });
        Deno.copyFileSync(from, to);
      };
      const origins = (buildId?: string, places: SearchPlaces = {}) => {
        const found = search(
          { path: "/opt/app", ...(buildId === undefined ? {} : { buildId }) },
          { symfs: root, debugRoot: "/usr/lib/debug", ...places },
        );
        return {
          symbols: found.symbols?.origin,
          runtime: found.runtime?.origin,
          refused: found.refused.map((r) => `${r.origin}: ${r.reason}`),
        };
      };
      put(app.elf, `${root}/opt/app`);
      assertEquals(origins(app.id), { symbols: undefined, runtime: "path", refused: [] });
      // The recording has another build id than the file.
      assertEquals(origins(other.id), {
        symbols: undefined,
        runtime: undefined,
        refused: ["path: build id differs"],
      });
      // The first of two debug files is of another build.
      put(other.debug, `${root}/usr/lib/debug/opt/app.debug`);
      put(app.debug, `${root}/opt/.debug/app`);
      assertEquals(origins(), {
        symbols: "debug root",
        runtime: "path",
        refused: ["debug root: build id differs"],
      });
      Deno.removeSync(`${root}/opt/.debug/app`);
      const inFolders = `${app.id.slice(0, 2)}/${app.id.slice(2)}`;
      put(app.debug, `${root}/usr/lib/debug/.build-id/${inFolders}.debug`);
      assertEquals(origins(app.id).symbols, "debug root, build id");
      Deno.removeSync(`${root}/usr/lib`, { recursive: true });

      // A debug link to a file in the same folder.
      run("objcopy", `--add-gnu-debuglink=${app.debug}`, `${root}/opt/app`);
      put(app.debug, `${root}/opt/app.debug`);
      assertEquals(origins().symbols, "debuglink");
      put(other.debug, `${root}/opt/app.debug`);
      assertEquals(origins().refused, ["debuglink: build id differs"]);
      Deno.removeSync(`${root}/opt/app.debug`);

      // A cache that perf fills.
      const cache = `${folder}/cache`;
      run("perf", "--buildid-dir", cache, "buildid-cache", "--add", `${app.elf}.full`);
      assertEquals(origins(app.id, { buildIdCache: cache }), {
        symbols: "build-id cache",
        runtime: "build-id cache",
        refused: [],
      });
      const client = `${folder}/client`;
      put(app.debug, `${client}/${app.id}/debuginfo`);
      assertEquals(origins(app.id, { debuginfodCache: client }).symbols, "debuginfod cache");
    }),
});

Deno.test({
  name: "OpenedFiles.search: without build ids, the debug link's checksum is compared",
  ...ignored(notInstalled("gcc", "objcopy", "strip")),
  fn: () =>
    inFolder((folder) => {
      Deno.writeTextFileSync(`${folder}/a.c`, "int main(void){return 0;}");
      run("gcc", "-g", "-Wl,--build-id=none", "-o", `${folder}/a`, `${folder}/a.c`);
      run("objcopy", "--only-keep-debug", `${folder}/a`, `${folder}/a.debug`);
      run("strip", `${folder}/a`);
      run("objcopy", `--add-gnu-debuglink=${folder}/a.debug`, `${folder}/a`);
      {
        const found = search({ path: `${folder}/a` }, {});
        assertEquals(found.symbols?.origin, "debuglink");
      }
      const changed = Deno.readFileSync(`${folder}/a.debug`);
      changed[changed.length - 1] = (changed.at(-1) ?? 0) ^ 1;
      Deno.writeFileSync(`${folder}/a.debug`, changed);
      const found = search({ path: `${folder}/a` }, {});
      assertEquals(found.symbols, undefined);
      assertEquals(found.refused.map((r) => r.reason), ["debug link checksum differs"]);
    }),
});

Deno.test("searchSymbolFiles: an opened file without build id is refused if one is required", () => {
  const elf = ElfFile.open(bytesSource(Deno.readFileSync(Deno.execPath())));
  const wanted = searchSymbolFiles({ path: "/x", buildId: ID });
  wanted.next();
  let step = wanted.next({ source: elf.source, elf });
  while (!step.done) step = wanted.next(undefined);
  assertEquals(step.value.refused.length, 1);
  assertEquals(step.value.runtime, undefined);
});
