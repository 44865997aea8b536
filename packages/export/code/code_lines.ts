/** Formats instructions of functions with their shares, as lines and as JSON. */
import { type Line, markedName, shareStyle, shortName, type Span } from "@perfdata/profile";
import type { InsnRuns } from "./code_blocks.ts";
import type { SourceTexts } from "./annotated_lines.ts";
import { codeListing } from "./code_listing.ts";
import type { CodeInsn, ReadCode } from "./function_code.ts";

export { type SourceLineOptions, sourceLines, type SourceTexts } from "./annotated_lines.ts";

/** Options of {@linkcode codeLines}. */
export interface CodeLineOptions {
  /** Name of the event. */
  readonly event: string;
  /** Sum of all periods of the event. */
  readonly whole: number;
  /** Access to the text of source lines. */
  readonly sources: SourceTexts;
  /** Number of instructions shown around each sampled one. */
  readonly context: number;
  /** Columns for the name of a called function. */
  readonly room: number;
  /** Executions of each instruction, if branches were recorded. */
  readonly runs?: readonly InsnRuns[] | undefined;
}

/** Formats a piece of code: two lines of heading, then its listing. */
export function codeLines(
  { counts, object, self, total, insns }: ReadCode,
  { event, whole, sources, context, room, runs }: CodeLineOptions,
): { readonly lines: Line[]; readonly hottest: number } {
  const percent = (period: number) => whole === 0 ? 0 : 100 * period / whole;
  const share = (period: number): Span => ({
    text: (period === 0 ? "" : `${percent(period).toFixed(2)}%`).padStart(7),
    style: shareStyle(percent(period)),
  });
  const { rows, gutters, hottest } = codeListing(insns, context);
  const width = Math.max(4, ...insns.map(({ address }) => address.toString(16).length));
  const lines: Line[] = [[{
    text: `${markedName(counts)} in ${object}: ${total.samples} samples, ` +
      `${percent(total.period).toFixed(2)}% of ${event}, ${
        percent(self.period).toFixed(2)
      }% in itself`,
  }]];
  const hot = hottestLines(insns).filter(([, period]) => period > 0);
  if (hot.length > 0) {
    lines.push([
      { text: "hottest: " },
      ...hot.flatMap(([place, period], i): Span[] => [
        { text: `${i > 0 ? ", " : ""}${place} `, style: "source" },
        { ...share(period), text: share(period).text.trim() },
      ]),
    ]);
  }
  const first = lines.length + 1;
  const runsHead = runs === undefined ? "" : "  EXECUTED  CYCLES";
  const before = " ".repeat(17 + runsHead.length);
  lines.push([{ text: `   SELF   TOTAL${runsHead}  INSTRUCTION`, style: "head" }]);
  for (const [i, row] of rows.entries()) {
    const gutter: Span = { text: gutters[i] as string, style: "jump" };
    if (row.kind === "gap") {
      const text = `… ${row.count} ${
        row.count === 1 ? "instruction" : "instructions"
      } without samples`;
      lines.push([{ text: before }, gutter, { text: ` ${text}`, style: "dim" }]);
    } else if (row.kind === "source") {
      const { frame: { name, file, line }, depth, begins } = row;
      const indent = "  ".repeat(depth);
      const what = begins ? `${shortName(name, room)} (inlined) ` : "";
      const place = file === undefined || line === 0
        ? ""
        : `${file.slice(file.lastIndexOf("/") + 1)}:${line}`;
      const text = file === undefined ? undefined : sources.lines(file)?.[line - 1]?.trim();
      lines.push([
        { text: before },
        gutter,
        { text: ` ${indent}${what}` },
        { text: place, style: "source" },
        { text: text === undefined ? "" : `  ${text}`, style: "bold" },
      ]);
    } else {
      const { self, total, address, text } = insns[row.number] as CodeInsn;
      lines.push([
        share(self.period),
        { ...share(total.period), text: ` ${share(total.period).text}` },
        { text: `${runs === undefined ? "" : runsText(runs, row.number)}  ` },
        gutter,
        { text: ` ${address.toString(16).padStart(width)}:  `, style: "dim" },
        { text: withShortCall(text, room) },
      ]);
    }
  }
  return { lines, hottest: first + hottest };
}

/** Executions of the block at its first instruction, and mean cycles at a branch that ends it. */
function runsText(runs: readonly InsnRuns[], number: number): string {
  const { block, executions, cycles } = runs[number] as InsnRuns;
  const times = block === number ? String(executions) : "";
  return `${times.padStart(10)}${(cycles?.toFixed(1) ?? "").padStart(8)}`;
}

/** Shortens the name of the called function to a number of characters. */
function withShortCall(text: string, room: number): string {
  const at = text.indexOf(" <");
  if (at < 0 || !text.endsWith(">") || at + 3 >= text.length) return text;
  return `${text.slice(0, at)} <${shortName(text.slice(at + 2, -1), room)}>`;
}

/** The three source lines (or addresses) with the largest self period. */
function hottestLines(insns: readonly CodeInsn[]): [string, number][] {
  const periods = new Map<string, number>();
  for (const { frames, self, address } of insns) {
    const { file, line = 0 } = frames.at(-1) ?? {};
    const place = file === undefined || line === 0
      ? address.toString(16)
      : `${file.slice(file.lastIndexOf("/") + 1)}:${line}`;
    periods.set(place, (periods.get(place) ?? 0) + self.period);
  }
  return [...periods].sort(([, a], [, b]) => b - a).slice(0, 3);
}

/** Formats instructions as JSON lines. */
export function codeJson(
  { counts: { name, verified }, path, insns }: ReadCode,
  event: string,
  runs?: readonly InsnRuns[],
): string[] {
  const about = { event, function: name, verified, object: path };
  return insns.map(({ address, bytes, text, self, total, frames, jump }, number) => {
    const run = runs?.[number];
    const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
    const { file, line } = frames.at(-1) ?? {};
    const to = jump === undefined ? undefined : insns[jump]?.address;
    return JSON.stringify({
      ...about,
      address: `0x${address.toString(16)}`,
      bytes: hex,
      text,
      ...self,
      total,
      jump: to === undefined ? undefined : `0x${to.toString(16)}`,
      file,
      line,
      inlined: frames.slice(1).map(({ name }) => name),
      ...(run === undefined ? {} : {
        block: `0x${insns[run.block]?.address.toString(16)}`,
        executions: run.executions,
        cycles: run.cycles,
      }),
    });
  });
}
