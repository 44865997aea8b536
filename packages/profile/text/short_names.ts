/**
 * Shortens names that are too long, by the same rules in all tables, trees and pictures.
 *
 * @module
 */

/** What stands for what is left out. */
const GAP = "…";

/**
 * A name in this many characters. What says least goes first, until it fits: directories of paths, the
 * arguments of templates, those of functions, namespaces in the middle, then whatever is in the middle.
 * The names of C++, Rust, Go, Swift, Java and of what JIT compilers make are taken alike.
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

/** What is done to a name while it does not fit. */
const STEPS: readonly ((name: string) => string)[] = [
  withoutFolders,
  (name) => withGaps(name, TEMPLATES),
  (name) => withGaps(name, ALL_ARGUMENTS),
  withoutPathOfTrait,
];

/**
 * Names in this many characters, of which none looks like another one: where two would, a part in which they
 * differ stays, or they are numbered. Names that are the same look the same.
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
  // What tells two apart may look like a third one: all over again, then with numbers.
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

/** Least of what differs that is shown. */
const LEAST_PART = 3;

/** Shows the first arguments in which names differ that are the same without them. */
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

/** A part of a text from a place on, with gaps for what is before and after. */
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

/** How much of the beginning all texts have. */
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

/** Where the word begins that a place is in. */
function wordStart(text: string, at: number): number {
  while (at > 0 && /\w/.test(text[at - 1] as string)) at--;
  return at;
}

/** Leaves out directories: of source files in names of compiled code, of packages in those of Go. */
function withoutFolders(name: string): string {
  return name.replace(/(^|[\s:])(?:[a-z]+:\/\/)?(?:[\w.@~+-]*\/)+(?=[\w.@~+-])/g, `$1${GAP}/`);
}

/** Leaves out the modules in Rust's `<T as Trait>::method`. */
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

/** A name apart from what is between brackets. */
interface Gaps {
  /** What is around them: one more than there are brackets. */
  readonly around: readonly string[];
  /** What is in them. */
  readonly inner: readonly string[];
}

/** The name with gaps for all that is between brackets. */
function withGaps(name: string, brackets: Brackets): string {
  return gapsOf(name, brackets).around.join(GAP);
}

/**
 * Finds what is between brackets. Those that are a part of the name stay: of operators, of anonymous
 * namespaces, of closures, of Rust's `<T as Trait>` (whose arguments go), of Go's receivers `(*T)`, and
 * names in brackets as `[kernel]`.
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

/** Whether what begins at a bracket is a part of the name itself. */
function isPartOfName(name: string, at: number): boolean {
  const rest = name.slice(at);
  return at === 0 || /^\((?:anonymous|\*?\w+(?:\[[^\]]*\])?\)\.|\.)/.test(rest) ||
    /^\(\*/.test(rest) && /[./]$/.test(name.slice(0, at)) ||
    (rest.startsWith("<") && name.slice(0, at).endsWith("::") && / as /.test(rest));
}

/** Where the bracket is closed; before it, where it is not. */
function closing(name: string, at: number, open: string, close: string): number {
  let depth = 0;
  for (let i = at; i < name.length; i++) {
    // An arrow closes nothing.
    if (name[i] === open) depth++;
    else if (name[i] === close && !(close === ">" && /[-=]/.test(name[i - 1] as string))) {
      if (--depth === 0) return i;
    }
  }
  return -1;
}

/** A name in parts that end with `::`; what is between brackets stays together. */
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

/** Leaves out namespaces in the middle, or whatever is there. */
function withoutMiddle(name: string, room: number): string {
  const parts = namespaces(name);
  for (let kept = parts.length - 2; parts.length > 2 && kept > 0; kept--) {
    const short = `${parts[0]}${GAP}::${parts.slice(-kept).join("")}`;
    if (short.length <= room) return short;
  }
  const head = Math.floor((room - 1) / 3);
  return name.slice(0, head) + GAP + name.slice(name.length - (room - 1 - head));
}
