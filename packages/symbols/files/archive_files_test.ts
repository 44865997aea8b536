import { assert, assertEquals, assertRejects } from "@std/assert";
import { gzipSync } from "node:zlib";
import { archiveFiles } from "./archive_files.ts";
import { bytesSource } from "./binary_source.ts";
import { SymbolsError } from "../errors.ts";
import type { SymbolFiles } from "./symbol_files.ts";

/**
 * A member in POSIX format: name, size and checksum in octal digits, "ustar", contents in blocks of
 * 512.
 */
function member(name: string, contents: string, type = "0", size = contents.length): Uint8Array {
  const bytes = new Uint8Array(512 + Math.ceil(contents.length / 512) * 512);
  const put = (text: string, at: number) => bytes.set(new TextEncoder().encode(text), at);
  put(name, 0);
  put(size.toString(8).padStart(11, "0"), 124);
  put("        ", 148);
  put(type, 156);
  put("ustar\u000000", 257);
  put(contents, 512);
  const sum = bytes.subarray(0, 512).reduce((sum, byte) => sum + byte, 0);
  put(sum.toString(8).padStart(6, "0"), 148);
  return bytes;
}

const ELF = "\x7fELF, and more";
const archive = (...members: Uint8Array[]): Uint8Array<ArrayBuffer> =>
  new Uint8Array([...members.flatMap((bytes) => [...bytes]), ...new Uint8Array(1024)]);

function holding(bytes: Uint8Array): SymbolFiles {
  return {
    open: (path) => path === "a.tar" ? bytesSource(bytes) : undefined,
    read: (path) => new TextEncoder().encode(`${path} elsewhere`),
    list: () => [{ name: "elsewhere", isFolder: false }],
    isForeign: () => true,
  };
}

const MEMBERS = archive(
  member("./usr/", "", "5"),
  member("./usr/bin/a", ELF),
  member("/lib/b.so", ELF),
  member("../../escaped", ELF),
  member("usr/../../escaped", ELF),
  member("linked", "", "2"),
  member("[kernel.kallsyms]/ab/kallsyms", "0000 T f\n"),
);

Deno.test("archiveFiles: members are found by name, names that lead out of the archive are not", async () => {
  let compared = 0;
  for (const bytes of [MEMBERS, new Uint8Array(gzipSync(MEMBERS))]) {
    const files = await archiveFiles("a.tar", holding(bytes));
    assert(files !== undefined);
    const text = (path: string) => {
      const source = files.open(path);
      return source && new TextDecoder().decode(source.read(0, source.size));
    };
    assertEquals(text("a.tar/usr/bin/a"), ELF);
    assertEquals(text("a.tar/lib/b.so"), ELF);
    assertEquals(
      new TextDecoder().decode(files.read("a.tar/[kernel.kallsyms]/ab/kallsyms")),
      "0000 T f\n",
    );
    for (const path of ["escaped", "../escaped", "linked", "usr", "usr/bin/none", ""]) {
      assertEquals(files.open(`a.tar/${path}`), undefined, path);
    }
    assertEquals(files.list?.("a.tar"), [
      { name: "usr", isFolder: true },
      { name: "lib", isFolder: true },
      { name: "[kernel.kallsyms]", isFolder: true },
    ]);
    assertEquals(files.list?.("a.tar/usr/bin"), [{ name: "a", isFolder: false }]);
    assertEquals(files.list?.("/usr"), [{ name: "elsewhere", isFolder: false }]);
    assertEquals(new TextDecoder().decode(files.read("/x")), "/x elsewhere");
    assertEquals([files.isForeign?.("a.tar/lib/b.so"), files.isForeign?.("/x")], [false, true]);
    compared++;
  }
  assertEquals(compared, 2);
});

Deno.test("archiveFiles: a member that exceeds the archive or the limit is refused", async () => {
  const claims = archive(member("a", ELF, "0", 2 ** 32));
  for (const bytes of [claims, new Uint8Array(gzipSync(claims))]) {
    await assertRejects(() => archiveFiles("a.tar", holding(bytes)), SymbolsError, "a.tar: ");
  }
  const packed = new Uint8Array(gzipSync(MEMBERS));
  const limited = archiveFiles("a.tar", holding(packed), { mostBytes: 20 });
  await assertRejects(() => limited, SymbolsError, "a.tar: its files have more than 20 bytes");
  assertEquals(await archiveFiles("none", holding(packed)), undefined);
  const other = new Uint8Array(gzipSync("text"));
  assertEquals(await archiveFiles("a.tar", holding(other)), undefined);
});
