import { intAt } from "@perfdata/format/bytes";
import type { SymbolInfo } from "@perfdata/symbols";
import { IntColumn } from "./columns.ts";
import { NodeTable } from "./node_table.ts";
import type { Profile } from "./profile.ts";

/** Functions and frames: equal ones get equal numbers. */
export class FrameTable {
  /** Symbol of each function that was added with one. */
  readonly symbols: (SymbolInfo | undefined)[] = [];
  readonly #files: string[] = [];
  readonly #fileNumbers = new Map<string, number>();
  readonly #names: string[] = [];
  readonly #functionObject = new IntColumn();
  readonly #functionKind = new IntColumn();
  /** Functions by name, of each object and kind. */
  readonly #functions = new Map<number, Map<string, number>>();
  readonly #frameFunction = new IntColumn();
  readonly #frameFile = new IntColumn();
  readonly #frameLine = new IntColumn();
  /**
   * Frames with a line, by function and file in `#inFile`, and by that and the line in `#atLine`.
   */
  readonly #inFile = new NodeTable();
  readonly #atLine = new NodeTable();
  readonly #lineFrames = new IntColumn();
  #lastSymbol = -1;
  #lastObject = -1;
  /** Frame without a line by function; -1 before it is made. */
  readonly #bareFrames = new IntColumn();

  /**
   * Returns the index of a frame; adds it if it is new.
   *
   * @param kind `FUNCTION_KIND` bits
   * @param name the function; `""` if the code has no name
   * @param line 0 if unknown
   */
  frame(object: number, kind: number, name: string, file?: string, line = 0): number {
    return this.at(this.named(object, kind, name), file, line);
  }

  /** Returns the index of the frame of a function at a line of a file; line 0 is an unknown line. */
  at(number: number, file: string | undefined, line: number): number {
    if (file === undefined && line === 0) {
      const bare = this.#bareFrames.array();
      if (bare[number] === -1) bare[number] = this.#addFrame(number, -1, 0);
      return intAt(bare, number);
    }
    let inFile = -1;
    if (file !== undefined) {
      inFile = this.#fileNumbers.get(file) ?? -1;
      if (inFile < 0) this.#fileNumbers.set(file, inFile = this.#files.push(file) - 1);
    }
    const at = this.#atLine.node(this.#inFile.node(number, inFile), line);
    if (at === this.#lineFrames.length) {
      this.#lineFrames.push(this.#addFrame(number, inFile, line));
    }
    return intAt(this.#lineFrames.array(), at);
  }

  /** Returns the index of the function with a name and kind in an object; adds it if it is new. */
  named(object: number, kind: number, name: string): number {
    const of = object * 16 + kind;
    let names = this.#functions.get(of);
    if (names === undefined) this.#functions.set(of, names = new Map());
    let number = names.get(name);
    if (number === undefined) names.set(name, number = this.#add(object, kind, name));
    return number;
  }

  /**
   * Returns the index of a symbol's function. A symbol is only compared with the symbol before, so
   * a caller has to pass the symbols of an object in order of address.
   */
  symbol(object: number, kind: number, symbol: SymbolInfo): number {
    const number = this.#lastSymbol;
    const last = this.symbols[number];
    if (
      last !== undefined && this.#lastObject === object && last.start === symbol.start &&
      last.end === symbol.end && last.name === symbol.name
    ) return number;
    const added = this.#lastSymbol = this.#add(object, kind, symbol.name);
    this.#lastObject = object;
    this.symbols[added] = symbol;
    return added;
  }

  #add(object: number, kind: number, name: string): number {
    this.#functionObject.push(object);
    this.#functionKind.push(kind);
    this.#bareFrames.push(-1);
    return this.#names.push(name) - 1;
  }

  #addFrame(number: number, file: number, line: number): number {
    this.#frameFunction.push(number);
    this.#frameFile.push(file);
    this.#frameLine.push(line);
    return this.#frameFunction.length - 1;
  }

  /** The function of a frame. */
  functionOf(frame: number): number {
    return this.#frameFunction.at(frame);
  }

  /** The name of a function; `""` if it has none. */
  name(number: number): string {
    return this.#names[number] ?? "";
  }

  /** Source file of a frame, if it is known. */
  file(frame: number): string | undefined {
    return this.#files[this.#frameFile.at(frame)];
  }

  /** Line of a frame; 0 if unknown. */
  line(frame: number): number {
    return this.#frameLine.at(frame);
  }

  /** The columns of a profile that come from this table. */
  columns(): Pick<Profile, "files" | "functions" | "frames"> {
    return {
      files: this.#files,
      functions: {
        name: this.#names,
        object: this.#functionObject.array(),
        kind: Uint8Array.from(this.#functionKind.array()),
      },
      frames: {
        function: this.#frameFunction.array(),
        file: this.#frameFile.array(),
        line: this.#frameLine.array(),
      },
    };
  }
}
