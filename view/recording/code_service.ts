import { annotate, type AnnotatedLine, codeCounts } from "@perfdata/export/annotate";
import {
  type CodeInsn as ReadInsn,
  type CodeOptions,
  type Disassembler,
  readCode,
} from "@perfdata/export/function-code";
import { pickSamples } from "@perfdata/profile/filter-profile";
import type { Profile } from "@perfdata/profile/profile";
import { selectedRows, type Selection } from "../data/selection.ts";
import type { ViewProfile } from "@perfdata/export/view-profile";
import { floatAt, intAt } from "@perfdata/format/elements";

/** Weights of a line or an instruction. */
export interface CodeCount {
  readonly samples: number;
  readonly period: number;
}

/** A line of source. */
export interface CodeLine {
  /** Its number, 0 if that is not known. */
  readonly line: number;
  readonly text: string;
  readonly self: CodeCount;
  /** With what was called from there, and what is inlined there. */
  readonly total: CodeCount;
  /** What is inlined there or was called from there. */
  readonly calls: readonly (CodeCount & { readonly name: string; readonly inlined: boolean })[];
}

/** Lines of one file. */
export interface CodeFile {
  /** Its path; empty if that is not known. */
  readonly file: string;
  /** Whether its text is here. */
  readonly hasText: boolean;
  readonly lines: readonly CodeLine[];
}

/** An instruction. */
export interface CodeInsn extends CodeCount {
  /** In hex. */
  readonly address: string;
  /** In hex, two digits each. */
  readonly bytes: string;
  /** Empty where there is no disassembler. */
  readonly text: string;
  /** Place in the source, `file:line`; empty if that is not known. */
  readonly place: string;
  /** What is inlined there, the innermost last. */
  readonly inlined: readonly string[];
}

/** The source and the instructions of a function. */
export interface CodeAnswer {
  readonly files: readonly CodeFile[];
  /** Pieces of code: a name may have several. */
  readonly pieces: readonly (readonly CodeInsn[])[];
  /** All that is selected. */
  readonly whole: CodeCount;
  /** What is not here, and why. */
  readonly notes: readonly string[];
}

/** What a service answers from. */
export interface CodeParts extends Omit<CodeOptions, "disassembler" | "engine"> {
  /** What was run. */
  readonly engine: CodeOptions["engine"] & {
    readonly reader: { readonly arch?: string | undefined };
  };
  /** The profile that the page shows, with addresses and lines. */
  readonly profile: Profile;
  /** As the page has it. */
  readonly view: ViewProfile;
  /** Decodes code of the machine that recorded; `undefined` if nothing does. */
  readonly disassembler: () => Promise<Disassembler | undefined>;
  /** Lines of a source file, if it is here. */
  readonly source: (path: string) => readonly string[] | undefined;
}

/** Lines that are shown around those that were sampled. */
const CONTEXT = 6;
/** Most lines of a file. */
const MOST_LINES = 20_000;
const NOTHING: CodeCount = { samples: 0, period: 0 };

/** Answers with the source and the instructions of functions. */
export class CodeService {
  readonly #parts: CodeParts;

  /** Reads nothing yet. */
  constructor(parts: CodeParts) {
    this.#parts = parts;
  }

  /** A function, by its number in the profile, with what is selected of it. */
  async code(fn: number, selection: Selection): Promise<CodeAnswer> {
    const { profile, view, source, disassembler, ...reading } = this.#parts;
    const { functions } = profile;
    const name = functions.name[fn] ?? "";
    const notes: string[] = [];
    if (name === "") {
      return { files: [], pieces: [], whole: NOTHING, notes: ["no symbol names this code"] };
    }
    const rows = selectedRows(view, selection);
    const selected = { ...profile, samples: pickSamples(profile.samples, rows) };
    const object = intAt(functions.object, fn);
    const isWanted = (other: string, number: number) =>
      other === name && functions.object[number] === object;
    const [annotation] = annotate(selected, selection.event, isWanted);
    const files = filesOf(annotation?.lines ?? [], source);
    if (files.every(({ lines }) => lines.every(({ line }) => line === 0))) {
      notes.push("no debug information says which lines these are");
    } else {
      for (const { file, hasText } of files) {
        if (!hasText && file !== "") notes.push(`source not found: ${file}`);
      }
    }
    const decode = await disassembler();
    const [counts] = codeCounts(selected, selection.event, isWanted);
    const pieces: (readonly CodeInsn[])[] = [];
    if (counts === undefined) notes.push("no instructions of its own: it was inlined everywhere");
    else if (decode === undefined) {
      notes.push(`instructions of ${reading.engine.reader.arch} are not decoded here`);
    } else {
      for (
        const { insns, missing } of await readCode(selected, counts, {
          ...reading,
          disassembler: decode,
        })
      ) {
        if (missing !== undefined) notes.push(`the code cannot be read: ${missing}`);
        else pieces.push(insns.map(shownInsn));
      }
      if (pieces.some((insns) => insns.every(({ text }) => text === ""))) {
        notes.push("instructions have no text here: perfdata view FILE shows it");
      }
    }
    const whole = { samples: 0, period: 0 };
    const { samples } = selected;
    for (let i = 0; i < samples.length; i++) {
      whole.samples += samples.count[i] as number;
      whole.period += floatAt(samples.period, i);
    }
    return { files, pieces, whole, notes };
  }
}

function shownInsn({ address, bytes, text, self, frames }: ReadInsn): CodeInsn {
  const { file, line = 0 } = frames.at(-1) ?? {};
  return {
    ...self,
    address: address.toString(16),
    bytes: Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join(" "),
    text,
    place: file === undefined || line === 0 ? "" : `${file}:${line}`,
    inlined: frames.slice(1).map(({ name }) => name),
  };
}

function filesOf(
  lines: readonly AnnotatedLine[],
  source: CodeParts["source"],
): readonly CodeFile[] {
  const byFile = new Map<string, AnnotatedLine[]>();
  for (const line of lines) {
    const file = line.file ?? "";
    const known = byFile.get(file);
    if (known === undefined) byFile.set(file, [line]);
    else known.push(line);
  }
  const weight = (of: readonly AnnotatedLine[]) =>
    of.reduce((sum, { total }) => sum + total.period, 0);
  return [...byFile].sort(([, a], [, b]) => weight(b) - weight(a)).map(([file, own]) => {
    const text = file === "" ? undefined : source(file);
    const byNumber = new Map(own.map((line) => [line.line, line]));
    const wanted = new Set<number>();
    for (const number of byNumber.keys()) {
      const reach = text === undefined || number === 0 ? 0 : CONTEXT;
      for (let line = number - reach; line <= number + reach; line++) {
        if (line === number || (line > 0 && line <= (text?.length ?? 0))) wanted.add(line);
      }
    }
    const shown = [...wanted].sort((a, b) => a - b).slice(0, MOST_LINES);
    return {
      file,
      hasText: text !== undefined,
      lines: shown.map((number): CodeLine => {
        const found = byNumber.get(number);
        return {
          line: number,
          text: text?.[number - 1] ?? "",
          self: found?.self ?? NOTHING,
          total: found?.total ?? NOTHING,
          calls: (found?.calls ?? []).map((call) => {
            const { inlined, samples, period } = call;
            return { name: call.name, inlined, samples, period };
          }),
        };
      }),
    };
  });
}
