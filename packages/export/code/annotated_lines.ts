/** Formats source lines of a function with their shares. */
import { type Line, markedName, shareStyle } from "@perfdata/profile";
import type { AnnotatedLine, Annotation } from "./annotate.ts";

/** Access to source files. */
export interface SourceTexts {
  /** The lines of a file; `undefined` if it cannot be read. */
  lines(path: string): readonly string[] | undefined;
}

/** Options of {@linkcode sourceLines}. */
export interface SourceLineOptions {
  /** Name of the event. */
  readonly event: string;
  /** Sum of all periods of the event. */
  readonly whole: number;
  /** Access to the text of the lines. */
  readonly sources: SourceTexts;
  /** Number of lines shown around each sampled line. */
  readonly context: number;
}

/** Formats the lines of a function: a heading, then the sampled lines with their surroundings. */
export function sourceLines(
  { object, self, total, lines, ...named }: Annotation,
  { event, whole, sources, context }: SourceLineOptions,
): Line[] {
  const all: Line[] = [];
  const percent = (period: number) => whole === 0 ? 0 : 100 * period / whole;
  const share = (period: number) => period === 0 ? "" : `${percent(period).toFixed(2)}%`;
  const row = (own: number, total: number, text: string) =>
    all.push([
      { text: share(own).padStart(7), style: shareStyle(percent(own)) },
      { text: ` ${share(total).padStart(7)}`, style: shareStyle(percent(total)) },
      { text: `  ${text}` },
    ]);
  all.push([{
    text: `${markedName(named)} in ${object}: ${total.samples} samples, ${
      share(total.period)
    } of ${event}, ${share(self.period) || "0%"} in itself`,
  }]);
  all.push([{ text: "   SELF   TOTAL  LINE", style: "head" }]);
  for (const [file, own] of byFile(lines)) {
    const text = file === undefined ? undefined : sources.lines(file);
    let last = 0;
    for (const [i, { line, self, total, calls }] of own.entries()) {
      if (text !== undefined && line > 0) {
        const from = Math.max(last + 1, line - context, 1);
        if (last > 0 && from > last + 1) all.push([]);
        for (let n = from; n < line; n++) row(0, 0, `${file}:${n}: ${text[n - 1] ?? ""}`);
      }
      const place = file === undefined || line === 0 ? "no line" : `${file}:${line}:`;
      row(self.period, total.period, `${place} ${text?.[line - 1] ?? ""}`);
      for (const { inlined, period, ...named } of calls) {
        row(0, period, `    ${inlined ? "inlined" : "calls"} ${markedName(named)}`);
      }
      last = line;
      if (text === undefined || line === 0) continue;
      const next = own[i + 1]?.line ?? Infinity;
      const to = Math.min(line + context, next - 1, text.length - 1);
      for (let n = line + 1; n <= to; n++) row(0, 0, `${file}:${n}: ${text[n - 1] ?? ""}`);
      last = Math.max(line, to);
    }
  }
  return all;
}

function byFile(lines: readonly AnnotatedLine[]): Map<string | undefined, AnnotatedLine[]> {
  const files = new Map<string | undefined, AnnotatedLine[]>();
  for (const line of lines) {
    const own = files.get(line.file);
    if (own === undefined) files.set(line.file, [line]);
    else own.push(line);
  }
  return files;
}
