// One module, since all kinds of packets read and write the same few fields. The loop over packets is
// fast because the compiler sees the tables and the methods together.
import { PacketKind } from "./packet_kind.ts";
import { findPsb, PSB_SIZE } from "./psb.ts";

// Module constants rather than properties of PacketKind: the compiler folds them.
const {
  NEED_MORE,
  END,
  PAD,
  TNT_8,
  TNT_64,
  TIP,
  TIP_PGE,
  TIP_PGD,
  FUP,
  PIP,
  MODE_EXEC,
  MODE_TSX,
  TRACESTOP,
  CBR,
  TSC,
  MTC,
  TMA,
  CYC,
  VMCS,
  OVF,
  PSB,
  PSBEND,
  MNT,
  PTW,
  EXSTOP,
  MWAIT,
  PWRE,
  PWRX,
  BBP,
  BIP,
  BEP,
  CFE,
  EVD,
  TRIG,
  BAD_OPCODE,
  BAD_PACKET,
  TRUNCATED,
  SKIPPED,
} = PacketKind;

/** Maximum size of a SKIPPED result. It is a constant, so that results do not depend on the size of feeds. */
const SKIP_MAX = 4096;

/** Payload size in bytes by IP compression (SDM, "IP Packet Compression"); 0xff if reserved. */
const IP_SIZE = Uint8Array.of(0, 2, 4, 6, 6, 0xff, 8, 0xff);

/** Masks of the bits of the last IP that each compression replaces, by half. */
const IP_LOW_MASK = Int32Array.of(0, 0xffff, -1, -1, -1, 0, -1, 0);
const IP_HIGH_MASK = Int32Array.of(0, 0, 0, 0xffff, 0xffff, 0, -1, 0);

/** Kind of packets of one byte, PAD and short TNT, by that byte; 0 for other bytes. */
const SHORT_KIND = new Uint8Array(256);
/** Number of branches, and the branches, of a short TNT, by its byte. */
const SHORT_COUNT = new Uint8Array(256);
const SHORT_BITS = new Uint8Array(256);
SHORT_KIND[0] = PAD;
for (let byte = 4; byte < 256; byte += 2) {
  const count = 30 - Math.clz32(byte);
  SHORT_KIND[byte] = TNT_8;
  SHORT_COUNT[byte] = count;
  SHORT_BITS[byte] = (byte >> 1) ^ (1 << count);
}

/** Marks the first byte of a two-byte opcode in {@linkcode OPCODE_KIND}. */
const EXTENDED = 63;

/** Kind of a packet by its first byte. MODE_EXEC represents both leaves of MODE. */
const OPCODE_KIND = new Uint8Array(256).fill(BAD_OPCODE);
for (let byte = 0; byte < 256; byte++) {
  if ((byte & 1) === 0) OPCODE_KIND[byte] = TNT_8;
  else if ((byte & 3) === 3) OPCODE_KIND[byte] = CYC;
  else if ((byte & 0x1f) === 0x0d) OPCODE_KIND[byte] = TIP;
  else if ((byte & 0x1f) === 0x11) OPCODE_KIND[byte] = TIP_PGE;
  else if ((byte & 0x1f) === 0x01) OPCODE_KIND[byte] = TIP_PGD;
  else if ((byte & 0x1f) === 0x1d) OPCODE_KIND[byte] = FUP;
}
OPCODE_KIND[0x00] = PAD;
OPCODE_KIND[0x02] = EXTENDED;
OPCODE_KIND[0x19] = TSC;
OPCODE_KIND[0x59] = MTC;
OPCODE_KIND[0x99] = MODE_EXEC;
OPCODE_KIND[0xd9] = TRIG;

/** Kind and total size of a packet with first byte 02, by its second byte. */
const EXTENDED_KIND = new Uint8Array(256).fill(BAD_OPCODE);
const EXTENDED_SIZE = new Uint8Array(256);
for (
  const [code, kind, size] of [
    [0x03, CBR, 4],
    [0x13, CFE, 4],
    [0x22, PWRE, 4],
    [0x23, PSBEND, 2],
    [0x33, BEP, 2],
    [0x43, PIP, 8],
    [0x53, EVD, 11],
    [0x62, EXSTOP, 2],
    [0x63, BBP, 3],
    [0x73, TMA, 7],
    [0x82, PSB, PSB_SIZE],
    [0x83, TRACESTOP, 2],
    [0xa2, PWRX, 7],
    [0xa3, TNT_64, 8],
    [0xb3, BEP, 2],
    [0xc2, MWAIT, 10],
    [0xc3, MNT, 11],
    [0xc8, VMCS, 7],
    [0xe2, EXSTOP, 2],
    [0xf3, OVF, 2],
    // PTW: bit 7 is set if a FUP follows; bits 6:5 are the size of the operand.
    [0x12, PTW, 6],
    [0x32, PTW, 10],
    [0x52, BAD_PACKET, 0],
    [0x72, BAD_PACKET, 0],
    [0x92, PTW, 6],
    [0xb2, PTW, 10],
    [0xd2, BAD_PACKET, 0],
    [0xf2, BAD_PACKET, 0],
  ] as const
) {
  EXTENDED_KIND[code] = kind;
  EXTENDED_SIZE[code] = size;
}

