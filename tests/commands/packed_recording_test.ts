/**
 * Recordings that are compressed (`perf.data.gz`) or in a tar archive give the output of the
 * unpacked ones.
 */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { gzipSync, zstdCompressSync } from "node:zlib";
import { ignored, notInstalled } from "../support/ignored.ts";
import { inFolder, tool } from "../support/tool.ts";

const RECORDED = ["callchain", "tracepoint", "zstd", "pipe", "dwarf", "read"];
/** Commands that read a whole recording and print neither its name nor its size. */
const COMMANDS = [
  ["hex", "--json"],
  ["funcs", "--csv"],
  ["rate"],
  ["dump"],
];

const by = (program: string) => async (bytes: Uint8Array<ArrayBuffer>): Promise<Uint8Array> => {
  const child = new Deno.Command(program, { args: ["-c"], stdin: "piped", stdout: "piped" })
    .spawn();
  const written = new Blob([bytes]).stream().pipeTo(child.stdin);
  const { stdout } = await child.output();
  await written;
  return stdout;
};

type Pack = (bytes: Uint8Array<ArrayBuffer>) => Uint8Array | Promise<Uint8Array>;
/** Extension, compressor, and reason if it is missing. */
const PACKS: readonly (readonly [string, Pack, string?])[] = [
  ["gz", gzipSync],
  ["zst", zstdCompressSync],
  ["xz", by("xz"), notInstalled("xz")],
  ["bz2", by("bzip2"), notInstalled("bzip2")],
];

for (const [number, [ending, pack, reason]] of PACKS.entries()) {
  Deno.test({
    name: `perf.data.${ending} is read as perf.data`,
    ...ignored(reason),
    async fn() {
      let compared = 0;
      await inFolder(async (cwd) => {
        // Half of the commands; the next extension has the others.
        for (const name of RECORDED.filter((_, i) => i % 2 === number % 2)) {
          const bytes = Deno.readFileSync(
            new URL(`../../fixtures/recorded/${name}.perf.data`, import.meta.url),
          );
          Deno.mkdirSync(`${cwd}/plain`, { recursive: true });
          Deno.mkdirSync(`${cwd}/packed`, { recursive: true });
          Deno.writeFileSync(`${cwd}/plain/a`, bytes);
          Deno.writeFileSync(`${cwd}/packed/a`, await pack(bytes));
          for (const [command = "", ...flags] of COMMANDS) {
            const plain = await tool(command, [...flags, "a"], { cwd: `${cwd}/plain` });
            const packed = await tool(command, [...flags, "a"], { cwd: `${cwd}/packed` });
            assert(plain.code === 0 && plain.out.length > 50, `${command} ${name}: ${plain.err}`);
            assertEquals(packed, plain, `${command} ${name}`);
            compared++;
          }
          // A stream's lines are written before the names at its end are read.
          const packed = await tool("records", ["a"], { cwd: `${cwd}/packed` });
          const { code, out } = await tool("records", ["-"], { input: bytes });
          assert(code === 0 && out.length > 50, `records ${name}`);
          assertEquals([packed.code, packed.out], [code, out], `records ${name}`);
          compared++;
        }
      });
      console.log(`${compared} outputs compared`);
      assert(compared >= 15, `${compared}`);
    },
  });

  Deno.test({
    name: `perf.data.${ending}: a truncated file is reported`,
    ...ignored(reason),
    async fn() {
      await inFolder(async (cwd) => {
        const bytes = Deno.readFileSync(
          new URL("../../fixtures/recorded/callchain.perf.data", import.meta.url),
        );
        const whole = await pack(bytes);
        Deno.writeFileSync(`${cwd}/a`, whole.subarray(0, whole.length >> 1));
        const { code, err } = await tool("funcs", ["a"], { cwd });
        assertEquals(code, 1);
        assertMatch(err, /^funcs: a: (gzip|bzip2|xz|zstd) data is damaged or cut: .*\n$/);
      });
    },
  });
}

/** Archives of GNU tar and Python, in different formats. */
const FORMATS = ["gnu", "ustar", "posix", "v7"] as const;
const noTar = notInstalled("tar");

Deno.test({
  name: "tar archive: a recording within is read, compressed or not",
  ...ignored(noTar),
  async fn() {
    let compared = 0;
    await inFolder(async (cwd) => {
      const file = new URL("../../fixtures/recorded/callchain.perf.data", import.meta.url);
      Deno.mkdirSync(`${cwd}/in`);
      Deno.copyFileSync(file, `${cwd}/in/perf.data`);
      Deno.writeTextFileSync(`${cwd}/in/a-note`, "x".repeat(700));
      Deno.writeTextFileSync(`${cwd}/in/z-note`, "");
      const long = "n".repeat(120);
      Deno.writeTextFileSync(`${cwd}/in/${long}`, "PERF");
      const expected = await tool("funcs", ["--csv", "in/perf.data"], { cwd });
      assert(expected.code === 0 && expected.out.length > 50, expected.err);
      const archive = (name: string, format: string, files: readonly string[]) => {
        const args = ["-cf", name, `--format=${format}`, "-C", "in", ...files];
        assert(new Deno.Command("tar", { args, cwd, stderr: "null" }).outputSync().success, name);
        return Deno.readFileSync(`${cwd}/${name}`);
      };
      for (const format of FORMATS) {
        const names = format === "v7" || format === "ustar" ? [] : [long];
        const bytes = archive("a.tar", format, ["a-note", ...names, "perf.data", "z-note"]);
        // The oldest format has no magic.
        if (format === "v7") {
          assertEquals((await tool("funcs", ["a.tar"], { cwd })).code, 1);
          continue;
        }
        Deno.writeFileSync(`${cwd}/a.tar.gz`, gzipSync(bytes));
        Deno.writeFileSync(`${cwd}/a.tar.zst`, zstdCompressSync(bytes));
        for (const name of ["a.tar", "a.tar.gz", "a.tar.zst"]) {
          const found = await tool("funcs", ["--csv", name], { cwd });
          assertEquals(
            [found.code, found.out],
            [0, expected.out],
            `${format} ${name}: ${found.err}`,
          );
          compared++;
        }
        Deno.writeFileSync(
          `${cwd}/cut.tar`,
          bytes.subarray(0, bytes.indexOf(0x50, 512 * 3) + 4000),
        );
        const cut = await tool("info", ["cut.tar"], { cwd });
        assertEquals(cut.code, 1);
        assertMatch(cut.err, /tar archive: perf\.data is cut/);
      }
      archive("none.tar", "gnu", ["a-note", "z-note"]);
      const none = await tool("funcs", ["none.tar"], { cwd });
      assertEquals([none.code, none.out], [1, ""]);
      assertMatch(
        none.err,
        /^funcs: none.tar: tar archive: none of a-note, z-note is a recording\n$/,
      );
      Deno.copyFileSync(file, `${cwd}/in/second.data`);
      archive("two.tar", "gnu", ["perf.data", "second.data"]);
      const two = await tool("funcs", ["two.tar"], { cwd });
      assertEquals(two.code, 1);
      assertMatch(two.err, /tar archive: it has second.data as well as perf.data/);
    });
    assertEquals(compared, 9);
  },
});
