/** Formats data types with the samples of each field, as lines and as JSON. */
import { jsonLine } from "@perfdata/format/bytes";
import { type Line, shareStyle } from "@perfdata/profile";
import { fieldAt } from "./data_field.ts";
import { listFields, type TypeCount } from "./data_type_table.ts";
import type { DataCause } from "./data_types.ts";
import type { UnknownTypes } from "./type_sums.ts";

/** Whether a type has a name, given with or without the keyword `struct`, `union` or `enum`. */
export function isTypeCalled(name: string, wanted: string): boolean {
  return name === wanted || name.replace(/^(?:struct|union|enum) /, "") === wanted;
}

const percentOf = (period: number, whole: number): number => whole === 0 ? 0 : 100 * period / whole;

/**
 * Formats a type: a heading, then a line for each field.
 *
 * @param whole The period of which shares are computed.
 */
export function typeLines(one: TypeCount, event: string, whole: number): Line[] {
  const { type, object, samples, period } = one;
  const lines: Line[] = [[{
    text: `${type.name} in ${object}: ${samples} samples, ` +
      `${percentOf(period, whole).toFixed(2)}% of ${event}, ${type.size} bytes`,
  }]];
  const fields = listFields(one);
  if (fields.length === 0) return lines;
  lines.push([{ text: "  SHARE  OFFSET    SIZE  FIELD", style: "head" }]);
  for (const { period, offset, size, depth, name, type } of fields) {
    const percent = percentOf(period, whole);
    lines.push([
      {
        text: (period === 0 ? "" : `${percent.toFixed(2)}%`).padStart(7),
        style: shareStyle(percent),
      },
      { text: `  0x${offset.toString(16)}`.padStart(8) + String(size).padStart(8) },
      { text: `  ${"  ".repeat(depth)}${name === "" ? "" : `${name}: `}${type}` },
    ]);
  }
  return lines;
}

/** Formats a type as JSON lines, one for each accessed offset. */
export function* typeJsonLines(
  { type, object, offsets }: TypeCount,
  event: string,
): Generator<string> {
  const about = { event, type: type.name, object, size: type.size };
  for (const [offset, { samples, period }] of [...offsets].sort(([a], [b]) => a - b)) {
    yield jsonLine({ ...about, offset, field: fieldAt(type, offset), samples, period });
  }
}

/** Causes in the words of messages. */
const CAUSE_TEXTS: Readonly<Record<DataCause, string>> = {
  "stack operation": "push, pop, call or return",
  "stack": "stack without a variable",
  "no memory operand": "no operand in memory",
  "no variable": "no variable found",
  "no debug information": "no debug information",
  "no code": "no code",
};

/** The share of samples with a known type, and the causes for the others. */
export function unknownTypesText({ without, total }: UnknownTypes): string {
  const share = (period: number) => `${percentOf(period, total.period).toFixed(2)}%`;
  const causes = [...without].filter(([, { samples }]) => samples > 0)
    .sort(([, a], [, b]) => b.period - a.period);
  const known = total.period - causes.reduce((sum, [, { period }]) => sum + period, 0);
  const why = causes.map(([cause, { period }]) => `${CAUSE_TEXTS[cause]} ${share(period)}`);
  return `the type of data is known for ${share(known)} of the samples` +
    (why.length === 0 ? "" : `; without: ${why.join(", ")}`);
}
