/**
 * A part of a trace equals the whole in that time, though decoding begins at a PSB before it and
 * reads little of the file.
 */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import type { RandomAccessSource } from "@perfdata/format/bytes";
import { openSource } from "@perfdata/format/files";
import { decodePt, PtList, ptSpan, ROW } from "@perfdata/pt/decode";
import type { EncodeOptions } from "../../fixtures/stepped/encode.ts";
import { cannotStep, encodeProgram, stepProgram } from "../../fixtures/stepped/program.ts";
import {
  steppedRecording,
  timeOf as timeOfTsc,
  withSamples,
} from "../../fixtures/stepped/recording.ts";
import { repeatStepped } from "../../fixtures/stepped/repeat.ts";
import { inSnapshots, psbMoments } from "../../fixtures/stepped/saved.ts";
import { asFile, Numbers } from "../../fixtures/synthesize/recording.ts";
import { held } from "@perfdata/format/records";
import { localTrace } from "../support/local_trace.ts";
import { ignored } from "../support/ignored.ts";
import { testSeed } from "../support/seed.ts";
import { inFolder, tool } from "../support/tool.ts";

const VARIANTS: readonly (readonly [EncodeOptions, number, number])[] = [
  [{ psbEvery: 500, compressReturns: true, tsc: true, mtc: true }, 0.15, 1],
  [{ psbEvery: 2000, compressReturns: true, tsc: true }, 0.2, 2],
];

/** Whether a column has the same value for a row, however earlier addresses were numbered. */
function isSame(column: number, row: number): boolean {
  return column < 5 || column === 7 || column === 8 || (column === 6 && row === ROW.EVENT) ||
    (column === 9 && row !== ROW.INSN);
}

/** Branches and instructions as text, and the number of bytes read for them. */
async function listed(
  path: string,
  part: { readonly from?: number; readonly to?: number },
): Promise<{ rows: string[]; read: number; span: readonly [number, number] }> {
  const file = await held(openSource(path));
  let read = 0;
  const source: RandomAccessSource = {
    ...file,
    size: file.size,
    readAt: async (into: Uint8Array, at: number) => {
      const n = await file.readAt(into, at);
      read += n;
      return n;
    },
  };
  const trace = await localTrace(source);
  // The records were read, but not the trace.
  read = 0;
  const rows: string[] = [];
  const { from = -Infinity, to = Infinity } = part;
  const list: PtList = new PtList(trace, {
    branches: true,
    insns: true,
    events: true,
    idle: () => {
      const { count, row, kind, tid, cpu, time, a, b, high, low, payload } = list.rows;
      for (let i = 0; i < count; i++) {
        const at = time[i] as number;
        if (at < from || at > to) continue;
        rows.push(
          [at, row[i], kind[i], tid[i], cpu[i], a[i], b[i], high[i], low[i], payload[i]]
            .filter((_, column) => isSame(column, row[i] as number)).join(" "),
        );
      }
      list.rows.clear();
    },
  });
  const span = await ptSpan(trace) ?? [0, 0];
  const counts = await decodePt(trace, list, part);
  assertEquals(counts.errors.reduce((x, y) => x + y, 0), 0);
  return { rows, read, span };
}

Deno.test(
  "pt: a part of a trace equals the whole in that time",
  ignored(cannotStep()),
  async () => {
    let [compared, parts] = [0, 0];
    for (const [variant, megabytes, cpus] of VARIANTS) {
      await inFolder(async (folder) => {
        await repeatStepped(megabytes, cpus, folder, variant);
        const path = `${folder}/perf.data`;
        const whole = await listed(path, {});
        const timeOf = (row: string) => Number(row.slice(0, row.indexOf(" ")));
        const times = whole.rows.map(timeOf).filter((time) => time >= 0);
        assertEquals(whole.span[1], times.reduce((a, b) => Math.max(a, b)));
        assert((times[0] as number) - whole.span[0] < 100_000, `${whole.span} ${times[0]}`);
        // Part and whole switch between buffers at different moments, so the order is compared per
        // buffer.
        const ofCpu = (rows: readonly string[], cpu: number) =>
          rows.filter((row) => row.split(" ")[4] === String(cpu));
        const numbers = new Numbers(testSeed());
        const [first, last] = whole.span;
        const lengths = [1_000, 20_000, 300_000];
        for (let n = 0; n < 8; n++) {
          const length = lengths[n % 3] as number;
          const from = n === 0 ? last - length : first + numbers.below(last - first);
          const part = await listed(path, { from, to: from + length });
          for (let cpu = 0; cpu < cpus; cpu++) {
            const expected = ofCpu(whole.rows, cpu).filter((row) => {
              const time = timeOf(row);
              return time >= from && time <= from + length;
            });
            assertEquals(ofCpu(part.rows, cpu), expected, `${from} and ${length} ns more`);
            compared += expected.length;
          }
          parts++;
        }
      });
    }
    console.log(`${compared} rows of ${parts} parts compared`);
    assert(compared > 20_000, `${compared} rows`);
  },
);

Deno.test(
  "pt: the bytes read for a part do not grow with the trace",
  ignored(cannotStep()),
  async () => {
    const variant = { psbEvery: 2000, compressReturns: true, tsc: true, mtc: true };
    const reads: number[] = [];
    for (const megabytes of [4, 16]) {
      await inFolder(async (folder) => {
        const bytes = await repeatStepped(megabytes, 1, folder, variant);
        const path = `${folder}/perf.data`;
        const { span, read } = await listed(path, { from: Infinity });
        // A fraction of a ns, as half of a range can be.
        const middle = Math.floor((span[0] + span[1]) / 2) + 0.5;
        const part = await listed(path, { from: middle, to: middle + 2_000_000 });
        assert(part.rows.length > 10);
        reads.push(read, part.read);
        assert(part.read < bytes, `${part.read} of ${bytes}`);
      });
    }
    const [last = 0, middle = 0, lastOfMore = 0, middleOfMore = 0] = reads;
    // Twice the steps, for a search of four times the size, are two more chunks.
    assert(lastOfMore < last + 600_000 && middleOfMore < middle + 600_000, reads.join());
  },
);