/** 1 for packets that end a block, since they cannot occur in one (SDM, "Block Begin Packet (BBP)"). */
const ENDS_BLOCK = new Uint8Array(64);
for (
  const kind of [
    ...[TNT_8, TNT_64, TIP, TIP_PGE, TIP_PGD, MODE_EXEC, MODE_TSX, PIP, OVF, VMCS, TRACESTOP],
    ...[PSB, PSBEND, PTW, MWAIT, BEP, CFE, EVD],
  ]
) ENDS_BLOCK[kind] = 1;

/** Replaces {@linkcode SHORT_KIND} if `next` must not use its fast path. */
const NO_SHORT = new Uint8Array(256);

/** Options of {@linkcode PacketDecoder}. */
export interface PacketDecoderOptions {
  /**
   * Position at which decoding continues after a BAD_OPCODE or BAD_PACKET. `"psb"` (default): the next PSB;
   * the bytes before it are returned as SKIPPED. `"byte"`: the next byte; a packet cut by the end of the stream
   * is then also returned byte by byte.
   */
  recover?: "psb" | "byte";
  /**
   * Position at which decoding starts. `"here"` (default): the first byte. `"psb"`: the first PSB; the
   * bytes before it are returned as SKIPPED. A ring buffer that was overwritten during
   * tracing often begins in the middle of a packet.
   */
  start?: "here" | "psb";
}

/**
 * Decodes a stream of Intel Processor Trace packets, one per call, without allocation.
 *
 * The layouts are those of the Intel SDM, Volume 3, chapter "Intel Processor Trace", section
 * "Packet Definitions". {@linkcode next} returns a {@linkcode PacketKind}; the properties of the
 * decoder describe that packet until the next call.
 *
 * | kind | `low`, `high` | `count` |
 * | --- | --- | --- |
 * | TNT_8, TNT_64 | the branches, oldest in the highest bit, 1 = taken | number of branches |
 * | TIP, TIP_PGE, TIP_PGD, FUP | the IP bytes as transmitted | IP compression, 0 to 6 |
 * | CYC | the value | 0 |
 * | PTW | the operand | bits 7:5 of the second byte: IP bit, payload size code |
 * | EXSTOP, BEP | 0 | the IP bit |
 * | BIP | the value | the item's ID |
 * | EVD | the payload | the type byte, with its two reserved bits |
 * | all others | the bytes after the opcode, including reserved bits | 0 |
 *
 * The stream is little-endian. Every byte is part of exactly one result: the sizes
 * of all results add up to the length of the stream.
 *
 * Two ambiguities are resolved by context, as in the SDM. Within a block (from a BBP to the BEP or
 * another packet that ends the block), a byte that ends in binary 100 begins a BIP; elsewhere, it is
 * a short TNT. `02 82` can only begin a PSB.
 *
 * @example Count the branches of a stream that comes in pieces
 * ```ts
 * import { PacketDecoder, PacketKind } from "@perfdata/intel-pt";
 * import { assertEquals } from "@std/assert";
 *
 * const decoder = new PacketDecoder();
 * let branches = 0;
 * for (const piece of [[0x02], [0xa3, 3, 2, 0, 0, 0, 0], [0x0e]]) {
 *   decoder.feed(Uint8Array.from(piece));
 *   while (decoder.next() > PacketKind.END) branches += decoder.count;
 * }
 * assertEquals(branches, 9 + 2);
 * ```
 */
