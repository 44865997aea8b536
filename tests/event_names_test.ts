import { assert, assertEquals } from "@std/assert";
import { bytesSource, PerfDataReader, RecordCodec } from "@perfdata/format";
import { EventNames } from "@perfdata/session/event-names";
import { PERF_EVENT_UPDATE__NAME, USER_RECORDS } from "@perfdata/user-records";
import { corpusFiles } from "./corpus.ts";
import { perfText, perfVersion } from "./perf.ts";

const fixtures = new URL("../fixtures/recorded/", import.meta.url).pathname;
const SAMPLE = 9;

/** Reads a pipe and says how its events are called: those that have samples, in their order. */
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

/** How perf calls the events of a file that have samples; `undefined` if it cannot read it. */
async function perfNames(path: string): Promise<string[] | undefined> {
  const output = await perfText(["report", "--stdio", "-g", "none", "--no-children"], path);
  if (output === undefined || output.code !== 0) return undefined;
  const found = [...output.stdout.matchAll(/^# Samples: \S+ +of event '(.*)'$/gm)];
  return found.length === 0 ? undefined : found.map(([, name = ""]) => name);
}

/** Whether the header is that of a pipe: 16 bytes. */
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
  name: "the events of a pipe are called what perf calls them",
  ignore: perfVersion() === undefined,
  async fn() {
    let compared = 0;
    for (const path of pipes) {
      const expected = await perfNames(path);
      if (expected === undefined) continue;
      assertEquals(await ownNames(Deno.readFileSync(path)), expected, path);
      compared++;
    }
    console.log(`${compared} pipes compared`);
    assert(compared > 0);
  },
});

Deno.test({
  name: "an EVENT_UPDATE in a pipe names its event, for perf as well",
  ignore: perfVersion() === undefined,
  async fn() {
    const folder = Deno.makeTempDirSync({ prefix: "perfdata-names-" });
    try {
      const bytes = Deno.readFileSync(`${fixtures}pipe.perf.data`);
      const reader = await PerfDataReader.open(bytesSource(bytes));
      let at = 0;
      for await (const batch of reader.batches()) {
        for (let i = 0; i < batch.count && at === 0; i++) {
          if (batch.type(i) === SAMPLE) at = batch.offsetOf(i);
        }
      }
      const update = new RecordCodec(USER_RECORDS).encode({
        type: 78,
        name: "EVENT_UPDATE",
        misc: 0,
        body: {
          type: BigInt(PERF_EVENT_UPDATE__NAME),
          id: reader.events.all[0]?.ids[0] ?? 0n,
          name: "called-so",
        },
      });
      const path = `${folder}/data`;
      const changed = new Uint8Array(bytes.length + update.length);
      changed.set(bytes.subarray(0, at));
      changed.set(update, at);
      changed.set(bytes.subarray(at), at + update.length);
      Deno.writeFileSync(path, changed);
      assertEquals(await perfNames(path), ["called-so"]);
      assertEquals(await ownNames(changed), ["called-so"]);
    } finally {
      Deno.removeSync(folder, { recursive: true });
    }
  },
});
