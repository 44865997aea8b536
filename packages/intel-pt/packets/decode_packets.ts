import { cycSize } from "./cyc_size.ts";
import type { IpCompression, IpPacket, Packet } from "./packet.ts";
import { PacketDecoder, type PacketDecoderOptions } from "./packet_decoder.ts";
import { PacketKind } from "./packet_kind.ts";

/** A packet and its position in the stream. */
export interface LocatedPacket {
  /** Offset in the stream of the packet's first byte. */
  readonly offset: number;
  /** Length of the packet in bytes. */
  readonly size: number;
  /** The decoded packet. */
  readonly packet: Packet;
}

/**
 * Decodes a whole Intel PT stream into objects, lazily.
 *
 * The packets follow one another without gaps: {@linkcode encodePackets} restores the bytes.
 * Invalid bytes are returned as BAD_OPCODE, BAD_PACKET, TRUNCATED or SKIPPED.
 *
 * @example
 * ```ts
 * import { decodePackets } from "@perfdata/intel-pt";
 * import { assertEquals } from "@std/assert";
 *
 * const bytes = Uint8Array.of(0xdd, 1, 0, 0, 0x81, 0xff, 0xff, 0xff, 0xff, 0x2d, 0x34, 0x12);
 * const [, tip] = [...decodePackets(bytes)];
 * assertEquals(tip, {
 *   offset: 9,
 *   size: 3,
 *   packet: { type: "TIP", compression: 1, payload: 0x1234n, ip: 0xffffffff81001234n },
 * });
 * ```
 */
export function* decodePackets(
  bytes: Uint8Array,
  options?: PacketDecoderOptions,
): Generator<LocatedPacket, void, undefined> {
  const decoder = new PacketDecoder(options);
  decoder.feed(bytes);
  decoder.end();
  while (decoder.next() > PacketKind.END) {
    yield { offset: decoder.offset, size: decoder.size, packet: packetOf(decoder) };
  }
}

/**
 * Decodes a stream that arrives in pieces of any size, such as a `ReadableStream`.
 *
 * The result does not depend on the boundaries of the pieces. A piece may be reused by its producer when the
 * next one is requested.
 *
 * @example
 * ```ts
 * import { decodePacketStream } from "@perfdata/intel-pt";
 * import { assertEquals } from "@std/assert";
 *
 * const pieces = [Uint8Array.of(0x59), Uint8Array.of(0x2a)];
 * const packets = await Array.fromAsync(decodePacketStream(pieces));
 * assertEquals(packets, [{ offset: 0, size: 2, packet: { type: "MTC", ctc: 42 } }]);
 * ```
 */
export async function* decodePacketStream(
  pieces: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  options?: PacketDecoderOptions,
): AsyncGenerator<LocatedPacket, void, undefined> {
  const decoder = new PacketDecoder(options);
  for await (const piece of pieces) {
    decoder.feed(piece);
    while (decoder.next() > PacketKind.END) {
      yield { offset: decoder.offset, size: decoder.size, packet: packetOf(decoder) };
    }
  }
  decoder.end();
  while (decoder.next() > PacketKind.END) {
    yield { offset: decoder.offset, size: decoder.size, packet: packetOf(decoder) };
  }
}

/**
 * Returns the packet of the last `decoder.next()` as an object.
 *
 * @throws TypeError if `next` returned NEED_MORE or END.
 *
 * @example
 * ```ts
 * import { PacketDecoder, packetOf } from "@perfdata/intel-pt";
 * import { assertEquals } from "@std/assert";
 *
 * const decoder = new PacketDecoder();
 * decoder.feed(Uint8Array.of(0x02, 0x03, 0x24, 0x00));
 * decoder.next();
 * assertEquals(packetOf(decoder), { type: "CBR", ratio: 0x24 });
 * ```
 */
