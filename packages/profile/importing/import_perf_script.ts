import { type ByteSource, PerfDataError } from "@perfdata/format/bytes";
import { addressFromHalves } from "@perfdata/symbols/resolver";
import { CollectedRows } from "../collecting/collected_rows.ts";
import { type BuilderFrame, ProfileBuilder } from "../collecting/profile_builder.ts";
import { FUNCTION_KIND, type Profile } from "../columns/profile.ts";
import {
  ImportedEvents,
  ImportedTrust,
  type ImportOptions,
  isChosen,
  objectOf,
} from "./imported.ts";
import { eachLine } from "./each_line.ts";

/** The first line of a sample. */
interface ScriptHeader {
  readonly comm: string;
  readonly pid: number;
  readonly tid: number;
  readonly cpu: number;
  /** `undefined` if the text has no times. */
  readonly seconds: number | undefined;
  readonly nanoseconds: number;
  /** `undefined` if the text has no periods. */
  readonly period: number | undefined;
  /** `undefined` if the text has no events. */
  readonly event: string | undefined;
  /** Text behind the event: the code of a sample without callers, or the fields of a tracepoint. */
  readonly rest: string;
}

/** A line of a call chain. */
interface ScriptFrame {
  readonly address: number;
  /** The function; `""` if perf found none. */
  readonly name: string;
  /** The object; `""` if perf prints none or knows none. */
  readonly path: string;
  readonly isInlined: boolean;
}

/** The time of a header is within this many characters. */
const HEADER_LETTERS = 512;
const TIME = /^(\d{1,12})\.(\d{3,9})$/;
const THREAD = /^(-?\d{1,10})(?:\/(-?\d{1,10}))?$/;
const CPU = /^\[(\d{1,9})\]$/;

/** Parses the first line of a sample; `undefined` if the line is not one. */
export function scriptHeader(line: string): ScriptHeader | undefined {
  const end = Math.min(line.length, HEADER_LETTERS);
  let colon = line.indexOf(":");
  for (; colon >= 0 && colon < end; colon = line.indexOf(":", colon + 1)) {
    if (colon + 1 < line.length && line[colon + 1] !== " ") continue;
    const start = line.lastIndexOf(" ", colon) + 1;
    const time = TIME.exec(line.slice(start, colon));
    if (time === null) continue;
    const thread = threadOf(line.slice(0, start));
    if (thread === undefined) continue;
    const [, seconds = "", fraction = ""] = time;
    return {
      ...thread,
      seconds: Number(seconds),
      nanoseconds: Number(fraction.padEnd(9, "0")),
      ...eventOf(line.slice(colon + 1)),
    };
  }
  return undefined;
}

/** Parses the first line of a sample in a text without times: an event follows the thread, the CPU or the period. */
export function untimedHeader(line: string): ScriptHeader | undefined {
  const letters = line.slice(0, HEADER_LETTERS);
  const colon = letters.endsWith(":") && !letters.includes(": ")
    ? letters.length - 1
    : letters.indexOf(": ");
  if (colon < 0) return undefined;
  const before = letters.slice(0, letters.lastIndexOf(" ", colon) + 1).trimEnd();
  const number = before.lastIndexOf(" ") + 1;
  // Of two numbers, the second is the period.
  const isPeriod = /^\d+$/.test(before.slice(number));
  const ofPeriod = isPeriod ? threadOf(before.slice(0, number)) : undefined;
  const thread = ofPeriod ?? threadOf(before);
  if (thread === undefined) return undefined;
  const event = eventOf(line.slice(ofPeriod === undefined ? before.length : number - 1));
  return { ...thread, seconds: undefined, nanoseconds: 0, ...event };
}

/** The command, its thread and its CPU, from the text before the time. */
function threadOf(
  text: string,
): Pick<ScriptHeader, "comm" | "pid" | "tid" | "cpu"> | undefined {
  let cpu = -1;
  for (let end = text.trimEnd().length; end > 0;) {
    const start = text.lastIndexOf(" ", end - 1) + 1;
    const word = text.slice(start, end);
    const comm = text.slice(0, start).trim();
    const numbers = THREAD.exec(word);
    if (numbers !== null && comm !== "") {
      const [, first = "", second] = numbers;
      return {
        comm,
        pid: second === undefined ? -1 : Number(first),
        tid: Number(second ?? first),
        cpu,
      };
    }
    const [, number] = CPU.exec(word) ?? [];
    if (number !== undefined) cpu = Number(number);
    end = text.slice(0, start).trimEnd().length;
  }
  return undefined;
}

