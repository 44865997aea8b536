/**
 * Writes the columns of tables into docs/tables.md, from their declarations: `deno run -A docs/make_tables.ts`.
 */
import { ASKED_TABLES, TABLES } from "@perfdata/tables";

const BEGIN = "<!-- columns -->\n";
const END = "<!-- end of columns -->";

/** What the page says of all tables. */
function columnsText(): string {
  return [...TABLES, ...ASKED_TABLES].map(({ name, about, columns }) => {
    const rows = columns.map(({ name, type, required, about }) =>
      [`\`${name}\``, `${type}${required ? "" : "?"}`, about] as const
    );
    const head = ["column", "type", "about"] as const;
    const widths = [0, 1, 2].map((i) =>
      Math.max(...[head, ...rows].map((cells) => (cells[i] as string).length))
    );
    const line = (cells: readonly string[]) =>
      `| ${cells.map((cell, i) => cell.padEnd(widths[i] as number)).join(" | ")} |`;
    const rule = line(widths.map((width) => "-".repeat(width)));
    return `### ${name}\n\n${about}\n\n${[line(head), rule, ...rows.map(line)].join("\n")}\n`;
  }).join("\n");
}

/** The page with the columns as they are declared. */
export function withColumns(page: string): string {
  const begin = page.indexOf(BEGIN);
  const end = page.indexOf(END);
  if (begin < 0 || end < begin) throw new Error("docs/tables.md has no place for columns");
  return `${page.slice(0, begin + BEGIN.length)}\n${columnsText()}\n${page.slice(end)}`;
}

if (import.meta.main) {
  const path = new URL("tables.md", import.meta.url);
  Deno.writeTextFileSync(path, withColumns(Deno.readTextFileSync(path)));
}
