import { byteAt, joinBytes } from "@perfdata/format/bytes";

const encoder = new TextEncoder();

/** Number of bytes for the hash lookup of a search, and minimum length of a text. */
const HEAD = 4;

/**
 * Searches a stream of bytes for texts, including texts across the boundary of two pieces.
 *
 * Texts of fewer than four bytes are not searched, since they occur by chance. Longer ones may occur by chance
 * in the tokens of other texts; these occurrences are not counted.
 *
 * @example
 * ```ts
 * import { TextSearch } from "@perfdata/edit";
 * import { assertEquals } from "@std/assert";
 *
 * const search = new TextSearch(["nginx", "sh"]);
 * const bytes = new TextEncoder().encode("a worker of nginx");
 * search.take(bytes.subarray(0, 14));
 * search.take(bytes.subarray(14));
 * assertEquals([...search.found], [["nginx", 1]]);
 * ```
 */
export class TextSearch {
  /** Texts that are too short to search. */
  readonly tooShort: readonly string[];
  readonly #byHead = new Map<number, { readonly text: string; readonly bytes: Uint8Array }[]>();
  readonly #first = new Uint8Array(256);
  /** Number of occurrences of each text, and of each token that contains a text. */
  readonly #counts = new Map<string, number>();
  /** Texts in each token, once per occurrence. */
  readonly #textsIn = new Map<string, readonly string[]>();
  /** Number of occurrences of a text that are on purpose. */
  readonly #kept = new Map<string, number>();
  #longest = 0;
  #rest = new Uint8Array(0);

  /**
   * Creates a search.
   *
   * @param texts Texts to search.
   * @param tokens Tokens that replaced these texts: see `Pseudonyms`.
   * @param kept Texts that stay on purpose, once per occurrence. Occurrences in them are
   * not counted.
   */
  constructor(
    texts: Iterable<string>,
    tokens: Iterable<string> = [],
    kept: Iterable<string> = [],
  ) {
    const tooShort: string[] = [];
    const wanted = new Set<string>();
    for (const text of texts) {
      if (encoder.encode(text).length < HEAD) tooShort.push(text);
      else wanted.add(text);
    }
    this.tooShort = tooShort;
    for (const text of kept) {
      for (const part of wanted) {
        const times = text.split(part).length - 1;
        if (times > 0) this.#kept.set(part, (this.#kept.get(part) ?? 0) + times);
      }
    }
    for (const token of tokens) {
      const inside = partsOf(token).filter((part) => wanted.has(part));
      if (inside.length > 0) this.#textsIn.set(token, inside);
    }
    for (const text of new Set([...wanted, ...this.#textsIn.keys()])) this.#add(text);
  }

  /** Number of occurrences of each text found. */
  get found(): Map<string, number> {
    const found = new Map(this.#counts);
    for (const [token, texts] of this.#textsIn) {
      const count = this.#counts.get(token) ?? 0;
      for (const text of texts) found.set(text, (found.get(text) ?? 0) - count);
    }
    for (const [text, times] of this.#kept) found.set(text, (found.get(text) ?? 0) - times);
    return new Map([...found].filter(([text, count]) => count > 0 && !this.#textsIn.has(text)));
  }

  #add(text: string): void {
    const bytes = encoder.encode(text);
    const head = headOf(bytes, 0);
    const same = this.#byHead.get(head);
    if (same === undefined) this.#byHead.set(head, [{ text, bytes }]);
    else same.push({ text, bytes });
    this.#first[byteAt(bytes, 0)] = 1;
    this.#longest = Math.max(this.#longest, bytes.length);
  }

  /** Searches the next bytes. */
  take(bytes: Uint8Array): void {
    if (this.#longest === 0) return;
    const kept = this.#rest.length;
    const all = joinBytes([this.#rest, bytes]);
    const first = this.#first;
    for (let at = 0; at + HEAD <= all.length; at++) {
      if (first[byteAt(all, at)] === 0) continue;
      const candidates = this.#byHead.get(headOf(all, at));
      if (candidates === undefined) continue;
      for (const { text, bytes: wanted } of candidates) {
        const end = at + wanted.length;
        // An occurrence that ends in the kept bytes was already found.
        if (end <= kept || end > all.length || !startsWith(all, at, wanted)) continue;
        this.#counts.set(text, (this.#counts.get(text) ?? 0) + 1);
      }
    }
    this.#rest = all.slice(Math.max(0, all.length - this.#longest + 1));
  }
}

/** Returns all parts of a token that are long enough to be searched. */
function partsOf(token: string): string[] {
  const parts: string[] = [];
  for (let from = 0; from + HEAD <= token.length; from++) {
    for (let to = from + HEAD; to <= token.length; to++) parts.push(token.slice(from, to));
  }
  return parts;
}

function headOf(bytes: Uint8Array, at: number): number {
  return byteAt(bytes, at) | byteAt(bytes, at + 1) << 8 |
    byteAt(bytes, at + 2) << 16 | byteAt(bytes, at + 3) << 24;
}

function startsWith(bytes: Uint8Array, at: number, wanted: Uint8Array): boolean {
  for (let i = HEAD; i < wanted.length; i++) if (bytes[at + i] !== wanted[i]) return false;
  return true;
}
