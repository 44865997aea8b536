import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import { jumpLines, type RowJump } from "./jump_lines.ts";

/** Directions of each character: up, down, left, right. */
const WAYS: Readonly<Record<string, string>> = {
  "│": "ud",
  "─": "lr",
  "╭": "dr",
  "╰": "ur",
  "├": "udr",
  "┼": "udlr",
  "┬": "dlr",
  "┴": "ulr",
  ">": "l",
  " ": "",
};

/**
 * Rows connected to a row, as an eye follows the line: leftwards to a corner, past crossing lines,
 * then along the line, and right at each branch.
 */
function reached(gutters: readonly string[], from: number): Set<number> {
  const grid = gutters.map((gutter) => [...gutter]);
  const at = (row: number, column: number) => WAYS[grid[row]?.[column] ?? " "] as string;
  const width = grid[from]?.length ?? 0;
  // The corner is the leftmost cell connected with the row.
  let corner = width - 1;
  while (corner > 0 && at(from, corner).includes("l") && at(from, corner - 1).includes("r")) {
    corner--;
  }
  const found = new Set<number>();
  for (const [step, way] of [[-1, "u"], [1, "d"]] as const) {
    for (let row = from; at(row, corner).includes(way); row += step) {
      const next = row + step;
      // The line ends here, branches off, or is crossed by one that branches off.
      if (at(next, corner).includes("r")) found.add(next);
    }
  }
  return found;
}

Deno.test("jumpLines: a line leads from each jump to its target", () => {
  let followed = 0;
  let left = 0;
  fc.assert(
    fc.property(
      fc.integer({ min: 2, max: 40 }),
      fc.array(fc.tuple(fc.nat(39), fc.nat(39)), { maxLength: 14 }),
      (rows, pairs) => {
        const jumps = pairs.map(([from, to]): RowJump => ({ from: from % rows, to: to % rows }))
          .filter(({ from, to }, i, all) =>
            from !== to && all.findIndex((other) => other.from === from) === i
          );
        const drawn = jumpLines(rows, jumps);
        assertEquals(drawn.gutters.length, rows);
        assertEquals(new Set(drawn.gutters.map((gutter) => gutter.length)).size, 1);
        for (const [row, gutter] of drawn.gutters.entries()) {
          for (const [column, character] of [...gutter].entries()) {
            const ways = WAYS[character];
            assert(ways !== undefined, character);
            // No loose ends.
            const next = (r: number, c: number) =>
              WAYS[[...drawn.gutters[r] ?? ""][c] ?? " "] ?? "";
            if (ways.includes("u")) assert(next(row - 1, column).includes("d"));
            if (ways.includes("d")) assert(next(row + 1, column).includes("u"));
          }
        }
        left += drawn.left;
        if (drawn.left > 0) return;
        const targets = new Set(jumps.map(({ to }) => to));
        for (const { from, to } of jumps) {
          // A row that is also a target has two lines, of which this walk follows one.
          if (targets.has(from)) continue;
          const rows = reached(drawn.gutters, from);
          assert(rows.has(to), `${from} to ${to}:\n${drawn.gutters.join("\n")}`);
          followed++;
        }
        for (const to of targets) assert(drawn.gutters[to]?.endsWith(">"));
      },
    ),
    { numRuns: 400 },
  );
  assert(followed > 500, `${followed} lines`);
  const many = Array.from({ length: 30 }, (_, i) => ({ from: i, to: 60 - i }));
  assert(jumpLines(61, many).left > 0 && left >= 0);
});