export class PacketDecoder {
  /** Kind of the last packet. */
  kind: PacketKind = NEED_MORE;
  /** Secondary number of the packet; see the table above. */
  count = 0;
  /** Bits 31:0 of the payload, as a signed integer; use `low >>> 0` for the unsigned value. */
  low = 0;
  /** Bits 63:32 of the payload, as a signed integer; use `high >>> 0` for the unsigned value. */
  high = 0;
  /** Bits 31:0 of the last IP (SDM, "IP Compression"), as a signed integer. */
  ipLow = 0;
  /** Bits 63:32 of the last IP, as a signed integer. */
  ipHigh = 0;
  /** Number of BAD_OPCODE results so far. */
  badOpcodes = 0;
  /** Number of BAD_PACKET results so far. */
  badPackets = 0;
  /** Number of bytes in SKIPPED results so far. */
  skippedBytes = 0;
  /** Number of times that decoding continued at a PSB after a search. */
  resyncs = 0;

  private readonly recoverAtPsb: boolean;
  private bytes: Uint8Array = new Uint8Array(0);
  private view: DataView = new DataView(new ArrayBuffer(0));
  /** Buffer for packets that arrive in pieces. */
  private own: Uint8Array = new Uint8Array(0);
  /** Stream offset of `bytes[0]`. */
  private base = 0;
  private startPos = 0;
  private pos = 0;
  private limit = 0;
  private last = false;
  /** Whether `bytes` belongs to the caller, who may reuse it after NEED_MORE. */
  private borrowed = false;
  private searching: boolean;
  /** During a search: no PSB begins in `bytes` before this position. */
  private searched = 0;
  /** SHORT_KIND; NO_SHORT inside a block or during a search. */
  private shortKind: Uint8Array;
  private itemSize: 0 | 4 | 8 = 0;

  /** Creates a decoder for a new stream. */
  constructor(options: PacketDecoderOptions = {}) {
    this.recoverAtPsb = options.recover !== "byte";
    this.searching = options.start === "psb";
    this.shortKind = this.searching ? NO_SHORT : SHORT_KIND;
  }

  /** Stream offset of the last packet's first byte. */
  get offset(): number {
    return this.base + this.startPos;
  }

  /** Size of the last packet in bytes. */
  get size(): number {
    return this.pos - this.startPos;
  }

  /** In a block (SDM, "Block Begin Packet (BBP)"), the size of the values of its BIP packets: 4 or 8; else 0. */
  get blockItemSize(): 0 | 4 | 8 {
    return this.itemSize;
  }

  /** Returns the bytes of the last packet: a view, valid until the next call of any method. */
  raw(): Uint8Array {
    return this.bytes.subarray(this.startPos, this.pos);
  }

  /**
   * Appends bytes to the stream. A piece may have any length, including 0.
   *
   * The decoder reads from `piece` without a copy until `next` returns NEED_MORE. After
   * that, the caller may overwrite it.
   *
   * @throws TypeError after {@linkcode end}.
   */
  feed(piece: Uint8Array): void {
    if (this.last) throw new TypeError("Cannot feed bytes: the stream has been ended");
    if (this.pos === this.limit) {
      this.use(piece, 0, piece.length);
    } else if (piece.length > 0) {
      this.keep(piece.length);
      this.own.set(piece, this.limit);
      this.limit += piece.length;
    }
    this.borrowed = this.bytes !== this.own;
  }

  /** Marks the end of the bytes: an incomplete packet becomes TRUNCATED. */
  end(): void {
    this.last = true;
  }

  /**
   * Continues in `bytes[from, to)`, a buffer that the caller keeps unchanged; an alternative to
   * {@linkcode feed} that never copies.
   *
   * The bytes left when `next` returned NEED_MORE (at most 4111 bytes, and at most 15 if
   * `recover` is `"byte"`) have to be repeated at the beginning of the next window.
   *
   * @param last Whether the stream ends at `to`.
   */
  window(bytes: Uint8Array, from: number, to: number, last: boolean): void {
    this.use(bytes, from, to);
    this.borrowed = false;
    this.last = last;
  }

  /**
   * Continues at `offset`, which has to be in the current window.
   *
   * @param blockItemSize Context of the position; see {@linkcode blockItemSize}.
   * @throws RangeError if `offset` is outside of the window.
   */
  seek(offset: number, blockItemSize: 0 | 4 | 8): void {
    const pos = offset - this.base;
    if (!(pos >= 0 && pos <= this.limit)) {
      throw new RangeError(`Cannot seek to ${offset}: not in the current window`);
    }
    this.pos = this.startPos = pos;
    this.searching = false;
    this.setBlock(blockItemSize);
  }

