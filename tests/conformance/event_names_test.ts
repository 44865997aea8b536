import { assert, assertEquals } from "@std/assert";
import { SampleCollector } from "@perfdata/profile";
import { writeRecords } from "@perfdata/dump";
import { copyRecording, FileOutput, KEEP, PipeOutput } from "@perfdata/edit";
import { bytesSource, memorySink } from "@perfdata/format/bytes";
import { PerfDataReader, RecordCodec } from "@perfdata/format/records";
import { EventNames, runEngine } from "@perfdata/session";
import { PERF_EVENT_UPDATE__NAME } from "@perfdata/user-records/metadata";
import { USER_RECORDS } from "@perfdata/user-records";
import { corpusFiles } from "../support/corpus.ts";
import { perfText, perfVersion } from "../support/perf.ts";

const fixtures = new URL("../../fixtures/recorded/", import.meta.url).pathname;
const SAMPLE = 9;

/** Names of a pipe's events with samples, in order. */
async function ownNames(bytes: Uint8Array): Promise<string[]> {
  const reader = await PerfDataReader.open(bytesSource(bytes), { diagnostics: () => {} });
  const names = new EventNames(reader);
  const sampled = new Set<number>();
  for await (const batch of reader.batches()) {
    for (let i = 0; i < batch.count; i++) {
      const start = batch.start(i);
      const end = start + batch.size(i);
      if (batch.type(i) !== SAMPLE) names.record(batch.bytes, batch.view, start, end);
      else sampled.add(reader.events.indexOf(batch.view, start, end, SAMPLE, reader.littleEndian));
    }
    if (batch.payload !== undefined) await names.payload(batch.payload);
  }
  return (await names.all()).filter((_, i) => sampled.has(i));
}

/** Names of the samples' events in `records`, sorted. */
async function lineNames(bytes: Uint8Array): Promise<string[]> {
  const reader = await PerfDataReader.open(bytesSource(bytes), { diagnostics: () => {} });
  const decoder = new TextDecoder();
  let text = "";
  const options = { types: new Set(["SAMPLE"]), diagnostics: () => {} };
  await writeRecords(reader, (block) => text += decoder.decode(block, { stream: true }), options);
  const names = text.trimEnd().split("\n").map((line) => (JSON.parse(line) as Line).event);
  return [...new Set(names)].sort();
}

interface Line {
  readonly event: string;
}

/** perf's names of a file's events with samples; `undefined` if it cannot read the file. */
async function perfNames(path: string): Promise<string[] | undefined> {
  const output = await perfText(["report", "--stdio", "-g", "none", "--no-children"], path);
  if (output === undefined || output.code !== 0) return undefined;
  const found = [...output.stdout.matchAll(/^# Samples: \S+ +of event '(.*)'$/gm)];
  return found.length === 0 ? undefined : found.map(([, name = ""]) => name);
}

/** Whether the header is a pipe's: 16 bytes. */
function isPipe(path: string): boolean {
  using file = Deno.openSync(path);
  const head = new Uint8Array(16);
  return file.readSync(head) === 16 && (head[8] === 16 || head[15] === 16);
}

const pipes = [
  ...corpusFiles().map(({ path }) => path),
  ...[...Deno.readDirSync(fixtures)].map(({ name }) => fixtures + name)
    .filter((path) => path.endsWith(".data") && Deno.statSync(path).isFile),
].filter(isPipe);

Deno.test({
  name: "event names: a pipe has those of perf",
  ignore: perfVersion() === undefined,
  async fn() {
    let compared = 0;
    for (const path of pipes) {
      const expected = await perfNames(path);
      if (expected === undefined) continue;
      const bytes = Deno.readFileSync(path);
      assertEquals(await ownNames(bytes), expected, path);
      assertEquals(await lineNames(bytes), [...new Set(expected)].sort(), path);
      compared++;
    }
    console.log(`${compared} pipes compared`);
    assert(compared >= (corpusFiles().length === 0 ? 3 : 15), `${compared} pipes compared`);
  },
});

/** An EVENT_UPDATE that gives an event a name. */
function nameUpdate(id: bigint, name: string): Uint8Array {
  return new RecordCodec(USER_RECORDS).encode({
    type: 78,
    name: "EVENT_UPDATE",
    misc: 0,
    body: { type: BigInt(PERF_EVENT_UPDATE__NAME), id, name },
  });
}

/** All tools' names of a recording's events with samples. */
async function engineNames(path: string): Promise<string[]> {
  const counts = new SampleCollector();
  const reader = await PerfDataReader.open(bytesSource(Deno.readFileSync(path)));
  const { eventNames } = await runEngine(reader, [counts]);
  return eventNames.filter((_, i) => (counts.totals[i]?.samples ?? 0) > 0);
}

Deno.test({
  name: "event names: an EVENT_UPDATE names its event in file and pipe, as in perf",
  ignore: perfVersion() === undefined,
  async fn() {
    const folder = Deno.makeTempDirSync({ prefix: "perfdata-names-" });
    const path = `${folder}/data`;
    let compared = 0;
    try {
      // With one event, any id is valid; with several, the id selects one, and 0 the first. perf
      // refuses an unknown id.
      for (
        const [file, which, form] of [
          ["callchain", 99n, "file"],
          ["callchain", 99n, "pipe"],
          ["two-events", 1, "file"],
          ["two-events", 1, "pipe"],
          ["two-events", 0n, "file"],
        ] as const
      ) {
        const source = bytesSource(Deno.readFileSync(`${fixtures}${file}.perf.data`));
        const reader = await PerfDataReader.open(source);
        const id = typeof which === "bigint" ? which : reader.events.all[which]?.ids[0] ?? 0n;
        const update = nameUpdate(id, "called-so");
        let isBefore = true;
        const sink = memorySink();
        const output = form === "file" ? new FileOutput(sink) : new PipeOutput(sink);
        await copyRecording(reader, output, {
          edit: {
            record(batch, i) {
              if (!isBefore || batch.type(i) !== SAMPLE) return KEEP;
              isBefore = false;
              return Uint8Array.of(...update, ...batch.recordBytes(i));
            },
          },
        });
        Deno.writeFileSync(path, sink.bytes());
        const expected = await perfNames(path);
        const about = `${file} ${which} ${form}`;
        assertEquals(expected?.includes("called-so"), true, about);
        assertEquals(await engineNames(path), expected, about);
        assertEquals(await lineNames(sink.bytes()), expected?.toSorted(), about);
        compared++;
      }
    } finally {
      Deno.removeSync(folder, { recursive: true });
    }
    assertEquals(compared, 5);
  },
});
