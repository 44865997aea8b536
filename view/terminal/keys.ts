/** Decodes keys from the bytes that a terminal sends. */

/** Names of keys by what follows `ESC [` or `ESC O`. */
const SEQUENCES: Readonly<Record<string, string>> = {
  A: "up",
  B: "down",
  C: "right",
  D: "left",
  F: "end",
  H: "home",
  M: "enter",
  Z: "shift-tab",
  "1~": "home",
  "2~": "insert",
  "3~": "delete",
  "4~": "end",
  "5~": "pageup",
  "6~": "pagedown",
  "7~": "home",
  "8~": "end",
};

const CONTROLS: Readonly<Record<string, string>> = {
  "\r": "enter",
  "\n": "enter",
  "\t": "tab",
  "\x7f": "backspace",
  "\b": "backspace",
};

/**
 * Makes keys of bytes, which may come in pieces: over a slow line a sequence does not come at once.
 * What has no name is left out.
 */
export class KeyReader {
  readonly #decoder = new TextDecoder();
  #held = "";

  /** Whether something began that may go on: Escape alone, or the start of a sequence. */
  get isWaiting(): boolean {
    return this.#held !== "";
  }

  /** Takes bytes; returns names of keys, or the character itself. */
  take(bytes: Uint8Array): string[] {
    this.#held += this.#decoder.decode(bytes, { stream: true });
    const keys: string[] = [];
    while (this.#held !== "") {
      const next = this.#next();
      if (next === undefined) break;
      const [key, length] = next;
      this.#held = this.#held.slice(length);
      if (key !== "") keys.push(key);
    }
    return keys;
  }

  /** Nothing followed in time: what was held is what it is. */
  flush(): string[] {
    const isEscape = this.#held.startsWith("\x1b");
    this.#held = "";
    return isEscape ? ["escape"] : [];
  }

  /** The next key and its length; `undefined` where more has to come. */
  #next(): readonly [string, number] | undefined {
    const text = this.#held;
    const first = text[0] as string;
    if (first !== "\x1b") {
      const character = String.fromCodePoint(text.codePointAt(0) as number);
      const named = CONTROLS[first];
      if (named !== undefined) return [named, 1];
      const code = first.charCodeAt(0);
      if (code < 0x20) return [`ctrl-${String.fromCharCode(code + 0x60)}`, 1];
      return [character, character.length];
    }
    if (text.length === 1) return undefined;
    if (text[1] === "\x1b") return ["escape", 1];
    if (text[1] !== "[" && text[1] !== "O") return ["escape", 1];
    // deno-lint-ignore no-control-regex
    const found = /^\x1b(?:\[[0-?]*[ -/]*([@-~])|O([ -~]))/.exec(text);
    if (found === null) {
      // A sequence of no terminal: given up where it is long.
      return text.length > 32 ? ["", text.length] : undefined;
    }
    const all = found[0];
    // With modifiers (`1;5A`) a key is the same key.
    const body = all.slice(2).replace(/^(\d+);\d+/, (_, number) => number === "1" ? "" : number);
    return [SEQUENCES[body] ?? "", all.length];
  }
}
