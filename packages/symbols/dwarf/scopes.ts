import { floatAt, groupBy, intAt, numberAt } from "@perfdata/format/bytes";
import { KIND, SLOT } from "./abbrev.ts";
import { DW_TAG } from "./dwarf_constants.ts";
import { Die, stepOver } from "./die.ts";
import { DwarfError } from "./dwarf_error.ts";
import type { DwarfFile } from "./dwarf_file.ts";
import { READ } from "./forms.ts";
import { u32 } from "./bytes.ts";
import type { Unit } from "./unit.ts";

/** Limit of the scopes in a function's name. The innermost ones are kept. */
const MOST_SCOPES = 32;
/** Limit of references from a scope to its declaration. */
const LONGEST_CHAIN = 16;
/** Limit of the characters of scope names in a file. */
const MOST_TEXT = 1 << 26;
/** Limit of the parents that are checked for one function. Blocks are no scopes. */
const MOST_PARENTS = 256;
/** Limit of walks over a unit. Another walk is needed if declarations refer to new entries. */
const MOST_ROUNDS = 8;

/** An entry whose parents are wanted, or a parent. */
interface Entry {
  readonly unit: Unit;
  /** Offset of the entry in bytes from the start of its unit. */
  readonly at: number;
  /** The parent; `null` at the top level, `undefined` before it is known. */
  parent: Entry | null | undefined;
  /** Kind and name, once they were read. */
  scope: Scope | undefined;
}

/** The part that an entry adds to names within it. */
interface Scope {
  readonly kind: "namespace" | "type" | "function" | "nothing";
  /** Name; `""` for an unnamed type. */
  readonly text: string;
  /** Line and column of an unnamed type: `24:9`; `""` if unknown. */
  readonly where: string;
  readonly artificial: boolean;
  /** The declaring entry, whose parents count. */
  readonly declaration: Entry;
}

/** A function whose scope is wanted. */
export interface Declared {
  readonly unit: Unit;
  /** Position of the declaring entry in the unit. */
  readonly at: number;
  /** `DW_AT_external`: without a linkage name, outside of classes, the function is a C function. */
  readonly external: boolean;
  /** `DW_AT_artificial`: not declared in the source; in an unnamed class, a lambda's function. */
  readonly artificial: boolean;
}

/**
 * The scopes of functions: namespaces, classes and enclosing functions. DWARF entries do not state
 * their parents, so units are walked once for all wanted functions.
 */
export class Scopes {
  readonly #entries = new Map<Unit, Map<number, Entry>>();
  /** Entries whose parents are not known yet. */
  #unknown: Entry[] = [];
  readonly #texts = new Map<Entry, string>();
  readonly #textsOfLambdas = new Map<Entry, string>();
  #room = MOST_TEXT;

  /** Returns the scope of each function; `""` if it has none. Reports unreadable parts. */
  scopesOf(declared: readonly Declared[], report: (error: DwarfError) => void): string[] {
    const wanted = declared.map(({ unit, at }) => this.#entry(unit, at));
    for (let round = 0; round < MOST_ROUNDS && this.#unknown.length > 0; round++) {
      const unknown = this.#unknown;
      this.#unknown = [];
      const met: Entry[] = [];
      const byUnit = groupBy(unknown, ({ unit }) => unit);
      for (const [unit, entries] of byUnit) {
        entries.sort((a, b) => a.at - b.at);
        attempt(() => this.#findParents(unit, entries, met), report);
        // After damage in a unit, its remaining entries have unknown parents.
        for (const entry of entries) entry.parent ??= null;
      }
      for (const entry of met) {
        attempt(() => entry.scope = this.#describe(entry), report);
      }
    }
    return wanted.map((entry, i) => {
      const { parent } = entry;
      if (parent === null || parent === undefined) return "";
      const { external = false, artificial = false } = declared[i] ?? {};
      if (external && parent.scope?.kind !== "type") return "";
      return this.#textOf(parent, artificial);
    });
  }

  /** The qualified name of a scope. `artificial` describes the function in it. */
  #textOf(scope: Entry, artificial: boolean): string {
    const texts = artificial ? this.#textsOfLambdas : this.#texts;
    let text = texts.get(scope);
    if (text === undefined) {
      text = this.#room > 0 ? scopeText(scope, artificial) : "";
      this.#room -= text.length;
      texts.set(scope, text);
    }
    return text;
  }

  /** Returns the entry at a position. The parents of a new entry are found later. */
  #entry(unit: Unit, at: number): Entry {
    const known = this.#known(unit).get(at);
    if (known !== undefined) return known;
    const entry: Entry = { unit, at, parent: undefined, scope: undefined };
    this.#known(unit).set(at, entry);
    this.#unknown.push(entry);
    return entry;
  }

  #known(unit: Unit): Map<number, Entry> {
    let known = this.#entries.get(unit);
    if (known === undefined) this.#entries.set(unit, known = new Map());
    return known;
  }

