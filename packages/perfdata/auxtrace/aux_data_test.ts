import { assert, assertEquals, assertRejects } from "@std/assert";
import { memorySink, streamSource } from "@perfdata/format/bytes";
import { PERF_AUXTRACE_INTEL_PT } from "@perfdata/user-records";
import { open } from "../mod.ts";

const synthesized = (name: string) =>
  new URL(`../../../fixtures/synthesized/${name}.perf.data`, import.meta.url);
const NONE = { symbols: "none", diagnostics: () => {} } as const;

/** Data by CPU and thread, copied from a stream. */
async function streamed(name: string): Promise<Map<string, Uint8Array>> {
  const source = streamSource(new Blob([Deno.readFileSync(synthesized(name))]).stream());
  using recording = await open(source, NONE);
  await assertRejects(() => recording.auxStreams(), TypeError, "not of a stream");
  const again = streamSource(new Blob([Deno.readFileSync(synthesized(name))]).stream());
  using other = await open(again, NONE);
  const sinks = new Map<string, ReturnType<typeof memorySink>>();
  await other.copyAux({
    open({ cpu, tid = -1 }, type) {
      assertEquals(type, PERF_AUXTRACE_INTEL_PT);
      const sink = memorySink();
      sinks.set(`${cpu} ${tid}`, sink);
      return sink;
    },
  });
  return new Map([...sinks].map(([of, sink]) => [of, sink.bytes()]));
}

Deno.test("auxStreams: overlapping snapshots and samples have the bytes that copyAux copies from a stream", async () => {
  let compared = 0;
  for (const name of ["pt-cpus", "pt-threads", "pt-sample", "pt-snapshot", "pt-snapshot-pipe"]) {
    const expected = await streamed(name);
    using recording = await open(synthesized(name), NONE);
    const streams = await recording.auxStreams();
    assertEquals(streams.length, expected.size, name);
    for (const { cpu, tid = -1, size, read } of streams) {
      const bytes = await read();
      assertEquals(bytes, expected.get(`${cpu} ${tid}`), name);
      assertEquals(size, bytes.length, name);
      compared += size;
    }
  }
  assert(compared > 30_000, `${compared} bytes`);
});

Deno.test("copyAux: streams of a file are known before their data, and a skipped one is not copied", async () => {
  using recording = await open(synthesized("pt-cpus"), NONE);
  const sink = memorySink();
  const seen: (number | undefined)[] = [];
  const { trace } = await recording.copyAux({
    known: ({ streams }) => seen.push(...streams.map(({ cpu }) => cpu)),
    open: ({ cpu }) => cpu === 3 ? sink : undefined,
  });
  assertEquals(seen, [0, 1, 3]);
  assertEquals(trace.streams.length, 3);
  const [, , third] = await recording.auxStreams();
  assertEquals(sink.bytes(), await third?.read());
});
