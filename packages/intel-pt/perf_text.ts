import { putAscii, putDecimal, putHex, putHex2, putHex8 } from "@perfdata/format/text-bytes";
import { PacketDecoder } from "./packet_decoder.ts";
import { PacketKind } from "./packet_kind.ts";
import { float64sOf, HEX3, OVERSHOOT, ShortTexts } from "./packet_text_bytes.ts";

/** The room that {@linkcode PerfText.write} needs after the position it writes at, in bytes. */
export const PERF_TEXT_ROOM: number = 160 + OVERSHOOT;

/** perf never looks further than this from the first byte of a packet. */
const LOOKAHEAD = 16;

/** Where the hexadecimal bytes and the description of a packet begin in its line. */
const HEX_COLUMN = 13;
const TEXT_COLUMN = HEX_COLUMN + 16 * 3;

const { END, TNT_8, BAD_OPCODE: BAD } = PacketKind;

const SPACES = float64sOf(" ".repeat(8))[0] as number;

/** " 0x" and one byte more, as 32 bits. */
const SPACE_0X = 0x20783020;

/** The kinds that need a second look because perf may have another view of them: 1. */
const DIFFERS = new Uint8Array(64);
for (
  const kind of [
    PacketKind.MODE_EXEC,
    PacketKind.MODE_TSX,
    PacketKind.TRIG,
    PacketKind.BAD_OPCODE,
    PacketKind.BAD_PACKET,
    PacketKind.TRUNCATED,
  ]
) DIFFERS[kind] = 1;

/** " xx " as 32 bits, by byte. */
const HEX_CELL = new Uint32Array(256);
{
  const view = new DataView(new ArrayBuffer(4));
  for (let byte = 0; byte < 256; byte++) {
    putAscii(view, 0, ` ${byte.toString(16).padStart(2, "0")} `);
    HEX_CELL[byte] = view.getUint32(0, true);
  }
}

/** For a short TNT that is alone in its line: what follows the offset, and what follows the hex. */
const TNT_HEX = new Float64Array(256);
const TNT_TEXT = new Float64Array(256 * 3);
const TNT_LENGTH = new Uint8Array(256);
for (let byte = 4; byte < 256; byte += 2) {
  const count = 30 - Math.clz32(byte);
  const bits = (byte >> 1).toString(2).slice(1).replaceAll("1", "T").replaceAll("0", "N");
  const text = `  TNT ${bits} (${count})\n`;
  TNT_HEX.set(float64sOf(`  ${byte.toString(16).padStart(2, "0")}`), byte);
  TNT_TEXT.set(float64sOf(text), 3 * byte);
  TNT_LENGTH[byte] = text.length;
}

/** How each description begins. What perf cannot read has the kind BAD_OPCODE here. */
const NAMES = new ShortTexts({
  [PacketKind.PAD]: " PAD",
  [PacketKind.TNT_8]: " TNT ",
  [PacketKind.TNT_64]: " TNT ",
  [PacketKind.TIP]: " TIP",
  [PacketKind.TIP_PGE]: " TIP.PGE",
  [PacketKind.TIP_PGD]: " TIP.PGD",
  [PacketKind.FUP]: " FUP",
  [PacketKind.PIP]: " PIP 0x",
  [PacketKind.MODE_EXEC]: " MODE.Exec IF:",
  [PacketKind.MODE_TSX]: " MODE.TSX",
  [PacketKind.TRACESTOP]: " TraceSTOP",
  [PacketKind.CBR]: " CBR 0x",
  [PacketKind.TSC]: " TSC 0x",
  [PacketKind.MTC]: " MTC 0x",
  [PacketKind.TMA]: " TMA CTC 0x",
  [PacketKind.CYC]: " CYC 0x",
  [PacketKind.VMCS]: " VMCS 0x",
  [PacketKind.OVF]: " OVF",
  [PacketKind.PSB]: " PSB",
  [PacketKind.PSBEND]: " PSBEND",
  [PacketKind.MNT]: " MNT 0x",
  [PacketKind.PTW]: " PTWRITE 0x",
  [PacketKind.EXSTOP]: " EXSTOP IP:",
  [PacketKind.MWAIT]: " MWAIT 0x",
  [PacketKind.PWRE]: " PWRE 0x",
  [PacketKind.PWRX]: " PWRX 0x",
  [PacketKind.BBP]: " BBP SZ ",
  [PacketKind.BIP]: " BIP ID 0x",
  [PacketKind.BEP]: " BEP IP:",
  [PacketKind.CFE]: " CFE IP:",
  [PacketKind.EVD]: " EVD Type 0x",
  [PacketKind.BAD_OPCODE]: " Bad packet!",
});

