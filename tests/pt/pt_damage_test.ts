/**
 * Damaged Intel PT: numbers of lost instructions and of wrong instructions, compared with libipt
 * and perf on the same bytes. The correct instructions are the steps of a program under ptrace.
 */
import { bytesRange, fixedSpace } from "@perfdata/intel-pt";
import { assert } from "@std/assert";
import type { EncodedSteps, EncodeOptions, StepEvent } from "../../fixtures/stepped/encode.ts";
import { listFlow } from "../../fixtures/stepped/flow.ts";
import {
  cannotStep,
  encodeProgram,
  mappedBytes,
  type SteppedProgram,
  stepProgram,
} from "../../fixtures/stepped/program.ts";
import { steppedFile } from "../../fixtures/stepped/recording.ts";
import { Numbers } from "../../fixtures/synthesize/recording.ts";
import { ignored, skipped } from "../support/ignored.ts";
import { noPerf, perfText } from "../support/perf.ts";
import { testSeed } from "../support/seed.ts";

const VARIANTS: readonly EncodeOptions[] = [
  { psbEvery: 2000, compressReturns: true, tsc: true, mtc: true },
  { psbEvery: 20_000, tsc: true, longTnt: true },
];
/** Damaged traces of each kind. */
const ROUNDS = 12;

/**
 * Counts of the correct instructions that a decoder missed, and of the wrong ones that it found.
 */
class Loss {
  lost = 0;
  others = 0;
  of = 0;

  /** Compares the range between the first and the last difference. */
  add(truth: BigUint64Array, found: BigUint64Array): void {
    const least = Math.min(truth.length, found.length);
    let before = 0;
    while (before < least && truth[before] === found[before]) before++;
    let after = 0;
    while (after < least - before && truth.at(-1 - after) === found.at(-1 - after)) after++;
    // In this range, an instruction counts as found if it comes in the right order.
    const rest = found.subarray(before, found.length - after);
    let at = before;
    let right = 0;
    for (const ip of rest) {
      const next = truth.indexOf(ip, at);
      if (next < 0 || next - at > 5000 || next >= truth.length - after) continue;
      at = next + 1;
      right++;
    }
    this.lost += truth.length - before - after - right;
    this.others += rest.length - right;
    this.of += truth.length;
  }

  toString(): string {
    return `${this.lost} of ${this.of} instructions lost, ${this.others} others`;
  }
}

/** A trace with some bytes changed. */
function* damaged(
  { bytes }: EncodedSteps,
  numbers: Numbers,
): Generator<Uint8Array<ArrayBuffer>> {
  for (let round = 0; round < ROUNDS; round++) {
    const wrong = bytes.slice();
    for (let i = 0; i <= round % 3; i++) {
      const at = 100 + numbers.below(bytes.length - 100);
      // Changes a bit, a byte, or a run of bytes.
      if (i === 0) wrong[at] = (wrong[at] as number) ^ 1 << numbers.below(8);
      else if (i === 1) wrong[at] = numbers.below(256);
      else wrong.fill(0xff, at, at + 16);
    }
    yield wrong;
  }
}

async function inFolder(use: (folder: string, program: SteppedProgram) => Promise<void>) {
  const folder = Deno.makeTempDirSync({ prefix: "perfdata-pt-damage-" });
  try {
    await use(
      folder,
      stepProgram(folder, { program: "calls", flags: ["-O1", "-static"], limit: 60_000 }),
    );
  } finally {
    Deno.removeSync(folder, { recursive: true });
  }
}

/** The code of a program, each mapping once. */
function codeOf(program: SteppedProgram): Map<bigint, Uint8Array> {
  const files = new Map<string, Uint8Array>();
  const code = new Map<bigint, Uint8Array>();
  for (const event of program.events.filter(({ kind }) => kind === "M") as StepEvent[]) {
    if (!code.has(event.start)) code.set(event.start, mappedBytes(event, files));
  }
  return code;
}

