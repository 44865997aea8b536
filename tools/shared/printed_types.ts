/** `annotate --data-type`: types of data with the samples of each field. */
import { jsonLine } from "@perfdata/format/bytes";
import {
  countTypes,
  type DataCause,
  DataTypes,
  fieldAt,
  listFields,
  type TypeCount,
  type UnknownTypes,
} from "@perfdata/report";
import { type Profile, shareStyle } from "@perfdata/profile";
import type { Engine } from "@perfdata/session";
import type { SymbolResolver } from "@perfdata/symbols";
import type { Line } from "../../view/terminal/lines.ts";
import { complain, InputError, writeLine, writeOut } from "./cli.ts";
import type { ReadProfile } from "./open_profile.ts";
import { dataDecoder } from "./data_decoder.ts";
import { type codeFiles, objectCode } from "./pt_input.ts";
import { writeStyled } from "./styled.ts";

/** The recording, and what of it is printed. */
export interface ShownTypes {
  /** Its name. */
  readonly name: string;
  /** Its samples. */
  readonly profile: Profile;
  /** Number of the event. */
  readonly event: number;
  /** What they were made of. */
  readonly source: ReadProfile["source"];
  /** Where code is read. */
  readonly files: Parameters<typeof codeFiles>[1];
  /** The type that is asked for; all if it is `undefined`. */
  readonly wanted: string | undefined;
  /** Whether lines of JSON are wanted. */
  readonly json: boolean;
}

/** What finds types of data for the code of a recording. */
export async function dataTypesOf(
  name: string,
  { engine, resolver }: {
    readonly engine: Pick<Engine, "reader" | "recorded">;
    readonly resolver: SymbolResolver;
  },
  files: Parameters<typeof codeFiles>[1],
): Promise<DataTypes> {
  const { arch } = engine.reader;
  const decoder = await dataDecoder(arch);
  if (decoder === undefined) {
    throw new InputError(
      `${name}: operands of ${arch} are not decoded: types of data are those of x86`,
    );
  }
  const code = await objectCode(engine.recorded, files, name);
  return new DataTypes(resolver, code, decoder);
}

/** Prints types of data. */
export async function printTypes(shown: ShownTypes): Promise<void> {
  const { name, profile, event, source, files, wanted, json } = shown;
  if (source === undefined) throw new InputError(`${name}: no code is known`);
  const types = await dataTypesOf(name, source, files);
  const counts = await countTypes(profile, event, source.engine.places.objects, types);
  const all = counts.types;
  const chosen = wanted === undefined ? all : all.filter(({ type }) => matches(type.name, wanted));
  if (wanted !== undefined && chosen.length === 0) {
    const some = all.slice(0, 3).map(({ type }) => type.name).join(", ");
    reportUnknownTypes("annotate", name, counts.unknown);
    throw new InputError(
      `${name}: no access to data of type ${wanted}` + (some === "" ? "" : `; there are ${some}`),
    );
  }
  const eventName = profile.events[event]?.name ?? "";
  for (const [i, one] of chosen.entries()) {
    if (json) {
      for (const line of jsonLines(one, eventName)) writeOut(`${line}\n`);
      continue;
    }
    if (i > 0) writeLine("");
    writeStyled(typeLines(one, eventName, counts.unknown.total.period));
  }
  reportUnknownTypes("annotate", name, counts.unknown);
}

/** A type goes by its name, with or without `struct` and the like. */
function matches(name: string, wanted: string): boolean {
  return name === wanted || name.replace(/^(?:struct|union|enum) /, "") === wanted;
}

const percentOf = (period: number, whole: number): number => whole === 0 ? 0 : 100 * period / whole;

function typeLines(one: TypeCount, event: string, whole: number): Line[] {
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

function* jsonLines({ type, object, offsets }: TypeCount, event: string): Generator<string> {
  const about = { event, type: type.name, object, size: type.size };
  for (const [offset, { samples, period }] of [...offsets].sort(([a], [b]) => a - b)) {
    yield jsonLine({ ...about, offset, field: fieldAt(type, offset), samples, period });
  }
}

/** What is said of each cause. */
const CAUSE_TEXTS: Readonly<Record<DataCause, string>> = {
  "stack operation": "push, pop, call or return",
  "stack": "stack without a variable",
  "no memory operand": "no operand in memory",
  "no variable": "no variable found",
  "no debug information": "no debug information",
  "no code": "no code",
};

/** Says of which share of the samples the type is known, and why not of the others. */
export function reportUnknownTypes(
  tool: string,
  name: string,
  { without, total }: UnknownTypes,
): void {
  const share = (period: number) => `${percentOf(period, total.period).toFixed(2)}%`;
  const causes = [...without].filter(([, { samples }]) => samples > 0)
    .sort(([, a], [, b]) => b.period - a.period);
  const known = total.period - causes.reduce((sum, [, { period }]) => sum + period, 0);
  const why = causes.map(([cause, { period }]) => `${CAUSE_TEXTS[cause]} ${share(period)}`);
  complain(
    `${tool}: ${name}: the type of data is known for ${share(known)} of the samples` +
      (why.length === 0 ? "" : `; without: ${why.join(", ")}`),
  );
}
