/** Recordings that are shown while they arrive through a pipe. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import type { StreamSource } from "@perfdata/format/bytes";
import { PERF_RECORD_FINISHED_ROUND, PERF_RECORD_SAMPLE } from "@perfdata/format/constants";
import { totals } from "@perfdata/profile";
import { finishedFiles } from "../../tools/shared/followed_folder.ts";
import { LiveRecording } from "../../tools/shared/live_recording.ts";
import { serverSource } from "../../view/worker/worker_source.ts";
import { inRounds, records, Slow } from "../support/live_stream.ts";
import { denoFolder, inFolder, tool, toolArguments } from "../support/tool.ts";

const BYTES = await inRounds();

const FLAGS = { on: {}, value: {}, operands: [] };

function liveOf(source: StreamSource): LiveRecording {
  const flags = FLAGS as never;
  return new LiveRecording({ tool: "view", name: "-", flags, debugInformation: false, source });
}

/** Waits for a profile that is newer than a version. */
async function newer(live: LiveRecording, version: number) {
  for (;;) {
    const state = await live.next(version);
    if (state.version > version) {
      const made = await live.profile();
      if (made !== undefined) return made;
    }
    assert(!state.isOver, state.error);
  }
}

const samplesOf = (profile: Parameters<typeof totals>[0]) =>
  totals(profile).reduce((sum, { samples }) => sum + samples, 0);

Deno.test("LiveRecording: a stream in two parts gives the samples of the first rounds, then all", async () => {
  const all = await records(BYTES);
  const samples = all.filter(({ type }) => type === PERF_RECORD_SAMPLE).length;
  const rounds = all.filter(({ type }) => type === PERF_RECORD_FINISHED_ROUND);
  const middle = rounds[rounds.length >> 1]?.end ?? NaN;
  const arrived = all.filter(({ type, end }) => type === PERF_RECORD_SAMPLE && end <= middle);
  const source = new Slow();
  const live = liveOf(source);
  // Bytes that end within a record.
  source.push(BYTES.subarray(0, middle + 3));
  const first = await newer(live, 0);
  const shown = samplesOf(first.profile);
  assert(shown > 0 && shown <= arrived.length && arrived.length < samples);
  assertEquals(live.state.isOver, false);
  // Nothing more arrives.
  assertEquals((await live.next(first.version, 0)).version, first.version);
  source.push(BYTES.subarray(middle + 3), undefined);
  assertEquals(await live.done, true);
  const last = await live.profile();
  assert(last !== undefined);
  assertEquals(samplesOf(last.profile), samples);
  assertEquals([live.state.isOver, live.state.error, live.state.bytes], [
    ...[true, undefined, BYTES.length],
  ]);
  assertEquals((await live.next(last.version)).version, last.version);
});

Deno.test("LiveRecording: samples with copied stacks are shown before the end of the stream", async () => {
  const file = new URL("../../fixtures/recorded/dwarf.perf.data", import.meta.url).pathname;
  const { stdout } = await tool("convert", ["-o", "-", file]);
  const bytes = await inRounds(stdout.slice(), 1);
  const all = await records(bytes);
  const rounds = all.filter(({ type }) => type === PERF_RECORD_FINISHED_ROUND);
  assert(rounds.length > 2);
  const source = new Slow();
  const live = liveOf(source);
  source.push(bytes.subarray(0, rounds[2]?.end));
  const { profile } = await newer(live, 0);
  assert(samplesOf(profile) > 0);
  assertEquals(live.state.isOver, false);
  source.push(undefined);
  await live.done;
});

/** The samples of a recording, by command and object. */
async function rowsOf(path: string): Promise<Map<string, number>> {
  const { out } = await tool("funcs", ["--sort", "comm,dso", "--no-inline", "--json", path]);
  const rows = out.trimEnd().split("\n").map((line) => JSON.parse(line));
  return new Map(rows.map(({ comm, dso, samples }) => [`${comm} ${dso}`, samples]));
}

