import { numberAt, partitionPoint } from "@perfdata/format/bytes";
import { DW_AT, DW_TAG } from "../dwarf_constants.ts";
import { DwarfError } from "../dwarf_error.ts";
import type { DwarfFile } from "../dwarf_file.ts";
import type { Unit } from "../unit.ts";
import { DataTypeTable, type EntryPlace } from "./type_entries.ts";
import { Entries, SCOPE_TAGS } from "./entries.ts";
import { locationsOf, placeOf } from "./locations.ts";
import type {
  DataType,
  FunctionData,
  GlobalVariable,
  Location,
  Variable,
  VariableFinder,
} from "./variables.ts";

/** Limit of cached entries of all units. */
const KEPT_ENTRIES = 1 << 22;
/** Limit of the bytes of `.debug_info` that are searched for global variables. */
const MOST_SEARCHED = 1 << 29;
/** Limit of nested scopes, inlined calls among them. Compilers nest some dozens. */
const DEEPEST_SCOPE = 512;
/** Limit of a chain of references from an entry to its origin. */
const LONGEST_ORIGIN = 16;

/** Input of a {@linkcode DataFinder}. */
export interface DataSource {
  readonly file: DwarfFile;
  unitOf(address: number): Unit | undefined;
  /** All units with code, split units in place of their skeletons. */
  units(): Iterable<Unit>;
  /** Receives errors of damaged parts. */
  report(error: DwarfError): void;
}

interface UnitData {
  readonly entries: Entries;
  /** The address ranges of functions, by start. */
  readonly pieces: readonly {
    readonly low: number;
    readonly high: number;
    readonly entry: number;
  }[];
  readonly known: Map<number, FunctionData>;
}

/**
 * Finds functions' variables, global variables and their types.
 *
 * Addresses are virtual addresses in the file, as in `DwarfContext`.
 */
export class DataFinder implements VariableFinder {
  readonly #source: DataSource;
  readonly #entries = new Map<Unit, Entries | undefined>();
  readonly #units = new Map<Unit, UnitData>();
  readonly #types: DataTypeTable;
  #kept = 0;
  #globals: GlobalVariable[] | undefined;

