import { assertEquals } from "@std/assert";
import type { Line } from "@perfdata/profile";
import { sourceLines } from "./code_lines.ts";

const textOf = (line: Line): string => line.map(({ text }) => text).join("");
const count = (samples: number, period = samples * 10) => ({ samples, period });

Deno.test("source lines: sampled lines have shares, text, calls, and lines around them", () => {
  const file = "a.c";
  const text = Array.from({ length: 30 }, (_, i) => `line ${i + 1}`);
  const lines = sourceLines({
    name: "work",
    verified: false,
    object: "prog",
    self: count(3),
    total: count(4),
    lines: [
      { file, line: 5, self: count(3), total: count(4), calls: [] },
      {
        file,
        line: 20,
        self: count(0),
        total: count(1),
        calls: [{ name: "callee", inlined: false, ...count(1) }],
      },
      { file: undefined, line: 0, self: count(1), total: count(1), calls: [] },
    ],
  }, {
    event: "cycles",
    whole: 100,
    sources: { lines: (path) => path === file ? text : undefined },
    context: 1,
  });
  assertEquals(lines.map(textOf), [
    "work? in prog: 4 samples, 40.00% of cycles, 30.00% in itself",
    "   SELF   TOTAL  LINE",
    "                 a.c:4: line 4",
    " 30.00%  40.00%  a.c:5: line 5",
    "                 a.c:6: line 6",
    "",
    "                 a.c:19: line 19",
    "         10.00%  a.c:20: line 20",
    "         10.00%      calls callee",
    "                 a.c:21: line 21",
    " 10.00%  10.00%  no line ",
  ]);
  assertEquals(lines[3]?.[0]?.style, "hot");
});
