import { assert, assertEquals, assertThrows } from "@std/assert";
import fc from "fast-check";
import { encodePackets } from "./encode_packet.ts";
import { PacketDecoder, type PacketDecoderOptions } from "./packet_decoder.ts";
import { PacketKind } from "./packet_kind.ts";
import { bytes, CORPUS, missing, packets, PSB } from "../testing.ts";

const NAMES = Object.fromEntries(Object.entries(PacketKind).map(([name, kind]) => [kind, name]));

/** Returns all that a decoder reports for a stream in pieces, one line for each packet. */
function trace(pieces: readonly Uint8Array[], options?: PacketDecoderOptions): string[] {
  const decoder = new PacketDecoder(options);
  const lines: string[] = [];
  const drain = () => {
    for (let kind = decoder.next(); kind > PacketKind.END; kind = decoder.next()) {
      const { offset, size, count, low, high, ipLow, ipHigh, blockItemSize } = decoder;
      const raw = [...decoder.raw()].join(" ");
      lines.push(
        [NAMES[kind], offset, size, count, low, high, ipLow, ipHigh, blockItemSize, raw].join(","),
      );
    }
  };
  for (const piece of pieces) {
    const borrowed = piece.slice();
    decoder.feed(borrowed);
    drain();
    assertEquals(decoder.next(), PacketKind.NEED_MORE);
    borrowed.fill(0xc9);
  }
  decoder.end();
  drain();
  assertEquals(decoder.next(), PacketKind.END);
  const { badOpcodes, badPackets, skippedBytes, resyncs } = decoder;
  lines.push(`${badOpcodes} ${badPackets} ${skippedBytes} ${resyncs}`);
  return lines;
}

/** Returns kind and offset of each result. */
function outline(stream: readonly number[], options?: PacketDecoderOptions): string[] {
  return trace([Uint8Array.from(stream)], options).slice(0, -1).map((line) => {
    const [name, offset] = line.split(",");
    return `${name}@${offset}`;
  });
}

const VECTORS = `${CORPUS}/refs/linux-6.8-intel-pt-test-vectors.tsv`;

Deno.test({
  name: "PacketDecoder: the kernel's test vectors give the expected packets",
  ignore: missing(VECTORS),
  fn() {
    const contexts = { "0": 0, INTEL_PT_BLK_4_CTX: 4, INTEL_PT_BLK_8_CTX: 8 } as const;
    let vectors = 0;
    for (const row of Deno.readTextFileSync(VECTORS).trimEnd().split("\n")) {
      const [name = "", , hex = "", context = "", expected = "", newContext = "", unchanged] = row
        .split("\t");
      if (name.startsWith("#") || name === "Terminator") continue;
      const input = Uint8Array.from(hex.match(/../g) ?? [], (pair) => parseInt(pair, 16));
      const decoder = new PacketDecoder();
      decoder.window(input, 0, input.length, true);
      const before = contexts[context as keyof typeof contexts];
      decoder.seek(0, before);
      const kind = decoder.next();
      const { low, high, count } = decoder;
      const payload = BigInt(high >>> 0) << 32n | BigInt(low >>> 0);

      // Type, count and payload in the vectors are those of the kernel's decoder. They are converted if it splits
      // a packet into other fields.
      const [type = "", wantCount = "", wantPayload = ""] = expected.split(", ");
      let got: [number | bigint, bigint] = [count, payload];
      if (type === "INTEL_PT_TNT") got = [count, BigInt.asUintN(64, payload << BigInt(64 - count))];
      else if (type === "INTEL_PT_VMCS") got = [5, payload];
      else if (type === "INTEL_PT_MODE_EXEC") {
        got = [low, [16n, 64n, 32n][low & 3] as bigint];
      } else if (type === "INTEL_PT_MODE_TSX") got = [0, payload & 3n];
      else if (type === "INTEL_PT_TMA") {
        got = [Number(payload >> 24n & 0x1ffn), payload & 0xffffn];
      } else if (type === "INTEL_PT_BBP") got = [low >> 7, payload & 0x1fn];
      else if (type.startsWith("INTEL_PT_CFE")) got = [low & 0x1f, payload >> 8n];
      else if (type.startsWith("INTEL_PT_PTW")) got = [count & 3, payload];
      else if (/EXSTOP|BEP/.test(type)) got = [0, payload];

      // Below the branches of a long TNT, the kernel's payload still has the opcode's bits.
      const meaningful = type === "INTEL_PT_TNT" ? ~((1n << BigInt(64 - count)) - 1n) : -1n;
      const [digits = "", shift = "0"] = wantPayload.replace("ULL", "").split(" << ");
      const where = `${name} ${hex}`;
      const kernelName = type.replace("INTEL_PT_", "").replace("PTWRITE", "PTW");
      const ours = (NAMES[kind] ?? "").replace(/^TNT_.*/, "TNT");
      assertEquals(ours, kernelName.replace(/_IP$/, ""), where);
      if (/^(EXSTOP|BEP)/.test(kernelName)) assertEquals(count, /_IP$/.test(kernelName) ? 1 : 0);
      if (/^PTW/.test(kernelName)) assertEquals(count >> 2, /_IP$/.test(kernelName) ? 1 : 0);
      if (/^CFE/.test(kernelName)) assertEquals(low >> 7 & 1, /_IP$/.test(kernelName) ? 1 : 0);
      assertEquals(
        [got[0], got[1]],
        [
          Number(wantCount),
          BigInt.asUintN(64, BigInt(digits) << BigInt(shift)) & meaningful,
        ],
        where,
      );
      assertEquals(decoder.size, input.length, where);
      const after = contexts[newContext as keyof typeof contexts];
      assertEquals(decoder.blockItemSize, after, where);
      if (unchanged === "1") {
        for (const other of [0, 4, 8] as const) {
          // A byte other than PAD that ends in 100 would be a BIP; none of these does.
          decoder.seek(0, other);
          decoder.next();
          assertEquals(decoder.blockItemSize, other, where);
        }
      }
      vectors++;
    }
    assert(vectors >= 120, `${vectors} vectors`);
  },
});

