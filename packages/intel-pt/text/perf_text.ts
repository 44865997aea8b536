import { putAscii, putHex8 } from "@perfdata/format/bytes";
import { PacketDecoder } from "../packets/packet_decoder.ts";
import { PacketKind } from "../packets/packet_kind.ts";
import { type PacketStep, putPacket, stepsOf } from "../packets/packet_parts.ts";
import { float64sOf, HEX3, OVERSHOOT, wholeText } from "./packet_text_bytes.ts";
import { PACKET_TEXTS } from "./packet_texts.ts";

/** Number of bytes that {@linkcode PerfText.write} needs after its output position. */
export const PERF_TEXT_ROOM: number = 160 + OVERSHOOT;

/** Maximum number of bytes from a packet's first byte that perf examines. */
const LOOKAHEAD = 16;

/** Columns of the hexadecimal bytes and of the description in a line. */
const HEX_COLUMN = 13;
const TEXT_COLUMN = HEX_COLUMN + 16 * 3;

const { END, TNT_8, BAD_OPCODE: BAD } = PacketKind;

const SPACES = float64sOf(" ".repeat(8))[0] as number;

/** 1 for the kinds that perf may decode differently. */
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

/** " xx " as a 32-bit number, by byte. */
const HEX_CELL = new Uint32Array(256);
{
  const view = new DataView(new ArrayBuffer(4));
  for (let byte = 0; byte < 256; byte++) {
    putAscii(view, 0, ` ${byte.toString(16).padStart(2, "0")} `);
    HEX_CELL[byte] = view.getUint32(0, true);
  }
}

/** For a line with a single short TNT: the text after the offset, and the text after the hexadecimal bytes. */
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

/** Compiled description of each kind. Packets that perf cannot decode have the kind BAD_OPCODE here. */
const TEXTS = Array.from({ length: 64 }, (_, kind) => {
  const text = PACKET_TEXTS[kind] ?? {};
  return stepsOf(` ${text.perf ?? ""}`, text);
});

/**
 * Writes packets as `perf report -D` of Linux 6.1 prints them, directly as bytes.
 *
 * A line has the offset, the bytes and the description of a packet. A line of fewer than eight bytes
 * also contains the zero bytes after the packet, up to eight bytes in total; so does the line of a
 * PAD. Where perf's decoder differs from the SDM, the text is perf's:
 *
 * - After bytes that it cannot decode (`Bad packet!`), it continues one byte later, not at a PSB.
 *   This includes a packet cut by the end of the data.
 * - TRIG, and MODE packets with both mode bits set, are `Bad packet!`.
 * - A long TNT without branches is `TNT  (0)`, a CYC of ten bytes is truncated to 64 bits.
 *
 * Reads from and writes to buffers of the caller; the output needs at least {@linkcode PERF_TEXT_ROOM} bytes.
 *
 * @example
 * ```ts
 * import { PERF_TEXT_ROOM, PerfText } from "@perfdata/intel-pt";
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
  /** Number of input bytes that the last {@linkcode write} consumed. */
  consumed = 0;

  private decoder: PacketDecoder = new PacketDecoder({ recover: "byte" });
  private blockItemSize: 0 | 4 | 8 = 0;
  private offset = 0;
  private size = 0;

  /**
   * Starts outside of any block.
   *
   * @param first Offset printed for the first packet; 0 in perf.
   */
  constructor(first = 0) {
    this.offset = first;
  }

  /** Restarts at offset 0, outside of any block, as perf does for every AUXTRACE record. */
  reset(): void {
    this.decoder = new PacketDecoder({ recover: "byte" });
    this.blockItemSize = 0;
    this.offset = 0;
  }

  /**
   * Writes lines for the packets of `input[from, to)` to `out`, from position `at` on.
   *
   * Stops when the input is consumed, or when less than {@linkcode PERF_TEXT_ROOM} bytes are left in
   * `out`. The input after {@linkcode consumed} bytes has to be repeated at the
   * beginning of the next call's input. Unless `last` is set, up to 15 bytes are always left,
   * because the line of a packet depends on the bytes after it.
   *
   * @param last Whether the data ends at `to`.
   * @returns Position in `out` after the last line.
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
      at = putPacket(view, at + TEXT_COLUMN, TEXTS[kind] as readonly PacketStep[], decoder);
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
   * Decodes a packet that perf decodes differently from the SDM: returns the kind that perf prints and sets
   * `size`; the decoder continues after it.
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
      // Ten bytes that do not fit into 64 bits; perf, too, rejects an eleventh byte.
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

/**
 * Returns the text of a whole buffer, as `perf report -D` prints it; see {@linkcode PerfText}.
 *
 * @example
 * ```ts
 * import { perfText } from "@perfdata/intel-pt";
 * import { assertEquals } from "@std/assert";
 *
 * assertEquals(
 *   new TextDecoder().decode(perfText(Uint8Array.of(0xfc, 0x00))),
 *   ".  00000000:  fc 00                                           TNT TTTTTN (6)\n",
 * );
 * ```
 */
export function perfText(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  return wholeText(new PerfText(), bytes, PERF_TEXT_ROOM, 80);
}

/**
 * Returns the two lines that `perf report -D` prints before the packets of an AUXTRACE record.
 *
 * @param size Number of PT bytes.
 *
 * @example
 * ```ts
 * import { perfTextHeading } from "@perfdata/intel-pt";
 * import { assertEquals } from "@std/assert";
 *
 * assertEquals(perfTextHeading(16), ".\n. ... Intel Processor Trace data: size 16 bytes\n");
 * ```
 */
export function perfTextHeading(size: number): string {
  return `.\n. ... Intel Processor Trace data: size ${size} bytes\n`;
}
