/**
 * Raw data of AMD's IBS samples compared with `perf report -D`: random registers, on several
 * processors.
 */
import { assert, assertEquals } from "@std/assert";
import { emptyAttr } from "@perfdata/format/records";
import type { Feature } from "@perfdata/format/features";
import {
  PERF_SAMPLE_CPU,
  PERF_SAMPLE_IP,
  PERF_SAMPLE_RAW,
  PERF_SAMPLE_TID,
  PERF_SAMPLE_TIME,
} from "@perfdata/format/constants";
import { asFile, type Item, Numbers } from "../../fixtures/synthesize/recording.ts";
import { ignored } from "../support/ignored.ts";
import { noPerf, perfText } from "../support/perf.ts";
import { testSeed } from "../support/seed.ts";
import { inFolder, tool } from "../support/tool.ts";

const [FETCH, OP] = [10, 11];
/** A processor of each kind: its number, and whether registers have Zen 4's additions. */
const PROCESSORS = [
  { cpuid: "AuthenticAMD,23,49,0", zen4: false },
  { cpuid: "AuthenticAMD,25,1,1", zen4: false },
  { cpuid: "AuthenticAMD,25,33,0", zen4: false },
  { cpuid: "AuthenticAMD,25,17,1", zen4: true },
];

/** Random registers, mostly with the bits that make them valid. */
function registers(numbers: Numbers, isFetch: boolean, turn: number): bigint[] {
  const word = () => {
    const bytes = new DataView(numbers.bytes(8).buffer);
    const value = bytes.getBigUint64(0);
    // Few bits, many, and a mix of them.
    return [value, value & bytes.getBigUint64(0, true), value | 0xffn << 20n][numbers.below(3)] ??
      0n;
  };
  const list = Array.from({ length: isFetch ? 4 : 8 }, word);
  const valid = isFetch ? 3n << 48n : 3n << 17n;
  if (numbers.below(5) > 0) list[0] = (list[0] ?? 0n) | valid;
  if (numbers.below(3) === 0 && !isFetch) list[7] = 0n;
  // Each data source in turn: bits 0 to 2, and 6 and 7.
  const source = BigInt(turn & 7 | (turn & 24) << 3);
  if (!isFetch) list[3] = ((list[3] ?? 0n) & ~0xc7n) | source;
  return list;
}

function recording(numbers: Numbers, cpuid: string, zen4: boolean, samples: number) {
  const sample_type = BigInt(
    PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU | PERF_SAMPLE_RAW,
  ) | 1n << 16n;
  const items = Array.from({ length: samples }, (_, i): Item => {
    const event = numbers.below(3);
    const words = event === 2 ? [1n, 2n] : registers(numbers, event === 0, i);
    // Registers are at a multiple of eight after the size of four bytes.
    const raw = new Uint8Array(4 + 8 * words.length);
    const view = new DataView(raw.buffer);
    view.setUint32(0, 0x1ff, true);
    words.forEach((word, k) => view.setBigUint64(4 + 8 * k, word, true));
    return {
      event,
      record: {
        type: 9,
        name: "SAMPLE",
        misc: 2,
        body: {
          ...{ identifier: BigInt(event + 1), ip: 0x401000n, pid: 7, tid: 7, cpu: 0, res: 0 },
          ...{ time: BigInt(1000 * (i + 1)), raw, raw_size: raw.length },
        },
      },
    } as Item;
  });
  const features = [
    { id: 6, name: "ARCH", value: "x86_64" },
    { id: 9, name: "CPUID", value: cpuid },
    {
      id: 16,
      name: "PMU_MAPPINGS",
      value: {
        pmus: [
          { type: 1, name: "software" },
          { type: FETCH, name: "ibs_fetch" },
          { type: OP, name: "ibs_op" },
        ],
      },
    },
    ...(zen4
      ? [{
        id: 31,
        name: "PMU_CAPS",
        value: {
          pmus: [{ caps: [{ name: "zen4_ibs_extensions", value: "1" }], pmu_name: "ibs_op" }],
        },
      }]
      : []),
  ] as Feature[];
  const events = [FETCH, OP, 4].map((type, i) => ({
    attr: { ...emptyAttr(), size: 120, type, sample_period: 1n, sample_type },
    ids: [BigInt(i + 1)],
  }));
  return { events, items, features };
}

/** Samples with their explanation. */
function samplesOf(text: string): string[] {
  const [records = ""] = text.split("\nAggregated stats");
  return records.slice(records.indexOf("\n0x")).split(/\n(?=0x[0-9a-f]+@)/)
    .filter((part) => part.includes("PERF_RECORD_SAMPLE")).map((part) =>
      part.split("\n").slice(0, -1).filter((line) => line !== "").join("\n")
    );
}

Deno.test({
  name: "dump: registers of IBS samples print as in perf report -D",
  ...ignored(noPerf()),
  fn: () =>
    inFolder(async (folder) => {
      const numbers = new Numbers(testSeed());
      let lines = 0;
      for (const { cpuid, zen4 } of PROCESSORS) {
        const path = `${folder}/ibs.data`;
        Deno.writeFileSync(path, await asFile(recording(numbers, cpuid, zen4, 200), true));
        const perf = samplesOf(
          (await perfText(["report", "-D", "--kallsyms=/dev/null"], path))?.stdout ?? "",
        );
        const { code, out, err } = await tool("dump", ["ibs.data"], { cwd: folder });
        assertEquals(code, 0, err);
        assertEquals(
          samplesOf(out).map((text) => text.split("\n").slice(0, -1)),
          perf.map((text) => text.split("\n").slice(0, -1)),
          cpuid,
        );
        lines += [...out.matchAll(/^(ibs_|Ibs|ic_ibs)\w+:\t/gm)].length;
        // Several threads write the same.
        const two = await tool("dump", ["--jobs", "2", "ibs.data"], { cwd: folder });
        assertEquals(two.out, out, cpuid);
      }
      console.log(`dump: ${lines} lines of IBS registers compared with perf's`);
      assert(lines > 1000, `${lines}`);
    }),
});

Deno.test("dump: too short raw data, and those of other processors, have no explanation", () =>
  inFolder(async (folder) => {
    const numbers = new Numbers(3);
    const whole = recording(numbers, "AuthenticAMD,23,49,0", false, 40);
    const path = `${folder}/ibs.data`;
    const explained = async (data: typeof whole) => {
      Deno.writeFileSync(path, await asFile(data, true));
      const { code, out, err } = await tool("dump", [path]);
      assertEquals(code, 0, err);
      return [...out.matchAll(/^ibs_(op|fetch)_ctl:/gm)].length;
    };
    assert(await explained(whole) >= 15);
    const short = {
      ...whole,
      items: whole.items.map((item) => {
        const { body } = item.record as unknown as { body: { raw: Uint8Array } };
        const raw = body.raw.slice(0, 28);
        return {
          ...item,
          record: { ...item.record, body: { ...body, raw, raw_size: 28 } },
        } as Item;
      }),
    };
    assertEquals(await explained(short), 0);
    assertEquals(await explained(recording(numbers, "GenuineIntel,6,85,7", false, 40)), 0);
  }));
