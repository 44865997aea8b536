import { assertEquals, assertRejects } from "@std/assert";
import { eventsRecording } from "../../fixtures/synthesize/events.ts";
import { openFiles } from "./files_source.ts";

const SCRIPT = { text: "", type: "classic" } as const;

/** A file whose bytes {@link SyncReader} returns, since Deno has no `FileReaderSync`. */
class KnownFile extends File {
  constructor(readonly known: Uint8Array<ArrayBuffer>) {
    super([known], "perf.data");
  }

  override slice(start = 0, end: number = this.known.length): Blob {
    return new KnownFile(this.known.slice(start, end));
  }
}

/** Replaces `FileReaderSync` of browser workers. */
class SyncReader {
  readAsArrayBuffer(file: KnownFile): ArrayBuffer {
    return file.known.slice().buffer;
  }
}

Deno.test("openFiles: a profile of another tool is shown in place of a recording, and has no records", async () => {
  Object.assign(globalThis, { FileReaderSync: SyncReader });
  const text = new TextEncoder().encode("demo;main;work 3\ndemo;main 2\n");
  const source = await openFiles({ from: "files", files: [new KnownFile(text)], script: SCRIPT });
  const { events, samples, functions } = await source.profile(() => {});
  assertEquals(events.map(({ name }) => name), ["samples"]);
  assertEquals([...samples.count], [3, 2]);
  assertEquals(functions.name, ["main", "work"]);
  assertEquals([await source.index(), await source.head()], [undefined, []]);
  await assertRejects(() => source.record(0), Error, "a profile of another tool has no records");
  const off = await openFiles({
    ...{ from: "files", script: SCRIPT, counts: "off-cpu" } as const,
    files: [new KnownFile(text)],
  });
  await assertRejects(() => off.profile(() => {}), Error, "only samples");
});

Deno.test("openFiles: the event with most samples is the first; an event of two PMUs is one event", async () => {
  const file = new KnownFile(
    await eventsRecording({ "cpu_atom/cycles/P": 2, "faults": 3, "cpu_core/cycles/P": 4 }),
  );
  Object.assign(globalThis, { FileReaderSync: SyncReader });
  const source = await openFiles({ from: "files", files: [file], script: SCRIPT });
  const { events, samples } = await source.profile(() => {});
  assertEquals(events.map(({ name }) => name), ["cycles:P", "faults"]);
  const counts = events.map((_, event) =>
    samples.count.reduce((sum, count, i) => sum + (samples.event[i] === event ? count : 0), 0)
  );
  assertEquals(counts, [6, 3]);
});
