import { assert, assertEquals } from "@std/assert";
import { gzipped } from "./gzipped.ts";
import { callgrind } from "./callgrind.ts";
import { chrome } from "./chrome.ts";
import { folded } from "./folded.ts";
import { pprof } from "./pprof.ts";
import { Profile as PprofProfile } from "pprof-format";
import { ProfileBuilder, totals } from "@perfdata/profile";
import {
  bytesOf,
  consumer,
  HOSTILE_NAMES,
  namesOf,
  type PlainSample,
  plainSamples,
  profileOf,
  textOf,
  withFile,
} from "../testing.ts";
import { ignored, notInstalled } from "../../../tests/support/ignored.ts";

const SAMPLES = plainSamples(4000, 1);
const PROFILE = profileOf(SAMPLES);

/** Sums by a key, counted from the plain samples. */
function sums(
  samples: readonly PlainSample[],
  keys: (sample: PlainSample) => Iterable<string>,
): Map<string, number> {
  const found = new Map<string, number>();
  for (const sample of samples) {
    for (const key of keys(sample)) found.set(key, (found.get(key) ?? 0) + sample.period);
  }
  return found;
}

function sum(samples: readonly PlainSample[], event: number): { samples: number; period: number } {
  const own = samples.filter((sample) => sample.event === event);
  return { samples: own.length, period: own.reduce((all, { period }) => all + period, 0) };
}

const clean = (name: string) => name.replaceAll(";", ":").replace(/[\n\t]/g, " ");

Deno.test("Profile: sums are those of the plain samples", () => {
  assertEquals(totals(PROFILE), [sum(SAMPLES, 0), sum(SAMPLES, 1)]);
});

Deno.test("folded: lines are those counted from the plain samples", async () => {
  for (const event of [0, 1]) {
    const expected = sums(
      SAMPLES.filter((sample) => sample.event === event),
      ({ thread: [comm], stack }) => {
        const frames = stack.map((name) => clean(name.replace(/^~(.*)$/s, "$1_[i]")));
        return [[comm.replaceAll(" ", "_"), ...frames].join(";")];
      },
    );
    const text = await textOf(folded(PROFILE, { event, inline: true }));
    const found = new Map(
      text.trimEnd().split("\n").map((line) => {
        const space = line.lastIndexOf(" ");
        return [line.slice(0, space), Number(line.slice(space + 1))];
      }),
    );
    assertEquals(found, expected);
  }
});

Deno.test(
  "folded: inferno-flamegraph draws the stacks with the right sum",
  ignored(notInstalled("inferno-flamegraph")),
  async () => {
    const bytes = await bytesOf(folded(PROFILE, { event: 0 }));
    await withFile("profile.folded", bytes, (path) => {
      const svg = consumer("inferno-flamegraph", [path]);
      const { period } = sum(SAMPLES, 0);
      assert(svg.includes(`<title>all (${period.toLocaleString("en")} samples, 100%)</title>`));
    });
  },
);

Deno.test(
  "pprof: the program is the main binary, whatever was sampled first",
  ignored(notInstalled("go")),
  async () => {
    const builder = new ProfileBuilder({ events: [{ name: "cycles", unit: "count" }] });
    const [loader, program] = ["/lib/ld.so", "/usr/bin/a-program-with-a-long-name"].map((path) =>
      builder.object({ name: path.slice(path.lastIndexOf("/") + 1), path })
    ) as [number, number];
    const thread = builder.thread(7, 7, "a-program-with-");
    for (const [object, name] of [[loader, "start"], [program, "main"]] as const) {
      const stack = builder.stack(-1, builder.place(object, 0x10, [{ name }]));
      builder.sample({ stack, event: 0, thread, period: 100 });
    }
    const bytes = await bytesOf(gzipped(pprof(builder.profile())));
    await withFile("profile.pb.gz", bytes, (path) => {
      const top = consumer("go", ["tool", "pprof", "-top", path]);
      assert(top.includes("File: a-program-with-a-long-name\n"), top);
    });
  },
);

Deno.test("Profile.span: many moments span the first to the last", () => {
  const builder = new ProfileBuilder({ events: [{ name: "time", unit: "nanoseconds" }] });
  const thread = builder.thread(7, 7, "program");
  // More than fit into the arguments of a call.
  const moments = 200_000;
  for (let i = 0; i < moments; i++) {
    builder.sample({ stack: -1, event: 0, thread, period: 1, time: 5 + (i * 7919) % moments });
  }
  assertEquals(builder.profile().span, [5, 5 + moments - 1]);
});

