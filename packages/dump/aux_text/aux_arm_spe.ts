import { putAscii, putDecimal, putHex, putSigned64 } from "@perfdata/format/text-bytes";
import { type AuxText, putLineStart } from "./aux_line.ts";
import { hex } from "./auxtrace_info_text.ts";

const PAD = 0x00;
const END = 0x01;
const TIMESTAMP = 0x71;
const EVENTS = 0x42;
const DATA_SOURCE = 0x43;
const OPERATION_TYPE = 0x48;
const CONTEXT = 0x64;
const EXTENDED = 0x20;
const ADDRESS = 0xb0;
const COUNTER = 0x98;

/** What the bits of an events packet mean. */
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
  readonly reach = 16;
  consumed = 0;
  readonly #base: number;
  #hi = 0;
  #lo = 0;

  /** @param base What the data's alignment packets count from: address 0 of the data. */
  constructor(base: number) {
    this.#base = base;
  }

  /** See {@link AuxText.heading}. */
  heading(size: number): string {
    return `.\n. ... ARM SPE data: size ${hex(BigInt(size))} bytes\n`;
  }

  /** See {@link AuxText.put}. */
  put(
    out: DataView,
    p: number,
    input: Uint8Array,
    at: number,
    end: number,
    position: number,
  ): number {
    const size = this.#size(input, at, end, position);
    this.consumed = Math.max(size, 1);
    p = putLineStart(out, p, input, at, this.consumed, 16, position);
    p = size === 0
      ? putAscii(out, p, " Bad packet!")
      : this.#describe(out, putAscii(out, p, " "), input, at);
    out.setUint8(p, 0x0a);
    return p + 1;
  }

  /** Bytes of the packet; 0 where it is none, or not whole. Padding is taken up to 16 bytes. */
  #size(input: Uint8Array, at: number, end: number, position: number): number {
    const first = input[at] as number;
    const left = end - at;
    let size: number;
    if (first === PAD) {
      size = 1;
    } else if (first === END) {
      return 1;
    } else if (isExtended(first) && left > 1 && input[at + 1] === 0) {
      const alignment = 1 << (first & 15) + 1;
      if (left < alignment) return 0;
      size = alignment - (this.#base + position & alignment - 1);
    } else {
      const head = isExtended(first) ? 1 : 0;
      if (left < 1 + head || kindOf(input, at) < 0) return 0;
      const payload = 1 << ((input[at + head] as number) >> 4 & 3);
      return left < 1 + head + payload ? 0 : 1 + head + payload;
    }
    while (size < 16 && size < left && input[at + size] === PAD) size++;
    return size;
  }

  #describe(out: DataView, p: number, input: Uint8Array, at: number): number {
    const first = input[at] as number;
    const extended = isExtended(first);
    if (first === PAD || (extended && input[at + 1] === 0)) return putAscii(out, p, "PAD");
    if (first === END) return putAscii(out, p, "END");
    const header = (extended ? input[at + 1] : first) as number;
    this.#readPayload(input, at + (extended ? 2 : 1), 1 << (header >> 4 & 3));
    const hi = this.#hi;
    const lo = this.#lo;
    const index = header & 7 | (extended ? (first & 3) << 3 : 0);
    switch (kindOf(input, at)) {
      case TIMESTAMP:
        return putSigned64(out, putAscii(out, p, "TS "), hi, lo);
      case DATA_SOURCE:
        return putSigned64(out, putAscii(out, p, "DATA-SOURCE "), hi, lo);
      case EVENTS:
        p = putAscii(out, p, "EV");
        for (const [bit, name] of EVENT_BITS) if (lo >>> bit & 1) p = putAscii(out, p, name);
        return p;
      case OPERATION_TYPE:
        return this.#operation(out, p, first & 3);
      case CONTEXT:
        p = putHex(out, putAscii(out, p, "CONTEXT 0x"), hi, lo);
        return putAscii(out, p, ` el${(first & 3) + 1}`);
      case COUNTER:
        p = putDecimal(out, putAscii(out, p, "LAT "), lo & 0xffff);
        return putAscii(out, p, ` ${COUNTERS[index] ?? ""}`);
      default:
        return this.#address(out, p, index);
    }
  }

  #readPayload(input: Uint8Array, at: number, size: number): void {
    const byte = (i: number): number => i < size ? input[at + i] as number : 0;
    this.#lo = (byte(0) | byte(1) << 8 | byte(2) << 16 | byte(3) << 24) >>> 0;
    this.#hi = (byte(4) | byte(5) << 8 | byte(6) << 16 | byte(7) << 24) >>> 0;
  }

  #address(out: DataView, p: number, index: number): number {
    const hi = this.#hi;
    const lo = this.#lo;
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
    const lo = this.#lo;
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

  /** A packet of a known kind that says nothing known. */
  #raw(out: DataView, p: number, name: string, index: number): number {
    p = putHex(out, putAscii(out, p, `${name} 0x`), this.#hi, this.#lo);
    return putAscii(out, p, ` (${index})`);
  }
}

function isExtended(first: number): boolean {
  return (first & 0xfc) === EXTENDED;
}

/** What kind of packet with a payload begins here; -1 where it is none. */
function kindOf(input: Uint8Array, at: number): number {
  const first = input[at] as number;
  if (first === TIMESTAMP) return TIMESTAMP;
  const short = first & 0xcf;
  if (short === EVENTS || short === DATA_SOURCE) return short;
  const group = first & 0xfc;
  if (group === CONTEXT || group === OPERATION_TYPE) return group;
  const kind = ((group === EXTENDED ? input[at + 1] : first) as number) & 0xf8;
  return kind === ADDRESS || kind === COUNTER ? kind : -1;
}