  /**
   * Skips `size` bytes after the last packet. They have to be available.
   *
   * @throws RangeError if fewer bytes are available.
   */
  skip(size: number): void {
    if (!(size >= 0 && size <= this.limit - this.pos)) {
      throw new RangeError(`Cannot skip ${size} bytes: ${this.limit - this.pos} are at hand`);
    }
    this.pos += size;
  }

  /** Skips to the next PSB; the bytes before it are returned as SKIPPED. */
  resync(): void {
    this.searching = true;
    this.searched = this.pos;
    this.shortKind = NO_SHORT;
  }

  /**
   * Passes short TNT packets, one byte each, to a follower that is faster than `next`.
   *
   * @param follower Receives the available bytes; returns the position of the first packet that it did not follow.
   * All packets before must be short TNTs. Its methods must not use this decoder.
   * @returns Whether it followed a packet.
   */
  shortTnt(follower: { follow(bytes: Uint8Array, from: number, to: number): number }): boolean {
    const { pos } = this;
    if (this.shortKind !== SHORT_KIND || pos >= this.limit) return false;
    const to = follower.follow(this.bytes, pos, this.limit);
    if (to === pos) return false;
    this.pos = to;
    this.startPos = to - 1;
    return true;
  }

  /** Decodes the next packet; see {@linkcode PacketKind} and the table above. */
  next(): PacketKind {
    // Most packets have one byte. This part is inlined into the caller's loop. It distinguishes PAD from TNT by
    // tables instead of branches, because their order is unpredictable.
    const pos = this.pos;
    if (pos < this.limit) {
      const byte = this.bytes[pos] as number;
      const kind = this.shortKind[byte] as PacketKind;
      if (kind !== 0) {
        this.startPos = pos;
        this.pos = pos + 1;
        this.count = SHORT_COUNT[byte] as number;
        this.low = SHORT_BITS[byte] as number;
        this.high = 0;
        return this.kind = kind;
      }
    }
    return this.kind = this.shortKind === SHORT_KIND ? this.packet() : this.special();
  }

  /** Makes `bytes[from, to)` the next bytes of the stream. */
  private use(bytes: Uint8Array, from: number, to: number): void {
    this.base += this.pos - from;
    this.searched = from;
    this.bytes = bytes;
    this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.startPos = this.pos = from;
    this.limit = to;
  }

  /** Moves the unread bytes to the own buffer, with room for `more` bytes after them. */
  private keep(more: number): void {
    const { pos, limit } = this;
    const rest = limit - pos;
    if (this.bytes === this.own && limit + more <= this.own.length) return;
    const from = this.bytes;
    const searched = this.searched;
    let { own } = this;
    if (rest + more > own.length) own = new Uint8Array(Math.max(2 * (rest + more), 64));
    if (from === own) own.copyWithin(0, pos, limit);
    else own.set(from.subarray(pos, limit));
    this.use(this.own = own, 0, rest);
    this.searched = Math.max(0, searched - pos);
  }

  /** Enters or leaves a block. */
  private setBlock(itemSize: 0 | 4 | 8): void {
    this.itemSize = itemSize;
    this.shortKind = itemSize === 0 ? SHORT_KIND : NO_SHORT;
  }

  /** Searches for a PSB, or decodes within a block: BIP precedes TNT, and most packets end the block. */
  private special(): PacketKind {
    if (this.searching) return this.search();
    const { pos, limit, itemSize } = this;
    const byte = pos < limit ? this.bytes[pos] as number : 0;
    if ((byte & 7) === 4) {
      const kind = this.fixed(BIP, 1, 1 + itemSize);
      if (kind === BIP) this.count = byte >> 3;
      return kind;
    }
    const kind = this.packet();
    if (ENDS_BLOCK[kind] !== 0) this.setBlock(0);
    return kind;
  }

  /** Decodes a packet outside of blocks. */
  private packet(): PacketKind {
    const { bytes, pos, limit } = this;
    this.startPos = pos;
    this.count = 0;
    this.low = 0;
    this.high = 0;
    if (pos === limit) return this.last ? END : NEED_MORE;
    const byte = bytes[pos] as number;
    const kind = OPCODE_KIND[byte] as PacketKind | typeof EXTENDED;
    switch (kind) {
      case PAD:
        this.pos = pos + 1;
        return PAD;
      case TIP:
      case FUP:
      case TIP_PGE:
      case TIP_PGD:
        return this.ip(kind, byte);
      case CYC:
        return this.cyc(byte);
      case EXTENDED:
        return this.extended();
      case MODE_EXEC:
        return this.mode();
      case MTC:
        return this.fixed(MTC, 1, 2);
      case TSC:
        return this.fixed(TSC, 1, 8);
      case TNT_8:
        this.count = SHORT_COUNT[byte] as number;
        this.low = SHORT_BITS[byte] as number;
        this.pos = pos + 1;
        return TNT_8;
      case TRIG: {
        if (limit - pos < 2) return this.incomplete();
        const withCount = ((bytes[pos + 1] as number) & 0x40) !== 0;
        return this.fixed(TRIG, 1, withCount ? 5 : 3);
      }
      default:
        return this.bad(BAD_OPCODE);
    }
  }