export function packetOf(decoder: PacketDecoder): Packet {
  // One function, since it is a table: a few lines for each kind, which share nothing.
  const { kind, low, high, count } = decoder;
  switch (kind) {
    case PacketKind.PAD:
      return { type: "PAD" };
    case PacketKind.TNT_8:
    case PacketKind.TNT_64:
      return { type: "TNT", long: kind === PacketKind.TNT_64, count, bits: u64(low, high) };
    case PacketKind.TIP:
      return ipPacket("TIP", decoder);
    case PacketKind.TIP_PGE:
      return ipPacket("TIP.PGE", decoder);
    case PacketKind.TIP_PGD:
      return ipPacket("TIP.PGD", decoder);
    case PacketKind.FUP:
      return ipPacket("FUP", decoder);
    case PacketKind.PIP: {
      const payload = u64(low, high);
      return { type: "PIP", cr3: payload >> 1n << 5n, nr: (low & 1) !== 0 };
    }
    case PacketKind.MODE_EXEC:
      return {
        type: "MODE.Exec",
        csL: (low & 1) !== 0,
        csD: (low & 2) !== 0,
        interruptFlag: (low & 4) !== 0,
        ...reserved(low & 0x18),
      };
    case PacketKind.MODE_TSX:
      return {
        type: "MODE.TSX",
        inTx: (low & 1) !== 0,
        txAbort: (low & 2) !== 0,
        ...reserved(low & 0x1c),
      };
    case PacketKind.TRACESTOP:
      return { type: "TraceSTOP" };
    case PacketKind.CBR:
      return { type: "CBR", ratio: low & 0xff, ...reserved(low & 0xff00) };
    case PacketKind.TSC:
      return { type: "TSC", tsc: u64(low, high) };
    case PacketKind.MTC:
      return { type: "MTC", ctc: low };
    case PacketKind.TMA:
      return {
        type: "TMA",
        ctc: low & 0xffff,
        fastCounter: low >>> 24 | (high & 1) << 8,
        ...reserved(low & 0xff0000, high & 0xfe),
      };
    case PacketKind.CYC: {
      const cycles = u64(low, high);
      const { size } = decoder;
      return size === cycSize(cycles) ? { type: "CYC", cycles } : { type: "CYC", cycles, size };
    }
    case PacketKind.VMCS:
      return { type: "VMCS", base: u64(low, high) << 12n };
    case PacketKind.OVF:
      return { type: "OVF" };
    case PacketKind.PSB:
      return { type: "PSB" };
    case PacketKind.PSBEND:
      return { type: "PSBEND" };
    case PacketKind.MNT:
      return { type: "MNT", payload: u64(low, high) };
    case PacketKind.PTW:
      return {
        type: "PTW",
        operandSize: (count & 1) !== 0 ? 8 : 4,
        payload: u64(low, high),
        ip: (count & 4) !== 0,
      };
    case PacketKind.EXSTOP:
      return { type: "EXSTOP", ip: count !== 0 };
    case PacketKind.MWAIT:
      return {
        type: "MWAIT",
        hints: low & 0xff,
        extensions: high & 3,
        ...reserved(low & ~0xff, high & ~3),
      };
    case PacketKind.PWRE:
      return {
        type: "PWRE",
        hardware: (low & 0x80) !== 0,
        cState: low >> 12,
        subCState: low >> 8 & 0xf,
        ...reserved(low & 0x7f),
      };
    case PacketKind.PWRX:
      return {
        type: "PWRX",
        lastCState: low >> 4 & 0xf,
        deepestCState: low & 0xf,
        wakeReason: low >> 8 & 0xf,
        ...reserved(low & ~0xfff, high),
      };
    case PacketKind.BBP:
      return {
        type: "BBP",
        itemSize: (low & 0x80) !== 0 ? 4 : 8,
        blockType: low & 0x1f,
        ...reserved(low & 0x60),
      };
    case PacketKind.BIP:
      return {
        type: "BIP",
        itemSize: decoder.size === 9 ? 8 : 4,
        id: count,
        value: u64(low, high),
      };
    case PacketKind.BEP:
      return { type: "BEP", ip: count !== 0 };
    case PacketKind.CFE:
      return {
        type: "CFE",
        eventType: low & 0x1f,
        vector: low >> 8,
        ip: (low & 0x80) !== 0,
        ...reserved(low & 0x60),
      };
    case PacketKind.EVD:
      return {
        type: "EVD",
        eventType: count & 0x3f,
        payload: u64(low, high),
        ...reserved(count & 0xc0),
      };
    case PacketKind.TRIG:
      return {
        type: "TRIG",
        triggers: low >> 8 & 0xff,
        ip: (low & 0x80) !== 0,
        multiple: (low & 0x20) !== 0,
        ...(decoder.size === 5 ? { instructionCount: low >>> 16 } : {}),
        ...reserved(low & 0x1f),
      };
    case PacketKind.BAD_OPCODE:
      return { type: "BAD_OPCODE", bytes: decoder.raw().slice() };
    case PacketKind.BAD_PACKET:
      return { type: "BAD_PACKET", bytes: decoder.raw().slice() };
    case PacketKind.TRUNCATED:
      return { type: "TRUNCATED", bytes: decoder.raw().slice() };
    case PacketKind.SKIPPED:
      return { type: "SKIPPED", bytes: decoder.raw().slice() };
    case PacketKind.NEED_MORE:
    case PacketKind.END:
      throw new TypeError("Cannot make a packet: the decoder has not returned one");
  }
}

function ipPacket(type: IpPacket["type"], decoder: PacketDecoder): IpPacket {
  const compression = decoder.count as IpCompression;
  const payload = u64(decoder.low, decoder.high);
  return compression === 0
    ? { type, compression, payload }
    : { type, compression, payload, ip: u64(decoder.ipLow, decoder.ipHigh) };
}

function reserved(low: number, high = 0): { readonly reserved?: bigint } {
  return low === 0 && high === 0 ? {} : { reserved: u64(low, high) };
}

function u64(low: number, high: number): bigint {
  return high === 0 ? BigInt(low >>> 0) : BigInt(high >>> 0) << 32n | BigInt(low >>> 0);
}
