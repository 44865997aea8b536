/**
 * Times of Intel PT compared with the correct ones: the clock that made the packets of a stepped
 * program.
 */
import { assert, assertEquals } from "@std/assert";
import { bytesSource } from "@perfdata/format/bytes";
import { decodePt, PtList, ROW } from "@perfdata/pt/decode";
import { type EncodeOptions, tscOf } from "../../fixtures/stepped/encode.ts";
import { cannotStep, encodeProgram, stepProgram } from "../../fixtures/stepped/program.ts";
import { steppedFile, timeOf } from "../../fixtures/stepped/recording.ts";
import { localTrace } from "../support/local_trace.ts";
import { ignored } from "../support/ignored.ts";

const VARIANTS: readonly EncodeOptions[] = [
  { psbEvery: 500, tsc: true },
  { psbEvery: 5000, tsc: true, mtc: true },
  { psbEvery: 5000, tsc: true, mtc: true, cyc: true },
];

Deno.test(
  "pt: each instruction ran at its time, within the stated uncertainty",
  ignored(cannotStep()),
  async () => {
    const folder = Deno.makeTempDirSync({ prefix: "perfdata-pt-time-" });
    try {
      const program = stepProgram(folder, { program: "calls", flags: ["-O1", "-static"] });
      const widths: number[] = [];
      for (const variant of VARIANTS) {
        const encoded = encodeProgram(program, variant);
        const source = bytesSource(await steppedFile(program, encoded, variant));
        const trace = await localTrace(source);
        const times: number[] = [];
        const uncertain: number[] = [];
        const list: PtList = new PtList(trace, {
          insns: true,
          idle: () => {
            const { rows } = list;
            for (let i = 0; i < rows.count; i++) {
              if (rows.row[i] !== ROW.INSN) continue;
              times.push(rows.time[i] as number);
              uncertain.push(rows.uncertainty[i] as number);
            }
            rows.clear();
          },
        });
        await decodePt(trace, list);
        assertEquals(times.length, encoded.truth.length);
        // A packet has the time of a branch. The code that leads to the branch ran after the packet
        // before; the code that follows ran before the next packet.
        const before = new Float64Array(times.length);
        for (let i = 0, last = -Infinity, now = times[0] as number; i < times.length; i++) {
          if (times[i] !== now) {
            last = now;
            now = times[i] as number;
          }
          before[i] = last;
        }
        let next = Infinity;
        let width = 0;
        for (let i = times.length - 1; i >= 0; i--) {
          const time = times[i] as number;
          if (i + 1 < times.length && times[i + 1] !== time) next = times[i + 1] as number;
          const truth = Number(timeOf(tscOf(encoded.truthStep[i] as number)));
          const slack = 1 + (uncertain[i] as number);
          assert(
            (before[i] as number) - slack <= truth,
            `instruction ${i}: ${truth}, ${before[i]}`,
          );
          assert(truth <= next + slack, `instruction ${i}: ${truth}, next ${next} + ${slack}`);
          width += Math.abs(truth - time);
        }
        widths.push(width / times.length);
      }
      // More packets give more exact times.
      const [tsc = 0, mtc = 0, cyc = 0] = widths;
      console.log(
        `mean error: TSC ${tsc.toFixed(0)} ns, MTC ${mtc.toFixed(1)}, CYC ${cyc.toFixed(1)}`,
      );
      assert(cyc < mtc && mtc < tsc);
    } finally {
      Deno.removeSync(folder, { recursive: true });
    }
  },
);
