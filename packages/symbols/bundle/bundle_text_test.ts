import { assertEquals } from "@std/assert";
import type { BundleEntry } from "./bundle_object.ts";
import { entryJson, entryText } from "./bundle_text.ts";

const frame = { file: "a.c", line: 7, column: 3, discriminator: 0 };
const ENTRY: BundleEntry = {
  start: 0x1010,
  end: 0x1014,
  symbol: { name: "outer", start: 0x1000, end: 0x1100 },
  frames: [
    { ...frame, linkageName: "inner", function: "Inner", inlined: true },
    {
      ...frame,
      file: undefined,
      line: 0,
      linkageName: undefined,
      function: undefined,
      inlined: false,
    },
  ],
  cause: undefined,
};
const shown = (name: string): string => name.toUpperCase();

Deno.test("bundle text: an entry gives its range, function and frames", () => {
  assertEquals(
    entryText(ENTRY, shown),
    `  0x1010-0x1013 OUTER+0x10
    INNER at a.c:7
    (inlined by) OUTER at ??:0
`,
  );
  const one = { ...ENTRY, end: 0x1011, symbol: undefined, frames: [] };
  assertEquals(entryText(one, shown), "  0x1010 ??\n");
  assertEquals(entryText({ ...one, cause: "JIT" }, shown), "  0x1010 ?? (JIT)\n");
});

Deno.test("bundle text: an entry gives JSON with plain and shown names", () => {
  assertEquals(JSON.parse(JSON.stringify(entryJson(ENTRY, shown))), {
    start: "0x1010",
    size: 4,
    symbol: { name: "outer", demangled: "OUTER", start: "0x1000", size: 256 },
    frames: [
      {
        ...{ function: "INNER", linkage_name: "inner", file: "a.c", line: 7, column: 3 },
        ...{ discriminator: 0, inlined: true },
      },
      {
        ...{ function: "OUTER", linkage_name: null, file: null, line: 0, column: 3 },
        ...{ discriminator: 0, inlined: false },
      },
    ],
  });
});
