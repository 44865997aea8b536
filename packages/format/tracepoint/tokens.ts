/** A print format that cannot be parsed. */
export class TracepointSyntaxError extends Error {}

type TokenKind = "name" | "string" | "character" | "operator" | "end";

/** Tokenizer for print formats. */
export class Tokens {
  kind: TokenKind = "end";
  /** Text of the current token. Strings have no quotes; adjacent strings are one token. */
  text: string = "";
  readonly #source: string;
  #at = 0;
  readonly #pattern =
    /\s*(?:([A-Za-z0-9_]+)|("(?:[^"\\]|\\[^])*("?))|('(?:[^'\\]|\\[^])*('?))|(->|<<|>>|<=|>=|==|!=|&&|\|\||[^\s])|$)/y;

  /** Starts at the first token. */
  constructor(source: string) {
    this.#source = source;
    this.next();
  }

  next(): void {
    this.#read();
    if (this.kind !== "string") return;
    // "a" "b" is one string.
    let text = this.text;
    for (let at = this.#at;; at = this.#at) {
      this.#read();
      if (this.kind !== "string") {
        this.#at = at;
        break;
      }
      text += this.text;
    }
    this.kind = "string";
    this.text = text;
  }

  #read(): void {
    this.#pattern.lastIndex = this.#at;
    const match = this.#pattern.exec(this.#source);
    this.#at = match === null ? this.#source.length : this.#pattern.lastIndex;
    const [, name, string, stringEnd, character, characterEnd, operator] = match ?? [];
    // An unclosed quote spans the rest of the text; tokenizing behind it would scan the rest again.
    if (stringEnd === "" || characterEnd === "") {
      throw new TracepointSyntaxError("a quote without its end");
    }
    if (name !== undefined) this.#set("name", name);
    else if (string !== undefined) this.#set("string", string.slice(1, -1));
    else if (character !== undefined) this.#set("character", character.slice(1, -1));
    else if (operator !== undefined) this.#set("operator", operator);
    else this.#set("end", "");
  }

  #set(kind: TokenKind, text: string): void {
    this.kind = kind;
    this.text = text;
  }

  /** Whether the current token is this operator or bracket. */
  is(operator: string): boolean {
    return this.kind === "operator" && this.text === operator;
  }

  /** Skips an operator, if it is the current token; returns whether it was. */
  skip(operator: string): boolean {
    if (!this.is(operator)) return false;
    this.next();
    return true;
  }

  /** Returns the text of the current token and moves on; throws if it is not of this kind, or not this operator. */
  expect(kind: TokenKind | { readonly operator: string }): string {
    const fits = typeof kind === "string" ? this.kind === kind : this.is(kind.operator);
    if (!fits) throw new TracepointSyntaxError(`unexpected ${this.text}`);
    const { text } = this;
    this.next();
    return text;
  }

  /** Saves the position, for {@linkcode Tokens.back}. */
  mark(): readonly [number, TokenKind, string] {
    return [this.#at, this.kind, this.text];
  }

  back([at, kind, text]: readonly [number, TokenKind, string]): void {
    this.#at = at;
    this.#set(kind, text);
  }
}
