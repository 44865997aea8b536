/** Impossible values are named below the tables whose shares or names they dominate. */
import { assertEquals } from "@std/assert";
import { type Impossible, impossibleRecording } from "../../fixtures/synthesize/impossible.ts";
import { inFolder, tool } from "../support/tool.ts";

const PERIOD = /has a period of 1099511627776, 100\.0% of all/;
const WEIGHT = /has a weight of 1099511627776, 100\.0% of all/;
const BUILD_ID = /2 modules of the kernel have the build id (?:ab){20}/;

const LARGE = 1n << 40n;

/** Command, values, and expected warnings. */
const CASES: readonly (readonly [string, Impossible, readonly RegExp[]])[] = [
  ["funcs", {}, []],
  ["funcs", { period: LARGE }, [PERIOD]],
  ["funcs", { sharesBuildId: true }, [BUILD_ID]],
  ["funcs", { weight: LARGE }, []],
  ["funcs --mem", {}, []],
  ["funcs --mem", { weight: LARGE }, [WEIGHT]],
  ["funcs --mem", { period: LARGE }, []],
  ["funcs --sort pid", { sharesBuildId: true }, []],
  ["tree", { period: LARGE, sharesBuildId: true }, [PERIOD, BUILD_ID]],
  ["tree", { weight: LARGE }, []],
];

for (const [command, values, wanted] of CASES) {
  const which = Object.keys(values).join(" and ") || "nothing";
  Deno.test(`${command}: ${which} that cannot be, ${wanted.length} named`, async () => {
    await inFolder(async (folder) => {
      const file = `${folder}/perf.data`;
      Deno.writeFileSync(file, await impossibleRecording(values));
      const [name = "", ...flags] = command.split(" ");
      const { err } = await tool(name, [...flags, file]);
      const found = [PERIOD, WEIGHT, BUILD_ID].filter((text) => text.test(err));
      assertEquals(found, [...wanted], err);
    });
  });
}
