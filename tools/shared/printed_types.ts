/** `annotate --data-type`: prints data types with the samples of each field. */
import {
  countTypes,
  DataTypes,
  isTypeCalled,
  typeJsonLines,
  typeLines,
  type UnknownTypes,
  unknownTypesText,
} from "@perfdata/report";
import type { Profile } from "@perfdata/profile";
import type { Engine } from "@perfdata/session";
import type { SymbolResolver } from "@perfdata/symbols";
import { complain, InputError, writeLine, writeOut } from "./cli.ts";
import type { ReadProfile } from "./open_profile.ts";
import { dataDecoder } from "./data_decoder.ts";
import { type codeFiles, objectCode } from "./pt_input.ts";
import { writeStyled } from "./styled.ts";

/** Inputs of {@link printTypes}. */
export interface ShownTypes {
  readonly name: string;
  readonly profile: Profile;
  /** The index of the event. */
  readonly event: number;
  /** The engine and symbols of the profile. */
  readonly source: ReadProfile["source"];
  /** Flags that locate code files. */
  readonly files: Parameters<typeof codeFiles>[1];
  /** The type to print; `undefined` for all. */
  readonly wanted: string | undefined;
  readonly json: boolean;
}

/** Opens the data type finder for the code of a recording. */
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
      `${name}: operands of ${arch} are not decoded: types of data are those of x86 and AArch64`,
    );
  }
  const code = await objectCode(engine.recorded, files, name);
  return new DataTypes(resolver, code, decoder);
}

export async function printTypes(shown: ShownTypes): Promise<void> {
  const { name, profile, event, source, files, wanted, json } = shown;
  if (source === undefined) throw new InputError(`${name}: no code is known`);
  const types = await dataTypesOf(name, source, files);
  const counts = await countTypes(profile, event, source.engine.places.objects, types);
  const all = counts.types;
  const chosen = wanted === undefined
    ? all
    : all.filter(({ type }) => isTypeCalled(type.name, wanted));
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
      for (const line of typeJsonLines(one, eventName)) writeOut(`${line}\n`);
      continue;
    }
    if (i > 0) writeLine("");
    writeStyled(typeLines(one, eventName, counts.unknown.total.period));
  }
  reportUnknownTypes("annotate", name, counts.unknown);
}

/** Reports the share of samples with a known type, and the reasons for the others. */
export function reportUnknownTypes(tool: string, name: string, unknown: UnknownTypes): void {
  complain(`${tool}: ${name}: ${unknownTypesText(unknown)}`);
}
