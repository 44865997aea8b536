import { intAt } from "@perfdata/format/bytes";
import { DW_AT, DW_TAG } from "../dwarf_constants.ts";
import type { Entries } from "./entries.ts";
import type { DataField, DataType } from "./variables.ts";

/** Position of an entry. */
export interface EntryPlace {
  readonly entries: Entries;
  readonly entry: number;
}

/** Resolves an entry's reference attribute. */
export type Follow = (from: EntryPlace, attribute: number) => EntryPlace | undefined;

/** Calls `read`. If it fails, reports the error and returns `undefined`. */
export type Attempt = <T>(read: () => T) => T | undefined;

/** Limit of typedefs, qualifiers and pointers on the way to a type. Compilers need some dozens. */
const DEEPEST = 64;
/** Limit of the fields of a structure. */
const MOST_FIELDS = 1 << 14;

const KEYWORDS = new Map<number, string>([
  [DW_TAG.structure_type, "struct "],
  [DW_TAG.union_type, "union "],
  [DW_TAG.enumeration_type, "enum "],
]);

const SCOPES = new Set<number>([
  DW_TAG.namespace,
  DW_TAG.class_type,
  DW_TAG.structure_type,
  DW_TAG.union_type,
]);

const QUALIFIERS = new Set<number>([
  DW_TAG.const_type,
  DW_TAG.volatile_type,
  DW_TAG.restrict_type,
  DW_TAG.atomic_type,
  DW_TAG.immutable_type,
  DW_TAG.packed_type,
]);

/** The types of a file. Details of a type are read on first access. */
export class DataTypeTable {
  readonly #follow: Follow;
  readonly #attempt: Attempt;
  readonly #known = new WeakMap<Entries, Map<number, DataType | undefined>>();

  /** Creates the table. `attempt` handles damage that is found when details are read later. */
  constructor(follow: Follow, attempt: Attempt) {
    this.#follow = follow;
    this.#attempt = attempt;
  }

  /** The type of an entry (a variable, field or pointer); `undefined` for `void`. */
  typeOf(place: EntryPlace): DataType | undefined {
    const to = this.#follow(place, DW_AT.type);
    return to === undefined ? undefined : this.#typeAt(to, 0);
  }

  #typeAt(place: EntryPlace, depth: number): DataType | undefined {
    const { entries, entry } = place;
    let known = this.#known.get(entries);
    if (known === undefined) this.#known.set(entries, known = new Map());
    if (known.has(entry)) return known.get(entry);
    if (depth > DEEPEST) return undefined;
    const made = this.#make(place, depth);
    known.set(entry, made);
    return made;
  }

  #make(place: EntryPlace, depth: number): DataType | undefined {
    const { entries, entry } = place;
    const tag = entries.tag(entry);
    const under = (): DataType | undefined => {
      const to = this.#follow(place, DW_AT.type);
      return to === undefined ? undefined : this.#typeAt(to, depth + 1);
    };
    if (QUALIFIERS.has(tag)) return under();
    const size = entries.constant(entry, DW_AT.byte_size);
    switch (tag) {
      case DW_TAG.typedef: {
        const meant = under();
        const name = scopedName(place);
        return meant === undefined ? scalar(name, 0) : renamed(meant, name);
      }
      case DW_TAG.pointer_type:
      case DW_TAG.reference_type:
      case DW_TAG.rvalue_reference_type: {
        const sign = tag === DW_TAG.pointer_type ? "*" : tag === DW_TAG.reference_type ? "&" : "&&";
        return pointer(() => this.#attempt(under), sign, size ?? entries.unit.addressSize);
      }
      case DW_TAG.array_type:
        return this.#array(place, under(), size);
      case DW_TAG.structure_type:
      case DW_TAG.class_type:
      case DW_TAG.union_type:
      case DW_TAG.interface_type:
        return this.#structure(place, (KEYWORDS.get(tag) ?? "") + scopedName(place), size ?? 0);
      case DW_TAG.enumeration_type:
        return scalar(`enum ${scopedName(place)}`, size ?? 0);
      case DW_TAG.subroutine_type:
        return scalar("(function_type)", 0);
    }
    return scalar(scopedName(place), size ?? 0);
  }

  #array(place: EntryPlace, element: DataType | undefined, size: number | undefined): DataType {
    const { entries, entry } = place;
    let count = 1;
    for (const child of entries.children(entry)) {
      if (entries.tag(child) !== DW_TAG.subrange_type) continue;
      const last = entries.constant(child, DW_AT.upper_bound);
      // A flexible array member has neither count nor upper bound.
      count *= entries.constant(child, DW_AT.count) ?? (last === undefined ? 0 : last + 1);
    }
    return {
      meant: { entries, entry },
      name: `${element?.name ?? "void"}[]`,
      kind: "array",
      size: size ?? count * (element?.size ?? 0),
      fields: [],
      target: element,
    };
  }

  #structure(place: EntryPlace, name: string, size: number): DataType {
    const read = () => this.#attempt(() => this.#fields(place)) ?? [];
    let fields: readonly DataField[] | undefined;
    return {
      meant: place,
      name,
      kind: "structure",
      size,
      get fields() {
        return fields ??= read();
      },
      target: undefined,
    };
  }

  #fields({ entries, entry }: EntryPlace): DataField[] {
    const found: DataField[] = [];
    for (const child of entries.children(entry)) {
      const tag = entries.tag(child);
      if (tag !== DW_TAG.member && tag !== DW_TAG.inheritance) continue;
      // Static members are only declared in a class.
      if (entries.attribute(child, DW_AT.external) !== undefined) continue;
      if (found.length === MOST_FIELDS) break;
      const type = this.typeOf({ entries, entry: child });
      const name = tag === DW_TAG.inheritance ? "" : entries.text(child, DW_AT.name) ?? "";
      found.push({ name, ...bytesOf(entries, child, type?.size ?? 0), type });
    }
    return found;
  }
}

