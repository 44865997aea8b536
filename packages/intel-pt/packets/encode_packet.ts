import { cycSize } from "./cyc_size.ts";
import type { IpCompression, Packet } from "./packet.ts";

/** Bits 4:0 of the first byte of packets with an IP; bits 7:5 are the compression. */
const IP_OPCODE = { "TIP": 0x0d, "TIP.PGE": 0x11, "TIP.PGD": 0x01, "FUP": 0x1d } as const;

/** Size of the payload in bytes for each IP compression. */
const IP_SIZE: Readonly<Record<IpCompression, number>> = { 0: 0, 1: 2, 2: 4, 3: 6, 4: 6, 6: 8 };

/** A compressed address; see {@linkcode compressIp}. */
export interface CompressedIp {
  /** Form of the compression. */
  readonly compression: IpCompression;
  /** Bits of the address in the packet. */
  readonly payload: bigint;
}

/**
 * Compresses an address to its shortest form (SDM, "IP Compression"): the low 16, 32 or 48 bits
 * if the other bits equal those of `lastIp`; 48 bits, sign-extended; or all 64 bits.
 *
 * @param ip The address, unsigned.
 * @param lastIp The previous address in the stream; 0 after a PSB.
 *
 * @example
 * ```ts
 * import { compressIp } from "@perfdata/intel-pt";
 * import { assertEquals } from "@std/assert";
 *
 * assertEquals(compressIp(0x401234n, 0n), { compression: 2, payload: 0x401234n });
 * assertEquals(compressIp(0x401240n, 0x401234n), { compression: 1, payload: 0x1240n });
 * assertEquals(compressIp(0xffffffff81000000n, 0n), { compression: 3, payload: 0xffff81000000n });
 * ```
 */
export function compressIp(ip: bigint, lastIp: bigint): CompressedIp {
  const changed = ip ^ lastIp;
  if (changed >> 16n === 0n) return { compression: 1, payload: ip & 0xffffn };
  if (changed >> 32n === 0n) return { compression: 2, payload: ip & 0xffffffffn };
  const low48 = BigInt.asUintN(48, ip);
  if (BigInt.asUintN(64, BigInt.asIntN(48, ip)) === ip) return { compression: 3, payload: low48 };
  if (changed >> 48n === 0n) return { compression: 4, payload: low48 };
  return { compression: 6, payload: ip };
}

/**
 * Encodes a packet (SDM, "Packet Definitions").
 *
 * The inverse of {@linkcode decodePackets}: reserved bits, excess bytes of a CYC and invalid bytes
 * are written as they were read.
 *
 * @throws RangeError if a field does not fit into its bits.
 *
 * @example
 * ```ts
 * import { encodePacket } from "@perfdata/intel-pt";
 * import { assertEquals } from "@std/assert";
 *
 * assertEquals(encodePacket({ type: "CYC", cycles: 0x20n }), Uint8Array.of(0x07, 0x02));
 * assertEquals(
 *   encodePacket({ type: "TNT", long: false, count: 3, bits: 0b101n }),
 *   Uint8Array.of(0b0001_1010),
 * );
 * ```
 */
