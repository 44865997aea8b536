/** Streams with record numbers of their own: the mark after the features, and an old dialect. */
import { assert, assertEquals } from "@std/assert";
import { emptyAttr, encode, PerfDataWriter, perfEventAttr } from "@perfdata/format/records";
import { memorySink } from "@perfdata/format/bytes";
import { HEADER_CPU_DOMAIN_INFO } from "@perfdata/format/constants";
import { inFolder, tool } from "../support/tool.ts";

/** A record with this body. */
function record(type: number, body: Uint8Array): Uint8Array {
  const bytes = new Uint8Array(8 + body.length);
  const view = new DataView(bytes.buffer);
  view.setUint32(0, type, true);
  view.setUint16(6, bytes.length, true);
  bytes.set(body, 8);
  return bytes;
}

async function pipe(...records: Uint8Array[]): Promise<Uint8Array> {
  const sink = memorySink();
  const writer = await PerfDataWriter.pipe(sink);
  for (const bytes of records) await writer.write(bytes);
  return sink.bytes();
}

/** A header string of 64 bytes. */
function text(value: string): Uint8Array {
  const bytes = new Uint8Array(68);
  bytes[0] = 64;
  bytes.set(new TextEncoder().encode(value), 4);
  return bytes;
}

const ATTR = record(64, encode(perfEventAttr(64), { ...emptyAttr(), size: 64 }));

Deno.test("the end mark of a pipe's features: header, records and hex do not read it as a feature", async () => {
  // perf 6.1 writes 32, which later perfs use for a feature.
  assertEquals(HEADER_CPU_DOMAIN_INFO, 32);
  const mark = record(80, Uint8Array.of(32, 0, 0, 0, 0, 0, 0, 0));
  const release = record(80, Uint8Array.of(4, 0, 0, 0, 0, 0, 0, 0, ...text("6.1.0")));
  const input = await pipe(ATTR, release, mark);
  const header = await tool("header", ["-"], { input });
  assertEquals([header.code, header.err], [0, ""]);
  assert(header.out.includes("# os release : 6.1.0"), header.out);
  const records = await tool("records", ["-"], { input });
  assert(records.out.includes('"body":{"feat_id":32,"name":"LAST_FEATURE"}'), records.out);
  await inFolder(async (folder) => {
    await Deno.writeFile(`${folder}/mark.data`, input);
    const hex = await tool("hex", [`${folder}/mark.data`]);
    assertEquals([hex.code, hex.err], [0, ""]);
    for (const { out } of [header, records, hex]) assert(!out.includes("CPU_DOMAIN_INFO"), out);
  });
});

Deno.test("old dialect: every command reads its record types", async () => {
  const input = await pipe(
    ATTR,
    record(69, text("a-host")),
    record(70, text("3.2.5")),
    record(72, text("x86_64")),
    // AUXTRACE_INFO and AUXTRACE of later perfs.
    record(71, text("3.3.0")),
  );
  const header = await tool("header", ["-"], { input });
  assertEquals(header.out.split("\n").filter((line) => line.includes(" : ")).slice(5), [
    "# hostname : a-host",
    "# os release : 3.2.5",
    "# arch : x86_64",
    "# perf version : 3.3.0",
  ]);
  const pt = await tool("extract-pt", ["--list", "-"], { input });
  assertEquals(pt.code, 1);
  assert(pt.err.includes("no AUX data"), pt.err);
  await inFolder(async (folder) => {
    await tool("readperf", ["-o", folder, "-"], { input });
    const types = (await Deno.readTextFile(`${folder}/stat.csv`)).split("\n")
      .map((line) => line.split(",")[0]).filter((type) => type?.startsWith("HEADER_"));
    const expected = ["ARCH", "ATTR", "HOSTNAME", "OSRELEASE", "VERSION"];
    assertEquals(types, expected.map((name) => `HEADER_${name}`));
  });
});
