/** A file of symbols that is too large says so, by its name, in each command that looks at what it lacks. */
import { assert, assertEquals } from "@std/assert";
import { emptyAttr } from "@perfdata/format";
import { asFile, type Item } from "../fixtures/synthesize/recording.ts";
import { symbolTable, writeElf } from "../packages/symbols/testing/elf_writer.ts";
import { inFolder, tool } from "./tool.ts";

/** A program of one function, whose debug information is 100,000 units without content. */
function program(): Uint8Array {
  const file = { is64: true, littleEndian: true };
  const { symtab, strtab } = symbolTable(file, [
    { name: "work", value: 0x1000n, size: 0x100n, info: 0x12, shndx: 1 },
  ]);
  const unit = Uint8Array.of(7, 0, 0, 0, 4, 0, 0, 0, 0, 0, 8);
  const info = new Uint8Array(unit.length * 100_000);
  for (let at = 0; at < info.length; at += unit.length) info.set(unit, at);
  return writeElf({
    ...file,
    type: 3,
    machine: 62,
    sections: [
      { name: ".text", type: 1, flags: 6, addr: 0x1000n, bytes: new Uint8Array(0x100) },
      { name: ".symtab", type: 2, bytes: symtab, link: 3, info: 1, entsize: 24 },
      { name: ".strtab", type: 3, bytes: strtab },
      { name: ".debug_info", type: 1, bytes: info },
      { name: ".debug_abbrev", type: 1, bytes: Uint8Array.of(0) },
    ],
    segments: [{ type: 1, flags: 5, offset: 0n, vaddr: 0xf80n, filesz: 0x400n, memsz: 0x400n }],
  });
}

async function recording(path: string): Promise<Uint8Array> {
  const flags = { ...emptyAttr().flags, sample_id_all: true, mmap2: true };
  // IP, TID, TIME
  const attr = { ...emptyAttr(), size: 120, sample_type: 7n, sample_period: 3n, flags };
  const map = {
    record: {
      type: 10,
      name: "MMAP2",
      misc: 2,
      body: {
        ...{ pid: 7, tid: 7, addr: 0x40_0000n, len: 0x1000n, pgoff: 0n },
        ...{ maj: 8, min: 1, ino: 99n, ino_generation: 0n, prot: 5, flags: 2, filename: path },
      },
    },
  } as Item;
  const samples = Array.from({ length: 20 }, (_, i) => ({
    record: {
      type: 9,
      name: "SAMPLE",
      misc: 2,
      body: { ip: 0x40_0090n, pid: 7, tid: 7, time: BigInt(1000 * (i + 1)) },
    },
  } as Item));
  return await asFile(
    { events: [{ attr, ids: [1n] }], items: [map, ...samples], features: [] },
    true,
  );
}

Deno.test("what of debug information is too large is said once by each command, without --verbose", async () => {
  const commands = [
    ["funcs", "--sort", "sym,srcline"],
    ["readperf", "-f", "-o", "."],
    ["script", "-F", "+srcline"],
    ["tree", "--srcline"],
    ["flame", "-f", "-o", "flame.html"],
    ["export", "pprof", "-f", "-o", "profile.pb.gz"],
    ["records", "--type", "SAMPLE", "--srcline"],
  ];
  let compared = 0;
  await inFolder(async (cwd) => {
    const path = `${cwd}/program`;
    Deno.writeFileSync(path, program());
    Deno.writeFileSync(`${cwd}/perf.data`, await recording(path));
    for (const [command = "", ...args] of commands) {
      const { code, err } = await tool(command, [...args, "perf.data"], { cwd });
      assertEquals(code, 0, `${command}: ${err}`);
      const lines = err.split("\n").filter((line) => line.includes("too large"));
      assertEquals(lines.length, 1, `${command}: ${err}`);
      assert(lines[0]?.startsWith(`${command}: ${path}: `), err);
      compared++;
    }
  });
  console.log(`too large: ${compared} commands`);
  assertEquals(compared, commands.length);
});
