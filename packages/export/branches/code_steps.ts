import { byteAt } from "@perfdata/format/bytes";
import { InsnDecoder, InsnKind, type InsnMode } from "@perfdata/intel-pt";
import { type ElfFile, EM, PT } from "@perfdata/symbols";
import { SymbolsError } from "@perfdata/symbols/resolver";

/** Bytes of code per read, and of the longest instruction. */
const WINDOW = 1 << 16, LONGEST = 15;
const PF_X = 1;

/** Instructions that end straight code: they never continue with the next one, or are calls. */
const ENDS: ReadonlySet<number> = new Set([
  InsnKind.JMP,
  InsnKind.CALL,
  InsnKind.CALL_INDIRECT,
  InsnKind.RET,
  InsnKind.FAR_CALL,
  InsnKind.FAR_RET,
  InsnKind.IRET,
]);

/**
 * The instructions of an ELF file's code at link-time addresses, on x86 and AArch64.
 *
 * @example
 * ```ts
 * import { CodeSteps } from "@perfdata/export";
 * import { ElfFile } from "@perfdata/symbols";
 * import { openBinaryFile } from "@perfdata/symbols/files";
 * import { assert } from "@std/assert";
 *
 * using source = openBinaryFile(Deno.execPath());
 * const elf = ElfFile.open(source);
 * assert(new CodeSteps(elf).step(elf.entry) > 0);
 * ```
 */
export class CodeSteps {
  /** Whether the last instruction never falls through: a jump, a call or a return. */
  ends = false;
  /** Whether the last instruction is a conditional branch. */
  isConditional = false;
  readonly #elf: ElfFile;
  readonly #mode: InsnMode | undefined;
  readonly #decoder = new InsnDecoder();
  #bytes: Uint8Array = new Uint8Array(0);
  #first = 0;

  /**
   * Reads nothing yet.
   *
   * @throws {SymbolsError} If the file is for another processor.
   */
  constructor(elf: ElfFile) {
    this.#elf = elf;
    const { machine } = elf;
    if (machine !== EM.X86_64 && machine !== EM.I386 && machine !== EM.AARCH64) {
      throw new SymbolsError(0, `code of machine ${machine}: x86 and AArch64 are known`);
    }
    this.#mode = machine === EM.X86_64 ? 64 : machine === EM.I386 ? 32 : undefined;
  }

  /** Whether the file has code at an address. */
  hasCode(address: number): boolean {
    return this.#segment(address) !== undefined;
  }

  /** Size of the instruction at an address in bytes; 0 if there is none. */
  step(address: number): number {
    this.ends = this.isConditional = false;
    let at = address - this.#first;
    if (!(at >= 0 && at + LONGEST <= this.#bytes.length)) {
      at = 0;
      const segment = this.#segment(address);
      if (segment === undefined) return 0;
      const distance = address - segment.vaddr;
      this.#first = address;
      this.#bytes = this.#elf.source.read(
        segment.offset + distance,
        Math.min(WINDOW, segment.filesz - distance),
      );
    }
    if (this.#mode === undefined) return this.#arm(at);
    const size = this.#decoder.decode(this.#bytes, at, this.#bytes.length, this.#mode);
    if (size <= 0) return 0;
    this.ends = ENDS.has(this.#decoder.kind);
    this.isConditional = this.#decoder.kind === InsnKind.JCC;
    return size;
  }

  /**
   * Size of an AArch64 instruction. Sets `ends` for B, BL, BLR and RET, and `isConditional` for
   * B.cond, CBZ, CBNZ, TBZ and TBNZ (Arm ARM, C4.1, "Branches").
   */
  #arm(at: number): number {
    const bytes = this.#bytes;
    if (at + 4 > bytes.length) return 0;
    const high = byteAt(bytes, at + 3);
    const third = byteAt(bytes, at + 2);
    this.isConditional = high === 0x54 || (high & 0x7c) === 0x34;
    this.ends = (high & 0x7c) === 0x14 || (high === 0xd6 && (third === 0x3f || third === 0x5f));
    return 4;
  }

  #segment(address: number): { vaddr: number; offset: number; filesz: number } | undefined {
    return this.#elf.segments.find(({ type, flags, vaddr, filesz }) =>
      type === PT.LOAD && (flags & PF_X) !== 0 && address >= vaddr && address < vaddr + filesz
    );
  }
}
