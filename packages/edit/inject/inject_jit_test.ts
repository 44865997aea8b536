import { assertEquals, assertRejects } from "@std/assert";
import { bytesSource } from "@perfdata/symbols/resolver";
import { JitdumpError } from "@perfdata/symbols";
import { jittedFiles } from "./inject_jit.ts";

// A jitdump file by tools/perf/Documentation/jitdump-specification.txt.
function jitdump(machine: number, indices: readonly bigint[], moved: readonly bigint[] = []) {
  const words: [4 | 8, number | bigint][] = [
    [4, 0x4a695444],
    [4, 1],
    [4, 40],
    [4, machine],
    [4, 0],
    [4, 42],
    [8, 1],
    [8, 0],
  ];
  indices.forEach((index, i) => {
    const at = 0x1000 * (i + 1);
    words.push([4, 0], [4, 16 + 40 + 8 + 8], [8, i + 1]);
    words.push([4, 42], [4, 42], [8, at], [8, at], [8, 8], [8, index]);
    // The name, seven letters and a zero, and eight bytes of code.
    words.push([8, 0x0061616161616161n], [8, 0x90909090909090n + BigInt(i)]);
  });
  moved.forEach((index, i) => {
    const to = 0x9000 + 0x1000 * i;
    words.push([4, 1], [4, 64], [8, 100 + i]);
    words.push([4, 42], [4, 42], [8, to], [8, 0x1000], [8, to], [8, 8], [8, index]);
  });
  const bytes = new Uint8Array(words.reduce((sum, [size]) => sum + size, 0));
  const view = new DataView(bytes.buffer);
  let at = 0;
  for (const [size, value] of words) {
    if (size === 4) view.setUint32(at, Number(value), true);
    else view.setBigUint64(at, BigInt(value), true);
    at += size;
  }
  return bytesSource(bytes);
}

const DUMP = { pid: 42, path: "/run/jit-42.dump" };
const files = (source: ReturnType<typeof bytesSource>, arch: string | undefined) =>
  Array.fromAsync(jittedFiles(source, DUMP, { timeConv: undefined, arch }));

Deno.test("jittedFiles: file names have all 64 bits of the code's number", async () => {
  const indices = [0n, 2n ** 53n, 2n ** 53n + 1n, 2n ** 63n + 1n, 2n ** 64n - 1n];
  const made = await files(jitdump(62, indices, [2n ** 53n + 1n, 2n ** 53n]), "x86_64");
  assertEquals(
    made.map(({ path }) => path),
    [...indices, 2n ** 53n + 1n, 2n ** 53n].map((index) => `/run/jitted-42-${index}.so`),
  );
  // Moved code is the code with its own number.
  const ids = made.map(({ buildId }) => buildId);
  assertEquals(new Set(ids).size, indices.length);
  assertEquals([ids[5], ids[6]], [ids[2], ids[1]]);
});

Deno.test("jittedFiles: a jitdump file without a machine has the recording's", async () => {
  // e_machine is the half-word at 18 of an ELF file; EM_X86_64 is 62, EM_AARCH64 183.
  const machine = async (written: number, arch: string | undefined) => {
    const [made] = await files(jitdump(written, [1n]), arch);
    return new DataView(made?.bytes?.buffer as ArrayBuffer).getUint16(18, true);
  };
  assertEquals(await machine(0, "x86_64"), 62);
  assertEquals(await machine(0, "aarch64"), 183);
  assertEquals(await machine(62, undefined), 62);
  assertEquals(await machine(62, "x86_64"), 62);
  // Files that are rejected on opening are not written.
  await assertRejects(() => machine(0, undefined), JitdumpError, "elf_mach is 0");
  await assertRejects(() => machine(183, "x86_64"), JitdumpError, "elf_mach is 183");
});