Deno.test("PacketDecoder: IPs of all compressions are reconstructed", () => {
  const ips: [number[], string][] = [
    [[0xdd, 0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11], "1122334455667788"],
    [[0x2d, 0xbb, 0xaa], "112233445566aabb"],
    [[0x51, 0x04, 0x03, 0x02, 0x01], "1122334401020304"],
    [[0x81, 1, 2, 3, 4, 5, 6], "1122060504030201"],
    [[0x0d], "1122060504030201"],
    [[0x6d, 0, 0, 0, 0, 0, 0x80], "ffff800000000000"],
    [[0x6d, 0, 0, 0, 0, 0, 0x7f], "00007f0000000000"],
    [[...PSB], "0000000000000000"],
  ];
  const decoder = new PacketDecoder();
  for (const [packet, expected] of ips) {
    decoder.feed(Uint8Array.from(packet));
    decoder.next();
    const half = (value: number) => (value >>> 0).toString(16).padStart(8, "0");
    assertEquals(half(decoder.ipHigh) + half(decoder.ipLow), expected);
  }
});

Deno.test("PacketDecoder: bad opcodes, bad packets and ends are reported; decoding continues at a PSB", () => {
  const stream = [0x04, 0xc9, 0x04, 0x04, ...PSB, 0x02, 0x23, 0xad, 0x02, 0x82, 0x01, ...PSB, 0x59];
  assertEquals(outline(stream), [
    "TNT_8@0",
    "BAD_OPCODE@1",
    "SKIPPED@2",
    "PSB@4",
    "PSBEND@20",
    "BAD_PACKET@22",
    "SKIPPED@23",
    "PSB@26",
    "TRUNCATED@42",
  ]);
  assertEquals(trace([Uint8Array.from(stream)]).at(-1), "1 1 5 2");
  assertEquals(outline([0xc9, 0x04, 0xad, 0x59], { recover: "byte" }), [
    "BAD_OPCODE@0",
    "TNT_8@1",
    "BAD_PACKET@2",
    "TRUNCATED@3",
  ]);
  assertEquals(outline([0x04, ...PSB], { start: "psb" }), ["SKIPPED@0", "PSB@1"]);
});

Deno.test("PacketDecoder: a form that the SDM does not have is a BAD_PACKET", () => {
  const forms = {
    "reserved IP compression": [0xed, 1, 2, 3, 4, 5, 6, 7, 8],
    "reserved PTW payload size": [0x02, 0x52, 1, 2, 3, 4, 5, 6, 7, 8],
    "reserved MODE leaf": [0x99, 0x40],
    "long TNT without a stop bit": [0x02, 0xa3, 0, 0, 0, 0, 0, 0],
    "long TNT without branches": [0x02, 0xa3, 1, 0, 0, 0, 0, 0],
    "PSB that breaks off": [0x02, 0x82, 0x02, 0x82, 0x02, 0x83],
    "CYC that never ends": [0x07, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0],
    "CYC of more than 64 bits": [0x07, 1, 1, 1, 1, 1, 1, 1, 1, 0x10],
  };
  for (const [name, form] of Object.entries(forms)) {
    assertEquals(outline(form)[0], "BAD_PACKET@0", name);
  }
  assertEquals(outline([0x02, 0xc3, 0x89])[0], "BAD_OPCODE@0");
});