  /** Walks over a unit up to the last of the entries, and adds their parents to `met`. */
  #findParents(unit: Unit, entries: readonly Entry[], met: Entry[]): void {
    unit.borrow();
    try {
      const known = this.#known(unit);
      const table = unit.abbrevs;
      const { size: sizes, hasChildren, kind: kinds, jump: jumps } = table;
      const b = unit.bytes, le = unit.file.info.le;
      const c = unit.cursor(0);
      // Positions of the enclosing entries, with their objects if they were created.
      const around: number[] = [], made: (Entry | undefined)[] = [];
      let next = 0, p = unit.headerSize;
      while (p < b.length && next < entries.length) {
        const at = p;
        while (next < entries.length && (entries[next] as Entry).at < at) next++;
        const wanted = entries[next];
        if (wanted === undefined) break;
        c.pos = at;
        const code = c.uleb();
        p = c.pos;
        if (code === 0) {
          around.pop();
          made.pop();
          if (around.length === 0) break;
          continue;
        }
        const a = table.index(code);
        if (a < 0) throw unit.error(`abbreviation ${code} is not in the table`, at);
        if (wanted.at === at) {
          let inner: Entry | undefined;
          // The unit's root entry, at depth 0, is no scope.
          for (let depth = around.length - 1; depth > 0; depth--) {
            let outer = made[depth];
            const isNew = outer === undefined;
            if (outer === undefined) {
              const start = numberAt(around, depth);
              outer = known.get(start);
              if (outer === undefined) {
                outer = { unit, at: start, parent: undefined, scope: undefined };
                known.set(start, outer);
              }
              made[depth] = outer;
            }
            (inner ?? wanted).parent = outer;
            if (outer.scope === undefined) met.push(outer);
            inner = outer;
            if (!isNew) break;
          }
          const last = inner ?? wanted;
          if (last.parent === undefined) last.parent = null;
        }
        // Skip an entry that ends before the next wanted entry.
        const jump = numberAt(jumps, a);
        if (jump >= 0 && p + jump + 4 <= b.length) {
          const to = u32(b, p + jump, le);
          if (to > p && to <= b.length && to <= wantedAfter(entries, next, at)) {
            p = to;
            continue;
          }
        }
        const size = numberAt(sizes, a);
        if (size >= 0 && kinds[a] !== KIND.SKIPPED) p += size;
        else {
          p = stepOver(b, p, table, a, c, unit);
          if (kinds[a] === KIND.SKIPPED) {
            // The entry holds no functions, and the attributes after DW_AT_sibling are not listed.
            c.pos = Math.min(p, b.length);
            const to = siblingOf(c, numberAt(table.sibling, a));
            if (!(to > p && to <= b.length)) throw unit.error("DW_AT_sibling leads nowhere", at);
            p = to;
            continue;
          }
        }
        if (hasChildren[a]) {
          around.push(at);
          made.push(undefined);
        }
      }
    } finally {
      unit.giveBack();
    }
  }

  #describe(entry: Entry): Scope {
    const tag = entry.unit.abbrevs.tag[read(entry.unit, entry.at)];
    let name: string | undefined;
    let where = "", artificial = false;
    let { unit, at } = entry;
    for (let steps = 0; steps < LONGEST_CHAIN; steps++) {
      // When the limit is reached, no further scope is shown.
      if (name === undefined && this.#room >= 0) {
        name = unit.attributeString(die, SLOT.NAME);
        this.#room -= name?.length ?? 0;
        if (this.#room < 0) throw unit.error("too large: names of namespaces and classes", at);
      }
      if (die.constant(SLOT.ARTIFICIAL) !== 0) artificial = true;
      const line = die.constant(SLOT.DECL_LINE);
      if (line !== 0) where = ` at ${line}:${die.constant(SLOT.DECL_COLUMN)}`;
      const to = declaredAt(unit);
      if (to === undefined) break;
      ({ unit, at } = to);
      read(unit, at);
    }
    const declaration = unit === entry.unit && at === entry.at ? entry : this.#entry(unit, at);
    const { kind, unnamed } = KIND_OF.get(tag as number) ?? { kind: "nothing", unnamed: "" };
    return { kind, text: name ?? unnamed, where, artificial, declaration };
  }
}