  /** Decodes a packet whose opcode has two or three bytes, beginning with 02. */
  private extended(): PacketKind {
    const { bytes, pos } = this;
    if (this.limit - pos < 2) return this.incomplete();
    const code = bytes[pos + 1] as number;
    const kind = EXTENDED_KIND[code] as PacketKind;
    const size = EXTENDED_SIZE[code] as number;
    switch (kind) {
      case BAD_OPCODE:
      case BAD_PACKET:
        return this.bad(kind);
      case TNT_64:
        return this.longTnt();
      case PSB:
        return this.psb();
      case MNT:
        if (this.limit - pos < 3) return this.incomplete();
        return bytes[pos + 2] === 0x88 ? this.fixed(MNT, 3, size) : this.bad(BAD_OPCODE);
    }
    const result = this.fixed(kind, 2, size);
    if (result !== kind) return result;
    switch (kind) {
      case BBP:
        this.setBlock((this.low & 0x80) !== 0 ? 4 : 8);
        break;
      case EXSTOP:
      case BEP:
        this.count = code >> 7;
        break;
      case PTW:
        this.count = code >> 5;
        break;
      case EVD:
        this.count = bytes[pos + 2] as number;
        this.payload(pos + 3, 8);
        break;
    }
    return kind;
  }

  /** Decodes a packet of `size` bytes, of which the first `opcode` are the opcode. */
  private fixed(kind: PacketKind, opcode: number, size: number): PacketKind {
    const { pos } = this;
    this.startPos = pos;
    if (this.limit - pos < size) return this.incomplete();
    this.payload(pos + opcode, size - opcode);
    this.pos = pos + size;
    return kind;
  }

  /** Loads `size` (0 to 8) little-endian bytes at `at`. */
  private payload(at: number, size: number): void {
    const { bytes } = this;
    if (size >= 4) {
      this.low = this.view.getInt32(at, true);
      if (size === 8) this.high = this.view.getInt32(at + 4, true);
      else {
        let high = 0;
        for (let i = size - 1; i >= 4; i--) high = high << 8 | (bytes[at + i] as number);
        this.high = high;
      }
    } else {
      let low = 0;
      for (let i = size - 1; i >= 0; i--) low = low << 8 | (bytes[at + i] as number);
      this.low = low;
    }
  }

  /** Decodes TIP, TIP.PGE, TIP.PGD or FUP (SDM, "Target IP (TIP) Packet"): bits 7:5 are the IP compression. */
  private ip(kind: PacketKind, byte: number): PacketKind {
    const { pos, view } = this;
    const compression = byte >> 5;
    const size = IP_SIZE[compression] as number;
    if (size === 0xff) return this.bad(BAD_PACKET);
    const left = this.limit - pos;
    if (left <= size) return this.incomplete();
    this.pos = pos + 1 + size;
    this.count = compression;
    const lowMask = IP_LOW_MASK[compression] as number;
    const highMask = IP_HIGH_MASK[compression] as number;
    if (left > 8) {
      // Masks instead of branches, because the order of compressions is unpredictable.
      this.low = view.getInt32(pos + 1, true) & lowMask;
      this.high = view.getInt32(pos + 5, true) & highMask;
    } else this.payload(pos + 1, size);
    this.ipLow = this.ipLow & ~lowMask | this.low;
    this.ipHigh = this.ipHigh & ~highMask | this.high;
    if (compression === 3) this.ipHigh = this.high << 16 >> 16;
    return kind;
  }