Deno.test("LiveRecording: files of a folder are added when they are finished, damaged ones are left out", () =>
  inFolder(async (folder) => {
    const recorded = new URL("../../fixtures/recorded/", import.meta.url).pathname;
    const paths = ["callchain", "dwarf"].map((name) => `${recorded}${name}.perf.data`);
    const end = new AbortController();
    // The file that perf writes has no time in its name.
    Deno.copyFileSync(paths[0] as string, `${folder}/perf.data`);
    Deno.copyFileSync(paths[0] as string, `${folder}/perf.data.2026010112000000`);
    const flags = FLAGS as never;
    const files = finishedFiles(folder, end.signal);
    const about = { tool: "view", name: folder, flags, debugInformation: false };
    const live = new LiveRecording({ ...about, files });
    const first = await newer(live, 0);
    const all = await Promise.all(paths.map(rowsOf));
    const sums = all.map((rows) => [...rows.values()].reduce((sum, n) => sum + n, 0));
    assertEquals(samplesOf(first.profile), sums[0]);
    Deno.writeTextFileSync(`${folder}/perf.data.2026010112000500`, "no recording");
    Deno.copyFileSync(paths[1] as string, `${folder}/other.2026010112001000`);
    const second = await newer(live, first.version);
    assertEquals(samplesOf(second.profile), (sums[0] ?? 0) + (sums[1] ?? 0));
    const { samples, stacks, places, objects, threads } = second.profile;
    const shown = new Map<string, number>();
    for (let i = 0; i < samples.length; i++) {
      const place = stacks.place[samples.stack[i] ?? -1] ?? -1;
      const name = objects[places.object[place] ?? -1]?.name ?? "[unknown]";
      const key = `${threads.comm(samples.thread[i] ?? -1)} ${name}`;
      shown.set(key, (shown.get(key) ?? 0) + (samples.count[i] ?? 0));
    }
    const wanted = new Map(all[0]);
    for (const [key, n] of all[1] ?? []) wanted.set(key, (wanted.get(key) ?? 0) + n);
    assertEquals([...shown].sort(), [...wanted].sort());
    assertEquals(live.state.isOver, false);
    end.abort();
    assertEquals(await live.done, true);
    assertEquals([live.state.isOver, live.state.error], [true, undefined]);
  }));

Deno.test("LiveRecording: a stream that ends within a record gives the samples before it, and reports damage", async () => {
  const all = await records(BYTES);
  const cut = Math.floor(BYTES.length * 0.7);
  const before = all.filter(({ type, end }) => type === PERF_RECORD_SAMPLE && end <= cut).length;
  const source = new Slow();
  const live = liveOf(source);
  source.push(BYTES.subarray(0, cut), undefined);
  assertEquals(await live.done, false);
  const made = await live.profile();
  assert(made !== undefined);
  assertEquals([samplesOf(made.profile), live.state.isOver], [before, true]);
});

Deno.test("LiveRecording: a stream that fails gives the error, and keeps the samples before it", async () => {
  const all = await records(BYTES);
  const cut = Math.floor(BYTES.length * 0.7);
  const before = all.filter(({ type, end }) => type === PERF_RECORD_SAMPLE && end <= cut).length;
  const source = new Slow();
  const live = liveOf(source);
  source.push(BYTES.subarray(0, cut), new Error("connection reset by peer"));
  assertEquals(await live.done, false);
  assertEquals(live.state.error, "connection reset by peer");
  const made = await live.profile();
  assert(made !== undefined);
  assertEquals(samplesOf(made.profile), before);
});

Deno.test("LiveRecording: a stream without samples, and bytes that are no recording, give an error", async () => {
  const reasons: (string | undefined)[] = [];
  for (
    const bytes of [
      BYTES.subarray(0, 16),
      new TextEncoder().encode("no recording at all".repeat(9)),
    ]
  ) {
    const source = new Slow();
    const live = liveOf(source);
    source.push(bytes, undefined);
    assertEquals([await live.done, await live.profile()], [false, undefined]);
    reasons.push(live.state.error);
  }
  assertEquals(reasons[0], "no samples");
  assertStringIncludes(reasons[1] ?? "", "expected PERFILE2");
});

Deno.test({
  name: "view -: serves the samples so far, and slices of the bytes that --save kept",
  async fn() {
    await inFolder(async (folder) => {
      const saved = `${folder}/saved.data`;
      const child = new Deno.Command(Deno.execPath(), {
        args: [...toolArguments("view"), "--save", saved, "-"],
        env: { NO_COLOR: "1", PERFDATA_CWD: "", HOME: folder, DENO_DIR: denoFolder() },
        stdin: "piped",
        stdout: "piped",
        stderr: "null",
      }).spawn();
      const writer = child.stdin.getWriter();
      const reader = child.stdout.getReader();
      try {
        // The page is served before anything arrives.
        const address = new TextDecoder().decode((await reader.read()).value).trim();
        const { length } = (await records(BYTES)).filter(({ type }) => type === PERF_RECORD_SAMPLE);
        const middle = BYTES.length >> 1;
        await writer.write(BYTES.subarray(0, middle));
        const source = serverSource({ address, compared: false, live: true });
        const samples = async () =>
          (await source.profile(() => {})).samples.count.reduce((sum, count) => sum + count, 0);
        const first = await samples();
        assert(first > 0 && first < length);
        await writer.write(BYTES.subarray(middle));
        await writer.close();
        let state = await source.growth?.(0);
        while (state?.isOver === false) state = await source.growth?.(state.version);
        assertEquals(await samples(), length);
        assertEquals(Deno.readFileSync(saved), BYTES);
        const slice = new Uint8Array(await (await source.slice({})).arrayBuffer());
        const sliced = (await records(slice)).filter(({ type }) => type === PERF_RECORD_SAMPLE);
        assertEquals(sliced.length, length);
      } finally {
        child.kill("SIGINT");
        await reader.cancel();
        await child.status;
      }
    });
  },
});
