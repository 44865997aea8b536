import { assert, assertEquals, assertThrows } from "@std/assert";
import fc from "fast-check";
import { decodePackets, decodePacketStream } from "./decode_packets.ts";
import { compressIp, encodePacket, encodePackets } from "./encode_packet.ts";
import type { Packet } from "./packet.ts";
import { bytes, CORPUS, missing, packets, traces } from "../testing.ts";

function decode(stream: Uint8Array, recover?: "psb" | "byte"): Packet[] {
  return [...decodePackets(stream, { recover })].map(({ packet }) => packet);
}

/** Removes the reconstructed IP, which decoders add and encoders ignore. */
function withoutIp(packet: Packet): Packet {
  if (!("ip" in packet) || typeof packet.ip !== "bigint") return packet;
  const { ip: _, ...rest } = packet;
  return rest as Packet;
}

Deno.test("decodePackets: restores encoded packets", () => {
  fc.assert(
    fc.property(packets, (sequence) => {
      const stream = encodePackets(sequence);
      assertEquals(decode(stream).map(withoutIp), sequence);
    }),
    { numRuns: 1000 },
  );
});

Deno.test("encodePackets: restores decoded bytes", () => {
  fc.assert(
    fc.property(bytes, (stream) => {
      assertEquals(encodePackets(decode(stream)), stream);
      assertEquals(encodePackets(decode(stream, "byte")), stream);
    }),
    { numRuns: 1000 },
  );
});

Deno.test("encodePackets: restores a stream of every pair of bytes", () => {
  const stream = new Uint8Array(12);
  for (let first = 0; first < 256; first++) {
    for (let second = 0; second < 256; second++) {
      stream.set([first, second, 0x95, 0xff, 1, 0x80, 0x7f, 0, 0x55, 0xaa, 3]);
      const again = encodePackets(decode(stream));
      assert(again.every((byte, i) => byte === stream[i]) && again.length === stream.length);
    }
  }
});

Deno.test({
  name: "encodePackets: restores the bytes of real traces",
  ignore: missing(CORPUS),
  fn() {
    for (const { path, payload } of traces()) {
      const again = encodePackets(decode(payload));
      // assertEquals of two million numbers would be slow.
      assert(again.length === payload.length && again.every((b, i) => b === payload[i]), path);
    }
  },
});

Deno.test("decodePacketStream: pieces of any size give the packets of decodePackets", async () => {
  await fc.assert(
    fc.asyncProperty(bytes, fc.integer({ min: 1, max: 40 }), async (stream, size) => {
      const reused = new Uint8Array(size);
      function* pieces() {
        for (let at = 0; at < stream.length; at += size) {
          const piece = stream.subarray(at, at + size);
          reused.set(piece);
          yield reused.subarray(0, piece.length);
        }
      }
      assertEquals(await Array.fromAsync(decodePacketStream(pieces())), [...decodePackets(stream)]);
    }),
  );
});

Deno.test("encodePacket: packets give the bytes of the SDM's tables", () => {
  const cases: [Packet, string][] = [
    [{ type: "TNT", long: false, count: 6, bits: 0b111110n }, "fc"],
    [{ type: "TNT", long: true, count: 47, bits: (1n << 47n) - 1n }, "02a3ffffffffffff"],
    [{ type: "PIP", cr3: 0x6963f6000n, nr: true }, "024301f663690000"],
    [{ type: "MODE.Exec", csL: true, csD: false, interruptFlag: true }, "9905"],
    [{ type: "MODE.TSX", inTx: true, txAbort: false }, "9921"],
    [{ type: "TMA", ctc: 0x1234, fastCounter: 0x1ff }, "0273341200ff01"],
    [{ type: "VMCS", base: 0x3f14e9000n }, "02c8e9143f0000"],
    [{ type: "MWAIT", hints: 0x20, extensions: 1 }, "02c22000000001000000"],
    [{ type: "PWRE", hardware: true, cState: 5, subCState: 3 }, "02228053"],
    [{ type: "PWRX", lastCState: 2, deepestCState: 6, wakeReason: 1 }, "02a22601000000"],
    [{ type: "CFE", eventType: 1, vector: 14, ip: true }, "0213810e"],
    [{ type: "EVD", eventType: 2, payload: 0x1122n }, "0253022211000000000000"],
    [{ type: "TRIG", triggers: 3, ip: true, multiple: false, instructionCount: 258 }, "d9c0030201"],
    [{ type: "BBP", itemSize: 4, blockType: 1 }, "026381"],
    [{ type: "BIP", itemSize: 4, id: 2, value: 0xaabbccddn }, "14ddccbbaa"],
    [{ type: "CYC", cycles: 0n, size: 3 }, "070100"],
  ];
  for (const [packet, expected] of cases) {
    const hex = [...encodePacket(packet)].map((byte) => byte.toString(16).padStart(2, "0"));
    assertEquals(hex.join(""), expected, packet.type);
  }
});

Deno.test("encodePacket: a field that does not fit throws", () => {
  const cases: [Packet, string][] = [
    [{ type: "TNT", long: false, count: 7, bits: 0n }, "Cannot encode TNT: count 7"],
    [{ type: "TNT", long: true, count: 2, bits: 4n }, "Cannot encode TNT: bits 4"],
    [{ type: "TIP", compression: 1, payload: 0x10000n }, "Cannot encode TIP: payload 65536"],
    [{ type: "TIP", compression: 5 as 6, payload: 0n }, "Cannot encode TIP: compression 5"],
    [{ type: "PIP", cr3: 1n, nr: false }, "Cannot encode PIP: cr3 1"],
    [{ type: "TSC", tsc: 1n << 56n }, "Cannot encode TSC: tsc"],
    [{ type: "TSC", tsc: -1n }, "Cannot encode TSC: tsc -1"],
    [{ type: "MTC", ctc: 256 }, "Cannot encode MTC: ctc 256"],
    [{ type: "CBR", ratio: 1, reserved: 1n }, "Cannot encode CBR: reserved 1"],
    [{ type: "CYC", cycles: 0n, size: 11 }, "Cannot encode CYC: size 11"],
    [{ type: "VMCS", base: 1n }, "Cannot encode VMCS: base 1"],
    [{ type: "BBP", itemSize: 2 as 4, blockType: 0 }, "Cannot encode BBP: itemSize 2"],
  ];
  for (const [packet, message] of cases) {
    assertThrows(() => encodePacket(packet), RangeError, message);
  }
});

Deno.test("compressIp: gives the shortest form that the decoder restores", () => {
  const near = fc.bigInt({ min: 0n, max: (1n << 64n) - 1n });
  const address = fc.tuple(near, fc.constantFrom(16n, 32n, 47n, 48n, 64n), fc.boolean()).map(
    ([value, bits, kernel]) =>
      BigInt.asUintN(64, kernel ? -(value & ((1n << bits) - 1n)) : value & ((1n << bits) - 1n)),
  );
  fc.assert(fc.property(fc.array(address), (addresses) => {
    let last = 0n;
    const sent = addresses.map((ip): Packet => {
      const packet: Packet = { type: "TIP", ...compressIp(ip, last) };
      last = ip;
      return packet;
    });
    const got = decode(encodePackets(sent)).map((packet) => packet.type === "TIP" && packet.ip);
    assertEquals(got, addresses);
  }));
  assertEquals(compressIp(0x7fff00000000n, 0n).compression, 3);
  assertEquals(compressIp(0x1234800000000000n, 0x1234000000000000n).compression, 4);
  assertEquals(compressIp(0x1234800000000000n, 0n).compression, 6);
});
