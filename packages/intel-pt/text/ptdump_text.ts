import { type Piece, piece, putAscii, putHex, putHex16, putHexBytes } from "@perfdata/format/bytes";
import { PacketDecoder } from "../packets/packet_decoder.ts";
import { PacketKind } from "../packets/packet_kind.ts";
import { type PacketStep, putPacket, stepsOf } from "../packets/packet_parts.ts";
import { PACKET_TEXTS, type PacketText } from "./packet_texts.ts";
import { findPsb, PSB_SIZE } from "../packets/psb.ts";
import { float64sOf, HEX3, OVERSHOOT, wholeText } from "./packet_text_bytes.ts";

/** Number of bytes that {@linkcode PtdumpText.write} needs after its output position. */
export const PTDUMP_TEXT_ROOM: number = 256 + OVERSHOOT;

/** Options of `ptdump`, under its own names. */
export interface PtdumpTextOptions {
  /** `--raw`: show the bytes of each packet. */
  raw?: boolean;
  /** `--lastip`: show the reconstructed IP. */
  lastIp?: boolean;
  /** `--exec-mode`: show the mode on mode.exec packets. */
  execMode?: boolean;
  /** `--no-pad`: omit PAD packets. */
  noPad?: boolean;
  /** `--no-timing`: omit TSC, CBR, TMA, MTC and CYC packets. */
  noTiming?: boolean;
  /** `--no-cyc`: omit CYC packets. */
  noCyc?: boolean;
  /** `--no-offset`: omit the first column. */
  noOffset?: boolean;
  /** `--no-sync`: start at the first byte instead of at the first PSB. */
  noSync?: boolean;
}

/** The widths of ptdump's columns. */
const OFFSET_WIDTH = 17;
const RAW_WIDTH = 33;
const OPCODE_WIDTH = 10;
const PAYLOAD_WIDTH = 25;
const TRACKING_WIDTH = 5;

/** Maximum size of a packet, and of the overlap of a PSB with the packet before it. */
const REACH = 16;

const { END, PAD, TNT_8 } = PacketKind;

/** Kinds that libipt rejects, always or sometimes: 1 unknown opcode, 2 unknown packet. */
const ERROR = new Uint8Array(64);
ERROR[PacketKind.BAD_OPCODE] = 1;
ERROR[PacketKind.BBP] = 1;
ERROR[PacketKind.BIP] = 1;
ERROR[PacketKind.BEP] = 1;
ERROR[PacketKind.BAD_PACKET] = 2;
ERROR[PacketKind.TMA] = 2;
ERROR[PacketKind.CYC] = 2;

const IP_KINDS = [PacketKind.TIP, PacketKind.FUP, PacketKind.TIP_PGE, PacketKind.TIP_PGD];
const IS_IP = new Uint8Array(64);
for (const kind of IP_KINDS) IS_IP[kind] = 1;

const PSB = Uint8Array.of(2, 0x82, 2, 0x82, 2, 0x82, 2, 0x82, 2, 0x82, 2, 0x82, 2, 0x82, 2, 0x82);

/** A text in two columns: a name and a value. */
interface Columns {
  /** The name, padded to the second column. */
  readonly name: Piece;
  /** Length of the name in bytes. */
  readonly length: number;
  readonly value: readonly PacketStep[];
}

/** Compiles a text of the form `name value`. */
function columns(text: PacketText, kind: "ptdump" | "tracked", width: number): Columns | undefined {
  const [, name, value = ""] = /^(\S+) ?(.*)$/s.exec(text[kind] ?? "") ?? [];
  if (name === undefined) return undefined;
  return { name: piece(name.padEnd(width)), length: name.length, value: stepsOf(value, text) };
}

const TEXTS = Array.from(
  { length: 64 },
  (_, kind) => columns(PACKET_TEXTS[kind] ?? {}, "ptdump", OPCODE_WIDTH + 1),
);
const TRACKED = Array.from(
  { length: 64 },
  (_, kind) => columns(PACKET_TEXTS[kind] ?? {}, "tracked", TRACKING_WIDTH),
);

