/** A terminal for tests. It supports only the escape sequences that the browser writes. */
import type { ColorMode } from "@perfdata/profile";
import type { Terminal } from "./terminal.ts";

/** Emulates a screen, and types prepared input. */
export class FakeTerminal implements Terminal {
  readonly colors: ColorMode;
  /** All output. */
  written = "";
  /** Whether the alternate screen is shown. */
  isOther = false;
  #size: { columns: number; rows: number };
  #cells: string[][] = [];
  #at: [number, number] = [0, 0];
  #changed: (() => void) | undefined;
  readonly #typed: (Uint8Array | "resize")[] = [];
  /** Called before each read, to inspect the screen. */
  looked: ((screen: string[]) => void) | undefined;

  constructor(columns: number, rows: number, colors: ColorMode = "colors") {
    this.#size = { columns, rows };
    this.colors = colors;
    this.#clear();
  }

  /** Prepares input, one piece for each read. */
  type(...keys: readonly (string | Uint8Array)[]): void {
    const encoder = new TextEncoder();
    this.#typed.push(...keys.map((key) => typeof key === "string" ? encoder.encode(key) : key));
  }

  resize(columns: number, rows: number): void {
    this.#size = { columns, rows };
    this.#clear();
    this.#changed?.();
  }

  /** Returns the lines of the screen, without trailing blanks. */
  screen(): string[] {
    return this.#cells.map((row) => row.join("").trimEnd());
  }

  size(): { readonly columns: number; readonly rows: number } {
    return this.#size;
  }

  onResize(changed: () => void): () => void {
    this.#changed = changed;
    return () => this.#changed = undefined;
  }

  read(): Promise<Uint8Array | undefined> {
    this.looked?.(this.screen());
    return Promise.resolve(this.#typed.shift() as Uint8Array | undefined);
  }

  write(text: string): void {
    this.written += text;
    for (let rest = text; rest !== "";) {
      // deno-lint-ignore no-control-regex
      const found = /^\x1b\[(\??)([\d;]*)([A-Za-z])/.exec(rest);
      if (found === null) {
        const character = String.fromCodePoint(rest.codePointAt(0) as number);
        if (character < " " || character === "\x7f") {
          throw new Error(`control character ${JSON.stringify(character)} on the screen`);
        }
        this.#put(character);
        rest = rest.slice(character.length);
        continue;
      }
      this.#obey(`${found[1]}${found[3]}`, found[2] as string);
      rest = rest.slice(found[0].length);
    }
  }

  #clear(): void {
    const { columns, rows } = this.#size;
    this.#cells = Array.from({ length: rows }, () => Array(columns).fill(" "));
  }

  #put(character: string): void {
    const [row, column] = this.#at;
    const wide = /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\uff00-\uff60]/.test(
      character,
    );
    const end = column + (wide ? 2 : 1);
    if (end > this.#size.columns) throw new Error(`row ${row} is longer than the screen`);
    const line = this.#cells[row];
    if (line === undefined) throw new Error(`row ${row} is below the screen`);
    line[column] = character;
    if (wide) line[column + 1] = "";
    this.#at = [row, end];
  }

  #obey(command: string, values: string): void {
    switch (command) {
      case "H": {
        const [row = 1, column = 1] = values.split(";").map(Number);
        this.#at = [row - 1, column - 1];
        break;
      }
      case "K":
        if (values !== "2") throw new Error(`CSI ${values}K`);
        this.#cells[this.#at[0]]?.fill(" ");
        break;
      case "J":
        this.#clear();
        break;
      case "m":
        break;
      case "?h":
      case "?l":
        if (values === "1049") this.isOther = command === "?h";
        break;
      default:
        throw new Error(`CSI ${values}${command} is not known`);
    }
  }
}
