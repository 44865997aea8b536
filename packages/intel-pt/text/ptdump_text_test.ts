import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import { encodePackets } from "../packets/encode_packet.ts";
import { PTDUMP_TEXT_ROOM, PtdumpText, ptdumpText, type PtdumpTextOptions } from "./ptdump_text.ts";
import { bytes, missingCommand, packets, PSB, traces } from "../testing.ts";

const PTDUMP = Deno.env.get("PTDUMP") ?? "ptdump";
const noPtdump = missingCommand(PTDUMP);
const latin1 = new TextDecoder("latin1");

const SETS: [string[], PtdumpTextOptions][] = [
  [[], {}],
  [["--raw", "--lastip", "--exec-mode"], { raw: true, lastIp: true, execMode: true }],
  [["--no-sync", "--no-pad", "--no-timing"], { noSync: true, noPad: true, noTiming: true }],
  [["--no-offset", "--no-cyc", "--lastip"], { noOffset: true, noCyc: true, lastIp: true }],
];

function assertAsPtdump(file: string, stream: Uint8Array, where: string): void {
  Deno.writeFileSync(file, stream);
  for (const [args, options] of SETS) {
    const { stdout } = new Deno.Command(PTDUMP, { args: [...args, file] }).outputSync();
    const [ours, theirs] = [latin1.decode(ptdumpText(stream, options)), latin1.decode(stdout)];
    if (ours === theirs) continue;
    const [a, b] = [ours.split("\n"), theirs.split("\n")];
    const line = a.findIndex((text, i) => text !== b[i]);
    assertEquals(a[line], b[line], `${where} ${args.join(" ")}, line ${line}`);
    assertEquals(a.length, b.length, `${where} ${args.join(" ")}: number of lines`);
  }
}

Deno.test({
  name: "ptdumpText: real traces and random streams give the text of libipt's ptdump",
  ignore: noPtdump,
  fn() {
    const folder = Deno.makeTempDirSync();
    try {
      for (const { path, payload } of traces()) assertAsPtdump(`${folder}/pt`, payload, path);
      // The beginning is not synchronized; a PSB follows, so that packets are decoded.
      const streams = fc.sample(
        fc.tuple(bytes, fc.oneof(bytes, packets.map(encodePackets)), bytes).map((parts) =>
          Uint8Array.from([...parts[0], ...PSB, ...parts[1], ...parts[2], 0])
        ),
        300,
      );
      for (const stream of streams) {
        assertAsPtdump(`${folder}/pt`, stream, `stream ${[...stream]}`);
      }
    } finally {
      Deno.removeSync(folder, { recursive: true });
    }
  },
});

// Lines that ptdump 2.3 printed for these bytes.
const LINES: [number[], string][] = [
  [[0x02, 0xa3, 3, 2, 0, 0, 0, 0], "tnt.64     .......!!"],
  [[0x1d], "fup        0: ????????????????"],
  [[0x51, 1, 2, 3, 4], "tip.pge    2: ????????04030201"],
  [[0x61, 0, 0, 0, 0, 0, 0x80], "tip.pgd    3: ffff800000000000"],
  [[0x81, 0, 0, 0, 0, 0, 0x80], "tip.pgd    4: ????800000000000"],
  [
    [0x02, 0x43, 0x01, 0x39, 0xe3, 0x03, 0, 0],
    "pip        3e339000, nr              cr3  000000003e339000",
  ],
  [[0x99, 0x05], "mode.exec  cs.l, if"],
  [[0x99, 0x00], "mode.exec"],
  [[0x99, 0x22], "mode.tsx   abrt"],
  [[0x02, 0x22, 0x08, 0x21], "pwre       c3.2, hw"],
  [[0x02, 0xa2, 0x26, 0x01, 0, 0, 0], "pwrx       int: c3, c7"],
  [[0x02, 0xb2, 1, 0, 0, 0, 0, 0, 0, 0x80], "ptw        1: 8000000000000001, ip"],
  [[0x02, 0x13, 0x81, 0x0e], "cfe        1: 14, ip                 type intr"],
  [[0xd9, 0xe0, 0x03, 0x02, 0x01], "trig       03, ip, mult, icnt: 258"],
];

Deno.test("ptdumpText: packets give lines in ptdump's columns", () => {
  for (const [packet, expected] of LINES) {
    const line = latin1.decode(ptdumpText(Uint8Array.from(packet), { noSync: true }));
    assertEquals(line, `0000000000000000  ${expected}\n`);
  }
});

Deno.test("ptdumpText: after an error, text continues at the next PSB, even if a packet contained its first bytes", () => {
  const stream = [0x04, 0x02, 0x03, ...PSB, 0xc9, 0x04, ...PSB];
  // The CBR contains the first two bytes of the PSB, whose rest is a bad packet.
  assertEquals(
    latin1.decode(ptdumpText(Uint8Array.from(stream), { noSync: true })),
    [
      "0000000000000000  tnt.8      .",
      "0000000000000001  cbr        2",
      "[5: error decoding packet: unknown packet]",
      "0000000000000003  psb",
      "[13: error decoding packet: unknown opcode]",
      "0000000000000015  psb",
      "",
    ].join("\n"),
  );
});

Deno.test("PtdumpText: the text does not depend on the windows", () => {
  fc.assert(
    fc.property(
      // Without repeated PSB patterns, whose length may exceed a window.
      fc.oneof(bytes, packets.map(encodePackets)).filter((stream) =>
        !latin1.decode(stream).includes("\x02\x82".repeat(9).replaceAll("\x82", "\u201a"))
      ),
      fc.integer({ min: 40, max: 90 }),
      fc.nat(300),
      (stream, window, more) => {
        const text = new PtdumpText({ lastIp: true });
        const out = new Uint8Array(PTDUMP_TEXT_ROOM + more);
        let got = "";
        let width = window;
        for (let from = 0; from < stream.length; from += text.consumed) {
          const to = Math.min(stream.length, from + width);
          const at = text.write(stream, from, to, to === stream.length, out, 0);
          got += latin1.decode(out.subarray(0, at));
          width = text.consumed === 0 ? width + 100 : window;
        }
        assertEquals(got, latin1.decode(ptdumpText(stream, { lastIp: true })));
      },
    ),
    { numRuns: 500 },
  );
});

Deno.test("ptdumpText: options omit their packets and columns", () => {
  const all = latin1.decode(ptdumpText(Uint8Array.of(...PSB, 0, 0x59, 1, 0x03, 0x02, 0x23)));
  assertEquals(all.split("\n").length, 6);
  const less = ptdumpText(Uint8Array.of(...PSB, 0, 0x59, 1, 0x03, 0x02, 0x23), {
    noPad: true,
    noTiming: true,
    noOffset: true,
  });
  assertEquals(latin1.decode(less), "psb\npsbend\n");
  assert(all.includes("cyc        0\n"));
});
