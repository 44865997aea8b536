/** What helps where names are missing: one table, and what commands say of it. */
import { assert, assertEquals, assertMatch } from "@std/assert";
import type { ObjectTrust } from "@perfdata/session/symbols";
import { UNRESOLVED_CAUSES } from "@perfdata/symbols";
import { remediesOf, remedyOf } from "../tools/_remedies.ts";
import { denoFolder, inFolder, tool } from "./tool.ts";

const ROOT = new URL("../", import.meta.url).pathname;
const count = (addresses: number, samples: number) => ({ addresses, samples, period: samples });

function object(path: string, cause: string, samples: number, buildId?: string): ObjectTrust {
  return {
    object: { path, kind: "elf", ...(buildId === undefined ? {} : { buildId }) },
    ...{ origin: undefined, bundled: false, refused: [], looked: [], faults: [], faultCount: 0 },
    ...{
      all: count(3, samples),
      resolved: count(1, 0),
      lines: count(0, 0),
      unverified: count(0, 0),
    },
    unresolved: new Map(UNRESOLVED_CAUSES.map((name) => [
      name,
      name === cause ? count(2, samples) : count(0, 0),
    ])),
  };
}

Deno.test("each cause has a remedy; those that name most samples are first, and sum up", () => {
  for (const cause of UNRESOLVED_CAUSES) {
    for (const id of [undefined, "ab".repeat(20)]) {
      const remedy = remedyOf(object("/a", cause, 5, id)) ?? "";
      assertMatch(remedy, /record|perfdata|--\w+|perf-PID|install/, cause);
      // By build id alone can a file be asked for.
      if (id === undefined) assert(!remedy.includes("symbols fetch"), cause);
    }
  }
  assertEquals(remedyOf(object("/a", "none", 0)), undefined);
  const id = "ab".repeat(20);
  const all = [
    object("/jit", "JIT", 7),
    object("/a", "file missing", 5, id),
    object("/b", "no symbols", 4, id),
  ];
  assertEquals(
    remediesOf({ objects: all }).map(({ objects, samples, addresses }) => [
      objects.map(({ object }) => object?.path),
      samples,
      addresses,
    ]),
    [[["/a", "/b"], 9, 4], [["/jit"], 7, 2]],
  );
});

Deno.test("funcs and symbols trust say what helps, and where was looked", () =>
  inFolder(async (folder) => {
    const file = `${ROOT}fixtures/recorded/callchain.perf.data`;
    const env = { HOME: folder, DENO_DIR: denoFolder() };
    const told = await tool("symbols", ["trust", "--json", file], { env });
    const { objects, all, resolved } = JSON.parse(told.out);
    assert(resolved.samples < all.samples, "names are missing");
    let compared = 0;
    for (const { resolved, all, remedy, looked, origin, kind } of objects) {
      assertEquals(remedy === null, resolved.addresses === all.addresses);
      if (origin === null && kind === "elf") {
        assert(looked.length > 0);
        compared++;
      }
    }
    assert(compared > 0, "no object was looked for");
    const { err } = await tool("funcs", [file], { env });
    assertMatch(err, /; what helps most: .*; --verbose says more\n/);
    const text = await tool("symbols", ["trust", file], { env });
    assertMatch(text.out, /\nwhat helps:\n\d+\.\d+% of samples: /);
  }));
