import { type Expression, parseArguments } from "./expression.ts";
import { Tokens, TracepointSyntaxError } from "./tokens.ts";

/** Maximum length of a description; the kernel's have a few KB. */
const MAX_DESCRIPTION = 1 << 20;

/** A field of a tracepoint's raw data. */
export interface TracepointField {
  /** Name of the field. */
  readonly name: string;
  /** Declared type, including brackets. */
  readonly type: string;
  /** Offset in the raw data. */
  readonly offset: number;
  /** Size in bytes. */
  readonly size: number;
  /** Whether the field is a signed number. */
  readonly signed: boolean;
  /** Whether the field is an array. */
  readonly array: boolean;
  /** Whether the field is an array of characters or bytes. */
  readonly string: boolean;
  /** Whether the field is a pointer. */
  readonly pointer: boolean;
  /** Whether the type is a `long`, which mostly contains a pointer. */
  readonly long: boolean;
  /**
   * Whether the field refers to data elsewhere: its low 16 bits are the data's offset, its high 16 bits the length.
   * `data` (`__data_loc`): from the start of the raw data. `relative` (`__rel_loc`): from the end of this field.
   */
  readonly dynamic: "no" | "data" | "relative";
  /** Size of an element in bytes; 0 if it is unknown. */
  readonly elementSize: number;
}

/** Print format of a tracepoint. */
export interface PrintFormat {
  /** The format string of `printf`, with its escapes. */
  readonly format: string;
  /** The arguments. */
  readonly args: readonly Expression[];
}

/** Contents of a file `events/SYSTEM/NAME/format` of the kernel. */
export interface TracepointFormat {
  /** Name of the event. */
  readonly name: string;
  /** Id of the event: `config` of its attr, and `common_type` of its raw data. */
  readonly id: number;
  /** Fields that all events share. */
  readonly common: readonly TracepointField[];
  /** The event's own fields. */
  readonly fields: readonly TracepointField[];
  /** Print format; `undefined` if it cannot be parsed. */
  readonly print: PrintFormat | undefined;
}

/**
 * Parses the name and the number in a tracepoint's description.
 *
 * @example
 * ```ts
 * import { tracepointHead } from "@perfdata/format/tracepoint";
 * import { assertEquals } from "@std/assert";
 *
 * assertEquals(tracepointHead("name: sched_switch\nID: 316\nformat:\n"), {
 *   name: "sched_switch",
 *   id: 316,
 * });
 * ```
 */
export function tracepointHead(
  description: string,
): { readonly name: string; readonly id: number } | undefined {
  const name = /^name: (.*)$/m.exec(description)?.[1];
  const id = /^ID: (\d+)$/m.exec(description)?.[1];
  return name === undefined || id === undefined ? undefined : { name, id: Number(id) };
}

/**
 * Parses the description of a tracepoint: a file `format` of the kernel's tracefs
 * (Documentation/trace/events.rst), as contained in TRACING_DATA.
 *
 * @param longSize Size of the kernel's `long` in bytes.
 * @returns `undefined` if the name or the number is missing.
 *
 * @example
 * ```ts
 * import { parseTracepoint } from "@perfdata/format/tracepoint";
 * import { assertEquals } from "@std/assert";
 *
 * const event = parseTracepoint(
 *   "name: e\nID: 7\nformat:\n\tfield:int x;\toffset:8;\tsize:4;\tsigned:1;\n\n" +
 *     'print fmt: "x=%d", REC->x\n',
 *   8,
 * );
 * assertEquals(event?.common[0]?.name, "x");
 * assertEquals(event?.print?.args, [{ kind: "field", name: "x" }]);
 * ```
 */
export function parseTracepoint(
  description: string,
  longSize: number,
): TracepointFormat | undefined {
  const head = tracepointHead(description);
  if (head === undefined || description.length > MAX_DESCRIPTION) return undefined;
  const lists: TracepointField[][] = [[]];
  const at = /^print fmt:/m.exec(description)?.index ?? description.length;
  for (const line of description.slice(0, at).split("\n")) {
    if (line.startsWith("\tfield:")) {
      const field = parseField(line, longSize);
      if (field !== undefined) lists.at(-1)?.push(field);
    } else if ((lists.at(-1)?.length ?? 0) > 0) lists.push([]);
  }
  const [common = [], fields = []] = lists;
  return { ...head, common, fields, print: parsePrint(description.slice(at)) };
}

/** Element sizes of dynamic arrays, as in libtraceevent. */
const ELEMENT_SIZES: Readonly<Record<string, number>> = {
  u8: 1,
  u16: 2,
  u32: 4,
  u64: 8,
  s8: 1,
  s16: 2,
  s32: 4,
  s64: 8,
  char: 1,
};

/** Parses `\tfield:char comm[16];\toffset:8;\tsize:16;\tsigned:0;`. */
function parseField(line: string, longSize: number): TracepointField | undefined {
  const parts = /^\tfield:(.*?);\s*offset:(\d+);\s*size:(\d+);(?:\s*signed:(\d+);)?/.exec(line);
  const declared = parts?.[1]?.trimEnd() ?? "";
  const bracketsAt = trailingBrackets(declared);
  const brackets = declared.slice(bracketsAt);
  const head = declared.slice(0, bracketsAt).trimEnd();
  const name = lastWord(head);
  if (parts === null || name === "") return undefined;
  const before = head.slice(0, -name.length);
  const type = `${before.trim()}${brackets}`;
  const size = Number(parts[3]);
  const array = type.includes("[");
  const string = array && /char|u8|s8/.test(type);
  const long = type.includes("long");
  const dynamic = type.startsWith("__data_loc")
    ? "data"
    : type.startsWith("__rel_loc")
    ? "relative"
    : "no";
  const length = elementCount(type);
  const element = lastWord(before.slice(0, Math.max(0, before.indexOf("["))).trimEnd());
  const elementSize = !array
    ? size
    : length > 0
    ? Math.floor(size / length)
    : dynamic !== "no"
    ? ELEMENT_SIZES[element] ?? 0
    : string
    ? 1
    : long
    ? longSize
    : 0;
  return {
    name,
    type,
    offset: Number(parts[2]),
    size,
    signed: Number(parts[4] ?? 0) !== 0,
    array,
    string,
    pointer: type.includes("*"),
    long,
    dynamic,
    elementSize,
  };
}

/** Returns the position of the brackets at the end of a declaration: `[16]`, `[2][4]`. */
function trailingBrackets(declaration: string): number {
  let start = declaration.length;
  while (declaration[start - 1] === "]") {
    const closed = declaration.lastIndexOf("]", start - 2);
    const open = declaration.indexOf("[", closed + 1);
    if (open < 0 || open >= start) break;
    start = open;
    if (open !== closed + 1) break;
  }
  return start;
}

function lastWord(text: string): string {
  return /(?<!\w)\w+$/.exec(text)?.[0] ?? "";
}

/** Returns the number in the first brackets of a type that contain one; 0 without such brackets. */
function elementCount(type: string): number {
  for (const [, inside = ""] of type.matchAll(/\[([^[\]]*)\]/g)) {
    const digits = /(?<!\d)\d+$/.exec(inside.trimEnd())?.[0];
    if (digits !== undefined) return Number(digits);
  }
  return 0;
}

function parsePrint(text: string): PrintFormat | undefined {
  try {
    const tokens = new Tokens(text.replace(/^print fmt:/, ""));
    const format = tokens.expect("string");
    return { format, args: parseArguments(tokens) };
  } catch (error) {
    if (!(error instanceof TracepointSyntaxError)) throw error;
    return undefined;
  }
}
