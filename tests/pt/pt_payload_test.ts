/**
 * PTWRITE payloads and changes of the clock ratio among the packets of stepped programs. The lines
 * equal perf's; the payloads equal, bit by bit, the values written into the trace.
 */
import { decodePackets, encodePackets, type Packet } from "@perfdata/intel-pt";
import { assert, assertEquals } from "@std/assert";
import type { EncodedSteps, EncodeOptions } from "../../fixtures/stepped/encode.ts";
import { cannotStep, encodeProgram, stepProgram } from "../../fixtures/stepped/program.ts";
import { steppedFile } from "../../fixtures/stepped/recording.ts";
import { Numbers } from "../../fixtures/synthesize/recording.ts";
import { perfText, perfVersion } from "../support/perf.ts";
import { testSeed } from "../support/seed.ts";
import { tool } from "../support/tool.ts";

const cannot = cannotStep();
const BEFORE = new Set(["TNT", "TIP", "TIP.PGE", "PSB"]);
const AFTER = new Set(["TNT", "TIP", "TIP.PGE", "TIP.PGD", "PSBEND", "MTC"]);

/** Payloads that perf prints as text. */
const TEXTS = [
  "hello",
  "abcdefgh",
  "a",
  "ab\0c",
  "ab\n",
  "\0abc",
  "a b~",
  "\x7f",
  "tab\t",
  "",
  "\xe9t",
];

/** The payload with these bytes. */
function textOf(text: string): bigint {
  return [...text].reduce((sum, c, i) => sum | BigInt(c.charCodeAt(0)) << BigInt(8 * i), 0n);
}

/**
 * Puts PTWRITE packets and changes of the clock ratio between the packets; returns the payloads.
 */
function sprinkle(bytes: Uint8Array, numbers: Numbers): { bytes: Uint8Array; payloads: bigint[] } {
  const packets: Packet[] = [];
  const payloads: bigint[] = [];
  let last = "";
  let inPsb = false;
  for (const { packet } of decodePackets(bytes)) {
    if (packet.type === "PSB") inPsb = true;
    if (
      BEFORE.has(packet.type) && AFTER.has(last) && (!inPsb || packet.type === "PSB") &&
      payloads.length < 2000
    ) {
      if (numbers.below(9) === 0) packets.push({ type: "CBR", ratio: 8 + numbers.below(30) });
      if (numbers.below(7) === 0) {
        const half = () => BigInt(numbers.below(2 ** 32));
        const payload = payloads.length % 5 === 0
          ? textOf(TEXTS[payloads.length % TEXTS.length] as string)
          : half() << 32n | half();
        payloads.push(payload);
        packets.push({ type: "PTW", operandSize: 8, payload, ip: false });
      }
    }
    packets.push(packet);
    last = packet.type;
    if (packet.type === "PSBEND") inPsb = false;
  }
  return { bytes: encodePackets(packets), payloads };
}

Deno.test({
  name: "script: PTWRITE payloads are exact, and changes of the clock ratio have perf's place",
  ignore: cannot !== undefined || perfVersion() === undefined,
  fn: async () => {
    const folder = Deno.makeTempDirSync({ prefix: "perfdata-pt-payload-" });
    let lines = 0;
    let ratios = 0;
    try {
      const program = stepProgram(folder, { program: "calls", flags: ["-O1", "-static"] });
      const variant: EncodeOptions = { psbEvery: 500, compressReturns: true, tsc: true, mtc: true };
      const encoded = encodeProgram(program, variant);
      const { bytes, payloads } = sprinkle(encoded.bytes, new Numbers(testSeed()));
      assert(payloads.filter((payload) => payload > 2n ** 53n).length > 500);
      const path = `${folder}/perf.data`;
      const with_ = { ...encoded, bytes } as EncodedSteps;
      Deno.writeFileSync(path, await steppedFile(program, with_, variant));
      for (const letters of ["w", "wp", "wpbe", "wcrp", "wpi50i", "wpi0ns"]) {
        const args = [`--itrace=${letters}`, "--ns", "-F", "tid,time,event,ip,synth,period"];
        const theirs = (await perfText(["script", ...args], path))?.stdout.trimEnd().split("\n") ??
          [];
        const { out } = await tool("script", [...args, path]);
        const ours = out.trimEnd().split("\n");
        const at = theirs.findIndex((line, i) => line.trimEnd() !== ours[i]?.trimEnd());
        assertEquals(ours[at], theirs[at], `${letters}: line ${at + 1}`);
        assertEquals(ours.length, theirs.length, letters);
        lines += ours.length;
        ratios += ours.filter((line) => line.includes(" cbr: ")).length;
        if (!letters.includes("w")) continue;
        const printed = [...out.matchAll(/payload: (\w+)/g)].map(([, hex]) => BigInt(hex ?? "0"));
        assertEquals(printed, payloads, letters);
      }
    } finally {
      Deno.removeSync(folder, { recursive: true });
    }
    console.log(`${lines} lines compared, ${ratios} with a clock ratio`);
    assert(lines > 20_000 && ratios > 500, `${lines} lines, ${ratios} ratios`);
  },
});
