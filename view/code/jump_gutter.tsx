import type { JSX } from "../ui/preact.ts";

/** Width of a column of jump lines, and height of a row, in pixels. */
const [WIDE, HIGH] = [7, 20];

const [UP, DOWN, LEFT, RIGHT] = [1, 2, 4, 8];

/** Directions of the characters of `jumpLines`. */
const DIRECTIONS: Readonly<Record<string, number>> = {
  "│": UP | DOWN,
  "─": LEFT | RIGHT,
  "╰": UP | RIGHT,
  "╭": DOWN | RIGHT,
  "├": UP | DOWN | RIGHT,
  "┼": UP | DOWN | LEFT | RIGHT,
  "┴": UP | LEFT | RIGHT,
  "┬": DOWN | LEFT | RIGHT,
  "└": UP | RIGHT,
  "┌": DOWN | RIGHT,
  "┘": UP | LEFT,
  "┐": DOWN | LEFT,
  "┤": UP | DOWN | LEFT,
};

/** The path of a row of jump lines, whose ends meet those of the rows above and below. */
function pathOf(gutter: string): string {
  const parts: string[] = [];
  for (const [column, char] of [...gutter].entries()) {
    const [left, middle, right] = [column * WIDE, (column + 0.5) * WIDE, (column + 1) * WIDE];
    if (char === ">") {
      parts.push(`M${left} ${HIGH / 2}H${right - 1}m-4 -3l4 3l-4 3`);
      continue;
    }
    const to = DIRECTIONS[char] ?? 0;
    if ((to & UP) !== 0) parts.push(`M${middle} 0V${HIGH / 2}`);
    if ((to & DOWN) !== 0) parts.push(`M${middle} ${HIGH / 2}V${HIGH}`);
    if ((to & LEFT) !== 0) parts.push(`M${left} ${HIGH / 2}H${middle}`);
    if ((to & RIGHT) !== 0) parts.push(`M${middle} ${HIGH / 2}H${right}`);
  }
  return parts.join("");
}

/** The jump lines beside a row of instructions. */
export function JumpGutter({ gutter }: { readonly gutter: string }): JSX.Element {
  return (
    <svg class="gutter" width={gutter.length * WIDE} height={HIGH} aria-hidden="true">
      <path d={pathOf(gutter)} />
    </svg>
  );
}