/** Rest of the line after the offset, for packets of one byte on the fast path. */
const SHORT_TEXT = new Float64Array(256 * 3);
const SHORT_LENGTH = new Uint8Array(256);
for (let byte = 0; byte < 256; byte += 2) {
  if (byte === 2) continue;
  const bits = (byte >> 1).toString(2).slice(1).replaceAll("1", "!").replaceAll("0", ".");
  const text = byte === 0 ? " pad\n" : ` tnt.8      ${bits}\n`;
  SHORT_TEXT.set(float64sOf(text), 3 * byte);
  SHORT_LENGTH[byte] = text.length;
}

/**
 * Writes packets as libipt's `ptdump` prints them, directly as bytes.
 *
 * A line has the offset, name and payload of a packet. PIP, VMCS, CFE and EVD have a third column;
 * with some options, others do, too. Like ptdump, it starts at the first PSB. For bytes that libipt
 * rejects, it writes a line in brackets and continues at the next PSB, even if
 * the packet before the error contains its beginning. libipt rejects BBP, BIP,
 * BEP, a TMA with reserved bits, and a CYC of ten bytes.
 *
 * For its use, see {@linkcode PerfText}.
 *
 * @example
 * ```ts
 * import { PTDUMP_TEXT_ROOM, PtdumpText } from "@perfdata/intel-pt";
 * import { assertEquals } from "@std/assert";
 *
 * const input = Uint8Array.of(0x02, 0xf3, 0x2d, 0x34, 0x12);
 * const text = new PtdumpText({ noSync: true, lastIp: true });
 * const out = new Uint8Array(2 * PTDUMP_TEXT_ROOM);
 * const at = text.write(input, 0, input.length, true, out, 0);
 * assertEquals(
 *   new TextDecoder().decode(out.subarray(0, at)),
 *   "0000000000000000  ovf\n" +
 *     "0000000000000002  tip        1: ????????????1234       ip   0000000000001234\n",
 * );
 * ```
 */
export class PtdumpText {
  /** Number of input bytes that the last {@linkcode write} consumed. */
  consumed = 0;

  private readonly options: PtdumpTextOptions;
  private readonly decoder: PacketDecoder;
  private readonly hidden = new Uint8Array(64);
  private readonly tracked = [...TRACKED];
  private readonly shortWay: boolean;
  private offset = 0;
  /** Whether decoding is synchronized, so that no PSB has to be searched for. */
  private inSync: boolean;
  private ipLow = 0;
  private ipHigh = 0;
  private haveIp = false;
  /** The last bytes consumed, in which a PSB may begin, and room for its rest. */
  private readonly recent = new Uint8Array(2 * PSB_SIZE - 2);

  /** Creates a writer for one stream. */
  constructor(options: PtdumpTextOptions = {}) {
    this.options = options;
    this.decoder = new PacketDecoder({ start: options.noSync ? "here" : "psb" });
    this.inSync = options.noSync === true;
    const { TSC, CBR, TMA, MTC, CYC, PAD } = PacketKind;
    if (options.noTiming) { for (const kind of [TSC, CBR, TMA, MTC, CYC]) this.hidden[kind] = 1; }
    if (options.noCyc) this.hidden[CYC] = 1;
    if (options.noPad) this.hidden[PAD] = 1;
    if (!options.execMode) this.tracked[PacketKind.MODE_EXEC] = undefined;
    if (!options.lastIp) { for (const kind of IP_KINDS) this.tracked[kind] = undefined; }
    this.shortWay = !options.raw && !options.noOffset && !options.noPad;
  }