Deno.test(
  "pprof: go tool pprof reads the same sums, functions and labels",
  ignored(notInstalled("go")),
  async () => {
    const bytes = await bytesOf(gzipped(pprof(PROFILE)));
    await withFile("profile.pb.gz", bytes, (path) => {
      const raw = consumer("go", ["tool", "pprof", "-raw", path]);
      assert(raw.includes(
        "cpu-clock_samples/count cpu-clock/nanoseconds[dflt] page-faults_samples/count page-faults/count",
      ));
      const found = [0, 0, 0, 0];
      for (const [, ...values] of raw.matchAll(/^ +(\d+) +(\d+) +(\d+) +(\d+):/gm)) {
        for (const [at, value] of values.entries()) (found[at] as number) += Number(value);
      }
      const [first, second] = [sum(SAMPLES, 0), sum(SAMPLES, 1)];
      assertEquals(found, [first.samples, first.period, second.samples, second.period]);
      assert(raw.includes("comm:[main one]") && raw.includes("cpu:[0]") && raw.includes("tid:[8]"));
      assert(raw.includes("/usr/bin/demo 00112233445566778899aabbccddeeff00112233"));

      // Samples of each function and its callees, counted once per sample.
      const top = consumer(
        "go",
        ["tool", "pprof", "-top", "-nodecount=100000", "-unit=ns", "-sample_index=cpu-clock", path],
      );
      const cum = sums(
        SAMPLES.filter(({ event }) => event === 0),
        (sample) => new Set(namesOf(sample)),
      );
      let compared = 0;
      for (
        const [, value, name] of top.matchAll(/^ *\S+ +\S+ +\S+ +(\d+)ns +\S+% +(f\d+|main)$/gm)
      ) {
        assertEquals(Number(value), cum.get(name as string), name);
        compared++;
      }
      // Other functions occur both inlined and not, or have hostile names, which pprof shortens.
      console.log(`go tool pprof -top: ${compared} functions compared`);
      const traces = consumer("go", ["tool", "pprof", "-traces", path]);
      assert(traces.includes("sys") || traces.includes("main"));
    });
  },
);

Deno.test(
  "callgrind: callgrind_annotate reads the same sums and functions",
  ignored(notInstalled("callgrind_annotate")),
  async () => {
    const bytes = await bytesOf(callgrind(PROFILE));
    await withFile("callgrind.out", bytes, (path) => {
      const args = ["--threshold=100", "--inclusive=yes", "--auto=no", path];
      const text = consumer("callgrind_annotate", args);
      const numbersOf = (line: string) =>
        [...line.matchAll(/([\d,]+) +\(/g)].map(([, value]) => Number(value?.replaceAll(",", "")));
      const [first, second] = [sum(SAMPLES, 0), sum(SAMPLES, 1)];
      const total = text.split("\n").find((line) => line.endsWith("PROGRAM TOTALS")) ?? "";
      assertEquals(numbersOf(total), [first.period, first.samples, second.period, second.samples]);
      const main = text.split("\n").find((line) => line.includes(":main [")) ?? "";
      const inMain = SAMPLES.filter(({ stack }) => stack.length > 0);
      assertEquals(numbersOf(main)[0], sum(inMain, 0).period);
    });
  },
);

Deno.test("pprof: places without stacks have no lines", async () => {
  const { places } = PROFILE;
  const count = places.object.length;
  const more: typeof PROFILE = {
    ...PROFILE,
    places: {
      object: Int32Array.of(...places.object, 0),
      address: Float64Array.of(...places.address, 0x1234),
      start: Int32Array.of(...places.start, places.frames.length),
      frames: places.frames,
    },
  };
  for (const inline of [true, false]) {
    const read = async (profile: typeof PROFILE) =>
      PprofProfile.decode(await bytesOf(pprof(profile, { inline })));
    const [before, after] = [await read(PROFILE), await read(more)];
    assertEquals(after.location.length, count + 1);
    assertEquals(after.location[count]?.line, []);
    assertEquals(after.location.slice(0, count), before.location);
    assertEquals(after.sample, before.sample);
    const filesOf = ({ mapping }: PprofProfile) => mapping.map(({ hasFilenames }) => hasFilenames);
    assertEquals(filesOf(after), filesOf(before));
  }
});

Deno.test("chrome: slices nest, and contain all samples and periods", async () => {
  const { traceEvents } = JSON.parse(await textOf(chrome(PROFILE))) as {
    traceEvents: {
      ph: string;
      name: string;
      pid: number;
      tid: number;
      ts: number;
      dur: number;
      args: { samples: number; period: number };
    }[];
  };
  const found = { samples: 0, period: 0 };
  const open = new Map<number, { end: number }[]>();
  const names = new Set<string>();
  for (const { ph, name, tid, ts, dur, args } of traceEvents) {
    if (ph !== "X") continue;
    names.add(name);
    const stack = open.get(tid) ?? [];
    open.set(tid, stack);
    while (stack.length > 0 && (stack.at(-1)?.end ?? 0) <= ts + 1e-4) stack.pop();
    const above = stack.at(-1);
    assert(above === undefined || ts + dur <= above.end + 1e-3, "a slice ends after its caller");
    if (stack.length === 0) {
      found.samples += args.samples;
      found.period += args.period;
    }
    stack.push({ end: ts + dur });
  }
  const withStack = SAMPLES.filter(({ stack }) => stack.length > 0);
  const [first, second] = [sum(withStack, 0), sum(withStack, 1)];
  assertEquals(found, {
    samples: first.samples + second.samples,
    period: first.period + second.period,
  });
  for (const name of HOSTILE_NAMES) assert(names.has(name), name);
});