/** The period, the event and the rest, from the text behind the time. */
function eventOf(text: string): Pick<ScriptHeader, "period" | "event" | "rest"> {
  const found = /^ +(\d{1,20}) +(?=\S)/.exec(text);
  // A number without an event after it is the address of the sample.
  const isPeriod = found !== null && /^\S+?:(?: |$)/.test(text.slice(found[0].length));
  const after = isPeriod ? text.slice(found[0].length) : text.trimStart();
  const period = isPeriod ? Number(found[1]) : undefined;
  const colon = after.endsWith(":") && !after.includes(": ")
    ? after.length - 1
    : after.indexOf(": ");
  const name = after.slice(0, Math.max(0, colon));
  return colon < 0 || frameOf(after) !== undefined && name.includes(" ")
    ? { period, event: undefined, rest: text }
    : { period, event: name, rest: after.slice(colon + 1) };
}

/** Parses a line of a call chain: address, function, object. */
export function scriptFrame(line: string): ScriptFrame | undefined {
  return frameOf(line.trim());
}

function frameOf(text: string): ScriptFrame | undefined {
  const digits = /^[0-9a-f]{1,16}(?= |$)/.exec(text)?.[0];
  if (digits === undefined) return undefined;
  let name = text.slice(digits.length).trim();
  let path = "";
  const open = name.endsWith(")") ? openingBracket(name) : -1;
  if (open >= 0) {
    path = name.slice(open + 1, -1);
    name = name.slice(0, open).trimEnd();
  }
  const isInlined = path === "inlined";
  return {
    address: addressOf(digits),
    name: name === "[unknown]" ? "" : withoutOffset(name),
    path: isInlined || path === "[unknown]" ? "" : withoutOffset(path),
    isInlined,
  };
}

/**
 * Index of the bracket that the last character closes, if it is at the start or after a space; -1
 * otherwise.
 */
function openingBracket(text: string): number {
  let depth = 0;
  for (let i = text.length - 1; i >= 0; i--) {
    if (text[i] === ")") depth++;
    else if (text[i] === "(" && --depth === 0) return i === 0 || text[i - 1] === " " ? i : -1;
  }
  return -1;
}

/** The name without `+0x…` at its end. */
function withoutOffset(text: string): string {
  const at = text.lastIndexOf("+0x");
  return at > 0 && /^[0-9a-f]+$/.test(text.slice(at + 3)) ? text.slice(0, at) : text;
}

function addressOf(digits: string): number {
  return addressFromHalves(
    digits.length > 8 ? parseInt(digits.slice(0, -8), 16) : 0,
    parseInt(digits.slice(-8), 16),
  );
}

/**
 * The code of a sample on its first line, where perf prints it in a column of 16 digits;
 * `undefined` if there is none.
 */
function inlineFrame(rest: string): ScriptFrame | undefined {
  const [column = ""] = /^ +[0-9a-f]{1,16}(?= )/.exec(rest) ?? [];
  return column.length > 16 ? scriptFrame(rest) : undefined;
}

/** Builds the profile of the samples of a text. */
class ScriptReader {
  readonly #options: ImportOptions;
  readonly #events = new ImportedEvents();
  readonly #builder: ProfileBuilder;
  readonly #rows: CollectedRows;
  readonly #trust = new ImportedTrust();
  /** Places by the lines of their frames. */
  readonly #places = new Map<string, number>();
  readonly #isNamed: boolean[] = [];
  #header: ScriptHeader | undefined;
  /** Lines of the chain, innermost first, each with the source line that followed it. */
  #frames: string[] = [];
  #samples = 0;
  #otherLines = 0;
  #firstOther = 0;
  #hasProcesses = false;
  #hasPeriods = false;
  #hasTimes = false;
  #lines = 0;

  constructor(options: ImportOptions) {
    this.#options = options;
    this.#builder = new ProfileBuilder({ events: this.#events.list, title: options.title });
    this.#rows = new CollectedRows(this.#builder, options.timed === true);
  }

