/** `tools/addr2line.ts`: the text of binutils for each flag, standard input, exit codes. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { addressToHex } from "@perfdata/symbols/resolver";
import { openDwarf } from "@perfdata/symbols/files";
import { runProgram, tool, toolArguments, type ToolResult } from "../support/tool.ts";
import { ignored, notInstalled } from "../support/ignored.ts";

const ROOT = new URL("../../", import.meta.url).pathname;
/** Runs a program with text on its standard input. */
const run = (program: string, args: readonly string[], input = ""): Promise<ToolResult> =>
  runProgram(program, args, { input: new TextEncoder().encode(input) });

/** Runs the command with text on its standard input. */
const addr2line = (args: readonly string[], input = ""): Promise<ToolResult> =>
  tool("addr2line", args, { input: new TextEncoder().encode(input) });

Deno.test({
  name: "addr2line: flags, addresses and sections give the text of binutils",
  ...ignored(notInstalled("g++", "addr2line", "readelf")),
  fn: async (t) => {
    const folder = await Deno.makeTempDir({ prefix: "perfdata-addr2line-" });
    try {
      const binary = `${folder}/program`;
      const sources = ["templates.cpp", "more_templates.cpp"].map((name) =>
        `${ROOT}tests/support/addr2line/${name}`
      );
      const built = await run("g++", ["-std=c++17", "-g", "-O2", ...sources, "-o", binary]);
      assertEquals(built.code, 0, built.err);

      const { out } = await run("readelf", ["-SW", binary]);
      const section = /\] \.text\s+PROGBITS\s+([0-9a-f]+) [0-9a-f]+ ([0-9a-f]+)/.exec(out);
      const start = parseInt(section?.[1] ?? "", 16), size = parseInt(section?.[2] ?? "", 16);
      using opened = await openDwarf(binary);
      // Only functions with a linkage name: otherwise binutils uses the ELF symbol's name, even for
      // an inlined function. In this program it takes stl_algo.h for the unit's own file: it prints
      // more_templates.cpp:2615, a file of 27 lines.
      const addresses = Array.from({ length: 1500 }, (_, i) => start + Math.floor(i * size / 1500))
        .filter((address) => {
          const frames = opened.dwarf.find(address);
          return frames.length > 0 && frames.every((frame) => frame.linkageName !== undefined) &&
            frames.every((frame) => frame.file?.includes("stl_algo.h") === false);
        });
      assert(addresses.length > 500);
      const words = ["0", "zz", ...addresses.map(addressToHex), "ffffffff81000000"];

      for (
        const flags of [
          [],
          ["-f"],
          ["-i"],
          ["-f", "-i"],
          ["-a"],
          ["-f", "-i", "-a"],
          ["-fip"],
          ["-pa"],
          ["-fipa"],
          ["-s", "-f"],
          ["-fC"],
          ["-fipaCs"],
          ["--functions", "--inlines", "--pretty-print", "--basenames"],
        ]
      ) {
        await t.step(`addr2line ${flags.join(" ")}`, async () => {
          const input = words.map((word) => `${word}\n`).join("");
          const theirs = await run("addr2line", [...flags, "-e", binary], input);
          const ours = await addr2line([...flags, "-e", binary], input);
          assertEquals(ours.err, "");
          assertEquals(ours.code, 0);
          assertEquals(ours.out.split("\n"), theirs.out.split("\n"));
        });
      }

      await t.step("addr2line: an address in any notation gives the same line", async () => {
        const address = addresses[0]?.toString(16) ?? "";
        const forms = [
          `0X${address.toUpperCase()}`,
          `\t 0x${address}`,
          `${address}\r`,
          `${address} main+0x4`,
          `${address}:`,
          `${address}@`,
          `${address}\u00e9`,
          address.padStart(16, "0"),
          address.padStart(40, "0"),
          "123456789abcd",
          "123456789abcde",
          "ffffffffffffffff",
          "",
          "g",
          "@1",
        ];
        const input = forms.join("\n");
        const theirs = await run("addr2line", ["-a", "-f", "-e", binary], input);
        assertEquals((await addr2line(["-a", "-f", "-e", binary], input)).out, theirs.out);
        assertEquals((await addr2line(["-a", "-f", "-e", binary, ...forms])).out, theirs.out);
      });

      await t.step(
        "addr2line: addresses are arguments, file names are relative to PERFDATA_CWD",
        async () => {
          const some = words.slice(0, 20);
          const theirs = await run("addr2line", ["-f", "-e", binary, ...some]);
          const env = { PERFDATA_CWD: folder };
          const { out } = await tool("addr2line", ["-f", "--exe=program", ...some], { env });
          assertEquals(out, theirs.out);
        },
      );

      await t.step("addr2line -j: offsets count from the section", async () => {
        const some = addresses.slice(0, 50).map((address) => addressToHex(address - start));
        const theirs = await run("addr2line", ["-a", "-j", ".text", "-e", binary, ...some]);
        const ours = await addr2line(["-a", "-j", ".text", "-e", binary, ...some]);
        assertEquals(ours.out, theirs.out);
      });

      await t.step("addr2line: each line is answered before the next is read", async () => {
        const child = new Deno.Command(Deno.execPath(), {
          args: [...toolArguments("addr2line"), "-e", binary],
          stdin: "piped",
          stdout: "piped",
        }).spawn();
        const writer = child.stdin.getWriter();
        const reader = child.stdout.getReader();
        for (const address of addresses.slice(0, 3)) {
          await writer.write(new TextEncoder().encode(`${addressToHex(address)}\n`));
          const { value } = await reader.read();
          const { out } = await run("addr2line", ["-e", binary, addressToHex(address)]);
          assertEquals(new TextDecoder().decode(value), out);
        }
        await writer.close();
        await reader.cancel();
        assertEquals((await child.status).code, 0);
      });

      await t.step("addr2line: a closed pipe ends it", async () => {
        const script = `yes ${addresses.slice(0, 1).map(addressToHex)} | head -200000 | ` +
          `{ "${Deno.execPath()}" ${
            toolArguments("addr2line").join(" ")
          } -f -e ${binary}; echo "$?" >&2; } | head -1`;
        const { out, err } = await run("sh", ["-c", script]);
        assertEquals(out.split("\n").length, 2);
        assertEquals(err, "0\n");
      });
    } finally {
      await Deno.remove(folder, { recursive: true });
    }
  },
});

Deno.test("addr2line: missing files and wrong flags give exit codes and messages", async () => {
  const none = await addr2line(["-e", "/no/such/file", "0"]);
  assertEquals([none.code, none.out], [1, ""]);
  assertStringIncludes(none.err, "addr2line: /no/such/file: ");
  assertEquals(none.err.trim().split("\n").length, 1);

  const text = await addr2line(["-e", `${ROOT}deno.json`, "0"]);
  assertEquals([text.code, text.out], [1, ""]);
  assertStringIncludes(text.err, "deno.json: ");

  const usage = await addr2line(["--no-such-flag"]);
  assertEquals([usage.code, usage.out], [2, ""]);
  assertEquals(usage.err, "addr2line: unknown flag --no-such-flag; see addr2line --help\n");

  const help = await addr2line(["--help"]);
  assertEquals([help.code, help.err], [0, ""]);
  assertStringIncludes(help.out, "usage: perfdata addr2line");
});
