/** `export` and `flame` as a user runs them; sums are compared with `funcs`. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { emptyAttr } from "@perfdata/format/records";
import {
  PERF_SAMPLE_CPU,
  PERF_SAMPLE_IP,
  PERF_SAMPLE_PERIOD,
  PERF_SAMPLE_TID,
  PERF_SAMPLE_TIME,
} from "@perfdata/format/constants";
import { asFile, type Item } from "../../fixtures/synthesize/recording.ts";
import { noBrowser, withPage } from "../../packages/export/browser_testing.ts";
import { consumer } from "../../packages/export/testing.ts";
import { inFolder, tool } from "../support/tool.ts";
import { ignored, notInstalled, skipped } from "../support/ignored.ts";

const FIXTURES = "fixtures/recorded";
const FILES = [
  "callchain.perf.data",
  "two-events.perf.data",
  "pipe-zstd.perf.data",
  "group.perf.data",
  "dwarf.perf.data",
  "directory.perf.data",
];

interface Sums {
  readonly samples: number;
  readonly period: number;
}

/** Samples and periods of each event in `funcs`. */
async function funcs(file: string): Promise<Map<string, Sums>> {
  const { out, code } = await tool("funcs", ["--json", `${FIXTURES}/${file}`]);
  assertEquals(code, 0);
  const sums = new Map<string, Sums>();
  for (const line of out.trimEnd().split("\n")) {
    const { event, samples, period } = JSON.parse(line) as Sums & { event: string };
    const { samples: s, period: p } = sums.get(event) ?? { samples: 0, period: 0 };
    sums.set(event, { samples: s + samples, period: p + period });
  }
  return sums;
}

async function written(format: string, file: string, folder: string): Promise<string> {
  const path = `${folder}/${file}.${format}`;
  const { code, err } = await tool("export", [format, "-o", path, `${FIXTURES}/${file}`]);
  assertEquals(code, 0, err);
  assertStringIncludes(err, "of samples have a function");
  return path;
}

const sum = (values: Iterable<number>) => [...values].reduce((all, value) => all + value, 0);

const NO_GO = notInstalled("go");

Deno.test("export: the samples and periods of each format are those of funcs", async (t) => {
  let compared = 0;
  await inFolder(async (folder) => {
    for (const file of FILES) {
      const expected = await funcs(file);
      const all = {
        samples: sum([...expected.values()].map(({ samples }) => samples)),
        period: sum([...expected.values()].map(({ period }) => period)),
      };
      for (const [event, { samples, period }] of expected) {
        for (const [flags, value] of [[[], period], [["--samples"], samples]] as const) {
          const { out } = await tool("export", [
            "folded",
            "--event",
            event,
            ...flags,
            `${FIXTURES}/${file}`,
          ]);
          assertEquals(
            sum(out.trimEnd().split("\n").map((line) => Number(line.split(" ").at(-1)))),
            value,
          );
          compared++;
        }
      }
      const speedscope = JSON.parse(
        Deno.readTextFileSync(await written("speedscope", file, folder)),
      );
      const weights = speedscope.profiles.flatMap((profile: { weights: number[] }) =>
        profile.weights
      );
      assertEquals([weights.length, sum(weights)], [all.samples, all.period]);

      const packed = Deno.readFileSync(await written("firefox", file, folder));
      const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
      const firefox = await new Response(stream).json();
      const lengths = firefox.threads.map((thread: { samples: { length: number } }) =>
        thread.samples.length
      );
      assertEquals(sum(lengths), all.samples);

      const chrome = JSON.parse(Deno.readTextFileSync(await written("chrome", file, folder)));
      assert(chrome.traceEvents.some(({ ph }: { ph: string }) => ph === "X"));

      const callgrind = Deno.readTextFileSync(await written("callgrind", file, folder));
      const names = /^events: (.*)$/m.exec(callgrind)?.[1]?.split(" ") ?? [];
      const totals = /^totals: (.*)$/m.exec(callgrind)?.[1]?.split(" ").map(Number) ?? [];
      assertEquals(sum(totals), all.samples + all.period, names.join());

      if (NO_GO === undefined) {
        const raw = consumer("go", [
          ...["tool", "pprof", "-raw", await written("pprof", file, folder)],
        ]);
        const values = [...raw.matchAll(/^((?: +\d+)+):(?: \d+)* *$/gm)].flatMap(([, row]) =>
          row?.trim().split(/ +/).map(Number) ?? []
        );
        assertEquals(sum(values), all.samples + all.period, file);
        compared++;
      }
      compared += 4;
    }
  });
  console.log(`export: ${compared} sums compared with funcs`);
  assert(compared >= (NO_GO === undefined ? 35 : 28));
  if (NO_GO !== undefined) await skipped(t, `sums of pprof: ${NO_GO}`);
});

Deno.test("export: a pipe gives the output of its file, and filters drop samples", async () => {
  const file = `${FIXTURES}/callchain.perf.data`;
  const [whole, stream] = await Promise.all([
    tool("export", ["folded", file]),
    tool("export", ["folded", "-"], { input: Deno.readFileSync(file) }),
  ]);
  assertEquals(stream.out, whole.out);
  const none = await tool("export", ["folded", "--pid", "1", file]);
  assertEquals([none.code, none.out], [1, ""]);
  assertStringIncludes(none.err, "no samples: --pid 1 matches nothing");
});

