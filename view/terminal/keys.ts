/** Decodes keys from the bytes that a terminal sends. */

/** Names of keys by the characters after `ESC [` or `ESC O`. */
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

/** Decodes keys from bytes, which may arrive in pieces over a slow line. Unknown sequences are dropped. */
export class KeyReader {
  readonly #decoder = new TextDecoder();
  #held = "";

  /** Whether an incomplete sequence waits: Escape alone, or the start of a sequence. */
  get isWaiting(): boolean {
    return this.#held !== "";
  }

  /** Adds bytes; returns names of keys, or characters. */
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

  /** Decodes the incomplete sequence as it is, after a timeout. */
  flush(): string[] {
    const isEscape = this.#held.startsWith("\x1b");
    this.#held = "";
    return isEscape ? ["escape"] : [];
  }

  /** Returns the next key and its length; `undefined` if it is incomplete. */
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
      // Not a known sequence: dropped if it is long.
      return text.length > 32 ? ["", text.length] : undefined;
    }
    const all = found[0];
    // A key with modifiers (`1;5A`) is treated as the key itself.
    const body = all.slice(2).replace(/^(\d+);\d+/, (_, number) => number === "1" ? "" : number);
    return [SEQUENCES[body] ?? "", all.length];
  }
}
