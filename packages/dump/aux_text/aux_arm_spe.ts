import { putAscii, putDecimal, putHex, putSigned64 } from "@perfdata/format/bytes";
import { SPE_PACKET, SPE_REACH, SpePacket } from "@perfdata/session/auxtrace";
import { type AuxBytes, type AuxText, putLineStart } from "./aux_line.ts";
import { hex } from "./auxtrace_info_text.ts";

/** Names of the bits of an events packet. */
const EVENT_BITS: readonly (readonly [number, string])[] = [
  [0, " EXCEPTION-GEN"],
  [1, " RETIRED"],
  [2, " L1D-ACCESS"],
  [3, " L1D-REFILL"],
  [4, " TLB-ACCESS"],
  [5, " TLB-REFILL"],
  [6, " NOT-TAKEN"],
  [7, " MISPRED"],
  [8, " LLC-ACCESS"],
  [9, " LLC-REFILL"],
  [10, " REMOTE-ACCESS"],
  [11, " ALIGNMENT"],
  [17, " SVE-PARTIAL-PRED"],
  [18, " SVE-EMPTY-PRED"],
];
const COUNTERS = ["TOT", "ISSUE", "XLAT"];
const REGISTERS: Readonly<Record<number, string>> = {
  0x00: " GP-REG",
  0x04: " SIMD-FP",
  0x10: " UNSPEC-REG",
  0x30: " NV-SYSREG",
};

/**
 * Packets of Arm's Statistical Profiling Extension (Arm Architecture Reference Manual, chapter
 * "Statistical Profiling Extension Sample Record Specification").
 */
export class ArmSpeText implements AuxText {
  readonly reach = SPE_REACH;
  consumed = 0;
  readonly #base: number;
  readonly #packet = new SpePacket();

  /** @param base Address 0 of the data, from which alignment packets count. */
  constructor(base: number) {
    this.#base = base;
  }

  /** The line before the packets. */
  heading(size: number): string {
    return `.\n. ... ARM SPE data: size ${hex(BigInt(size))} bytes\n`;
  }

  put(out: DataView, p: number, bytes: AuxBytes): number {
    const { input, at, end, position } = bytes;
    const packet = this.#packet;
    packet.read(input, at, end, this.#base + position);
    this.consumed = Math.max(packet.size, 1);
    p = putLineStart(out, p, bytes, this.consumed, 16);
    p = packet.size === 0
      ? putAscii(out, p, " Bad packet!")
      : this.#describe(out, putAscii(out, p, " "));
    out.setUint8(p, 0x0a);
    return p + 1;
  }

  #describe(out: DataView, p: number): number {
    const { kind, index, hi, lo } = this.#packet;
    switch (kind) {
      case SPE_PACKET.PAD:
        return putAscii(out, p, "PAD");
      case SPE_PACKET.END:
        return putAscii(out, p, "END");
      case SPE_PACKET.TIMESTAMP:
        return putSigned64(out, putAscii(out, p, "TS "), hi, lo);
      case SPE_PACKET.DATA_SOURCE:
        return putSigned64(out, putAscii(out, p, "DATA-SOURCE "), hi, lo);
      case SPE_PACKET.EVENTS:
        p = putAscii(out, p, "EV");
        for (const [bit, name] of EVENT_BITS) if (lo >>> bit & 1) p = putAscii(out, p, name);
        return p;
      case SPE_PACKET.OPERATION_TYPE:
        return this.#operation(out, p, index);
      case SPE_PACKET.CONTEXT:
        p = putHex(out, putAscii(out, p, "CONTEXT 0x"), hi, lo);
        return putAscii(out, p, ` el${index + 1}`);
      case SPE_PACKET.COUNTER:
        p = putDecimal(out, putAscii(out, p, "LAT "), lo & 0xffff);
        return putAscii(out, p, ` ${COUNTERS[index] ?? ""}`);
      default:
        return this.#address(out, p, index);
    }
  }

  #address(out: DataView, p: number, index: number): number {
    const { hi, lo } = this.#packet;
    const address = hi & 0xff_ffff;
    switch (index) {
      case 0:
      case 1:
        p = putHex(out, putAscii(out, p, index === 1 ? "TGT 0x" : "PC 0x"), address, lo);
        return putAscii(out, p, ` el${hi >>> 29 & 3} ns=${hi >>> 31}`);
      case 2:
        return putHex(out, putAscii(out, p, "VA 0x"), hi, lo);
      case 3:
        p = putHex(out, putAscii(out, p, "PA 0x"), address, lo);
        p = putAscii(out, p, ` ns=${hi >>> 31} ch=${hi >>> 30 & 1} pat=`);
        return putHex(out, p, 0, hi >>> 24 & 15);
      default:
        return this.#raw(out, p, "ADDR", index);
    }
  }

  #operation(out: DataView, p: number, kind: number): number {
    const { lo } = this.#packet;
    const put = (text: string): void => void (p = putAscii(out, p, text));
    const vector = (): void => put(` EVLEN ${32 << (lo >>> 4 & 7)}`);
    switch (kind) {
      case 0:
        if ((lo & 0x89) !== 0x08) {
          put(lo & 1 ? "OTHER COND-SELECT" : "OTHER INSN-OTHER");
          return p;
        }
        put("SVE-OTHER");
        vector();
        if (lo & 2) put(" FP");
        if (lo & 4) put(" PRED");
        return p;
      case 1:
        put(lo & 1 ? "ST" : "LD");
        if ((lo & 0xe2) === 0x02) {
          if (lo & 0x04) put(" AT");
          if (lo & 0x08) put(" EXCL");
          if (lo & 0x10) put(" AR");
        }
        put(REGISTERS[lo & 0xfe] ?? "");
        if ((lo & 0x0a) === 0x08) {
          vector();
          if (lo & 0x04) put(" PRED");
          if (lo & 0x80) put(" SG");
        }
        return p;
      case 2:
        put("B");
        if (lo & 1) put(" COND");
        if ((lo & 0xfe) === 0x02) put(" IND");
        return p;
      default:
        return this.#raw(out, p, "OP-TYPE", kind);
    }
  }

  /** Writes a packet of a known kind with an unknown value. */
  #raw(out: DataView, p: number, name: string, index: number): number {
    p = putHex(out, putAscii(out, p, `${name} 0x`), this.#packet.hi, this.#packet.lo);
    return putAscii(out, p, ` (${index})`);
  }
}
