import { assert, assertEquals } from "@std/assert";
import { bytesSource } from "../files/binary_source.ts";
import { cfiMachine } from "../cfi/cfi_machine.ts";
import { NO_OBJECT } from "../cfi/frame_walker.ts";
import { ROW, RowTable } from "../cfi/row_table.ts";
import { JitFiles } from "../jit/jit_files.ts";
import { EM } from "../elf/elf_constants.ts";
import "../elf/plain_decompressors.ts";
import { type CodeSearch, miniDebugInfos, openObjectCode } from "./object_code.ts";
import { inFolder, readElf, run } from "../testing/toolchain.ts";
import { ignored, notInstalled } from "../../../tests/support/ignored.ts";

/** The files of a folder, found by their base names. */
function searchIn(folder: string): CodeSearch {
  const files: CodeSearch["files"] = {
    open(path) {
      try {
        return bytesSource(
          Deno.readFileSync(`${folder}/${path.slice(path.lastIndexOf("/") + 1)}`),
        );
      } catch {
        return undefined;
      }
    },
    read: () => undefined,
  };
  return {
    files,
    jit: new JitFiles(files),
    places: { debugRoot: "/debug" },
  };
}

const SOURCE = `
extern void hook(int);
int first(int a) { volatile char b[100]; b[a] = 1; hook(a); return b[a]; }
int second(int a) { hook(a); return first(a) + 1; }
`;

Deno.test({
  name: "openObjectCode: .debug_frame in .gnu_debugdata is used if the program has no tables",
  ...ignored(notInstalled("gcc", "objcopy", "xz")),
  fn: () =>
    inFolder(async (folder) => {
      Deno.writeTextFileSync(`${folder}/a.c`, SOURCE);
      const flags = ["-O2", "-g", "-fno-asynchronous-unwind-tables", "-nostdlib", "-fPIC"];
      run("gcc", ...flags, "-shared", "-Wl,--build-id", "-o", `${folder}/full`, `${folder}/a.c`);
      const full = readElf(`${folder}/full`);
      const code = full.section(".text");
      assert(code !== undefined && full.section(".debug_frame") !== undefined);
      const only = ["--only-section=.debug_frame", "--only-section=.symtab"];
      run("objcopy", ...only, `${folder}/full`, `${folder}/mini`);
      run("xz", "-k", `${folder}/mini`);
      run("objcopy", "--strip-all", `${folder}/full`, `${folder}/bare`);
      const add = ["--add-section", `.gnu_debugdata=${folder}/mini.xz`];
      const bare = ["--remove-section=.eh_frame", "--remove-section=.eh_frame_hdr"];
      run("objcopy", ...add, ...bare, `${folder}/bare`, `${folder}/a.so`);
      const machine = cfiMachine(EM.X86_64);
      assert(machine !== undefined);
      const search = searchIn(folder);
      const object = { path: "/lib/a.so", kind: "elf" as const };
      const count = (search: CodeSearch): number => {
        const rows = new RowTable(machine);
        const opened = openObjectCode(object, rows, search);
        let found = 0;
        for (let at = code.offset; at < code.offset + code.size; at++) {
          const row = opened.row(at);
          if (row >= 0 && ((rows.kind[row] ?? 0) & ROW.RA_SAVED) !== 0) found++;
        }
        return found;
      };
      assertEquals(count(search), 0);
      const miniDebugInfo = await miniDebugInfos([object], search);
      assertEquals([...miniDebugInfo.keys()], [object.path]);
      assert(count({ ...search, miniDebugInfo }) > code.size * 0.8);
    }),
});

Deno.test("openObjectCode: a missing file, or one of another build, has no rows", () => {
  const machine = cfiMachine(EM.X86_64);
  assert(machine !== undefined);
  const object = { path: "/no/such", kind: "elf" as const, buildId: "00" };
  const code = openObjectCode(object, new RowTable(machine), searchIn("/nowhere"));
  assertEquals([code.row(0x1000), code.origin], [NO_OBJECT, undefined]);
});
