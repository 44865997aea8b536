import { assertEquals } from "@std/assert";
import { EM } from "../elf/elf_constants.ts";
import { RULE } from "./cfi_constants.ts";
import { BareCode } from "./bare_code.ts";
import { cfiMachine } from "./cfi_machine.ts";
import { RowTable } from "./row_table.ts";

/** CFA as an offset from the stack pointer, at each instruction of a PLT, and where pc is saved. */
function rulesAt(machine: number, code: Uint8Array, addresses: readonly number[]): unknown[] {
  const found = cfiMachine(machine);
  if (found === undefined) throw new Error(`machine ${machine}`);
  const section = { name: ".plt", low: 0x1000, high: 0x1000 + code.length, code: () => code };
  const bare = new BareCode([section], 0, new RowTable(found));
  return addresses.map((address) => {
    const rules = bare.rules(address);
    const isSaved = rules?.rule[found.returnAddress] === RULE.OFFSET;
    return rules && [rules.cfaOffset, isSaved ? rules.value[found.returnAddress] : "register"];
  });
}

Deno.test("BareCode, AArch64: the first stub and the resolver of TLS descriptors have two registers on the stack after their stp", () => {
  const [btiC, nop, br16, br2] = [0xd503245f, 0xd503201f, 0xd61f0220, 0xd61f0040];
  const [adrp, load, add] = [0xd0000010, 0xf9400a11, 0x91004210];
  const code = new Uint8Array(
    Uint32Array.of(
      // bti c; stp x16, x30, [sp, #-16]!; adrp; ldr; add; br x17; nop; nop
      ...[btiC, 0xa9bf7bf0, adrp, load, add, br16, nop, nop],
      // A stub of 24 bytes: adrp; ldr; add; autia1716; br x17; nop
      ...[adrp, load, add, 0xd503219f, br16, nop],
      // stp x2, x3, [sp, #-16]!; adrp x2; adrp x3; ldr x2; add x3; br x2
      ...[0xa9bf0fe2, 0xb0000002, 0xd0000003, 0xf947fc42, 0x91000063, br2],
    ).buffer,
  );
  const none = [0, "register"];
  const pushed = [16, "register"];
  assertEquals(
    rulesAt(EM.AARCH64, code, Array.from({ length: code.length / 4 }, (_, i) => 0x1000 + 4 * i)),
    [
      ...[none, none, pushed, pushed, pushed, pushed, none, none],
      ...[none, none, none, none, none, none],
      ...[none, pushed, pushed, pushed, pushed, pushed],
    ],
  );
  assertEquals(rulesAt(EM.AARCH64, code, [0xffc, 0x1000 + code.length]), [undefined, undefined]);
});

Deno.test("BareCode, x86-64: the first stub and the ends of lazy stubs have pushed words on the stack", () => {
  // push; jmp in the first stub: after the push of 6 bytes; jmp; push; jmp: after 11 bytes.
  const addresses = [0x1000, 0x1006, 0x1010, 0x1016, 0x101b];
  assertEquals(rulesAt(EM.X86_64, new Uint8Array(32), addresses), [
    ...[[16, -8], [24, -8], [8, -8], [8, -8], [16, -8]],
  ]);
});