  /**
   * Writes lines for the packets of `input[from, to)` to `out`, from position `at` on.
   *
   * Stops when the input is consumed, or when less than {@linkcode PTDUMP_TEXT_ROOM} bytes are left
   * in `out`. The input after {@linkcode consumed} bytes has to be repeated at
   * the beginning of the next call's input; unless `last` is set, this can be up to 4111 bytes.
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
    const { decoder, options, shortWay } = this;
    decoder.window(input, from, to, last);
    const view = new DataView(out.buffer, out.byteOffset, out.byteLength);
    const stopOut = out.length - PTDUMP_TEXT_ROOM;
    const stopIn = last ? to : to - REACH + 1;
    let pos = from;
    let offset = this.offset;
    let page = -1;
    let pageText = 0;
    let highText = 0;
    while (pos < stopIn && at <= stopOut) {
      const kind: PacketKind = decoder.next();
      if (kind === TNT_8 || kind === PAD) {
        if (shortWay) {
          const low = offset >>> 0;
          if (low >>> 12 !== page) {
            page = low >>> 12;
            putHex16(view, at, Math.floor(offset / 2 ** 32), low);
            highText = view.getFloat64(at, true);
            pageText = view.getFloat64(at + 5, true);
          }
          const byte = input[pos] as number;
          view.setFloat64(at, highText, true);
          view.setFloat64(at + 5, pageText, true);
          view.setUint32(at + 13, (HEX3[low & 0xfff] as number) | 0x20000000, true);
          view.setFloat64(at + 17, SHORT_TEXT[3 * byte] as number, true);
          view.setFloat64(at + 25, SHORT_TEXT[3 * byte + 1] as number, true);
          view.setFloat64(at + 33, SHORT_TEXT[3 * byte + 2] as number, true);
          at += 17 + (SHORT_LENGTH[byte] as number);
          pos++;
          offset++;
          continue;
        }
      } else if (kind <= END) break;

      let size = decoder.size;
      const error = ERROR[kind] as number;
      const refused = error !== 0 && this.isError(kind, size);
      if (refused) {
        this.offset = offset;
        if (kind === PacketKind.BAD_PACKET && to - pos < PSB_SIZE && isPsbOpcode(input, pos)) {
          // libipt reports the end of the stream before the invalid PSB.
          pos = to;
          break;
        }
        at = this.putError(view, at, error === 1 ? "opcode" : "packet");
        const psb = this.psbBegunBefore(input, from, pos, to);
        if (psb < 0) {
          decoder.seek(offset + 1, 0);
          decoder.resync();
          size = 1;
        } else {
          at = this.line(view, at, PacketKind.PSB, offset - psb, PSB);
          size = PSB_SIZE - psb;
          decoder.seek(offset + size, 0);
        }
      } else if (
        kind !== PacketKind.SKIPPED && kind !== PacketKind.TRUNCATED && this.hidden[kind] === 0
      ) {
        if (kind === PacketKind.PSB && !this.inSync) {
          const longer = runAfter(input, pos + PSB_SIZE, to);
          pos += longer;
          offset += longer;
          decoder.skip(longer);
        }
        const bytes = options.raw === true ? input.subarray(pos, pos + size) : PSB;
        at = this.line(view, at, kind, offset, bytes);
      }
      this.inSync = !refused && kind !== PacketKind.SKIPPED;
      pos += size;
      offset += size;
    }
    this.consumed = pos - from;
    this.offset = offset;
    this.remember(input, from, pos);
    return at;
  }

  /** Whether libipt rejects a packet whose kind is in ERROR. */
  private isError(kind: PacketKind, size: number): boolean {
    const { low, high } = this.decoder;
    if (kind === PacketKind.TMA) return (low & 0xff0000) !== 0 || (high & 0xfe) !== 0;
    return kind !== PacketKind.CYC || size > 9;
  }

  /** Keeps the last fifteen bytes before `pos` at the beginning of `recent`. */
  private remember(input: Uint8Array, from: number, pos: number): void {
    const { recent } = this;
    const count = Math.min(PSB_SIZE - 1, pos - from);
    recent.copyWithin(0, count, PSB_SIZE - 1);
    for (let i = 0; i < count; i++) {
      recent[PSB_SIZE - 1 - count + i] = input[pos - count + i] as number;
    }
  }

  /** Returns the number of bytes before `pos` at which a PSB begins that continues after `pos`; -1 without one. */
  private psbBegunBefore(input: Uint8Array, from: number, pos: number, to: number): number {
    const { recent } = this;
    const half = PSB_SIZE - 1;
    const saved = recent.slice(0, half);
    this.remember(input, from, pos);
    const after = Math.min(half, to - pos);
    for (let i = 0; i < after; i++) recent[half + i] = input[pos + i] as number;
    const found = findPsb(recent, half - Math.min(half, this.offset), half + after);
    recent.set(saved);
    if (found < 0) return -1;
    const before = half - found;
    const longer = runAfter(input, pos + PSB_SIZE - before, to);
    return longer < before ? before - longer : -1;
  }

  /** Writes the line in brackets for the current offset, and forgets the last IP. */
  private putError(view: DataView, at: number, what: string): number {
    this.haveIp = false;
    this.ipLow = this.ipHigh = 0;
    at = putHexOffset(view, putAscii(view, at, "["), this.offset);
    return putAscii(view, at, `: error decoding packet: unknown ${what}]\n`);
  }