export function encodePacket(packet: Packet): Uint8Array {
  // One function, since it is a table: a few lines for each type, which share nothing.
  switch (packet.type) {
    case "PAD":
      return Uint8Array.of(0);
    case "TNT": {
      const { long, count } = packet;
      check(packet.type, "count", count >= 1 && count <= (long ? 47 : 6), count);
      const bits = fit(packet.type, "bits", packet.bits, count) | 1n << BigInt(count);
      return long ? bytesOf([0x02, 0xa3], bits, 6) : Uint8Array.of(Number(bits) << 1);
    }
    case "TIP":
    case "TIP.PGE":
    case "TIP.PGD":
    case "FUP": {
      const { type, compression } = packet;
      const size = IP_SIZE[compression];
      check(type, "compression", size !== undefined, compression);
      const payload = fit(type, "payload", packet.payload, 8 * size);
      return bytesOf([compression << 5 | IP_OPCODE[type]], payload, size);
    }
    case "PIP": {
      check(packet.type, "cr3", (packet.cr3 & 0x1fn) === 0n, packet.cr3);
      const cr3 = fit(packet.type, "cr3", packet.cr3, 52) >> 4n;
      return bytesOf([0x02, 0x43], cr3 | bit(packet.nr, 0), 6);
    }
    case "MODE.Exec": {
      const bits = bit(packet.csL, 0) | bit(packet.csD, 1) | bit(packet.interruptFlag, 2);
      return bytesOf([0x99], bits | reservedBits(packet, 0x18n), 1);
    }
    case "MODE.TSX": {
      const bits = bit(packet.inTx, 0) | bit(packet.txAbort, 1) | 0x20n;
      return bytesOf([0x99], bits | reservedBits(packet, 0x1cn), 1);
    }
    case "TraceSTOP":
      return Uint8Array.of(0x02, 0x83);
    case "CBR":
      return bytesOf(
        [0x02, 0x03],
        field(packet, "ratio", packet.ratio, 8) | reservedBits(packet, 0xff00n),
        2,
      );
    case "TSC":
      return bytesOf([0x19], fit(packet.type, "tsc", packet.tsc, 56), 7);
    case "MTC":
      return bytesOf([0x59], field(packet, "ctc", packet.ctc, 8), 1);
    case "TMA":
      return bytesOf(
        [0x02, 0x73],
        field(packet, "ctc", packet.ctc, 16) |
          field(packet, "fastCounter", packet.fastCounter, 9) << 24n |
          reservedBits(packet, 0xfe00ff0000n),
        5,
      );
    case "CYC":
      return encodeCyc(packet.cycles, packet.size);
    case "VMCS": {
      check(packet.type, "base", (packet.base & 0xfffn) === 0n, packet.base);
      return bytesOf([0x02, 0xc8], fit(packet.type, "base", packet.base, 52) >> 12n, 5);
    }
    case "OVF":
      return Uint8Array.of(0x02, 0xf3);
    case "PSB":
      return bytesOf([0x02, 0x82, 0x02, 0x82, 0x02, 0x82, 0x02, 0x82], 0x8202820282028202n, 8);
    case "PSBEND":
      return Uint8Array.of(0x02, 0x23);
    case "MNT":
      return bytesOf([0x02, 0xc3, 0x88], fit(packet.type, "payload", packet.payload, 64), 8);
    case "PTW": {
      const { type, operandSize, ip } = packet;
      check(type, "operandSize", operandSize === 4 || operandSize === 8, operandSize);
      const payload = fit(type, "payload", packet.payload, 8 * operandSize);
      const code = 0x12 | (operandSize === 8 ? 0x20 : 0) | (ip ? 0x80 : 0);
      return bytesOf([0x02, code], payload, operandSize);
    }
    case "EXSTOP":
      return Uint8Array.of(0x02, packet.ip ? 0xe2 : 0x62);
    case "MWAIT":
      return bytesOf(
        [0x02, 0xc2],
        field(packet, "hints", packet.hints, 8) |
          field(packet, "extensions", packet.extensions, 2) << 32n |
          reservedBits(packet, 0xfffffffcffffff00n),
        8,
      );
    case "PWRE":
      return bytesOf(
        [0x02, 0x22],
        bit(packet.hardware, 7) | field(packet, "subCState", packet.subCState, 4) << 8n |
          field(packet, "cState", packet.cState, 4) << 12n | reservedBits(packet, 0x7fn),
        2,
      );
    case "PWRX":
      return bytesOf(
        [0x02, 0xa2],
        field(packet, "deepestCState", packet.deepestCState, 4) |
          field(packet, "lastCState", packet.lastCState, 4) << 4n |
          field(packet, "wakeReason", packet.wakeReason, 4) << 8n |
          reservedBits(packet, 0xfffffff000n),
        5,
      );
    case "BBP":
      check(
        packet.type,
        "itemSize",
        packet.itemSize === 4 || packet.itemSize === 8,
        packet.itemSize,
      );
      return bytesOf(
        [0x02, 0x63],
        bit(packet.itemSize === 4, 7) | field(packet, "blockType", packet.blockType, 5) |
          reservedBits(packet, 0x60n),
        1,
      );
    case "BIP": {
      const { type, itemSize } = packet;
      check(type, "itemSize", itemSize === 4 || itemSize === 8, itemSize);
      const id = field(packet, "id", packet.id, 5);
      const value = fit(type, "value", packet.value, 8 * itemSize);
      return bytesOf([Number(id) << 3 | 4], value, itemSize);
    }
    case "BEP":
      return Uint8Array.of(0x02, packet.ip ? 0xb3 : 0x33);
    case "CFE":
      return bytesOf(
        [0x02, 0x13],
        field(packet, "eventType", packet.eventType, 5) | bit(packet.ip, 7) |
          field(packet, "vector", packet.vector, 8) << 8n | reservedBits(packet, 0x60n),
        2,
      );
    case "EVD": {
      const type = field(packet, "eventType", packet.eventType, 6) | reservedBits(packet, 0xc0n);
      const payload = fit(packet.type, "payload", packet.payload, 64);
      return bytesOf([0x02, 0x53, Number(type)], payload, 8);
    }
    case "TRIG": {
      const { instructionCount } = packet;
      const counted = instructionCount !== undefined;
      const bits = bit(packet.ip, 7) | bit(counted, 6) | bit(packet.multiple, 5) |
        reservedBits(packet, 0x1fn) | field(packet, "triggers", packet.triggers, 8) << 8n;
      return counted
        ? bytesOf([0xd9], bits | field(packet, "instructionCount", instructionCount, 16) << 16n, 4)
        : bytesOf([0xd9], bits, 2);
    }
    case "BAD_OPCODE":
    case "BAD_PACKET":
    case "TRUNCATED":
    case "SKIPPED":
      return packet.bytes;
  }
}

