/**
 * Finds regular expressions whose matching takes more than linear time on some text: two loops can
 * share a text in more than one way (`\s*(\w*)\s*$`, `(a+)*b`), and the search for a start is a
 * loop as well (`/\/+$/` is quadratic on a row of slashes that does not end the text).
 *
 * The expression becomes an automaton with one state for each of its characters and each class of
 * characters that it distinguishes. It is ambiguous if there are states p and q and a text that
 * leads from p to p, from p to q and from q to q ("infinite degree of ambiguity"): then n copies of
 * the text can be divided between p and q in n ways, all of which are tried if the match fails
 * after them. Ambiguity before a state from which no text fails is harmless.
 *
 * `{m,n}` counts as one optional or required copy. A lookaround of one character is exact; a longer
 * one may succeed or fail, and is checked separately.
 */

type Node =
  | { readonly kind: "atom"; readonly atom: number }
  | { readonly kind: "assert"; readonly assert: Assertion }
  | { readonly kind: "seq" | "alt"; readonly parts: readonly Node[] }
  | {
    readonly kind: "repeat";
    readonly of: Node;
    readonly optional: boolean;
    readonly loops: boolean;
  };

/**
 * A condition on the characters around a position; `atom` is an index, or -1 for an unknown
 * condition.
 */
interface Assertion {
  readonly kind: "start" | "end" | "boundary" | "inside" | "ahead" | "behind" | "maybe";
  readonly atom: number;
  readonly negative: boolean;
}

/** A parsed expression. */
class Parser {
  readonly atoms: string[] = [];
  /** Lookarounds of more than one character. */
  readonly inner: Node[] = [];
  #at = 0;

  constructor(readonly source: string) {}

