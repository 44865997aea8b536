import { assert, assertEquals } from "@std/assert";
import { EM } from "../elf/elf_constants.ts";
import { readPerfMap } from "../jit/perf_map.ts";
import { cfiMachine } from "./cfi_machine.ts";
import { PythonTrampolines } from "./python_trampoline.ts";
import { NO_FDE, RowTable } from "./row_table.ts";

function open(machine: number, text: string) {
  const known = cfiMachine(machine);
  assert(known !== undefined);
  const rows = new RowTable(known);
  const { table } = readPerfMap(new TextEncoder().encode(text));
  const trampolines = PythonTrampolines.open(table, rows);
  const row = (address: number): number[] => {
    const row = trampolines?.find(address) ?? NO_FDE;
    return row < 0 ? [row] : [rows.cfa[row] ?? NaN, rows.ra[row] ?? NaN];
  };
  return { trampolines, row };
}

Deno.test("PythonTrampolines on x86-64: the CFA grows by a word between sub and add", () => {
  const { row } = open(EM.X86_64, "1000 b py::f:x.py\n100b b py::g:x.py\n2000 40 ffi_call\n");
  // Offset of the CFA from the stack pointer, and of the return address from the CFA.
  assertEquals(row(0x1000), [8, -8]);
  assertEquals(row(0x1005), [16, -8]);
  assertEquals(row(0x100a), [8, -8]);
  assertEquals(row(0x1010), [16, -8]);
  assertEquals([row(0x2005), row(0x3000)], [[NO_FDE], [NO_FDE]]);
});

Deno.test("PythonTrampolines on AArch64: frame pointer and return address are saved after stp", () => {
  const { row } = open(EM.AARCH64, "1000 14 py::f:x.py\n");
  assertEquals(row(0x1008), [16, -8]);
});

Deno.test("PythonTrampolines: a perf map of another compiler has no trampolines", () => {
  assertEquals(open(EM.X86_64, "1000 b JS:*f x.js\n").trampolines, undefined);
});
