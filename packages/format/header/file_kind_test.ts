import { assertEquals } from "@std/assert";
import { type FileKind, fileKind } from "./file_kind.ts";

const latin1 = (text: string): Uint8Array =>
  Uint8Array.from(text, (letter) => letter.charCodeAt(0));

/** Kinds of files, and the first bytes of such files by their formats. */
const KINDS: readonly (readonly [start: string, kind: FileKind | undefined])[] = [
  ["PERFILE2", "recording"],
  ["2ELIFREP", "recording"],
  ["PERFFILE", "recording"],
  ["PERFSYMS", "symbol bundle"],
  ["\x1f\x8b\x08", "gzip"],
  ["\xfd7zXZ\0", "xz"],
  ["BZh9", "bzip2"],
  ["BZh is text", undefined],
  ["\x28\xb5\x2f\xfd", "zstd"],
  ["\x7fELF", "elf"],
  ["PK\x03\x04", "zip"],
  ["7f0010 2f Foo.bar\n7f0040 10 a b c\n7f00", "perf map"],
  ["0x7f0010 0x2f Foo.bar", "perf map"],
  ["7f0010 2f\n", undefined],
  ["main;work;a b 12\nmain 3\nmai", "folded"],
  ["main 12\nother 3\n", undefined],
  ["", undefined],
  ["\n", undefined],
];

Deno.test("fileKind: the first bytes of each format give its kind", () => {
  for (const [start, kind] of KINDS) assertEquals(fileKind(latin1(start)), kind, start);
});

Deno.test("fileKind: a tar header with a valid checksum is tar for any member name, without one it is not", () => {
  const header = new Uint8Array(512);
  header.set(latin1("PERFILE2"), 0);
  header.set(latin1("ustar"), 257);
  assertEquals(fileKind(header), "recording");
  const sum = header.reduce((all, byte) => all + byte, 8 * 32);
  header.set(latin1(`${sum.toString(8).padStart(6, "0")}\0 `), 148);
  assertEquals(fileKind(header), "tar");
});
