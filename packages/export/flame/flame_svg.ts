import { floatAt, intAt } from "@perfdata/format/bytes";
import { shortName } from "@perfdata/profile";
import { changeColor, functionColors, PLAIN_COLOR, shareChange } from "./flame_colors.ts";
import type { FlameColoring } from "./flame_colors.ts";
import type { FlameData } from "./flame_data.ts";
import { FLAME_SCRIPT } from "./flame_script.ts";
import { boxFacts, boxName, percentage } from "./flame_text.ts";
import { type FlameSelection, flameTree } from "./flame_tree.ts";

/** Options of {@linkcode flameSvg}. */
export interface FlameSvgOptions {
  /** Selection; by default the first event by period, with a row of processes. */
  readonly selection?: Partial<FlameSelection>;
  /** Width in pixels; default 1200. */
  readonly width?: number;
  /** Whether callers are above their callees. */
  readonly icicle?: boolean;
  /** Meaning of the colors. */
  readonly coloring?: FlameColoring;
}

const ROW = 17;
const HEAD = 26;
const FOOT = 22;
const CHARACTER = 6.6;

/** Pixels below which a box is not drawn. */
const LEAST = 0.1;

/**
 * A flame graph as a picture. In viewers that execute scripts, such as browsers, a click zooms and
 * Ctrl-F searches.
 * Boxes narrower than a tenth of a pixel are not drawn.
 *
 * A box's title has the text of the page's tooltip.
 */
export function flameSvg(data: FlameData, options: FlameSvgOptions = {}): string {
  const { width = 1200, icicle = false } = options;
  const coloring = options.coloring ?? (data.sides.length > 1 ? "change" : "object");
  const selection: FlameSelection = {
    event: 0,
    weight: "period",
    order: "merged",
    root: "process",
    ...options.selection,
  };
  const tree = flameTree(data, selection);
  const colors = functionColors(data, coloring === "kind" ? "kind" : "object");
  const title = data.sides.length > 1 ? data.sides.join(" → ") : data.title;
  const height = HEAD + tree.rows * ROW + FOOT;
  const { name = "" } = data.events[selection.event] ?? {};
  const parts = [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" ` +
    `viewBox="0 0 ${width} ${height}" font-family="ui-monospace,Menlo,Consolas,monospace" ` +
    `font-size="11" role="img">`,
    `<title>${escaped(`Flame graph: ${title}`)}</title>`,
    `<rect width="100%" height="100%" fill="#fff"/>`,
    `<text x="6" y="17" font-size="13">${
      escaped(
        `${title === "" ? name : `${title} · ${name}`} · ` +
          `${tree.totalSamples.toLocaleString("en-US")} samples` +
          (coloring === "change" ? " · blue: less than before, orange: more" : ""),
      )
    }</text>`,
  ];
  let left = 0;
  for (let box = 0; box < tree.length; box++) {
    const w = floatAt(tree.width, box) * width;
    if (w < LEAST) {
      left++;
      continue;
    }
    const x = floatAt(tree.x, box) * width;
    const row = intAt(tree.depth, box);
    const y = HEAD + (icicle ? row : tree.rows - 1 - row) * ROW;
    const item = intAt(tree.item, box);
    const fill = item < 0
      ? PLAIN_COLOR
      : coloring === "change"
      ? changeColor(shareChange(tree, box))
      : colors[item] ?? PLAIN_COLOR;
    const label = boxName(data, tree, box);
    const room = Math.floor((w - 6) / CHARACTER);
    const shown = room < 3 ? "" : shortName(label, room);
    const facts = [label, ...boxFacts(data, tree, box, selection.event)].join("\n");
    parts.push(
      `<g data-x="${x.toFixed(3)}" data-width="${w.toFixed(3)}" data-row="${row}"><title>${
        escaped(facts)
      }</title><rect x="${x.toFixed(2)}" y="${y}" width="${
        Math.max(LEAST, w - 0.5).toFixed(2)
      }" height="${ROW - 1}" rx="1" fill="${fill}"/>` +
        (shown === ""
          ? ""
          : `<text x="${(x + 3).toFixed(2)}" y="${y + 12}">${escaped(shown)}</text>`) +
        `</g>`,
    );
  }
  const foot = [
    data.trust,
    left > 0 ? `${left} boxes of less than ${percentage(LEAST / width)} are not drawn` : "",
  ].filter((text) => text !== "").join(" · ");
  parts.push(`<text x="6" y="${height - 7}" fill="#444">${escaped(foot)}</text>`);
  parts.push(`<script><![CDATA[${FLAME_SCRIPT}]]></script>`, "</svg>\n");
  return parts.join("\n");
}

function escaped(text: string): string {
  const marks: Record<string, string> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };
  // Characters that XML forbids, such as lone surrogates, are replaced.
  return text.replace(
    // deno-lint-ignore no-control-regex -- a name may have any byte
    /[&<>"]|[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g,
    (character) => marks[character] ?? "\ufffd",
  );
}
