/** Pipes whose records differ in order from today's perf, or lack some. */
import { assert, assertEquals } from "@std/assert";
import { copyRecording, PipeOutput } from "@perfdata/edit";
import { bytesSource, memorySink } from "@perfdata/format/bytes";
import { PerfDataReader } from "@perfdata/format/records";
import { PERF_RECORD_HEADER_FEATURE } from "@perfdata/format/constants";
import { perfText, perfVersion } from "../support/perf.ts";
import { inFolder, tool } from "../support/tool.ts";

const RECORDED = new URL("../../fixtures/recorded/", import.meta.url).pathname;

/** The pipe form of a fixture: its header, and its records. */
async function pipeOf(name: string): Promise<[header: Uint8Array, records: Uint8Array[]]> {
  const reader = await PerfDataReader.open(bytesSource(await Deno.readFile(`${RECORDED}${name}`)));
  const sink = memorySink();
  await copyRecording(reader, new PipeOutput(sink));
  const bytes = sink.bytes();
  const view = new DataView(bytes.buffer);
  const records: Uint8Array[] = [];
  for (let at = 16, size; at < bytes.length; at += size) {
    size = view.getUint16(at + 6, true);
    records.push(bytes.subarray(at, at + size));
  }
  return [bytes.subarray(0, 16), records];
}

function joined(parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    bytes.set(part, at);
    at += part.length;
  }
  return bytes;
}

const isFeature = (record: Uint8Array): boolean => record[0] === PERF_RECORD_HEADER_FEATURE;

Deno.test("pipe of perf 4.13: features before the attrs give perf's dump", async () => {
  let compared = 0;
  for (const name of ["callchain", "regs", "two-events", "addr"]) {
    const [header, records] = await pipeOf(`${name}.perf.data`);
    const turned = [
      ...records.filter(isFeature),
      ...records.filter((record) => !isFeature(record)),
    ];
    assert(!isFeature(records[0] ?? new Uint8Array(1)));
    await inFolder(async (folder) => {
      const file = `${folder}/perf.data`;
      await Deno.writeFile(file, joined([header, ...turned]));
      const ours = await tool("dump", [file]);
      assertEquals([ours.code, ours.err], [0, ""]);
      const events = await tool("records", ["--type", "SAMPLE", file]);
      assert(!events.out.includes('"event":null') && events.out.length > 0, name);
      if (perfVersion() === undefined) return;
      const theirs = await perfText(["report", "-D"], file);
      assertEquals(ours.out, theirs?.stdout, name);
      compared++;
    });
  }
  console.log(`${compared} dumps compared with perf`);
  assertEquals(compared, perfVersion() === undefined ? 0 : 4);
});

Deno.test("registers: names are the same from a file and from a pipe", async () => {
  const path = `${RECORDED}regs.perf.data`;
  const keys = async (file: string, input?: Uint8Array): Promise<string[]> => {
    const { out } = await tool("records", ["--type", "SAMPLE", file], input && { input });
    const lines = out.trimEnd().split("\n");
    return lines.map((line) => Object.keys(JSON.parse(line).regs_user.regs).join());
  };
  const expected = await keys(path);
  assert(expected.length > 1 && expected[0]?.startsWith("AX,BX,"), expected[0]);
  assertEquals(await keys("-", joined((await pipeOf("regs.perf.data")).flat())), expected);
  // If a file is read through a pipe, the machine is known at its end: docs/records.md.
  const streamed = await keys("-", await Deno.readFile(path));
  assertEquals(streamed.length, expected.length);
  assert(streamed[0]?.startsWith("reg0,reg1,"), streamed[0]);
});

Deno.test("dump: a record of type 0, and an EXIT without any attr, are printed", async () => {
  const [header, records] = await pipeOf("callchain.perf.data");
  const odd = Uint8Array.of(0, 0, 0, 0, 0, 0, 8, 0);
  const exit = Uint8Array.of(
    4,
    0,
    0,
    0,
    0,
    0,
    32,
    0,
    ...[1, 0, 0, 0, 1, 0, 0, 0],
    ...Array(16).fill(0),
  );
  await inFolder(async (folder) => {
    const file = `${folder}/perf.data`;
    await Deno.writeFile(file, joined([header, odd, exit]));
    const few = await tool("dump", [file]);
    assertEquals(few.code, 1);
    assert(few.out.includes("@pipe [0x8]: event: 0\n"), few.out);
    assert(few.out.includes("PERF_RECORD_EXIT\n"), few.out);
    const middle = records.length >> 1;
    await Deno.writeFile(
      file,
      joined([header, ...records.slice(0, middle), odd, ...records.slice(middle)]),
    );
    const ours = await tool("dump", ["--no-hex", file]);
    const whole = await tool("dump", ["--no-hex", "-"], { input: joined([header, ...records]) });
    const samples = (text: string) => text.split("PERF_RECORD_SAMPLE(").length - 1;
    assertEquals(samples(ours.out), samples(whole.out));
    assert(samples(ours.out) > 10);
  });
});
