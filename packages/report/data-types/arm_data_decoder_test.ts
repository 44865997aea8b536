/** The use of memory and registers by AArch64 instructions, for types of data. */
import { assertEquals } from "@std/assert";
import { armDataDecoder } from "./arm_data_decoder.ts";

/** Memory operand, effect, written registers and flow of each instruction at 0x12340. */
function described(...words: readonly number[]): string[] {
  const bytes = new Uint8Array(Uint32Array.from(words).buffer);
  return armDataDecoder().insns(bytes, 0x12340n).map((insn) => {
    const { memory, effect, written, flow, target, isStackOperation } = insn;
    const of = effect !== undefined && "of" in effect ? `${effect.of} ` : "";
    const value = effect === undefined
      ? ""
      : "value" in effect
      ? effect.value
      : "from" in effect
      ? effect.from
      : "";
    return [
      memory &&
      `${memory.isAccessed ? "" : "&"}[${memory.isAddress ? "" : memory.base}+${memory.offset}${
        memory.isIndexed ? "+i" : ""
      }]`,
      effect && `${effect.to}=${effect.kind} ${of}${value}`.trim(),
      written.length === 0 ? undefined : `w${written.join()}`,
      flow === "next" ? undefined : `${flow} ${target ?? ""}`.trim(),
      isStackOperation ? "stack" : undefined,
    ].filter((part) => part !== undefined).join("; ");
  });
}

Deno.test("armDataDecoder: instructions of each kind have their operand, effect, written registers and flow", () => {
  const cases: readonly (readonly [word: number, expected: string])[] = [
    [0xb8808569, "[11+0]; 11=add 8; w9,11"], // ldrsw x9, [x11], #8
    [0xf8410c41, "[2+16]; 1=load; w1,2"], // ldr x1, [x2, #16]!
    [0xfd000c60, "[3+24]"], // str d0, [x3, #24]
    [0xa94214c4, "[6+32]; 4=load; w4,5"], // ldp x4, x5, [x6, #32]
    [0xa8c17bfd, "[31+0]; 31=add 16; w29,30,31; stack"], // ldp x29, x30, [sp], #16
    [0xf8697907, "[8+0+i]; 7=load; w7"], // ldr x7, [x8, x9, lsl #3]
    [0xc85ffc41, "[2+0]; 1=load; w1"], // ldaxr x1, [x2]
    [0xc803fc41, "[2+0]; w1,3"], // stlxr w3, x1, [x2]
    [0xc8e4fcc5, "[6+0]; w5,4"], // casal x4, x5, [x6]
    [0xb8e70128, "[9+0]; w8"], // ldaddal w7, w8, [x9]
    [0x4cdf7940, "[10+0]; w10"], // ld1 { v0.4s }, [x10], #16
    [0xaa0c03eb, "11=move 12; w11"], // mov x11, x12
    [0x910015cd, "13=add 14 5; w13"], // add x13, x14, #5
    [0x910083ef, "&[31+32]; 15=address; w15"], // add x15, sp, #32
    [0xcb120230, "w16"], // sub x16, x17, x18
    [0x8b150a93, "19=sum 20 21; w19"], // add x19, x20, x21, lsl #2
    [0x9a9802f6, "22=choose 23 24; w22"], // csel x22, x23, x24, eq
    [0xeb02003f, ""], // cmp x1, x2
    [0xd53bd059, "w25"], // mrs x25, tpidr_el0
    [0xf9800000, ""], // prfm pldl1keep, [x0]
    [0xd61f0220, "end"], // br x17
    [0xd65f03c0, "end; stack"], // ret
    [0x00000000, "end"], // udf #0
    [0x94000002, "call 8; stack"], // bl .+8
    [0x54ffffc1, "branch -8"], // b.ne .-8
    [0xb6400080, "branch 16"], // tbz x0, #40, .+16
    [0x14000003, "jump 12"], // b .+12
    [0x10000041, "&[+74568]; 1=address; w1"], // adr x1, .+8
    [0x58000042, "[+74568]; 2=load; w2"], // ldr x2, .+8
  ];
  for (const [word, expected] of cases) {
    assertEquals(described(word), [expected], word.toString(16));
  }
});

Deno.test("armDataDecoder: a page of ADRP and an offset are an address, past a jump only if the register has no other value", () => {
  const [adrp, load, add, loop] = [0xb0000008, 0xf9400d09, 0x9100410a, 0x54ffffc1];
  // adrp x8, 0x13000; ldr x9, [x8, #24]; add x10, x8, #16; b.ne to the load
  assertEquals(described(adrp, load, add, loop), [
    ...["w8", "[+77848]; 9=load; w9", "&[+77840]; 10=address; w10", "branch 4"],
  ]);
  // mov x8, x12 at the end: the load may have either.
  assertEquals(described(adrp, load, 0xaa0c03e8, loop).slice(0, 2), ["w8", "[8+24]; 9=load; w9"]);
});