  constructor(source: DataSource) {
    this.#source = source;
    this.#types = new DataTypeTable(
      (from, attribute) => this.#follow(from, attribute),
      (read) => this.#tolerant(read),
    );
  }

  functionAt(address: number): FunctionData | undefined {
    return this.#tolerant(() => {
      const owner = this.#source.unitOf(address);
      const unit = owner === undefined ? undefined : this.#unit(owner);
      const entry = unit === undefined ? -1 : pieceAt(unit, address)?.entry ?? -1;
      if (unit === undefined || entry < 0) return undefined;
      let known = unit.known.get(entry);
      if (known === undefined) {
        known = this.#read(unit.entries, entry);
        unit.known.set(entry, known);
      }
      return known;
    });
  }

  /**
   * The return type of the function that begins at an address.
   *
   * @param from Only a function in the unit of this address is looked up.
   */
  returnType(address: number, from: number): DataType | undefined {
    return this.#tolerant(() => {
      const owner = this.#source.unitOf(address);
      if (owner === undefined || owner !== this.#source.unitOf(from)) return undefined;
      const unit = this.#unit(owner);
      const piece = unit === undefined ? undefined : pieceAt(unit, address);
      if (unit === undefined || piece === undefined || piece.low !== address) return undefined;
      return this.#inherited(
        { entries: unit.entries, entry: piece.entry },
        (place) => this.#types.typeOf(place),
      );
    });
  }

  globalAt(address: number): GlobalVariable | undefined {
    const all = this.#globals ??= this.#readGlobals();
    const isBefore = (i: number) => (all[i] as GlobalVariable).address <= address;
    const found = all[partitionPoint(0, all.length, isBefore) - 1];
    return found !== undefined && address < found.address + found.type.size ? found : undefined;
  }

  #unit(owner: Unit): UnitData | undefined {
    const known = this.#units.get(owner);
    if (known !== undefined) return known;
    const entries = this.#entriesOf(owner);
    if (entries === undefined) return undefined;
    const pieces: { low: number; high: number; entry: number }[] = [];
    for (let entry = 0; entry < entries.count; entry++) {
      if (entries.tag(entry) !== DW_TAG.subprogram) continue;
      const ranges = this.#tolerant(() => entries.ranges(entry)) ?? [];
      for (let i = 0; i < ranges.length; i += 2) {
        pieces.push({ low: numberAt(ranges, i), high: numberAt(ranges, i + 1), entry });
      }
    }
    pieces.sort((a, b) => a.low - b.low);
    const data = { entries, pieces, known: new Map() };
    this.#units.set(owner, data);
    return data;
  }

  #entriesOf(unit: Unit): Entries | undefined {
    if (this.#entries.has(unit)) return this.#entries.get(unit);
    if (this.#kept > KEPT_ENTRIES) {
      this.#entries.clear();
      this.#units.clear();
      this.#kept = 0;
    }
    const entries = this.#tolerant(() => new Entries(unit));
    this.#entries.set(unit, entries);
    this.#kept += entries?.count ?? 0;
    return entries;
  }

  #read(entries: Entries, entry: number): FunctionData {
    const base = entries.block(entry, DW_AT.frame_base);
    const variables: Variable[] = [];
    this.#collect(entries, entry, 0, undefined, variables);
    return {
      ranges: entries.ranges(entry),
      frameBase: base === undefined ? undefined : placeOf(base, entries.unit),
      variables,
    };
  }

  /**
   * Adds the variables of a scope and of its nested scopes. `within` is the scope's code, if it is
   * less than the whole function.
   */
  #collect(
    entries: Entries,
    scope: number,
    depth: number,
    within: readonly number[] | undefined,
    variables: Variable[],
  ): void {
    if (depth > DEEPEST_SCOPE) {
      throw entries.unit.error("scopes in each other without end", entries.at[scope]);
    }
    const inner: number[] = [];
    for (const child of entries.children(scope)) {
      const tag = entries.tag(child);
      if (tag === DW_TAG.variable || tag === DW_TAG.formal_parameter) {
        this.#tolerant(() => {
          const locations = locationsOf(entries, child);
          if (locations.length === 0) return;
          const place = { entries, entry: child };
          const type = this.#inherited(place, (at) => this.#types.typeOf(at));
          if (type === undefined) return;
          const name = this.#inherited(place, (at) => at.entries.text(at.entry, DW_AT.name)) ?? "";
          variables.push({ name, type, depth, locations: limited(locations, within) });
        });
      } else if (tag !== DW_TAG.subprogram && SCOPE_TAGS.has(tag)) inner.push(child);
    }
    for (const child of inner) {
      const own = this.#tolerant(() => entries.ranges(child)) ?? [];
      this.#collect(entries, child, depth + 1, own.length > 0 ? own : within, variables);
    }
  }

  /** Reads from an entry, or else from its origin. */
  #inherited<T>(place: EntryPlace, read: (place: EntryPlace) => T | undefined): T | undefined {
    let at: EntryPlace | undefined = place;
    for (let steps = 0; at !== undefined && steps < LONGEST_ORIGIN; steps++) {
      const found = read(at);
      if (found !== undefined) return found;
      at = this.#follow(at, DW_AT.abstract_origin) ?? this.#follow(at, DW_AT.specification);
    }
    return undefined;
  }

  #follow({ entries, entry }: EntryPlace, attribute: number): EntryPlace | undefined {
    const found = entries.attribute(entry, attribute);
    if (found === undefined) return undefined;
    const { unit } = entries;
    let file: DwarfFile | undefined = unit.file;
    let to = unit.reference(found.form, found.value);
    if (Number.isNaN(to)) return undefined;
    if (to < 0) {
      file = file.supplementary;
      to = -1 - to;
    }
    if (file === unit.file && to >= unit.offset && to < unit.offset + unit.size) {
      const number = entries.indexOf(to - unit.offset);
      return number < 0 ? undefined : { entries, entry: number };
    }
    const owner = file?.unitAt(to);
    const other = owner === undefined ? undefined : this.#entriesOf(owner);
    if (owner === undefined || other === undefined) return undefined;
    const number = other.indexOf(to - owner.offset);
    return number < 0 ? undefined : { entries: other, entry: number };
  }

  #readGlobals(): GlobalVariable[] {
    const found: GlobalVariable[] = [];
    let searched = 0;
    for (const unit of this.#source.units()) {
      searched += unit.size;
      if (searched > MOST_SEARCHED) {
        this.#source.report(unit.error("too large: variables of the units from here on"));
        break;
      }
      const entries = this.#entriesOf(unit);
      if (entries === undefined) continue;
      for (let entry = 1; entry < entries.count; entry++) {
        if (entries.tag(entry) !== DW_TAG.variable) continue;
        this.#tolerant(() => {
          const block = entries.block(entry, DW_AT.location);
          const place = block === undefined ? undefined : placeOf(block, unit);
          if (place?.kind !== "address") return;
          const at = { entries, entry };
          const type = this.#inherited(at, (one) => this.#types.typeOf(one));
          if (type === undefined || type.size === 0) return;
          const name = this.#inherited(at, (one) => one.entries.text(one.entry, DW_AT.name)) ?? "";
          found.push({ name, type, address: place.address });
        });
      }
    }
    return found.sort((a, b) => a.address - b.address);
  }

  #tolerant<T>(read: () => T): T | undefined {
    try {
      return read();
    } catch (error) {
      if (!(error instanceof DwarfError)) throw error;
      this.#source.report(error);
      return undefined;
    }
  }
}

function pieceAt({ pieces }: UnitData, address: number): UnitData["pieces"][number] | undefined {
  const isBefore = (i: number) => (pieces[i] as UnitData["pieces"][number]).low <= address;
  const found = pieces[partitionPoint(0, pieces.length, isBefore) - 1];
  return found !== undefined && address < found.high ? found : undefined;
}

/** Restricts locations to a scope's code. */
function limited(
  locations: readonly Location[],
  within: readonly number[] | undefined,
): readonly Location[] {
  if (within === undefined) return locations;
  const found: Location[] = [];
  for (const { low, high, place } of locations) {
    for (let i = 0; i < within.length; i += 2) {
      const from = Math.max(low, numberAt(within, i)), to = Math.min(high, numberAt(within, i + 1));
      if (from < to) found.push({ low: from, high: to, place });
    }
  }
  return found;
}
