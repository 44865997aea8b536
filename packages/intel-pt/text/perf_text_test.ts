import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import { encodePackets } from "../packets/encode_packet.ts";
import { PERF_TEXT_ROOM, PerfText, perfText, perfTextHeading } from "./perf_text.ts";
import {
  bytes,
  CORPUS,
  missing,
  missingCommand,
  packets,
  perfReport,
  traces,
  withPayload,
} from "../testing.ts";

const noPerf = missing(CORPUS) || missingCommand("perf");
const latin1 = new TextDecoder("latin1");

/** Shows the first difference of two long texts; assertEquals would print all of both. */
function assertSameText(actual: string, expected: string, where: string): void {
  if (actual === expected) return;
  const [ours, theirs] = [actual.split("\n"), expected.split("\n")];
  const line = ours.findIndex((text, i) => text !== theirs[i]);
  assertEquals(ours[line], theirs[line], `${where}, line ${line}`);
  assertEquals(ours.length, theirs.length, `${where}: number of lines`);
}

function report(payload: Uint8Array): string {
  return perfTextHeading(payload.length) + latin1.decode(perfText(payload));
}

Deno.test({
  name: "perfText: real traces give the text of the installed perf",
  ignore: noPerf,
  fn() {
    const all = traces();
    assert(all.length > 5);
    for (const { path, payload } of all) {
      assertSameText(report(payload), perfReport(path), path);
    }
  },
});

Deno.test({
  name: "perfText: random packets and bytes give the text of the installed perf",
  ignore: noPerf,
  fn() {
    const [template] = traces();
    assert(template !== undefined);
    const folder = Deno.makeTempDirSync();
    try {
      // Many short streams in one file: the PSB after each stream resets perf and this decoder.
      const streams = [
        ...fc.sample(packets.map(encodePackets), 400),
        ...fc.sample(bytes, 400),
      ];
      const endings = fc.sample(bytes, 8);
      for (const [i, ending] of endings.entries()) {
        const share = streams.filter((_, at) => at % endings.length === i);
        const parts = [...share, ending].flatMap((part) => [...part]);
        const payload = Uint8Array.from(parts.slice(parts.length % 8));
        const path = `${folder}/${i}.perf.data`;
        Deno.writeFileSync(path, withPayload(template, payload));
        assertSameText(report(payload), perfReport(path), `random stream ${i}`);
      }
    } finally {
      Deno.removeSync(folder, { recursive: true });
    }
  },
});

Deno.test("perfText: packets give the text of perf's format strings", () => {
  const cases: [number[], string][] = [
    [[0x02, 0xa3, 3, 2, 0, 0, 0, 0], "TNT NNNNNNNTT (9)"],
    [[0x02, 0xa3, 0, 0, 0, 0, 0, 0], "TNT  (0)"],
    [[0x0d], "TIP no ip"],
    [[0x91, 1, 2, 3, 4, 5, 6], "TIP.PGE 0x60504030201"],
    [[0x02, 0x43, 3, 0, 0, 0, 0, 0x80], "PIP 0x400000000001 (NR=1)"],
    [[0x99, 0x06], "MODE.Exec IF:1 32"],
    [[0x99, 0x22], "MODE.TSX TXAbort:1 InTX:0"],
    [
      [0x02, 0xc2, 0x21, 0, 0, 0, 3, 0, 0, 0x80],
      [
        "MWAIT 0x8000000300000021",
        "Hints 0x21",
        "Extensions 0x3",
      ].join(" "),
    ],
    [[0x02, 0x22, 0x80, 0xf1], "PWRE 0xf180 HW:1 CState:15 Sub-CState:1"],
    [
      [0x02, 0xa2, 0x2a, 0x0c, 0, 0, 0],
      [
        "PWRX 0xc2a",
        "Last CState:2",
        "Deepest CState:10",
        "Wake Reason 0xc",
      ].join(" "),
    ],
    [[0x02, 0x13, 0x8a, 0xff], "CFE IP:1 Type 0x0a Vector 0xff"],
    [[0x02, 0x53, 0xc1, 1, 0, 0, 0, 0, 0, 0, 0], "EVD Type 0x01 Payload 0x1"],
    [[0x07, 1, 1, 1, 1, 1, 1, 1, 1, 0xfe], "CYC 0xe000000000000000"],
  ];
  for (const [packet, expected] of cases) {
    const line = latin1.decode(perfText(Uint8Array.from(packet)));
    assertEquals(line.slice(62), expected + "\n");
  }
});

Deno.test("PerfText: the text does not depend on the windows", () => {
  const streams = fc.oneof(bytes, packets.map(encodePackets));
  fc.assert(
    fc.property(
      streams,
      fc.integer({ min: 16, max: 60 }),
      fc.nat(300),
      (stream, window, more) => {
        const text = new PerfText();
        const out = new Uint8Array(PERF_TEXT_ROOM + more);
        let got = "";
        for (let from = 0; from < stream.length; from += text.consumed) {
          const to = Math.min(stream.length, from + window);
          const at = text.write(stream, from, to, to === stream.length, out, 0);
          got += latin1.decode(out.subarray(0, at));
        }
        assertEquals(got, latin1.decode(perfText(stream)));
      },
    ),
    { numRuns: 500 },
  );
});

Deno.test("PerfText: lines have the low 32 bits of the offset, from 0 after reset", () => {
  const text = new PerfText();
  const zeros = new Uint8Array(1 << 16);
  const out = new Uint8Array(80 * (zeros.length / 8) + PERF_TEXT_ROOM);
  let last = "";
  for (let i = 0; i < 3; i++) {
    last = latin1.decode(out.subarray(0, text.write(zeros, 0, zeros.length, true, out, 0)));
  }
  assertEquals(last.slice(0, 22), ".  00020000:  00 00 00");
  text.reset();
  const at = text.write(zeros, 0, 8, true, out, 0);
  assertEquals(
    latin1.decode(out.subarray(0, at)),
    ".  00000000:  00 00 00 00 00 00 00 00                         PAD\n",
  );
});
