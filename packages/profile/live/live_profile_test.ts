import { assert, assertEquals } from "@std/assert";
import { bytesSource } from "@perfdata/format/bytes";
import { PerfDataReader } from "@perfdata/format/records";
import { runEngine } from "@perfdata/session";
import { SymbolResolver } from "@perfdata/symbols";
import { functionNames, type Profile, totals } from "../columns/profile.ts";
import {
  profiled,
  recordingOf,
  resolverOf,
  sampleLines,
  type Small,
  type SmallNames,
  TWO_THREADS,
} from "../testing.ts";
import { LiveCollector } from "./live_collector.ts";
import { LIVE_LIMITS, LiveProfile } from "./live_profile.ts";

const SYMBOL = { name: "work", address: 0, size: 32 };
const NAMES: SmallNames = [[
  { path: "/bin/small", kind: "elf" },
  0x10,
  { frames: [{ name: "work", inlined: false, file: undefined, line: 0 }], symbol: SYMBOL } as never,
]];

/** Reads a recording into a live profile. */
async function read(
  live: LiveProfile,
  small: Small,
  collector: LiveCollector = new LiveCollector(live, {}),
): Promise<LiveCollector> {
  const reader = await PerfDataReader.open(bytesSource(await recordingOf(small)));
  await runEngine(reader, [collector]);
  return collector;
}

async function made(live: LiveProfile, names?: SmallNames): Promise<Profile> {
  await live.name(resolverOf(names));
  const profile = live.profile("small");
  if (profile === undefined) throw new Error("no samples");
  return profile;
}

Deno.test("LiveProfile: recent samples equal those of a profile of the whole recording", async () => {
  const live = new LiveProfile();
  await read(live, { samples: TWO_THREADS });
  const profile = await made(live, NAMES);
  const whole = await profiled({ samples: TWO_THREADS }, { timed: true }, NAMES);
  assertEquals(sampleLines(profile), sampleLines(whole));
  assertEquals([...profile.samples.time ?? []], [...whole.samples.time ?? []]);
  assertEquals([...profile.samples.cpu ?? []], [...whole.samples.cpu ?? []]);
  const { trust, span, epoch, events, objects } = profile;
  assertEquals([trust, span, epoch, events, objects], [
    ...[whole.trust, whole.span, whole.epoch, whole.events, whole.objects],
  ]);
});

Deno.test("LiveProfile: samples that are moved while the collector reads are in the profile once", async () => {
  const live = new LiveProfile();
  const shown: number[] = [];
  const collector = new class extends LiveCollector {
    override rows(run: Parameters<LiveCollector["rows"]>[0]): void {
      super.rows(run);
      this.move();
      shown.push(live.hasSamples ? 1 : 0);
    }
  }(live, {});
  await read(live, { samples: TWO_THREADS }, collector);
  assertEquals(totals(await made(live)), [{ samples: 4, period: 18 }]);
  assert(shown.length > 0);
});

Deno.test("LiveProfile.profile: functions keep their indices after samples and names are added", async () => {
  const live = new LiveProfile();
  await read(live, { samples: TWO_THREADS.slice(0, 2) });
  const before = functionNames(await made(live));
  await read(live, { samples: TWO_THREADS.slice(2), maps: [{ path: "/bin/other", at: 0x1000n }] });
  const after = await made(live);
  assertEquals(functionNames(after).slice(0, before.length), before);
  assertEquals(after.objects.map(({ path }) => path), ["/bin/small", "/bin/other"]);
  assertEquals(totals(after), [{ samples: 4, period: 18 }]);
});

Deno.test("LiveProfile: equal stacks of two recordings become one stack", async () => {
  const live = new LiveProfile();
  for (const samples of [TWO_THREADS.slice(0, 1), TWO_THREADS.slice(2, 3)]) {
    await read(live, { samples });
  }
  const { stacks, threads, samples } = await made(live);
  assertEquals([stacks.place.length, threads.length, [...samples.stack]], [2, 1, [1, 1]]);
});

Deno.test("LiveProfile: above the limit of threads, old samples have the command only, recent ones the thread", async () => {
  const live = new LiveProfile({ ...LIVE_LIMITS, recent: 150, step: 100, threads: 1 });
  const first: Small = { samples: TWO_THREADS.slice(0, 2) };
  await read(live, first);
  await read(live, {
    samples: TWO_THREADS.slice(2).map((one) => ({ ...one, time: one.time + 500n })),
  });
  const { threads, samples, slices } = await made(live);
  assertEquals([...threads].map(({ tid, comm }) => `${tid} ${comm}`), [
    ...["-1 t7", "-1 t8", "7 t7", "8 t8"],
  ]);
  assertEquals([[...samples.time ?? []], slices], [[100, 200, 800, 900], {
    step: 100,
    until: 300,
  }]);
});

Deno.test("LiveProfile: stacks without samples, after old samples are forgotten, are dropped", async () => {
  const live = new LiveProfile({ ...LIVE_LIMITS, recent: 5, step: 1, rows: 8, stacks: 12 });
  for (let i = 0n; i < 60n; i++) {
    const ips = [0x1000n + i * 8n, 0x1ff0n];
    await read(live, { samples: [{ tid: 7, time: 100n + i, ips }] });
  }
  const { stacks, samples, notes, span } = await made(live);
  assert(stacks.parent.length <= 14);
  const held = samples.length;
  assertEquals(notes, [`the first 0 s are no longer held: ${60 - held} samples`]);
  assert(held > 4 && held < 20 && (span?.[0] ?? 0) > 130);
});

Deno.test("LiveProfile: a new resolver gives names to places that had none", async () => {
  const live = new LiveProfile();
  const jit: Small = { samples: TWO_THREADS.slice(0, 1), maps: [{ path: "//anon", at: 0x1000n }] };
  await read(live, jit);
  const files = new Map<string, Uint8Array<ArrayBuffer>>();
  const resolver = () =>
    new SymbolResolver({ open: () => undefined, read: (path) => files.get(path) });
  const names = () => functionNames(live.profile("") as Profile);
  await live.name(resolver());
  assertEquals(names(), ["[JIT] tid 7"]);
  await live.nameAgain(resolver());
  assertEquals(names(), ["[JIT] tid 7"]);
  files.set("/tmp/perf-7.map", new TextEncoder().encode("1000 20 made\n1020 20 caller\n"));
  await live.nameAgain(resolver());
  assertEquals(names(), ["[JIT] tid 7", "made", "caller"]);
});