/** Offset and size of a field; for a bit field, of the bytes that it touches. */
function bytesOf(entries: Entries, entry: number, size: number): { offset: number; size: number } {
  const bits = entries.constant(entry, DW_AT.bit_size);
  const start = entries.constant(entry, DW_AT.data_member_location) ?? 0;
  if (bits === undefined) return { offset: start, size };
  const first = entries.constant(entry, DW_AT.data_bit_offset);
  let bit = first ?? 0;
  if (first === undefined) {
    // DWARF 2 and 3 count from the storage unit's most significant bit.
    const storage = 8 * (entries.constant(entry, DW_AT.byte_size) ?? size);
    const fromTop = entries.constant(entry, DW_AT.bit_offset) ?? 0;
    bit = entries.unit.file.info.le ? storage - fromTop - bits : fromTop;
  }
  const offset = start + Math.floor(bit / 8);
  return { offset, size: Math.ceil((bit % 8 + bits) / 8) };
}

/** The qualified name of a type, with its namespaces and classes. */
function scopedName({ entries, entry }: EntryPlace): string {
  const parts = [entries.text(entry, DW_AT.name) ?? ""];
  for (let at = intAt(entries.parent, entry); at > 0; at = intAt(entries.parent, at)) {
    if (!SCOPES.has(entries.tag(at))) continue;
    parts.push(entries.text(at, DW_AT.name) ?? "(anonymous)");
    if (parts.length > DEEPEST) break;
  }
  return parts.reverse().join("::");
}

function scalar(name: string, size: number): DataType {
  return { name, size, kind: "scalar", fields: [], target: undefined, meant: {} };
}

function pointer(
  under: () => DataType | undefined,
  sign: string,
  size: number,
): DataType {
  // Read the target on first access: structures may contain pointers to themselves.
  let target: DataType | undefined, isRead = false;
  const read = () => {
    if (!isRead) {
      isRead = true;
      target = under();
    }
    return target;
  };
  return {
    meant: {},
    kind: "pointer",
    size,
    fields: [],
    get name() {
      return `${read()?.name ?? "void"}${sign}`;
    },
    get target() {
      return read();
    },
  };
}

function renamed(type: DataType, name: string): DataType {
  return {
    meant: type.meant,
    name,
    kind: type.kind,
    size: type.size,
    get fields() {
      return type.fields;
    },
    get target() {
      return type.target;
    },
  };
}