/**
 * Encodes a stream of packets.
 *
 * @throws RangeError if a field does not fit into its bits.
 *
 * @example
 * ```ts
 * import { decodePackets, encodePackets } from "@perfdata/intel-pt";
 * import { assertEquals } from "@std/assert";
 *
 * const bytes = Uint8Array.of(0x02, 0xf3, 0x00, 0xc9, 0x59, 0x07);
 * const packets = [...decodePackets(bytes)].map(({ packet }) => packet);
 * assertEquals(packets.map(({ type }) => type), ["OVF", "PAD", "BAD_OPCODE", "SKIPPED"]);
 * assertEquals(encodePackets(packets), bytes);
 * ```
 */
export function encodePackets(packets: Iterable<Packet>): Uint8Array<ArrayBuffer> {
  let out = new Uint8Array(1024);
  let size = 0;
  for (const packet of packets) {
    const bytes = encodePacket(packet);
    if (size + bytes.length > out.length) {
      const larger = new Uint8Array(2 * (size + bytes.length));
      larger.set(out.subarray(0, size));
      out = larger;
    }
    out.set(bytes, size);
    size += bytes.length;
  }
  return out.slice(0, size);
}

function encodeCyc(cycles: bigint, size = 1): Uint8Array {
  let value = fit("CYC", "cycles", cycles, 64);
  const length = Math.max(cycSize(cycles), size);
  check("CYC", "size", length <= 10, size);
  const out = new Uint8Array(length);
  out[0] = Number(value & 0x1fn) << 3 | (length > 1 ? 0x07 : 0x03);
  value >>= 5n;
  for (let i = 1; i < length; i++, value >>= 7n) {
    out[i] = Number(value & 0x7fn) << 1 | (i + 1 < length ? 1 : 0);
  }
  return out;
}

/** Returns `opcode` followed by the low `size` bytes of `payload`, little-endian. */
function bytesOf(opcode: readonly number[], payload: bigint, size: number): Uint8Array {
  const out = new Uint8Array(opcode.length + size);
  out.set(opcode);
  for (let i = opcode.length; i < out.length; i++, payload >>= 8n) out[i] = Number(payload & 0xffn);
  return out;
}

function bit(value: boolean, at: number): bigint {
  return value ? 1n << BigInt(at) : 0n;
}

function reservedBits(
  packet: { readonly type: string; readonly reserved?: bigint },
  mask: bigint,
): bigint {
  const { reserved = 0n } = packet;
  check(packet.type, "reserved", (reserved & ~mask) === 0n, reserved);
  return reserved;
}

function field(packet: Packet, name: string, value: number, bits: number): bigint {
  check(packet.type, name, Number.isInteger(value) && value >= 0 && value < 2 ** bits, value);
  return BigInt(value);
}

function fit(type: string, name: string, value: bigint, bits: number): bigint {
  check(type, name, value >= 0n && value >> BigInt(bits) === 0n, value);
  return value;
}

function check(type: string, name: string, ok: boolean, value: number | bigint): void {
  if (!ok) throw new RangeError(`Cannot encode ${type}: ${name} ${value} does not fit`);
}
