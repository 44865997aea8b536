import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import { bytesSource, PerfDataError } from "@perfdata/format/bytes";
import { PerfDataReader } from "@perfdata/format/records";
import { dump, type DumpOptions } from "./dump.ts";

const fixtures = new URL("../../fixtures/", import.meta.url);

async function text(
  bytes: Uint8Array,
  options: Partial<DumpOptions> = {},
): Promise<{ text: string; problems: number }> {
  let problems = 0;
  let all = "";
  const reader = await PerfDataReader.open(bytesSource(bytes), { diagnostics: () => problems++ });
  const decoder = new TextDecoder("latin1");
  await dump(reader, {
    path: "f",
    write: (part) => void (all += decoder.decode(part)),
    ...options,
  });
  return { text: all, problems };
}

Deno.test("dump: with any damage it ends, and prints text", async () => {
  const files = ["recorded/group", "recorded/dwarf", "synthesized/records", "recorded/pipe"]
    .map((name) => Deno.readFileSync(new URL(`${name}.perf.data`, fixtures)));
  const spoiled = fc.record({
    file: fc.nat(files.length - 1),
    changes: fc.array(fc.tuple(fc.nat(0xffff), fc.nat(255)), { minLength: 1, maxLength: 12 }),
    order: fc.constantFrom("time" as const, "file" as const),
  });
  await fc.assert(
    fc.asyncProperty(spoiled, async ({ file, changes, order }) => {
      const bytes = (files[file] as Uint8Array).slice();
      for (const [at, value] of changes) bytes[at % bytes.length] = value;
      try {
        const { text: all } = await text(bytes, { order });
        assert(all.startsWith("# To display") || all.startsWith("WARNING: No sample_id_all"));
      } catch (error) {
        // Not even the headers are readable.
        if (!(error instanceof PerfDataError)) throw error;
      }
    }),
    { numRuns: 300 },
  );
});

Deno.test("dump: a file truncated anywhere is printed up to its last whole record", async () => {
  const bytes = Deno.readFileSync(new URL("recorded/pipe.perf.data", fixtures));
  const { text: whole } = await text(bytes, { order: "file" });
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 16, max: bytes.length - 1 }), async (size) => {
      const { text: part } = await text(bytes.subarray(0, size), { order: "file" });
      const records = part.slice(0, part.indexOf("\nAggregated stats:"));
      assert(whole.startsWith(records), `${size} bytes`);
    }),
    { numRuns: 50 },
  );
});

Deno.test("dump: a pipe gives the same text in pieces of any size", async () => {
  const bytes = Deno.readFileSync(new URL("recorded/pipe.perf.data", fixtures));
  const { text: whole } = await text(bytes);
  for (const size of [1, 7, 4096]) {
    let at = 0;
    const reader = await PerfDataReader.open({
      read(into) {
        const part = bytes.subarray(at, at + Math.min(size, into.length));
        into.set(part);
        at += part.length;
        return part.length;
      },
    });
    let all = "";
    const decoder = new TextDecoder("latin1");
    await dump(reader, { path: "f", write: (part) => void (all += decoder.decode(part)) });
    assertEquals(all === whole, true, `pieces of ${size} bytes`);
  }
});
