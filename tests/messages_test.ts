/** Messages name what is meant, in the words of the format. */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { FEATURE_NAMES, PerfDataReader } from "@perfdata/format";
import { fileSource } from "@perfdata/format/file-source";
import { inFolder, tool } from "./tool.ts";

const FIXTURES = new URL("../fixtures/", import.meta.url).pathname;

/** A recorded file without the last bytes of one of its features. */
async function cutIn(feature: string, to: string): Promise<void> {
  const path = `${FIXTURES}recorded/callchain.perf.data`;
  using source = fileSource(path);
  const reader = await PerfDataReader.open(source);
  const found = reader.features.find(({ id }) => FEATURE_NAMES[id] === feature);
  assert(found !== undefined);
  const { offset, size } = found.section;
  await Deno.writeFile(to, (await Deno.readFile(path)).subarray(0, Number(offset + size) - 4));
}

Deno.test("a feature that is cut is called by its name", async () => {
  await inFolder(async (folder) => {
    const file = `${folder}/perf.data`;
    for (const feature of ["BUILD_ID", "HOSTNAME", "CMDLINE", "EVENT_DESC"]) {
      await cutIn(feature, file);
      for (const name of ["header", "info", "funcs", "dump"]) {
        const { code, err } = await tool("perfdata", [name, file]);
        assertEquals(code, 1, `${name}: ${err}`);
        assertMatch(err, new RegExp(`\\b${feature}\\b`), `${name}: ${err}`);
        assert(!/feature \d/.test(err), `${name}: ${err}`);
      }
    }
  });
});

Deno.test("a cut payload of AUX data is said to be cut", async () => {
  await inFolder(async (folder) => {
    const file = `${folder}/perf.data`;
    const whole = await Deno.readFile(`${FIXTURES}synthesized/pt-cpus-pipe.perf.data`);
    await Deno.writeFile(file, whole.subarray(0, 2500));
    for (const words of [["dump"], ["extract-pt", "--list"], ["pt"], ["hex"]]) {
      const { code, out, err } = await tool("perfdata", [...words, file]);
      assertEquals(code, 1, `${words.join(" ")}: ${err}`);
      assertMatch(
        err + (words[0] === "hex" ? out : ""),
        /payload: \d+ bytes left of the data, expected \d+/,
      );
    }
  });
});

Deno.test("rate of a file without samples does not ask for times", async () => {
  const { code, err } = await tool("rate", [`${FIXTURES}recorded/stat.perf.data`]);
  assertEquals(code, 0);
  assertMatch(err, /^rate: \S+: no samples\n$/);
});
