/**
 * Shortens names that are too long, by the same rules in all tables, trees and pictures.
 *
 * @module
 */

/** The sign for omitted text. */
const GAP = "…";

/**
 * Shortens a name to `room` characters. The least important parts are omitted first: directories of
 * paths, the arguments of templates, the arguments of functions, namespaces in the middle, then any
 * text in the middle. Names of C++, Rust, Go, Swift, Java and JIT compilers are treated alike.
 *
 * @example
 * ```ts
 * import { shortName } from "@perfdata/profile";
 * import { assertEquals } from "@std/assert";
 *
 * const name = "std::map<int, std::string>::find(int const&)";
 * assertEquals(shortName(name, 44), name);
 * assertEquals(shortName(name, 40), "std::map<…>::find(int const&)");
 * assertEquals(shortName(name, 20), "std::map<…>::find(…)");
 * assertEquals(shortName("<Vec<u8> as core::fmt::Debug>::fmt", 33), "<Vec<…> as core::fmt::Debug>::fmt");
 * assertEquals(shortName("github.com/a/b.(*Tree[...]).Walk", 20), "…/b.(*Tree[…]).Walk");
 * assertEquals(shortName("JS:*render /srv/app/page.js:10:3", 26), "JS:*render …/page.js:10:3");
 * ```
 */
export function shortName(name: string, room: number): string {
  if (name.length <= room) return name;
  if (room < 4) return name.slice(0, Math.max(0, room));
  let short = name;
  for (const step of STEPS) {
    short = step(short);
    if (short.length <= room) return short;
  }
  return withoutMiddle(short, room);
}

/** Steps that shorten a name, applied until it fits. */
const STEPS: readonly ((name: string) => string)[] = [
  withoutFolders,
  (name) => withGaps(name, TEMPLATES),
  (name) => withGaps(name, ALL_ARGUMENTS),
  withoutPathOfTrait,
];

/**
 * Shortens names so that different names stay different: two names that would become equal keep a
 * part in which they differ, or get numbers. Equal names stay equal.
 *
 * @example
 * ```ts
 * import { shortNames } from "@perfdata/profile";
 * import { assertEquals } from "@std/assert";
 *
 * const names = ["std::vector<int>::push_back(int&&)", "std::vector<long>::push_back(long&&)"];
 * assertEquals(shortNames(names, 31), [
 *   "std::vector<int>::push_back(…)",
 *   "std::vector<long>::push_back(…)",
 * ]);
 * ```
 */
export function shortNames(names: readonly string[], room: number): string[] {
  const shown = new Map<string, string>();
  for (const name of names) shown.set(name, shortName(name, room));
  // A name with its distinguishing part may equal a third name: repeat, and then use numbers.
  for (const tellApart of [byParts, byParts, byNumber]) {
    for (const [text, same] of alike(shown)) {
      for (const [name, told] of tellApart(same, text, room, shown)) shown.set(name, told);
    }
  }
  return names.map((name) => shown.get(name) as string);
}

/** Groups of names that look the same. */
function alike(shown: ReadonlyMap<string, string>): [string, string[]][] {
  const groups = new Map<string, string[]>();
  for (const [name, text] of shown) {
    const group = groups.get(text);
    if (group === undefined) groups.set(text, [name]);
    else group.push(name);
  }
  return [...groups].filter(([, names]) => names.length > 1);
}

/** Minimum number of characters to show of a distinguishing part. */
const LEAST_PART = 3;

/** Shows the first arguments that differ, if the names are otherwise equal. */
function byParts(names: readonly string[], _: string, room: number): [string, string][] {
  const parts = names.map((name) => gapsOf(withoutFolders(name), ALL_ARGUMENTS));
  const [first] = parts;
  if (first === undefined) return [];
  const skeleton = (gaps: Gaps) => gaps.around.join(GAP);
  if (parts.some((gaps) => skeleton(gaps) !== skeleton(first))) return [];
  const at = first.inner.findIndex((_, i) => new Set(parts.map(({ inner }) => inner[i])).size > 1);
  if (at < 0) return [];
  const own = parts.map(({ inner }) => inner[at] as string);
  const left = room - skeleton(first).length + GAP.length;
  if (left < LEAST_PART) return [];
  const from = wordStart(own[0] as string, commonLength(own));
  return parts.map(({ inner, around }, i): [string, string] => {
    const text = part(inner[at] as string, from, left);
    const all = around.map((piece, k) => k === 0 ? piece : (k - 1 === at ? text : GAP) + piece);
    return [names[i] as string, all.join("")];
  });
}

/** A part of a text from an index on, with gaps for omitted text before and after it. */
function part(text: string, from: number, room: number): string {
  if (text.length <= room) return text;
  const before = from === 0 ? "" : GAP;
  const rest = text.slice(from);
  const space = room - before.length;
  return before + (rest.length <= space ? rest : rest.slice(0, space - 1) + GAP);
}

/** Numbers names that still look the same. */
function byNumber(
  names: readonly string[],
  _: string,
  room: number,
  shown: ReadonlyMap<string, string>,
): [string, string][] {
  const taken = new Set(shown.values());
  let number = 0;
  return [...names].sort().map((name): [string, string] => {
    for (;;) {
      const mark = ` #${++number}`;
      const text = shortName(name, room - mark.length) + mark;
      if (taken.has(text)) continue;
      taken.add(text);
      return [name, text];
    }
  });
}