/**
 * Writes packets as `perf report -D` prints them (of Linux 6.1), straight into bytes.
 *
 * A line holds the offset, the bytes, and the description of a packet. Zero bytes after a packet
 * that is shorter than eight bytes are part of its line, up to eight bytes; so are those after a
 * PAD. Where perf's decoder differs from the SDM, the text is perf's:
 *
 * - It goes on one byte after what it does not understand, `Bad packet!`, rather than at a PSB.
 *   That includes a packet that the end of the data cuts off.
 * - TRIG, and MODE packets with both mode bits set, are `Bad packet!`.
 * - A long TNT without branches is `TNT  (0)`, a CYC of ten bytes is cut to 64 bits.
 *
 * Reads from and writes to buffers of the caller, of any size above {@linkcode PERF_TEXT_ROOM}.
 *
 * @example
 * ```ts
 * import { PERF_TEXT_ROOM } from "@perfdata/intel-pt/perf-text";
 * import { PerfText } from "@perfdata/intel-pt";
 * import { assertEquals } from "@std/assert";
 *
 * const input = Uint8Array.of(0x59, 0x2a, 0x02, 0xf3);
 * const text = new PerfText();
 * const out = new Uint8Array(4096);
 * let at = 0;
 * let from = 0;
 * while (from < input.length) {
 *   // A real caller writes out[0, at) somewhere and starts at 0 again when the room runs short.
 *   if (out.length - at < PERF_TEXT_ROOM) throw new RangeError("out is too small");
 *   at = text.write(input, from, input.length, true, out, at);
 *   from += text.consumed;
 * }
 * assertEquals(
 *   new TextDecoder().decode(out.subarray(0, at)),
 *   ".  00000000:  59 2a                                           MTC 0x2a\n" +
 *     ".  00000002:  02 f3                                           OVF\n",
 * );
 * ```
 */
export class PerfText {
  /** How many bytes of input the last {@linkcode write} used up. */
  consumed = 0;

  private decoder: PacketDecoder = new PacketDecoder({ recover: "byte" });
  private blockItemSize: 0 | 4 | 8 = 0;
  private offset = 0;
  private size = 0;

  /**
   * Starts outside of any block.
   *
   * @param first The offset that the first packet is printed with; 0 in perf.
   */
  constructor(first = 0) {
    this.offset = first;
  }

  /** Starts again at offset 0, outside of any block, as perf does for every AUXTRACE record. */
  reset(): void {
    this.decoder = new PacketDecoder({ recover: "byte" });
    this.blockItemSize = 0;
    this.offset = 0;
  }

  /**
   * Writes lines for the packets of `input[from, to)` into `out`, from position `at` on.
   *
   * Stops when the input is used up, or when less than {@linkcode PERF_TEXT_ROOM} bytes are left in
   * `out`; {@linkcode consumed} says how far it got. What was not consumed has to come again at the
   * beginning of the next call's input. Unless `last` is set, up to 15 bytes are always left,
   * because the line of a packet depends on what follows it.
   *
   * @param last Whether the data ends at `to`.
   * @returns The position in `out` after the last line.
   */
  write(
    input: Uint8Array,
    from: number,
    to: number,
    last: boolean,
    out: Uint8Array,
    at: number,
  ): number {
    const { decoder } = this;
    decoder.window(input, from, to, last);
    const view = new DataView(out.buffer, out.byteOffset, out.byteLength);
    const stopOut = out.length - PERF_TEXT_ROOM;
    const stopIn = last ? to : to - LOOKAHEAD + 1;
    let pos = from;
    let offset = this.offset;
    let block = this.blockItemSize;
    let page = -1;
    let pageText = 0;
    while (pos < stopIn && at <= stopOut) {
      let kind: PacketKind = decoder.next();
      // perf prints the low 32 bits of an offset.
      if (offset >>> 12 !== page) {
        page = offset >>> 12;
        putHex8(view, at, page << 12);
        view.setUint32(at + 7, view.getUint32(at + 4, true), true);
        view.setUint32(at + 3, view.getUint32(at, true), true);
        view.setUint16(at, 0x202e, true);
        view.setUint8(at + 2, 0x20);
        pageText = view.getFloat64(at, true);
      }
      view.setFloat64(at, pageText, true);
      view.setUint32(at + 8, (HEX3[offset & 0xfff] as number) | 0x3a000000, true);

      if (kind === TNT_8 && (pos + 1 === to || input[pos + 1] !== 0)) {
        const byte = input[pos] as number;
        view.setFloat64(at + 12, TNT_HEX[byte] as number, true);
        view.setFloat64(at + 20, SPACES, true);
        view.setFloat64(at + 28, SPACES, true);
        view.setFloat64(at + 36, SPACES, true);
        view.setFloat64(at + 44, SPACES, true);
        view.setFloat64(at + 52, SPACES, true);
        view.setFloat64(at + 60, TNT_TEXT[3 * byte] as number, true);
        view.setFloat64(at + 68, TNT_TEXT[3 * byte + 1] as number, true);
        view.setFloat64(at + 76, TNT_TEXT[3 * byte + 2] as number, true);
        at += 60 + (TNT_LENGTH[byte] as number);
        pos++;
        offset++;
        block = 0;
        continue;
      }

      if (kind <= END) break;
      let size = decoder.size;
      if (DIFFERS[kind] !== 0) {
        kind = this.asPerf(kind, block, input, pos, to);
        size = this.size;
      }
      if (kind !== BAD) {
        const most = Math.min(8, to - pos);
        while (size < most && input[pos + size] === 0) {
          size++;
          decoder.skip(1);
        }
      }
      view.setFloat64(at + 12, SPACES, true);
      view.setFloat64(at + 20, SPACES, true);
      view.setFloat64(at + 28, SPACES, true);
      view.setFloat64(at + 36, SPACES, true);
      view.setFloat64(at + 44, SPACES, true);
      view.setFloat64(at + 52, SPACES, true);
      view.setFloat64(at + 60, SPACES, true);
      for (let i = 0; i < size; i++) {
        const cell = HEX_CELL[input[pos + i] as number] as number;
        view.setUint32(at + HEX_COLUMN + 3 * i, cell, true);
      }
      at = describe(view, NAMES.put(view, at + TEXT_COLUMN, kind), kind, decoder);
      view.setUint8(at++, 0x0a);
      pos += size;
      offset += size;
      block = decoder.blockItemSize;
    }
    this.consumed = pos - from;
    this.offset = offset;
    this.blockItemSize = block;
    return at;
  }

