/** Trust in names of functions: known to be of the recording, unknown, and known not to be. */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { copyRecording, FileOutput, PipeOutput } from "@perfdata/edit";
import { bytesSource, memorySink } from "@perfdata/format/bytes";
import { PerfDataReader } from "@perfdata/format/records";
import { HEADER_BUILD_ID } from "@perfdata/format/constants";
import { symbolTable, writeElf } from "../../packages/symbols/testing/elf_writer.ts";
import { inFolder, tool } from "../support/tool.ts";

const FILE = new URL("../../fixtures/recorded/callchain.perf.data", import.meta.url).pathname;
const X86_64 = 62;
const PPC64 = 21;

/** A program at the recorded path, with the single function `work`. */
function program(machine: number): Uint8Array {
  const file = { is64: true, littleEndian: true };
  const { symtab, strtab } = symbolTable(file, [
    { name: "work", value: 0x401000n, size: 0x1000n, info: 0x12, shndx: 1 },
  ]);
  return writeElf({
    ...file,
    type: 2,
    machine,
    sections: [
      { name: ".text", type: 1, flags: 6, addr: 0x401000n, bytes: new Uint8Array(0x1000) },
      { name: ".symtab", type: 2, bytes: symtab, link: 3, info: 1, entsize: 24 },
      { name: ".strtab", type: 3, bytes: strtab },
    ],
    segments: [
      { type: 1, flags: 5, offset: 0x1000n, vaddr: 0x401000n, filesz: 0x1000n, memsz: 0x1000n },
    ],
  });
}

/** The recording without build ids. */
async function withoutBuildIds(form: "file" | "pipe" = "file"): Promise<Uint8Array> {
  const reader = await PerfDataReader.open(bytesSource(await Deno.readFile(FILE)));
  const sink = memorySink();
  await copyRecording(reader, form === "file" ? new FileOutput(sink) : new PipeOutput(sink), {
    edit: { feature: (id, bytes) => id === HEADER_BUILD_ID ? undefined : bytes },
  });
  return sink.bytes();
}

interface Row {
  readonly sym: string;
  readonly dso: string;
  readonly verified?: boolean;
}

async function rows(file: string, folder: string): Promise<[Row[], string]> {
  const { code, out, err } = await tool("funcs", ["--json", "--verbose", "--symfs", folder, file]);
  assertEquals(code, 0, err);
  return [out.trimEnd().split("\n").map((line): Row => JSON.parse(line)), err];
}

Deno.test("unverified files: their functions are marked and counted; files with another build id are not used", async () => {
  await inFolder(async (folder) => {
    await Deno.mkdir(`${folder}/tmp/demo`, { recursive: true });
    const plain = `${folder}/perf.data`;
    await Deno.writeFile(plain, await withoutBuildIds());

    await Deno.writeFile(`${folder}/tmp/demo/demo`, program(X86_64));
    const [unverified, err] = await rows(plain, folder);
    const named = unverified.filter(({ sym }) => sym === "work");
    assertEquals(named.length, 1);
    assertEquals(named[0]?.verified, false);
    assert(unverified.every(({ sym, verified }) => sym === "work" || verified === undefined));
    assertMatch(
      err,
      /addresses \(\d+\.\d\d% of samples\) are not verified .* \/tmp\/demo\/demo\n/,
    );

    // The recording has a build id, the file has none.
    const [differs, why] = await rows(FILE, folder);
    assert(differs.every(({ sym, verified }) => sym !== "work" && verified === undefined));
    assertMatch(why, /demo: not used: /);

    await Deno.writeFile(`${folder}/tmp/demo/demo`, program(PPC64));
    const [foreign, reason] = await rows(plain, folder);
    assert(foreign.every(({ sym, verified }) => sym !== "work" && verified === undefined));
    assertMatch(reason, /demo: not used: .*(?:machine|architecture|ppc)/i);

    // A pipe tells its machine after the first stacks have to be unwound.
    const input = await withoutBuildIds("pipe");
    for (const [name, ...flags] of [["tree"], ["script"], ["funcs", "--children"]] as const) {
      const args = [...flags, "--verbose", "--symfs", folder, "-"];
      const { code, out, err } = await tool(name, args, { input });
      assertEquals(code, 0, err);
      assert(!out.includes("work"), `${name}: ${out}`);
      assertMatch(err, /demo: not used: .*another architecture/, name);
    }
  });
});