Deno.test("PacketDecoder: 04 is a BIP inside a block and a TNT outside", () => {
  const item = [0x0c, 1, 2, 3, 4];
  assertEquals(outline([0x02, 0x63, 0x81, ...item, 0x02, 0x33, 0x0c]), [
    "BBP@0",
    "BIP@3",
    "BEP@8",
    "TNT_8@10",
  ]);
  // A short TNT whose byte does not end in 100 ends the block; PAD, CYC and FUP do not.
  assertEquals(outline([0x02, 0x63, 0x81, 0, 0x03, 0x1d, ...item, 0x06, 0x0c]), [
    "BBP@0",
    "PAD@3",
    "CYC@4",
    "FUP@5",
    "BIP@6",
    "TNT_8@11",
    "TNT_8@12",
  ]);
});

Deno.test("PacketDecoder: the result does not depend on the pieces", () => {
  const cuts = fc.array(fc.nat(300), { maxLength: 12 });
  const options = fc.record({
    recover: fc.constantFrom("psb" as const, "byte" as const),
    start: fc.constantFrom("here" as const, "psb" as const),
  });
  const streams = fc.oneof(bytes, packets.map(encodePackets));
  fc.assert(
    fc.property(streams, cuts, options, (stream, at, how) => {
      const sorted = [0, ...at.filter((cut) => cut < stream.length), stream.length].sort((a, b) =>
        a - b
      );
      const pieces = sorted.slice(1).map((to, i) => stream.subarray(sorted[i], to));
      const whole = trace([stream], how);
      assertEquals(trace(pieces, how), whole);
      assertEquals(trace(Array.from(stream, (byte) => Uint8Array.of(byte)), how), whole);
    }),
    { numRuns: 500 },
  );
});

Deno.test("PacketDecoder: SKIPPED results do not depend on the feeds", () => {
  const stream = new Uint8Array(20_000).fill(0xc9);
  stream.set(PSB, 10_001);
  const whole = trace([stream]);
  assertEquals(whole.map((line) => line.split(",").slice(0, 3).join(" ")).slice(0, 5), [
    "BAD_OPCODE 0 1",
    "SKIPPED 1 4096",
    "SKIPPED 4097 4096",
    "SKIPPED 8193 1808",
    "PSB 10001 16",
  ]);
  const pieces: Uint8Array[] = [];
  for (let at = 0; at < stream.length; at += 37) pieces.push(stream.subarray(at, at + 37));
  assertEquals(trace(pieces), whole);
});

Deno.test("PacketDecoder: results cover the stream without gap or overlap", () => {
  fc.assert(
    fc.property(bytes, (stream) => {
      let end = 0;
      for (const line of trace([stream]).slice(0, -1)) {
        const [, offset, size] = line.split(",").map(Number);
        assertEquals(offset, end);
        assert(Number(size) > 0);
        end += Number(size);
      }
      assertEquals(end, stream.length);
    }),
    { numRuns: 500 },
  );
});

Deno.test("PacketDecoder.resync: decoding continues at the next PSB", () => {
  const decoder = new PacketDecoder();
  decoder.feed(Uint8Array.of(0x04, 0x04, ...PSB));
  decoder.next();
  decoder.resync();
  assertEquals(decoder.next(), PacketKind.SKIPPED);
  assertEquals(decoder.next(), PacketKind.PSB);
  assertEquals(decoder.offset, 2);
});

Deno.test("PacketDecoder: feed, seek and skip beyond the stream throw", () => {
  const decoder = new PacketDecoder();
  decoder.window(Uint8Array.of(1, 2, 3), 1, 3, true);
  assertThrows(() => decoder.seek(3, 0), RangeError, "Cannot seek to 3");
  assertThrows(() => decoder.skip(3), RangeError, "Cannot skip 3 bytes: 2 are at hand");
  assertThrows(() => decoder.feed(Uint8Array.of(1)), TypeError, "the stream has been ended");
});