  /**
   * Writes the line of the decoder's current packet.
   *
   * @param bytes Bytes of the packet, for `--raw`.
   */
  private line(
    view: DataView,
    at: number,
    kind: PacketKind,
    offset: number,
    bytes: Uint8Array,
  ): number {
    const { options, decoder } = this;
    // The note that ptdump writes before a line, about its first IP packet.
    if (options.lastIp && decoder.count === 0 && !this.haveIp && IS_IP[kind] !== 0) {
      at = putHexOffset(view, putAscii(view, at, "["), offset);
      at = putAscii(view, at, ": error tracking last-ip: no ip]\n");
    }
    if (!options.noOffset) {
      at = putHex16(view, at, Math.floor(offset / 2 ** 32), offset >>> 0);
      at = putSpaces(view, at, OFFSET_WIDTH - 16 + 1);
    }
    if (options.raw) {
      at = putHexBytes(view, at, bytes, 0, bytes.length);
      at = putSpaces(view, at, RAW_WIDTH - 2 * bytes.length + 1);
    }
    const { name, length, value } = TEXTS[kind] as Columns;
    const start = name.put(view, at);
    const end = putPacket(view, start, value, decoder);
    at = end > start ? end : at + length;
    const tracked = this.tracked[kind];
    if (tracked !== undefined) {
      at = putSpaces(view, at, end > start ? PAYLOAD_WIDTH - (end - start) + 1 : PAYLOAD_WIDTH + 2);
      at = tracked.name.put(view, at);
      at = IS_IP[kind] === 0 ? putPacket(view, at, tracked.value, decoder) : this.lastIp(view, at);
    }
    view.setUint8(at, 0x0a);
    return at + 1;
  }

  /** Updates the last IP and writes it. */
  private lastIp(view: DataView, at: number): number {
    const { low, high, count } = this.decoder;
    if (count === 0) return putAscii(view, at, this.haveIp ? "<suppressed>" : "<unavailable>");
    // Unlike the decoder's, ptdump's last IP is kept after a PSB.
    switch (count) {
      case 1:
        this.ipLow = this.ipLow & ~0xffff | low;
        break;
      case 4:
        this.ipHigh = this.ipHigh & ~0xffff | high;
        this.ipLow = low;
        break;
      case 3:
        this.ipHigh = high << 16 >> 16;
        this.ipLow = low;
        break;
      case 6:
        this.ipHigh = high;
        this.ipLow = low;
        break;
      default:
        this.ipLow = low;
    }
    this.haveIp = true;
    return putHex16(view, at, this.ipHigh, this.ipLow);
  }
}

/**
 * Returns the text of a whole buffer, as `ptdump` prints it; see {@linkcode PtdumpText}.
 *
 * @example
 * ```ts
 * import { ptdumpText } from "@perfdata/intel-pt";
 * import { assertEquals } from "@std/assert";
 *
 * assertEquals(
 *   new TextDecoder().decode(ptdumpText(Uint8Array.of(0xfc, 0x00), { noSync: true, raw: true })),
 *   "0000000000000000  fc                                tnt.8      !!!!!.\n" +
 *     "0000000000000001  00                                pad\n",
 * );
 * ```
 */
export function ptdumpText(
  bytes: Uint8Array,
  options?: PtdumpTextOptions,
): Uint8Array<ArrayBuffer> {
  return wholeText(new PtdumpText(options), bytes, PTDUMP_TEXT_ROOM, 40);
}

/**
 * Returns the number of bytes for which the pattern of a PSB continues from `pos`. If it is longer than a PSB,
 * libipt synchronizes to its last sixteen bytes.
 */
function runAfter(bytes: Uint8Array, pos: number, to: number): number {
  let end = pos;
  while (end + 1 < to && bytes[end] === 0x02 && bytes[end + 1] === 0x82) end += 2;
  return end - pos;
}

function putHexOffset(view: DataView, at: number, offset: number): number {
  return putHex(view, at, Math.floor(offset / 2 ** 32), offset | 0);
}

function putSpaces(view: DataView, at: number, count: number): number {
  for (const end = at + count; at < end; at++) view.setUint8(at, 0x20);
  return at;
}

function isPsbOpcode(bytes: Uint8Array, pos: number): boolean {
  return bytes[pos] === 0x02 && bytes[pos + 1] === 0x82;
}