  /**
   * What perf takes for something else than the SDM says: returns the kind that it prints and sets
   * `size`; the decoder goes on after it.
   */
  private asPerf(
    kind: PacketKind,
    block: 0 | 4 | 8,
    input: Uint8Array,
    pos: number,
    to: number,
  ): PacketKind {
    const { decoder } = this;
    this.size = decoder.size;
    const modeIsGood = (decoder.low & 3) !== 3;
    if ((kind === PacketKind.MODE_EXEC || kind === PacketKind.MODE_TSX) && modeIsGood) return kind;
    if (kind === PacketKind.BAD_PACKET) {
      if (input[pos] === 0x02 && input[pos + 1] === 0xa3) {
        this.size = 8;
        decoder.seek(decoder.offset + 8, 0);
        return PacketKind.TNT_64;
      }
      // Ten bytes that do not fit into 64 bits; an eleventh byte is too much for perf, too.
      if (
        ((input[pos] as number) & 3) === 3 && to - pos >= 10 &&
        ((input[pos + 9] as number) & 1) === 0
      ) {
        let cycles = BigInt(input[pos] as number) >> 3n;
        for (let i = 1; i < 10; i++) {
          cycles |= BigInt(input[pos + i] as number) >> 1n << BigInt(7 * i - 2);
        }
        this.size = 10;
        decoder.low = Number(BigInt.asIntN(32, cycles));
        decoder.high = Number(BigInt.asIntN(32, cycles >> 32n));
        decoder.seek(decoder.offset + 10, block);
        return PacketKind.CYC;
      }
    }
    this.size = 1;
    decoder.seek(decoder.offset + 1, block);
    return BAD;
  }
}