function asWords({ buffer, byteOffset, length }: Uint8Array): BigUint64Array {
  return new BigUint64Array(buffer as ArrayBuffer, byteOffset, length >> 3);
}

Deno.test(
  "Flow: in damaged traces, fewer instructions are lost than by libipt",
  ignored(cannotStep()),
  async (t) => {
    await inFolder(async (folder, program) => {
      const source = new URL("../../fixtures/stepped/libipt.c", import.meta.url).pathname;
      const libipt = `${folder}/libipt`;
      const args = ["-O1", "-o", libipt, source, "-lipt"];
      const { success } = new Deno.Command("gcc", { args, stderr: "null" }).outputSync();
      if (!success) return await skipped(t, "no libipt (Debian: apt-get install libipt-dev)");
      const code = codeOf(program);
      const images: string[] = [];
      for (const [address, bytes] of code) {
        const path = `${folder}/image${images.length}`;
        Deno.writeFileSync(path, bytes);
        images.push(path, address.toString(16));
      }
      const ranges = [...code].map(([address, bytes], i) => bytesRange(i, address, bytes));
      const space = fixedSpace(ranges);
      const [ours, theirs] = [new Loss(), new Loss()];
      const numbers = new Numbers(testSeed());
      for (const variant of VARIANTS) {
        const encoded = encodeProgram(program, variant);
        for (const bytes of damaged(encoded, numbers)) {
          ours.add(encoded.truth, listFlow(bytes, { space }).ips);
          Deno.writeFileSync(`${folder}/trace`, bytes);
          const { stdout } = new Deno.Command(libipt, { args: [`${folder}/trace`, ...images] })
            .outputSync();
          theirs.add(encoded.truth, asWords(stdout).filter((ip) => ip !== 0xffff_ffff_ffff_ffffn));
        }
      }
      console.log(`${VARIANTS.length * ROUNDS} traces: ${ours}\nlibipt: ${theirs}`);
      assert(ours.of > 500_000, `${ours.of} instructions`);
      assert(theirs.lost > 0, "nothing was damaged");
      assert(ours.lost < theirs.lost, `${ours}; libipt: ${theirs}`);
      assert(ours.others < theirs.others, `${ours}; libipt: ${theirs}`);
    });
  },
);

Deno.test(
  "Flow: in damaged traces, no more wrong instructions are found than by perf",
  ignored(cannotStep() ?? noPerf()),
  async () => {
    await inFolder(async (folder, program) => {
      const ranges = [...codeOf(program)].map(([address, bytes], i) =>
        bytesRange(i, address, bytes)
      );
      const space = fixedSpace(ranges);
      const [ours, theirs] = [new Loss(), new Loss()];
      const numbers = new Numbers(testSeed());
      const [variant] = VARIANTS as [EncodeOptions];
      const encoded = encodeProgram(program, variant);
      const path = `${folder}/perf.data`;
      let n = 0;
      for (const bytes of damaged(encoded, numbers)) {
        if (++n > 6) break;
        ours.add(encoded.truth, listFlow(bytes, { space }).ips);
        Deno.writeFileSync(path, await steppedFile(program, { ...encoded, bytes }, variant));
        const printed = await perfText(["script", "--itrace=i0ns", "-F", "ip"], path);
        const ips = (printed?.stdout ?? "").trim().split("\n").map((line) =>
          BigInt(`0x${line.trim()}`)
        );
        theirs.add(encoded.truth, BigUint64Array.from(ips));
      }
      console.log(`${n - 1} traces: ${ours}\nperf: ${theirs}`);
      assert(theirs.lost > 0, "nothing was damaged");
      assert(ours.lost < theirs.lost + ours.of / 100, `${ours}; perf: ${theirs}`);
      // A target address with a wrong bit looks like any other; no decoder can detect it, and perf
      // follows it, too.
      assert(ours.others < theirs.others + ours.of / 500, `${ours}; perf: ${theirs}`);
    });
  },
);
