/**
 * The lines that `perf report -D` prints of AUX data other than Intel PT's: Arm SPE, Intel BTS,
 * HiSilicon PTT. A line holds one packet: its place in the data, its bytes, and what they say.
 *
 * @module
 */
import {
  PERF_AUXTRACE_ARM_SPE,
  PERF_AUXTRACE_HISI_PTT,
  PERF_AUXTRACE_INTEL_BTS,
} from "@perfdata/user-records";
import {
  putAscii,
  putDecimal,
  putHex,
  putHex2,
  putHex4,
  putSigned64,
} from "@perfdata/format/text-bytes";

/** Room for the longest line. */
export const AUX_LINE_ROOM = 1024;

/** Writes the packets of one piece of AUX data, a line each. */
export interface AuxText {
  /** Bytes that have to be there for any packet, unless it is the last of the data. */
  readonly reach: number;
  /** How many bytes the last line was of. */
  consumed: number;
  /**
   * The line before the packets.
   *
   * @param size Bytes of data.
   * @param input The first of them.
   */
  heading(size: number, input: Uint8Array): string;
  /**
   * Writes the line of the packet at `at` of `input`, which has at least one byte before `end`.
   *
   * @param position Place of the packet in the data.
   */
  put(
    out: DataView,
    p: number,
    input: Uint8Array,
    at: number,
    end: number,
    position: number,
  ): number;
}

/**
 * What writes AUX data of a type, as an AUXTRACE_INFO record has it, if it is known here.
 *
 * @param offset Place of the data, on which the place of lines depends for Arm SPE.
 */
export function auxTextOf(type: number, offset: number): AuxText | undefined {
  switch (type) {
    case PERF_AUXTRACE_ARM_SPE:
      return new ArmSpeText(offset);
    case PERF_AUXTRACE_INTEL_BTS:
      return new IntelBtsText();
    case PERF_AUXTRACE_HISI_PTT:
      return new HisiPttText();
    default:
      return undefined;
  }
}

/** `.  00000010:  71 00 …`: the place and the bytes, padded to `width` bytes. */
function putLineStart(
  out: DataView,
  p: number,
  input: Uint8Array,
  at: number,
  n: number,
  width: number,
  position: number,
): number {
  p = putPlace(out, p, position);
  for (let i = 0; i < n; i++) {
    out.setUint8(p++, 0x20);
    p = putHex2(out, p, input[at + i] as number);
  }
  for (let i = n; i < width; i++) p = putAscii(out, p, "   ");
  return p;
}

/** `.  00000010: `. */
function putPlace(out: DataView, p: number, position: number): number {
  p = putAscii(out, p, ".  ");
  p = putHex4(out, putHex4(out, p, position >>> 16), position & 0xffff);
  return putAscii(out, p, ": ");
}

/** `%#lx` of a size. */
function prefixedHex(size: number): string {
  return size === 0 ? "0" : `0x${size.toString(16)}`;
}

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
class ArmSpeText implements AuxText {
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
    return `.\n. ... ARM SPE data: size ${prefixedHex(size)} bytes\n`;
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

/** Bytes of a BTS record: where the branch came from, where it went, flags. */
const BRANCH = 24;
const PREDICTED = 0x10;

/** Records of Intel's Branch Trace Store (SDM volume 3, "Branch Trace Store"), of 64-bit machines. */
class IntelBtsText implements AuxText {
  readonly reach = BRANCH;
  consumed = 0;

  /** See {@link AuxText.heading}. */
  heading(size: number): string {
    return `.\n. ... Intel BTS data: size ${size} bytes\n`;
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
    this.consumed = Math.min(BRANCH, end - at);
    p = putLineStart(out, p, input, at, this.consumed, BRANCH, position);
    if (this.consumed < BRANCH) return putAscii(out, p, " Bad record!\n");
    p = putWord(out, putAscii(out, p, " "), input, at);
    p = putWord(out, putAscii(out, p, " -> "), input, at + 8);
    return putAscii(out, p, (input[at + 16] as number) & PREDICTED ? " pred\n" : " miss\n");
  }
}

/** `%lx` of the little-endian 64-bit word at `at`. */
function putWord(out: DataView, p: number, input: Uint8Array, at: number): number {
  return putHex(out, p, u32(input, at + 4), u32(input, at));
}

function u32(input: Uint8Array, at: number): number {
  const byte = (i: number): number => input[at + i] as number;
  return (byte(0) | byte(1) << 8 | byte(2) << 16 | byte(3) << 24) >>> 0;
}

/** What the words of the longer of two kinds of packets hold; the first one marks the kind. */
const LONG_WORDS = [
  "",
  "Prefix",
  "Header DW0",
  "Header DW1",
  "Header DW2",
  "Header DW3",
  "",
  "Time",
];
const SHORT_WORDS = ["", "Header DW1", "Header DW2", "Header DW3"];
const LONG_MARK = 0xffff_f800;
/** The fields of the first word of a short packet, from the lowest bit on: bits and name. */
const SHORT_FIELDS: readonly (readonly [number, string])[] = [
  [2, "Format"],
  [5, "Type"],
  [1, "T9"],
  [1, "T8"],
  [1, "TH"],
  [1, "SO"],
  [10, "Length"],
  [11, "Time"],
];

/**
 * Packets of HiSilicon's PCIe Tune and Trace device (`Documentation/trace/hisi-ptt.rst` of the
 * kernel), which are all of one kind: 8 words or 4. Each word is a line.
 */
class HisiPttText implements AuxText {
  readonly reach = 32;
  consumed = 0;
  #words: readonly string[] = SHORT_WORDS;

  /** See {@link AuxText.heading}. */
  heading(size: number, input: Uint8Array): string {
    const isLong = size >= 4 && (u32(input, 0) & LONG_MARK) >>> 0 === LONG_MARK;
    this.#words = isLong ? LONG_WORDS : SHORT_WORDS;
    const packet = 4 * this.#words.length;
    return `.\n. ... HISI PTT data: size ${size - size % packet} bytes\n`;
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
    const words = this.#words;
    this.consumed = Math.min(4 * words.length, end - at);
    // What is left at the end is no packet, and not reported.
    if (this.consumed < 4 * words.length) return p;
    words.forEach((name, i) => {
      const text = name !== "" ? name : i === 0 && words === SHORT_WORDS ? fields(input, at) : "";
      if (text === "") return;
      p = putPlace(out, p, position + 4 * i);
      for (let k = 0; k < 4; k++) {
        p = putHex2(out, p, input[at + 4 * i + k] as number);
        out.setUint8(p++, 0x20);
      }
      p = putAscii(out, p, `${" ".repeat(32)}${text}\n`);
    });
    return p;
  }
}

/** The fields of the first word of a short packet: `Format 1 Type 0 …`. */
function fields(input: Uint8Array, at: number): string {
  const word = u32(input, at);
  let bit = 0;
  return SHORT_FIELDS.map(([bits, name]) => {
    const value = word >>> bit & (1 << bits) - 1;
    bit += bits;
    return `${name} ${value.toString(16)}`;
  }).join(" ");
}