  /** Decodes a CYC (SDM, "Cycle Count (CYC) Packet"): five bits, then seven per byte while bit "Exp" is set. */
  private cyc(byte: number): PacketKind {
    const { bytes, pos, limit } = this;
    let at = pos + 1;
    let low = byte >> 3;
    let high = 0;
    let more = (byte & 4) !== 0;
    for (let shift = 5; more; shift += 7) {
      if (at === limit) return this.incomplete();
      const next = bytes[at++] as number;
      const bits = next >> 1;
      // The last byte of ten starts at bit 61: three bits of it fit into 64.
      if (shift === 61 && (bits > 7 || (next & 1) !== 0)) return this.bad(BAD_PACKET);
      if (shift < 32) {
        low |= bits << shift;
        if (shift > 25) high = bits >> (32 - shift);
      } else high |= bits << (shift - 32);
      more = (next & 1) !== 0;
    }
    this.low = low;
    this.high = high;
    this.pos = at;
    return CYC;
  }

  /** Decodes a MODE (SDM, "MODE Packets"): bits 7:5 of the second byte are the leaf. */
  private mode(): PacketKind {
    const { pos } = this;
    if (this.limit - pos < 2) return this.incomplete();
    const payload = this.bytes[pos + 1] as number;
    const leaf = payload >> 5;
    if (leaf > 1) return this.bad(BAD_PACKET);
    this.low = payload;
    this.pos = pos + 2;
    return leaf === 0 ? MODE_EXEC : MODE_TSX;
  }

  /** Decodes a long TNT (SDM, "Taken/Not-taken (TNT) Packet"): six bytes; the highest set bit is the stop bit. */
  private longTnt(): PacketKind {
    const kind = this.fixed(TNT_64, 2, 8);
    if (kind !== TNT_64) return kind;
    const { low, high } = this;
    const count = high !== 0 ? 63 - Math.clz32(high) : 31 - Math.clz32(low);
    if (count <= 0) return this.bad(BAD_PACKET);
    if (count >= 32) this.high = high ^ (1 << (count - 32));
    else this.low = low ^ (1 << count);
    this.count = count;
    return kind;
  }

  /** Decodes a PSB (SDM, "Packet Stream Boundary (PSB) Packet"), which resets the last IP to 0. */
  private psb(): PacketKind {
    const { bytes, pos, limit } = this;
    const end = Math.min(pos + PSB_SIZE, limit);
    for (let at = pos + 2; at < end; at++) {
      if (bytes[at] !== ((at - pos & 1) === 0 ? 0x02 : 0x82)) return this.bad(BAD_PACKET);
    }
    if (limit - pos < PSB_SIZE) return this.incomplete();
    this.pos = end;
    this.ipLow = 0;
    this.ipHigh = 0;
    return PSB;
  }

  /** Returns one byte as invalid. */
  private bad(kind: typeof BAD_OPCODE | typeof BAD_PACKET): PacketKind {
    if (kind === BAD_OPCODE) this.badOpcodes++;
    else this.badPackets++;
    this.count = 0;
    this.low = 0;
    this.high = 0;
    this.pos = this.startPos + 1;
    if (this.recoverAtPsb) this.resync();
    return kind;
  }

  /** Handles a packet whose end is not available yet. */
  private incomplete(): PacketKind {
    this.count = 0;
    this.low = 0;
    this.high = 0;
    if (!this.last) return this.more();
    this.pos = this.recoverAtPsb ? this.limit : this.startPos + 1;
    return TRUNCATED;
  }

  /** Copies the unread bytes, since the caller may reuse its buffer, and asks for more. */
  private more(): PacketKind {
    if (this.borrowed) {
      this.keep(0);
      this.borrowed = false;
    }
    return NEED_MORE;
  }

  /** Skips bytes up to the next PSB. */
  private search(): PacketKind {
    const { pos, limit } = this;
    this.startPos = pos;
    this.count = 0;
    this.low = 0;
    this.high = 0;
    // Search as far as one result can reach, without searching bytes twice.
    const reach = Math.min(limit, pos + SKIP_MAX + PSB_SIZE - 1);
    const found = findPsb(this.bytes, Math.max(pos, this.searched), reach);
    if (found === pos) {
      this.searching = false;
      this.resyncs++;
      this.setBlock(0);
      return this.psb();
    }
    let end = found;
    if (found < 0) {
      this.searched = Math.max(pos, reach - PSB_SIZE + 1);
      if (reach === pos + SKIP_MAX + PSB_SIZE - 1) end = pos + SKIP_MAX;
      else if (!this.last) return this.more();
      else if (pos === limit) return END;
      else end = Math.min(limit, pos + SKIP_MAX);
    } else this.searched = found;
    this.pos = end;
    this.skippedBytes += end - pos;
    return SKIPPED;
  }
}
