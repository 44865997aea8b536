import { intAt } from "@perfdata/format/bytes";
import { IntColumn } from "./columns.ts";
import { NodeTable } from "./node_table.ts";
import type { Profile } from "./profile.ts";

/** Functions and frames of a profile: equal ones get equal numbers. */
export class FrameTable {
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
  /** Frame of each line in {@linkcode FrameTable.#atLine}. */
  readonly #lineFrames = new IntColumn();
  /** Frame without a line by function; -1 before it is made. */
  readonly #bareFrames = new IntColumn();

  /**
   * The number of a frame.
   *
   * @param kind `FUNCTION_KIND` bits
   * @param name the function; `""` if the code has no name
   * @param line 0 if unknown
   */
  frame(object: number, kind: number, name: string, file?: string, line = 0): number {
    const number = this.#function(object, kind, name);
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

  #function(object: number, kind: number, name: string): number {
    const of = object * 16 + kind;
    let names = this.#functions.get(of);
    if (names === undefined) this.#functions.set(of, names = new Map());
    let number = names.get(name);
    if (number === undefined) {
      names.set(name, number = this.#names.push(name) - 1);
      this.#functionObject.push(object);
      this.#functionKind.push(kind);
      this.#bareFrames.push(-1);
    }
    return number;
  }

  #addFrame(number: number, file: number, line: number): number {
    this.#frameFunction.push(number);
    this.#frameFile.push(file);
    this.#frameLine.push(line);
    return this.#frameFunction.length - 1;
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