/** Writes what follows the name in a description. */
function describe(view: DataView, at: number, kind: PacketKind, packet: PacketDecoder): number {
  const { low, high, count } = packet;
  switch (kind) {
    case PacketKind.TIP:
    case PacketKind.FUP:
    case PacketKind.TIP_PGE:
    case PacketKind.TIP_PGD:
      if (count === 0) return putAscii(view, at, " no ip");
      view.setUint32(at, SPACE_0X, true);
      return putHex(view, at + 3, high, low);
    case PacketKind.TNT_8:
    case PacketKind.TNT_64:
      for (let bit = count - 1; bit >= 0; bit--) {
        const taken = bit < 32 ? low >>> bit & 1 : high >>> (bit - 32) & 1;
        view.setUint8(at++, taken !== 0 ? 0x54 : 0x4e);
      }
      view.setUint16(at, 0x2820, true);
      at = putDecimal(view, at + 2, count);
      view.setUint8(at, 0x29);
      return at + 1;
    case PacketKind.CYC:
    case PacketKind.VMCS:
    case PacketKind.MTC:
    case PacketKind.MNT:
    case PacketKind.CBR:
    case PacketKind.TSC:
      return putHex(view, at, high, low);
    case PacketKind.TMA:
      at = putHex(view, at, 0, low & 0xffff);
      at = putAscii(view, at, " FC 0x");
      return putHex(view, at, 0, low >>> 24 | (high & 1) << 8);
    case PacketKind.MODE_EXEC:
      at = putDecimal(view, at, low >> 2 & 1);
      return putAscii(view, at, (low & 1) !== 0 ? " 64" : (low & 2) !== 0 ? " 32" : " 16");
    case PacketKind.MODE_TSX:
      at = putDecimal(view, putAscii(view, at, " TXAbort:"), low >> 1 & 1);
      return putDecimal(view, putAscii(view, at, " InTX:"), low & 1);
    case PacketKind.PIP:
      at = putHex(view, at, high >>> 1, low >>> 1 | high << 31);
      at = putAscii(view, at, " (NR=");
      return putAscii(view, putDecimal(view, at, low & 1), ")");
    case PacketKind.PTW:
      at = putAscii(view, putHex(view, at, high, low), " IP:");
      return putDecimal(view, at, count >> 2);
    case PacketKind.EXSTOP:
    case PacketKind.BEP:
      return putDecimal(view, at, count);
    case PacketKind.MWAIT:
      at = putAscii(view, putHex(view, at, high, low), " Hints 0x");
      at = putAscii(view, putHex(view, at, 0, low & 0xff), " Extensions 0x");
      return putHex(view, at, 0, high & 3);
    case PacketKind.PWRE:
      at = putAscii(view, putHex(view, at, 0, low), " HW:");
      at = putAscii(view, putDecimal(view, at, low >> 7 & 1), " CState:");
      at = putAscii(view, putDecimal(view, at, low >> 12 & 0xf), " Sub-CState:");
      return putDecimal(view, at, low >> 8 & 0xf);
    case PacketKind.PWRX:
      at = putAscii(view, putHex(view, at, high, low), " Last CState:");
      at = putAscii(view, putDecimal(view, at, low >> 4 & 0xf), " Deepest CState:");
      at = putAscii(view, putDecimal(view, at, low & 0xf), " Wake Reason 0x");
      return putHex(view, at, 0, low >> 8 & 0xf);
    case PacketKind.BBP:
      at = putAscii(view, at, (low & 0x80) !== 0 ? "4-byte Type 0x" : "8-byte Type 0x");
      return putHex(view, at, 0, low & 0x1f);
    case PacketKind.BIP:
      at = putAscii(view, putHex2(view, at, count), " Value 0x");
      return putHex(view, at, high, low);
    case PacketKind.CFE:
      at = putAscii(view, putDecimal(view, at, low >> 7 & 1), " Type 0x");
      at = putAscii(view, putHex2(view, at, low & 0x1f), " Vector 0x");
      return putHex(view, at, 0, low >> 8);
    case PacketKind.EVD:
      at = putAscii(view, putHex2(view, at, count & 0x3f), " Payload 0x");
      return putHex(view, at, high, low);
    default:
      return at;
  }
}

/**
 * The text of a whole buffer of packets, as `perf report -D` prints it; see {@linkcode PerfText}.
 *
 * @example
 * ```ts
 * import { perfText } from "@perfdata/intel-pt/perf-text";
 * import { assertEquals } from "@std/assert";
 *
 * assertEquals(
 *   new TextDecoder().decode(perfText(Uint8Array.of(0xfc, 0x00))),
 *   ".  00000000:  fc 00                                           TNT TTTTTN (6)\n",
 * );
 * ```
 */
export function perfText(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  const text = new PerfText();
  let out = new Uint8Array(PERF_TEXT_ROOM + 80 * bytes.length);
  let at = 0;
  for (let from = 0; from < bytes.length; from += text.consumed) {
    if (out.length - at < PERF_TEXT_ROOM) {
      const larger = new Uint8Array(2 * out.length);
      larger.set(out);
      out = larger;
    }
    at = text.write(bytes, from, bytes.length, true, out, at);
  }
  return out.subarray(0, at);
}

/**
 * The two lines that `perf report -D` prints before the packets of an AUXTRACE record.
 *
 * @param size Number of bytes that follow.
 *
 * @example
 * ```ts
 * import { perfTextHeading } from "@perfdata/intel-pt/perf-text";
 * import { assertEquals } from "@std/assert";
 *
 * assertEquals(perfTextHeading(16), ".\n. ... Intel Processor Trace data: size 16 bytes\n");
 * ```
 */
export function perfTextHeading(size: number): string {
  return `.\n. ... Intel Processor Trace data: size ${size} bytes\n`;
}