Deno.test("export: wrong usage gives exit code 2 and one line, and an existing file is kept", async () => {
  const unknown = await tool("export", ["foldet", "x"]);
  assertEquals(unknown.code, 2);
  assertStringIncludes(unknown.err, "folded");
  assertEquals((await tool("export", [])).code, 2);
  assertEquals((await tool("flame", ["x"])).code, 2);
  await inFolder(async (folder) => {
    const path = `${folder}/there.html`;
    Deno.writeTextFileSync(path, "mine");
    const { code } = await tool("flame", ["-o", path, `${FIXTURES}/callchain.perf.data`]);
    assertEquals([code, Deno.readTextFileSync(path)], [1, "mine"]);
  });
});

Deno.test("flame: a recording cut in half is drawn up to the cut, exit code 1", async () => {
  await inFolder(async (folder) => {
    const bytes = Deno.readFileSync(`${FIXTURES}/callchain.perf.data`);
    Deno.writeFileSync(`${folder}/half.data`, bytes.subarray(0, bytes.length * 0.4));
    const { code } = await tool("flame", ["-o", `${folder}/half.svg`, `${folder}/half.data`]);
    assertEquals(code, 1);
    assert(Deno.readTextFileSync(`${folder}/half.svg`).endsWith("</svg>\n"));
  });
});

Deno.test(
  "flame: the HTML page of a recording has the samples of funcs",
  ignored(await noBrowser()),
  async () => {
    const expected = await funcs("two-events.perf.data");
    await inFolder(async (folder) => {
      const path = `${folder}/flame.html`;
      const { code } = await tool("flame", ["-o", path, `${FIXTURES}/two-events.perf.data`]);
      assertEquals(code, 0);
      await withPage(path, async (page, { errors, requests }) => {
        await page.waitForFunction(() =>
          (globalThis as unknown as { perfdata?: { open?: { facts?: object } } }).perfdata?.open
            ?.facts !== undefined
        );
        const { events, totals } = await page.evaluate("perfdata.open.facts") as {
          events: { name: string }[];
          totals: { samples: number; period: number }[];
        };
        const sampled = events.map(({ name }, number) => [name, totals[number]] as const)
          .filter(([, total]) => total !== undefined && total.samples > 0);
        assertEquals(new Map(sampled), expected);
        // The drawn samples equal the counted ones.
        for (const [number, { name }] of events.entries()) {
          if (!expected.has(name)) continue;
          const sum = await page.evaluate(`perfdata.open.client.call(
            "flame", { ...perfdata.shown, event: ${number} },
            { direction: "down", root: "process", zoom: [], least: 0 },
          ).then(({ sum }) => sum)`);
          assertEquals(sum, expected.get(name)?.period);
        }
        assertEquals([errors, requests], [[], []]);
      });
    });
  },
);

Deno.test("export: a context switch has the name of its thread at that time", () =>
  inFolder(async (folder) => {
    const of = (time: number) => ({ pid: 7, tid: 7, time: BigInt(time), cpu: 0 });
    const comm = (time: number, text: string) => ({
      record: {
        ...{ type: 3, name: "COMM", misc: 0x2000 },
        ...{ body: { pid: 7, tid: 7, comm: text }, sample_id: of(time) },
      },
    } as Item);
    const turn = (time: number, misc: number) => ({
      record: { type: 14, name: "SWITCH", misc, body: {}, sample_id: of(time) },
    } as Item);
    const sample = (time: number) => ({
      record: {
        ...{ type: 9, name: "SAMPLE", misc: 2 },
        body: { ip: 0x1000n, ...of(time), period: 1n },
      },
    } as Item);
    const sampleType = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU |
      PERF_SAMPLE_PERIOD;
    const bytes = await asFile({
      events: [{
        attr: {
          ...{ ...emptyAttr(), type: 1, size: 120, sample_period: 1n },
          sample_type: BigInt(sampleType),
          flags: { ...emptyAttr().flags, sample_id_all: true, context_switch: true },
        },
        ids: [1n],
      }],
      items: [
        comm(1000, "bash"),
        turn(2000, 0),
        sample(3000),
        comm(4000, "sort"),
        sample(5000),
        turn(6000, 0x2000),
        turn(9000, 0),
        sample(9500),
        turn(10_000, 0x6000),
      ],
      features: [],
    }, true);
    const file = `${folder}/perf.data`;
    await Deno.writeFile(file, bytes);
    const chrome = await tool("export", ["chrome", "-o", "-", file]);
    const events = JSON.parse(chrome.out).traceEvents as Record<string, unknown>[];
    assertEquals(
      events.filter(({ args }) => (args as { end?: string }).end !== undefined)
        .map(({ name, ts, dur, args }) => [name, ts, dur, args]),
      [["bash 7", 2, 4, { end: "waiting" }], ["sort 7", 9, 1, { end: "preempted" }]],
    );
    // It was switched out as sort, 4 µs after it was switched in.
    await tool("export", ["firefox", "-o", `${folder}/firefox.json.gz`, file]);
    const { body } = new Response(await Deno.readFile(`${folder}/firefox.json.gz`));
    const profile = await new Response(body?.pipeThrough(new DecompressionStream("gzip"))).json();
    type Markers = Record<"startTime" | "endTime", number[]>;
    assertEquals(
      profile.threads.map(({ name, markers }: { name: string; markers: Markers }) => [
        ...[name, markers.startTime, markers.endTime],
      ]),
      [["sort", [0.004], [0.007]], ["bash", [], []]],
    );
  }));
