import { existsSync } from "node:fs";
import { assert, assertEquals } from "@std/assert";
import { icedKind, loadIced } from "./iced_testing.ts";
import { InsnDecoder, type InsnMode } from "./insn_decoder.ts";
import { InsnKind } from "./insn_kind.ts";
import { ignored, skipped } from "../../../tests/support/ignored.ts";

const LIBRARIES = ["libc.so.6", "libcrypto.so.3", "ld-linux-x86-64.so.2", "libstdc++.so.6"]
  .map((name) => `/lib/x86_64-linux-gnu/${name}`);

const ICED = await loadIced();
type Iced = NonNullable<typeof ICED>;
const NO_ICED = ICED === undefined ? "iced-x86 cannot be loaded" : undefined;

/** Compares with iced at every offset; returns the number of compared instructions. */
function compare(iced: Iced, bytes: Uint8Array, mode: InsnMode): number {
  const base = 0x10_0000;
  const theirs = new iced.Decoder(mode, bytes, 0);
  const insn = new iced.Instruction();
  const ours = new InsnDecoder();
  let compared = 0;
  for (let at = 0; at < bytes.length; at++) {
    theirs.position = at;
    theirs.ip = BigInt(base + at);
    theirs.decodeOut(insn);
    const length = ours.decode(bytes, at, bytes.length, mode);
    if (insn.isInvalid) continue;
    compared++;
    const context = () =>
      `${mode} bit, ${
        [...bytes.subarray(at, at + 15)].map((byte) => byte.toString(16).padStart(2, "0")).join(" ")
      }: ${insn}`;
    if (length !== insn.length) assertEquals(length, insn.length, context());
    const kind = icedKind(iced, insn);
    if (ours.kind !== kind) assertEquals(ours.kind, kind, context());
    if (kind === InsnKind.JCC || kind === InsnKind.JMP || kind === InsnKind.CALL) {
      const bits = mode === 64 ? 64 : ours.operand16 ? 16 : 32;
      const target = BigInt.asUintN(bits, BigInt(base + at + length + ours.relative));
      if (target !== insn.nearBranchTarget) {
        assertEquals(target, insn.nearBranchTarget, context());
      }
    }
  }
  return compared;
}

Deno.test(
  "InsnDecoder: every byte of real code gives the kind and length of iced-x86",
  ignored(NO_ICED),
  () => {
    let compared = 0;
    for (const path of LIBRARIES) {
      if (!existsSync(path)) {
        console.log(`not compared: ${path} is not here`);
        continue;
      }
      const bytes = Deno.readFileSync(path).subarray(0, 1 << 20);
      compared += compare(ICED as Iced, bytes, 64);
    }
    console.log(`${compared} instructions compared`);
    assert(compared === 0 || compared > 500_000);
  },
);

Deno.test(
  "InsnDecoder: random bytes in all modes give the kind and length of iced-x86",
  ignored(NO_ICED),
  () => {
    // Beginnings that lead into each opcode map, followed by pseudo-random bytes.
    const starts = [
      [0x0f],
      [0x62, 0xf1],
      [0x62, 0xf2],
      [0x62, 0xf3],
      [0x0f, 0x3a],
      [0x0f, 0x38],
      [0xc4, 0xe1],
      [0xc4, 0xe2],
      [0xc4, 0xe3],
      [0xc5],
      [0x66, 0x0f],
      [0xf3, 0x0f],
      [0xf2, 0x0f, 0x01],
      [0x0f, 0x01],
      [0xf3, 0x0f, 0x01],
      [0x8f, 0xe8],
      [0x8f, 0xe9],
      [0x8f, 0xea],
      [0x0f, 0x0f],
      [0x66],
      [0x67],
      [0x66, 0x67],
      [0x48],
      [],
    ];
    let seed = 1;
    for (const mode of [64, 32, 16] as const) {
      const bytes = new Uint8Array(1 << 18);
      for (let i = 0; i < bytes.length; i++) {
        seed = Math.imul(seed, 1664525) + 1013904223 | 0;
        bytes[i] = seed >>> 24;
      }
      for (let i = 0; i + 32 < bytes.length; i += 32) {
        bytes.set(starts[(i >> 5) % starts.length] ?? [], i);
      }
      const compared = compare(ICED as Iced, bytes, mode);
      assert(compared > 200_000, `${compared} compared`);
    }
  },
);