Deno.test(
  "pt --last, --around and --time: choose a part of the trace",
  ignored(cannotStep()),
  async () => {
    await inFolder(async (folder) => {
      const program = stepProgram(folder, { program: "calls", flags: ["-O1", "-static"] });
      const variant = { psbEvery: 500, tsc: true, mtc: true };
      const encoded = encodeProgram(program, variant);
      const { recording, samples } = withSamples(
        steppedRecording(program, encoded, variant),
        program,
        encoded,
        5_000,
      );
      const path = `${folder}/perf.data`;
      Deno.writeFileSync(path, await asFile(recording, true));
      const lines = async (...args: string[]) => {
        const { out, err, code } = await tool("pt", ["--branches", ...args, path]);
        assertEquals(code, 0, err);
        return { lines: out.trimEnd().split("\n"), err };
      };
      const all = (await lines()).lines;
      const nsOf = (line: string) => {
        const [, s = "0", ns = "0"] = /(\d+)\.(\d{9})/.exec(line) ?? [];
        return Number(s) * 1e9 + Number(ns);
      };
      const within = (from: number, to: number) =>
        all.filter((line) => nsOf(line) >= from && nsOf(line) <= to);
      const end = nsOf(all.at(-1) ?? "");
      const last = await lines("--last", "100us");
      const [, from = "", to = ""] = /from (\S+) to (\S+);/.exec(last.err) ?? [];
      assertEquals(nsOf(to) - nsOf(from), 100_000);
      assert(Math.abs(nsOf(to) - end) < 1000, `${to} ${end}`);
      assertEquals(last.lines, within(nsOf(from), nsOf(to)));
      // The last sample of the clock is the last one that the test added.
      const steps = encoded.truthStep;
      assert(samples > 3 && steps.length > 5_000 * (samples - 1));
      const around = await lines("--around", "cpu-clock+-20us");
      assertStringIncludes(around.err, `the last of ${samples} cpu-clock at `);
      const at = nsOf(/cpu-clock at (\S+);/.exec(around.err)?.[1] ?? "");
      assertEquals(around.lines, within(at - 20_000, at + 20_000));
      const middle = await lines("--around", "50%±10us");
      assert(middle.lines.length > 5 && middle.lines.length < all.length / 2);
      const [start = 0] = all.map(nsOf);
      const early = await lines("--time", "0ms-0.05ms");
      assert(early.lines.length > 5);
      assert(early.lines.every((line) => nsOf(line) <= start + 60_000));
      for (
        const [args, message] of [
          [["--last", "10"], "--last is 10, expected 10ms"],
          [["--last", "1ms", "--time", "1,2"], "--time and --last exclude each other"],
          [["--around", "nothing"], "no sample of such an event; there are cpu-clock"],
          [["--around", "5000"], "the trace is from"],
          [["--around", "±5ms"], "expected EVENT or TIME"],
        ] as const
      ) {
        const { code, err } = await tool("pt", [...args, path]);
        assert(code !== 0);
        assertStringIncludes(err, message);
      }
    });
  },
);

Deno.test(
  "pt --around snapshot:N: chooses the part around a snapshot, and snapshots have times",
  ignored(cannotStep()),
  async () => {
    await inFolder(async (folder) => {
      const program = stepProgram(folder, { program: "calls", flags: ["-O1", "-static"] });
      const variant = { psbEvery: 500, tsc: true, mtc: true };
      const encoded = encodeProgram(program, variant);
      const moments = psbMoments(encoded.bytes, 10);
      const recording = steppedRecording(program, encoded, variant);
      const path = `${folder}/perf.data`;
      const saved = inSnapshots(recording, encoded.bytes, 2048, moments);
      Deno.writeFileSync(path, await asFile(saved, true));
      const seconds = (ns: bigint) => {
        const digits = String(ns).padStart(10, "0");
        return `${digits.slice(0, -9)}.${digits.slice(-9)}`;
      };
      // A few ticks after the snapshot itself: see `inSnapshots`.
      const taken = moments.map(({ tsc }) => seconds(timeOfTsc(tsc + 5n)));
      assert(taken.length > 2);
      const all = await tool("pt", ["--branches", path]);
      assertStringIncludes(
        all.err,
        `${taken.length} snapshots, taken at ${taken.slice(0, 8).join(", ")}`,
      );
      const timeOfLine = (line: string) => /\d+\.\d{9}/.exec(line)?.[0] ?? "";
      for (const [i, time] of taken.entries()) {
        if (i > 2) break;
        const { out, err } = await tool("pt", [
          "--branches",
          "--around",
          `snapshot:${i + 1}±50us`,
          path,
        ]);
        assertStringIncludes(err, `snapshot ${i + 1} of ${taken.length} was taken at ${time}`);
        const last = out.trimEnd().split("\n").map(timeOfLine).filter((at) => at <= time).at(-1) ??
          "";
        const expected = all.out.trimEnd().split("\n").map(timeOfLine).filter((at) => at <= time)
          .at(-1);
        assertEquals(last, expected);
      }
      const none = await tool("pt", ["--around", "snapshot:99", path]);
      assertStringIncludes(none.err, `the recording has snapshots 1 to ${taken.length}`);
      assertEquals(none.code, 1);
    });
  },
);
