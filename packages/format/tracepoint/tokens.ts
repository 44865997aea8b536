/** A print format that cannot be parsed. */
export class TracepointSyntaxError extends Error {}

type TokenKind = "name" | "string" | "character" | "operator" | "end";

/** The text of a print format, token by token. */
export class Tokens {
  /** The present token: its kind. */
  kind: TokenKind = "end";
  /** Its text; of strings without the quotes, adjacent ones as one. */
  text: string = "";
  readonly #source: string;
  #at = 0;
  readonly #pattern =
    /\s*(?:([A-Za-z0-9_]+)|("(?:[^"\\]|\\[^])*("?))|('(?:[^'\\]|\\[^])*('?))|(->|<<|>>|<=|>=|==|!=|&&|\|\||[^\s])|$)/y;

  /** Begins with the first token. */
  constructor(source: string) {
    this.#source = source;
    this.next();
  }

  /** Goes to the next token. */
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
    // A quote that nothing closes takes the rest: looking for the next token behind it would read it again.
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

  /** Whether the present token is an operator or a bracket. */
  is(operator: string): boolean {
    return this.kind === "operator" && this.text === operator;
  }

  /** Goes over an operator, if it is there. */
  skip(operator: string): boolean {
    if (!this.is(operator)) return false;
    this.next();
    return true;
  }

  /** The text of the present token, which has to be of a kind, or an operator; goes to the next. */
  expect(kind: TokenKind | { readonly operator: string }): string {
    const fits = typeof kind === "string" ? this.kind === kind : this.is(kind.operator);
    if (!fits) throw new TracepointSyntaxError(`unexpected ${this.text}`);
    const { text } = this;
    this.next();
    return text;
  }

  /** Where the present token ends, to come back to with {@linkcode Tokens.back}. */
  mark(): readonly [number, TokenKind, string] {
    return [this.#at, this.kind, this.text];
  }

  /** Goes back to a mark. */
  back([at, kind, text]: readonly [number, TokenKind, string]): void {
    this.#at = at;
    this.#set(kind, text);
  }
}