Deno.test("InsnDecoder: real code gives the instructions of objdump", async (t) => {
  const path = LIBRARIES[0] as string;
  let text: string;
  try {
    const { success, stdout } = new Deno.Command("objdump", {
      args: ["-d", "-j", ".text", "-w", "--stop-address=0x60000", path],
      stderr: "null",
    }).outputSync();
    if (!success) throw new Error("it failed");
    text = new TextDecoder().decode(stdout);
  } catch (error) {
    await skipped(t, `objdump of ${path}: ${(error as Error).message}`);
    return;
  }
  const decoder = new InsnDecoder();
  let compared = 0;
  for (const line of text.split("\n")) {
    const [, address, hex, insn = ""] = line.match(/^ *([0-9a-f]+):\t([0-9a-f ]+?) *\t(.*)$/) ?? [];
    if (address === undefined || hex === undefined || /\(bad\)|^\.byte/.test(insn)) continue;
    const bytes = Uint8Array.from(hex.trim().split(" "), (pair) => parseInt(pair, 16));
    const length = decoder.decode(bytes, 0, bytes.length, 64);
    assertEquals(length, bytes.length, line);
    const [, mnemonic = "", target = ""] =
      insn.match(/^(?:(?:bnd|notrack|repz|rep|cs|ds|data16) )*(\S+)\s+([0-9a-f]+) </) ?? [];
    const direct = /^(j|call|loop)/.test(mnemonic);
    const { kind } = decoder;
    assertEquals(
      kind === InsnKind.JCC || kind === InsnKind.JMP || kind === InsnKind.CALL,
      direct,
      line,
    );
    if (direct) {
      assertEquals(parseInt(address, 16) + length + decoder.relative, parseInt(target, 16), line);
    }
    compared++;
  }
  console.log(`${compared} instructions compared`);
  assert(compared > 20_000);
});

Deno.test("InsnDecoder: newer instructions have the expected kind and length", () => {
  const decoder = new InsnDecoder();
  const cases: [mode: InsnMode, hex: string, length: number, kind: InsnKind][] = [
    // JMPABS (APX): REX2 with payload 0, opcode A1, 64-bit target.
    [64, "d5 00 a1 88 77 66 55 44 33 22 11", 11, InsnKind.JMP],
    // REX2 before 8B /r: mov r16, [r17+disp8].
    [64, "d5 58 8b 41 08", 5, InsnKind.OTHER],
    // REX2 with M0 before AF: imul r16, r17.
    [64, "d5 d8 af c1", 4, InsnKind.OTHER],
    // EVEX map 4, 81 /0 with 66: add r16w, imm16 to a new register.
    [64, "62 f4 7d 18 81 c0 34 12", 8, InsnKind.OTHER],
    // EVEX map 4, 81 /0: add with imm32.
    [64, "62 f4 7c 18 81 c0 78 56 34 12", 10, InsnKind.OTHER],
    // ptwrite rax; with 66 it is another instruction.
    [64, "f3 48 0f ae e0", 5, InsnKind.PTWRITE],
    // mov cr3, rax; mov cr4, rax; mov r/m (mod 00) is a register too.
    [64, "0f 22 d8", 3, InsnKind.MOV_CR3],
    [64, "0f 22 e0", 3, InsnKind.OTHER],
    [64, "0f 22 1d", 3, InsnKind.MOV_CR3],
    // bnd ret, notrack jmp rax.
    [64, "f2 c3", 2, InsnKind.RET],
    [64, "3e ff e0", 3, InsnKind.JMP_INDIRECT],
    // call far [rip+0], and lcall m16:32 in a form with a register, which does not exist.
    [64, "ff 1d 00 00 00 00", 6, InsnKind.FAR_CALL],
    [64, "ff d8", -1, InsnKind.FAR_CALL],
    // 66 e8 in 64-bit code keeps its four bytes on Intel processors.
    [64, "66 e8 01 00 00 00", 6, InsnKind.CALL],
    [32, "66 e8 01 00", 4, InsnKind.CALL],
    [16, "e8 01 00", 3, InsnKind.CALL],
    [16, "66 e8 01 00 00 00", 6, InsnKind.CALL],
    // An incomplete instruction, and fifteen prefixes.
    [64, "e8 01 00 00", 0, InsnKind.CALL],
    [64, "66 66 66 66 66 66 66 66 66 66 66 66 66 66 66 90", -1, InsnKind.OTHER],
  ];
  for (const [mode, hex, length, kind] of cases) {
    const bytes = Uint8Array.from(hex.split(" "), (pair) => parseInt(pair, 16));
    assertEquals(decoder.decode(bytes, 0, bytes.length, mode), length, hex);
    if (length > 0) assertEquals(decoder.kind, kind, hex);
  }
});
