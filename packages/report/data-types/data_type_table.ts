import { floatAt, groupBy, intAt } from "@perfdata/format/bytes";
import type { Profile } from "@perfdata/profile";
import type { SymbolObject } from "@perfdata/symbols/resolver";
import type { DataField, DataType } from "@perfdata/symbols/dwarf";
import type { DataTypes } from "./data_types.ts";
import { addCount, type DataCount, TypeSums, type UnknownTypes } from "./type_sums.ts";

/** A type with accesses to its data. */
export interface TypeCount extends DataCount {
  /** The type. */
  readonly type: DataType;
  /** Name of the object with the type's debug information. */
  readonly object: string;
  /** Accesses by offset. */
  readonly offsets: ReadonlyMap<number, DataCount>;
}

/** Data types that an event's samples accessed. */
export interface TypeCounts {
  /** Types, by descending period. */
  readonly types: readonly TypeCount[];
  /** Samples with unknown types. */
  readonly unknown: UnknownTypes;
}

/** Sums up an event's samples by the data type that the sampled instruction accessed. */
export async function countTypes(
  profile: Profile,
  event: number,
  objects: readonly SymbolObject[],
  types: DataTypes,
): Promise<TypeCounts> {
  const unknown = new TypeSums();
  const byPlace = sumByPlace(profile, event);
  const byObject = groupBy(byPlace.keys(), (place) => profile.places.object[place] ?? -1);
  const found = new Map<string, TypeCount & { offsets: Map<number, DataCount> }>();
  for (const [number, places] of byObject) {
    const object = objects[number];
    const addresses = places.map((place) => floatAt(profile.places.address, place));
    const accesses = object === undefined ? [] : await types.find(object, addresses);
    for (const [i, place] of places.entries()) {
      const count = byPlace.get(place) as DataCount;
      const access = accesses[i] ?? { cause: "no code" as const };
      unknown.add(access, count);
      if ("cause" in access) continue;
      const { type, offset } = access;
      const key = `${number} ${type.size} ${type.name}`;
      let own = found.get(key);
      if (own === undefined) {
        const name = profile.objects[number]?.name ?? "[unknown]";
        found.set(key, own = { ...none(), type, object: name, offsets: new Map() });
      }
      addCount(own, count);
      let there = own.offsets.get(offset);
      if (there === undefined) own.offsets.set(offset, there = none());
      addCount(there, count);
    }
  }
  const ordered = [...found.values()].sort((a, b) =>
    b.period - a.period || b.samples - a.samples || (a.type.name < b.type.name ? -1 : 1)
  );
  return { types: ordered, unknown };
}

function sumByPlace(
  { samples, stacks }: Profile,
  event: number,
): Map<number, DataCount> {
  const sums = new Map<number, DataCount>();
  for (let i = 0; i < samples.length; i++) {
    if (samples.event[i] !== event) continue;
    const count = { samples: samples.count[i] as number, period: floatAt(samples.period, i) };
    const stack = intAt(samples.stack, i);
    const place = stack < 0 ? -1 : intAt(stacks.place, stack);
    let sum = sums.get(place);
    if (sum === undefined) sums.set(place, sum = none());
    addCount(sum, count);
  }
  return sums;
}

/** A field in a list. */
export interface ListedField extends DataCount {
  /** Depth of nesting. */
  readonly depth: number;
  /** Offset in the outermost structure. */
  readonly offset: number;
  /** Size in bytes. */
  readonly size: number;
  /** Name of the field. */
  readonly name: string;
  /** Name of the field's type. */
  readonly type: string;
}

/** Limit of listed nested structures. */
const DEEPEST = 8;

/** Lists the fields of a type with their accesses. A structure is followed by its fields. */
export function listFields({ type, offsets }: TypeCount): ListedField[] {
  const listed: ListedField[] = [];
  const sumOf = (from: number, to: number): DataCount => {
    const sum = none();
    for (const [offset, count] of offsets) if (offset >= from && offset < to) addCount(sum, count);
    return sum;
  };
  const list = (fields: readonly DataField[], from: number, depth: number): void => {
    for (const field of fields) {
      const offset = from + field.offset;
      // Members of a union share an offset. Their sizes tell which one can have been accessed.
      const sum = sumOf(offset, offset + Math.max(1, field.size));
      const { name, size } = field;
      listed.push({ ...sum, depth, offset, size, name, type: field.type?.name ?? "void" });
      if (field.type !== undefined && field.type.kind === "structure" && depth < DEEPEST) {
        list(field.type.fields, offset, depth + 1);
      }
    }
  };
  list(type.fields, 0, 0);
  return listed;
}

function none(): DataCount {
  return { samples: 0, period: 0 };
}