  line(line: string, number: number): void {
    this.#lines = number;
    if (line === "" || line.startsWith("#")) {
      this.#end();
      return;
    }
    if (!line.startsWith("\t")) {
      const header = scriptHeader(line) ?? (this.#hasTimes ? undefined : untimedHeader(line));
      if (header !== undefined) {
        this.#end();
        this.#hasTimes ||= header.seconds !== undefined;
        this.#header = header;
        return;
      }
    }
    if (this.#header !== undefined) {
      if (scriptFrame(line) !== undefined) {
        this.#frames.push(line);
        return;
      }
      if (/^\s/.test(line) && this.#frames.length > 0) {
        // The source line of the previous frame.
        this.#frames[this.#frames.length - 1] += `\n${line}`;
        return;
      }
    }
    if (this.#otherLines++ === 0) this.#firstOther = number;
  }

  #end(): void {
    const header = this.#header;
    const frames = this.#frames;
    this.#header = undefined;
    this.#frames = [];
    // Other records, which perf prints on request.
    if (header === undefined || header.event?.startsWith("PERF_RECORD_") === true) return;
    if (/^ *PERF_RECORD_/.test(header.rest)) return;
    this.#samples++;
    const { comm, pid, tid, cpu, period, rest } = header;
    if (!isChosen(this.#options, pid, tid, cpu)) return;
    if (pid >= 0) this.#hasProcesses = true;
    if (period !== undefined) this.#hasPeriods = true;
    if (frames.length === 0 && inlineFrame(rest) !== undefined) frames.push(rest);
    const [stack, place] = this.#stack(frames);
    this.#trust.add(1, this.#isNamed[place] === true, frames.length > 1);
    this.#rows.add({
      ...{ stack, cpu, period: period ?? 1, seconds: header.seconds },
      nanoseconds: header.nanoseconds,
      event: this.#events.number(header.event ?? "samples"),
      thread: this.#builder.thread(pid, tid, comm),
    });
  }

  /** The stack of a chain, and its innermost place; -1 for an empty chain. */
  #stack(frames: readonly string[]): [stack: number, place: number] {
    let [stack, place] = [-1, -1];
    for (let end = frames.length; end > 0;) {
      // Inlined functions are before the function that they were inlined into.
      let start = end - 1;
      while (start > 0 && frames[start - 1]?.includes("(inlined)") === true) start--;
      const lines = end - start === 1 ? frames[start] ?? "" : frames.slice(start, end).join("\n\n");
      place = this.#places.get(lines) ?? this.#place(lines, frames.slice(start, end));
      stack = this.#builder.stack(stack, place);
      end = start;
    }
    return [stack, place];
  }

  #place(key: string, lines: readonly string[]): number {
    const parsed = lines.map((line) => {
      const [code = "", source] = line.split("\n");
      return { ...scriptFrame(code) as ScriptFrame, ...sourceLine(source) };
    });
    const { path = "", address = 0 } = parsed.at(-1) ?? {};
    const { object, kind } = path === ""
      ? { object: undefined, kind: address < 0 ? FUNCTION_KIND.KERNEL : FUNCTION_KIND.USER }
      : objectOf(path);
    const place = this.#builder.place(
      object === undefined ? -1 : this.#builder.object(object),
      address,
      parsed.map(({ name, file, line, isInlined }): BuilderFrame => ({
        ...{ name, file, line },
        kind: kind | (isInlined ? FUNCTION_KIND.INLINED : 0),
      })),
    );
    this.#places.set(key, place);
    this.#isNamed[place] = parsed[0]?.name !== "";
    return place;
  }

  finish(): Profile {
    this.#end();
    if (this.#samples === 0) {
      throw new PerfDataError(`text of perf script: no sample in ${this.#lines} lines`);
    }
    const epoch = this.#rows.finish();
    const others = this.#otherLines;
    const trust = this.#trust.text("text of perf script, without build ids", [
      ...this.#hasProcesses ? [] : ["without processes (perf script -F +pid)"],
      ...this.#hasTimes ? [] : ["without times (-F +time)"],
      ...this.#hasPeriods ? [] : ["without periods (-F +period): each sample counts 1"],
      ...others === 0
        ? []
        : [`${others} of ${this.#lines} lines are not understood, line ${this.#firstOther} first`],
    ]);
    return { ...this.#builder.profile(), epoch, trust };
  }
}

function sourceLine(text: string | undefined): { file?: string; line?: number } {
  const line = text?.trim() ?? "";
  const colon = line.lastIndexOf(":");
  const number = Number(line.slice(colon + 1));
  return colon > 0 && number > 0 && number < 2 ** 31
    ? { file: line.slice(0, colon), line: Math.floor(number) }
    : {};
}

/**
 * Imports the text of `perf script` or `perfdata script`.
 *
 * @throws {PerfDataError} If the text has no samples.
 */
export async function importPerfScript(
  source: ByteSource,
  options: ImportOptions,
): Promise<Profile> {
  const reader = new ScriptReader(options);
  await eachLine(source, (line, number) => reader.line(line, number), options.progress);
  return reader.finish();
}