  alternatives(): Node {
    const parts = [this.#sequence()];
    while (this.source[this.#at] === "|") {
      this.#at++;
      parts.push(this.#sequence());
    }
    return { kind: "alt", parts };
  }

  #sequence(): Node {
    const parts: Node[] = [];
    while (this.#at < this.source.length && !"|)".includes(this.source[this.#at] as string)) {
      parts.push(this.#quantified());
    }
    return { kind: "seq", parts };
  }

  #quantified(): Node {
    const of = this.#term();
    const found = /^(?:[*+?]|\{(\d+)(,?)(\d*)\})\??/.exec(this.source.slice(this.#at));
    if (found === null) return of;
    this.#at += found[0].length;
    const [text, min = "", comma, max] = found;
    const optional = text[0] === "*" || text[0] === "?" || Number(min || 1) === 0;
    const loops = text[0] === "*" || text[0] === "+" || (comma === "," && max === "");
    return { kind: "repeat", of, optional, loops };
  }

  #term(): Node {
    const { source } = this;
    const c = source[this.#at] as string;
    if (c === "(") {
      const [opening] = /^\((?:\?(?:<?[=!]|:|<\w+>))?/.exec(
        source.slice(this.#at),
      ) as RegExpExecArray;
      this.#at += opening.length;
      const of = this.alternatives();
      this.#at++;
      if (!/[=!]$/.test(opening)) return of;
      const atom = oneAtom(of);
      if (atom === undefined) this.inner.push(of);
      const kind = atom === undefined ? "maybe" : opening.includes("<") ? "behind" : "ahead";
      const negative = opening.endsWith("!");
      return { kind: "assert", assert: { kind, atom: atom ?? -1, negative } };
    }
    if (c === "^" || c === "$") {
      this.#at++;
      const kind = c === "^" ? "start" : "end";
      return { kind: "assert", assert: { kind, atom: -1, negative: false } };
    }
    const rest = source.slice(this.#at);
    const [text] =
      /^(?:\[(?:\\[^]|[^\]\\])*\]|\\(?:[pP]\{[^}]*\}|u\{[^}]*\}|u[\da-fA-F]{4}|x[\da-fA-F]{2}|c[A-Z]|k<\w+>|[^])|[^])/u
        .exec(rest) as RegExpExecArray;
    this.#at += text.length;
    if (text === "\\b" || text === "\\B") {
      const kind = text === "\\b" ? "boundary" : "inside";
      return { kind: "assert", assert: { kind, atom: -1, negative: false } };
    }
    // A reference to a group can be any text.
    if (/^\\(?:[1-9]|k<)/.test(text)) {
      return { kind: "repeat", of: this.#atom("[^]"), optional: true, loops: true };
    }
    return this.#atom(text);
  }

  #atom(text: string): Node {
    this.atoms.push(text);
    return { kind: "atom", atom: this.atoms.length - 1 };
  }
}

function oneAtom(node: Node): number | undefined {
  if (node.kind === "atom") return node.atom;
  if ((node.kind !== "seq" && node.kind !== "alt") || node.parts.length !== 1) return undefined;
  return oneAtom(node.parts[0] as Node);
}

/** A step from one character to the next or to the end, with its conditions. */
interface Step {
  readonly to: number;
  readonly asserts: readonly Assertion[];
}

/** Steps into a part of an expression, out of it, and through it without a character. */
interface Part {
  readonly first: readonly Step[];
  readonly last: readonly Step[];
  readonly empty: readonly (readonly Assertion[])[];
}

const END = -1;

/**
 * Positions of an expression, each of which consumes one character, with the steps between them.
 */
class Positions {
  readonly atoms: number[] = [];
  readonly follow: Step[][] = [];

  part(node: Node): Part {
    switch (node.kind) {
      case "atom": {
        const to = this.atoms.push(node.atom) - 1;
        this.follow.push([]);
        return { first: [{ to, asserts: [] }], last: [{ to, asserts: [] }], empty: [] };
      }
      case "assert":
        return { first: [], last: [], empty: [[node.assert]] };
      case "alt": {
        const parts = node.parts.map((part) => this.part(part));
        return {
          first: parts.flatMap(({ first }) => first),
          last: parts.flatMap(({ last }) => last),
          empty: parts.flatMap(({ empty }) => empty),
        };
      }
      case "seq": {
        let all: Part = { first: [], last: [], empty: [[]] };
        for (const part of node.parts.map((part) => this.part(part))) {
          this.#connect(all.last, part.first);
          all = {
            first: [...all.first, ...after(all.empty, part.first)],
            last: [...part.last, ...after(part.empty, all.last)],
            empty: all.empty.flatMap((one) => part.empty.map((other) => [...one, ...other])),
          };
        }
        return all;
      }
      case "repeat": {
        const part = this.part(node.of);
        if (node.loops) this.#connect(part.last, part.first);
        return node.optional ? { ...part, empty: [[]] } : part;
      }
    }
  }

  #connect(last: readonly Step[], first: readonly Step[]): void {
    for (const from of last) {
      for (const { to, asserts } of first) {
        (this.follow[from.to] as Step[]).push({ to, asserts: [...from.asserts, ...asserts] });
      }
    }
  }
}

function after(empty: Part["empty"], steps: readonly Step[]): Step[] {
  return empty.flatMap((before) =>
    steps.map(({ to, asserts }) => ({ to, asserts: [...before, ...asserts] }))
  );
}

/**
 * Properties of a character: the atoms that match it, and whether it is a word character or ends a
 * line.
 */
interface Class {
  readonly has: readonly boolean[];
  readonly word: boolean;
  readonly newline: boolean;
}

/** Classes of characters that the expression distinguishes. */
function classes(atoms: readonly string[], flags: string): Class[] {
  const plain = flags.replaceAll(/[gyd]/g, "");
  const tests = atoms.map((atom) => new RegExp(`^(?:${atom})$`, plain));
  const texts = new Set<string>();
  for (let code = 0; code < 0x300; code++) texts.add(String.fromCharCode(code));
  for (const code of [0x2028, 0x202b, 0x2067, 0x2500, 0x4e00, 0xd7ff, 0xd900, 0xdc90, 0xffff]) {
    texts.add(String.fromCharCode(code));
  }
  for (const atom of atoms) for (const c of atom) texts.add(c);
  const found = new Map<string, Class>();
  for (const text of texts) {
    const has = tests.map((test) => test.test(text));
    const word = /\w/.test(text);
    const newline = /[\n\r\u2028\u2029]/.test(text);
    const key = `${has.map(Number).join("")}${Number(word)}${Number(newline)}`;
    if (!found.has(key)) found.set(key, { has, word, newline });
  }
  return [...found.values()];
}

/** `undefined` at the start or the end of the text. */
function holds(
  { kind, atom, negative }: Assertion,
  before: Class | undefined,
  next: Class | undefined,
  multiline: boolean,
): boolean {
  switch (kind) {
    case "start":
      return before === undefined || (multiline && before.newline);
    case "end":
      return next === undefined || (multiline && next.newline);
    case "boundary":
      return (before?.word ?? false) !== (next?.word ?? false);
    case "inside":
      return (before?.word ?? false) === (next?.word ?? false);
    case "behind":
      return (before?.has[atom] ?? false) !== negative;
    case "ahead":
      return (next?.has[atom] ?? false) !== negative;
    case "maybe":
      return true;
  }
}

/** The states of an expression: a position and the class of the character that it consumed. */
class Automaton {
  /** Next states by state and class. A state that can be reached in two ways is listed twice. */
  readonly next: number[][][] = [];
  /** By state and class: whether the match can end here before such a character. */
  readonly #ends: boolean[][] = [];
  /** Whether no text after a state makes the match fail. */
  readonly safe: boolean[] = [];
  readonly #start: number;
  readonly #classes: readonly Class[];

  constructor(node: Node, atoms: readonly string[], flags: string, searches: boolean) {
    this.#classes = classes(atoms, flags);
    const multiline = flags.includes("m");
    const positions = new Positions();
    const { first, last, empty } = positions.part(node);
    for (const { to, asserts } of last) (positions.follow[to] as Step[]).push({ to: END, asserts });
    const begin: Step[] = [...first, ...empty.map((asserts) => ({ to: END, asserts }))];
    // The search begins again after each character.
    const search = positions.atoms.length;
    const width = this.#classes.length;
    const sureEnd: boolean[] = [];
    const sure: number[][][] = [];
    for (let p = 0; p <= search; p++) {
      const steps = p === search ? begin : positions.follow[p] as Step[];
      // The last state is the start of the text.
      for (const before of p === search ? [...this.#classes, undefined] : this.#classes) {
        const all: number[][] = [];
        const certain: number[][] = [];
        for (const [c, next] of this.#classes.entries()) {
          const to: number[] = p === search && searches ? [search * width + c] : [];
          const surely: number[] = [...to];
          for (const step of steps) {
            if (step.to === END || !next.has[positions.atoms[step.to] as number]) continue;
            if (!step.asserts.every((one) => holds(one, before, next, multiline))) continue;
            to.push(step.to * width + c);
            if (step.asserts.every(({ kind }) => kind !== "maybe")) {
              surely.push(step.to * width + c);
            }
          }
          all.push(to);
          certain.push(surely);
        }
        const ends = steps.filter(({ to, asserts }) =>
          to === END && asserts.every(({ kind }) => kind !== "maybe")
        );
        const endsBefore = (next: Class | undefined): boolean =>
          ends.some(({ asserts }) => asserts.every((one) => holds(one, before, next, multiline)));
        sureEnd.push(endsBefore(undefined));
        const endsHere = this.#classes.map(endsBefore);
        for (const [c, here] of endsHere.entries()) if (here) certain[c] = [END];
        this.#ends.push(endsHere);
        this.next.push(all);
        sure.push(certain);
      }
    }
    this.#start = this.next.length - 1;
    this.safe = sureEnd;
    for (let changed = true; changed;) {
      changed = false;
      for (const [state, byClass] of sure.entries()) {
        if (!this.safe[state]) continue;
        if (byClass.every((to) => to.some((one) => one === END || this.safe[one]))) continue;
        this.safe[state] = false;
        changed = true;
      }
    }
  }

  /** Whether two loops can divide some text in many ways and fail afterwards. */
  ambiguous(): boolean {
    const { next, safe } = this;
    const reach = next.map((_, from) => reachable(next, from));
    const looping = [...next.keys()].filter((state) => reach[state]?.has(state));
    const fromStart = reach[this.#start] as ReadonlySet<number>;
    for (const p of looping) {
      if (!fromStart.has(p)) continue;
      // Two ways from one state to the next, within a loop.
      const twice = (to: readonly number[]): boolean =>
        to.some((one, i) => to.indexOf(one) !== i && !safe[one] && (reach[one]?.has(p) ?? false));
      if (!safe[p] && next[p]?.some(twice)) return true;
      for (const q of looping) {
        if (p === q || safe[q] || !reach[p]?.has(q)) continue;
        if (this.#shares(p, q, reach)) return true;
      }
    }
    return false;
  }

  /** Whether a text leads from `p` to `p`, from `p` to `q` and from `q` to `q`. */
  #shares(p: number, q: number, reach: readonly ReadonlySet<number>[]): boolean {
    const { next, safe } = this;
    const size = next.length;
    const seen = new Set<number>();
    const open: [number, number, number][] = [[p, p, q]];
    for (let at = open.pop(); at !== undefined; at = open.pop()) {
      const [a, b, c] = at;
      for (let text = 0; text < this.#classes.length; text++) {
        if (this.#ends[c]?.[text] || (a !== b && this.#ends[b]?.[text])) continue;
        for (const nextA of next[a]?.[text] ?? []) {
          if (nextA !== p && !reach[nextA]?.has(p)) continue;
          for (const nextC of next[c]?.[text] ?? []) {
            if (safe[nextC] || (nextC !== q && !reach[nextC]?.has(q))) continue;
            for (const nextB of next[b]?.[text] ?? []) {
              if (nextB !== nextA && safe[nextB]) continue;
              if (nextB !== q && !reach[nextB]?.has(q)) continue;
              if (nextA === p && nextB === q && nextC === q) return true;
              const key = (nextA * size + nextB) * size + nextC;
              if (seen.has(key)) continue;
              seen.add(key);
              open.push([nextA, nextB, nextC]);
            }
          }
        }
      }
    }
    return false;
  }
}

function reachable(next: readonly number[][][], from: number): Set<number> {
  const seen = new Set<number>();
  const open = [from];
  for (let at = open.pop(); at !== undefined; at = open.pop()) {
    for (const to of next[at]?.flat() ?? []) {
      if (seen.has(to)) continue;
      seen.add(to);
      open.push(to);
    }
  }
  return seen;
}

function loops(node: Node): boolean {
  if (node.kind === "repeat") return node.loops || loops(node.of);
  return (node.kind === "seq" || node.kind === "alt") && node.parts.some(loops);
}

/** Whether every match begins at the start of the text. */
function anchored(node: Node): boolean {
  if (node.kind === "assert") return node.assert.kind === "start";
  if (node.kind === "alt") return node.parts.every(anchored);
  return node.kind === "seq" && node.parts[0] !== undefined && anchored(node.parts[0]);
}

/** Whether the time of the expression can grow faster than the text. */
export function backtracks(source: string, flags: string): boolean {
  const parser = new Parser(source);
  const node = parser.alternatives();
  const isAnchored = anchored(node) && !flags.includes("m");
  const searches = !isAnchored && !flags.includes("y");
  // A lookaround is tried at each position that the search or a loop reaches.
  if (parser.inner.some(loops) && (searches || loops(node))) return true;
  if (!loops(node)) return false;
  return new Automaton(node, parser.atoms, flags, searches).ambiguous();
}