function commonLength(texts: readonly string[]): number {
  const [first = "", ...others] = texts;
  let length = first.length;
  for (const text of others) {
    let at = 0;
    while (at < length && text[at] === first[at]) at++;
    length = at;
  }
  return length;
}

/** Start of the word at an index. */
function wordStart(text: string, at: number): number {
  while (at > 0 && /\w/.test(text[at - 1] as string)) at--;
  return at;
}

/** Omits directories: of source files in names of compiled code, of packages in names of Go. */
function withoutFolders(name: string): string {
  return name.replace(/(^|[\s:])(?:[a-z]+:\/\/)?(?:[\w.@~+-]*\/)+(?=[\w.@~+-])/g, `$1${GAP}/`);
}

/** Omits the modules in Rust's `<T as Trait>::method`. */
function withoutPathOfTrait(name: string): string {
  const end = name.startsWith("<") ? closing(name, 0, "<", ">") : -1;
  const head = name.slice(0, end + 1);
  return / as /.test(head)
    ? head.replace(/(?<!\w)(?:\w+::)+(?=\w)/g, "") + name.slice(end + 1)
    : name;
}

type Brackets = Readonly<Record<string, string>>;
const TEMPLATES: Brackets = { "<": ">", "[": "]" };
const ALL_ARGUMENTS: Brackets = { ...TEMPLATES, "(": ")" };

/** A name, split at its brackets. */
interface Gaps {
  /** Texts around the brackets: one more than there are brackets. */
  readonly around: readonly string[];
  /** Texts in the brackets. */
  readonly inner: readonly string[];
}

function withGaps(name: string, brackets: Brackets): string {
  return gapsOf(name, brackets).around.join(GAP);
}

/**
 * Splits a name at its brackets. Brackets that are part of the name do not count: operators,
 * anonymous namespaces, closures, Rust's `<T as Trait>` (but its arguments count), Go's receivers
 * `(*T)`, and whole names such as `[kernel]`.
 */
function gapsOf(name: string, brackets: Brackets): Gaps {
  const around: string[] = [];
  const inner: string[] = [];
  let text = "";
  const stays: string[] = [];
  for (let i = 0; i < name.length; i++) {
    const character = name[i] as string;
    const operator = /^operator(?:<=>|<<=?|>>=?|->\*?|<=?|>=?|\(\)|\[\])/.exec(name.slice(i));
    if (operator !== null && !/\w/.test(name[i - 1] ?? " ")) {
      text += operator[0];
      i += operator[0].length - 1;
      continue;
    }
    if (character === stays.at(-1)) stays.pop();
    else {
      const close = brackets[character];
      if (close !== undefined && isPartOfName(name, i)) stays.push(close);
      else if (close !== undefined) {
        const end = closing(name, i, character, close);
        if (end > i + 1) {
          around.push(text + character);
          inner.push(name.slice(i + 1, end));
          text = close;
          i = end;
          continue;
        }
      }
    }
    text += character;
  }
  around.push(text);
  return { around, inner };
}

/** Whether a bracket at an index begins a part of the name itself. */
function isPartOfName(name: string, at: number): boolean {
  const rest = name.slice(at);
  return at === 0 || /^\((?:anonymous|\*?\w+(?:\[[^\]]*\])?\)\.|\.)/.test(rest) ||
    /^\(\*/.test(rest) && /[./]$/.test(name.slice(0, at)) ||
    (rest.startsWith("<") && name.slice(0, at).endsWith("::") && / as /.test(rest));
}

/** Index of the closing bracket; -1 if it is missing. */
function closing(name: string, at: number, open: string, close: string): number {
  let depth = 0;
  for (let i = at; i < name.length; i++) {
    // The `>` of an arrow is not a bracket.
    if (name[i] === open) depth++;
    else if (name[i] === close && !(close === ">" && /[-=]/.test(name[i - 1] as string))) {
      if (--depth === 0) return i;
    }
  }
  return -1;
}

/** Splits a name into parts that end with `::`. Text in brackets is not split. */
function namespaces(name: string): string[] {
  const parts: string[] = [];
  let [from, depth] = [0, 0];
  for (let i = 0; i < name.length; i++) {
    const character = name[i] as string;
    if ("<([{".includes(character)) depth++;
    else if (">)]}".includes(character)) depth = Math.max(0, depth - 1);
    else if (depth === 0 && name.startsWith("::", i)) {
      parts.push(name.slice(from, from = i + 2));
      i++;
    }
  }
  return [...parts, name.slice(from)];
}

/** Omits namespaces in the middle, or any text in the middle. */
function withoutMiddle(name: string, room: number): string {
  const parts = namespaces(name);
  for (let kept = parts.length - 2; parts.length > 2 && kept > 0; kept--) {
    const short = `${parts[0]}${GAP}::${parts.slice(-kept).join("")}`;
    if (short.length <= room) return short;
  }
  const head = Math.floor((room - 1) / 3);
  return name.slice(0, head) + GAP + name.slice(name.length - (room - 1 - head));
}