const KIND_OF = new Map<number, { readonly kind: Scope["kind"]; readonly unnamed: string }>([
  [DW_TAG.namespace, { kind: "namespace", unnamed: "(anonymous namespace)" }],
  [DW_TAG.subprogram, { kind: "function", unnamed: "{unnamed function}" }],
  [DW_TAG.class_type, { kind: "type", unnamed: "" }],
  [DW_TAG.structure_type, { kind: "type", unnamed: "" }],
  [DW_TAG.union_type, { kind: "type", unnamed: "" }],
  [DW_TAG.interface_type, { kind: "type", unnamed: "" }],
  [DW_TAG.enumeration_type, { kind: "type", unnamed: "" }],
]);

const die = new Die();

/** Reads the entry at a position into `die`. Returns its abbreviation. */
function read(unit: Unit, at: number): number {
  const c = unit.entryCursor(at);
  const table = unit.abbrevs;
  const a = table.index(c.uleb());
  if (a < 0) throw unit.error("a reference to where no entry is", at);
  die.read(c, table, a, unit);
  return a;
}

/** The target of the origin or specification of the entry in `die`. */
function declaredAt(unit: Unit): { unit: Unit; at: number } | undefined {
  const slot = die.has(SLOT.ABSTRACT_ORIGIN) ? SLOT.ABSTRACT_ORIGIN : SLOT.SPECIFICATION;
  if (!die.has(slot)) return undefined;
  let file: DwarfFile | undefined = unit.file;
  let to = unit.reference(intAt(die.form, slot), floatAt(die.value, slot));
  if (Number.isNaN(to)) return undefined;
  if (to < 0) {
    file = file.supplementary;
    to = -1 - to;
  }
  const owner = file?.unitAt(to);
  return owner === undefined ? undefined : { unit: owner, at: to - owner.offset };
}

/**
 * A type's name. An unnamed type has the position of its declaration, since a function can have
 * several. Demanglers number them instead, but unused ones are not in DWARF.
 */
function typeName({ text, where }: Scope, ofLambda: boolean): string {
  // Older GCC versions name a lambda's class.
  if (text !== "" && !/^<lambda\(.*\)>$/s.test(text)) return text;
  return text !== "" || ofLambda ? `{lambda${where}}` : `{unnamed type${where}}`;
}

/**
 * A scope and its enclosing scopes, outermost first, joined with `::`. An enclosing function counts
 * only if a class is in between: functions nested otherwise, as in C, have a name of their own.
 */
function scopeText(innermost: Entry, artificial: boolean): string {
  const parts: string[] = [];
  let entry: Entry | null | undefined = innermost;
  for (let steps = 0; entry !== null && entry !== undefined; steps++) {
    if (parts.length === MOST_SCOPES || steps === MOST_PARENTS) {
      parts.push("…");
      break;
    }
    const scope: Scope | undefined = entry.scope;
    if (scope === undefined) break;
    if (scope.kind !== "nothing" && (scope.kind !== "function" || parts.length > 0)) {
      parts.push(scope.kind === "type" ? typeName(scope, artificial) : scope.text);
      artificial = scope.artificial;
    }
    entry = scope.declaration.parent;
  }
  return parts.reverse().join("::");
}

function wantedAfter(entries: readonly Entry[], next: number, at: number): number {
  const entry = entries[next];
  if (entry === undefined) return Infinity;
  return entry.at === at ? entries[next + 1]?.at ?? Infinity : entry.at;
}

function siblingOf(
  c: { u8(): number; u16(): number; u32(): number; uleb(): number },
  read: number,
) {
  switch (read) {
    case READ.U8:
      return c.u8();
    case READ.U16:
      return c.u16();
    case READ.U32:
      return c.u32();
  }
  return c.uleb();
}

function attempt(read: () => void, report: (error: DwarfError) => void): void {
  try {
    read();
  } catch (error) {
    if (!(error instanceof DwarfError)) throw error;
    report(error);
  }
}
