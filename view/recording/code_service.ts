import {
  annotate,
  type AnnotatedLine,
  type CodeCounts,
  codeCounts,
  type CodeInsn as ReadInsn,
  type CodeOptions,
  type Disassembler,
  type ReadCode,
  readCode,
} from "@perfdata/export/code";
import type { InsnMode } from "@perfdata/intel-pt";
import { pickSamples, type Profile } from "@perfdata/profile";
import { selectedRows, type Selection } from "../data/selection.ts";
import type { ViewProfile } from "@perfdata/export/tree";
import { floatAt, intAt } from "@perfdata/format/bytes";

/** Weights of a line or an instruction. */
export interface CodeCount {
  readonly samples: number;
  readonly period: number;
}

/** A line of source with its weights. */
export interface CodeLine {
  /** Line number; 0 if unknown. */
  readonly line: number;
  readonly self: CodeCount;
  /** Weight including callees and inlined functions. */
  readonly total: CodeCount;
  /** Functions inlined in the line or called from it. */
  readonly calls: readonly (CodeCount & { readonly name: string; readonly inlined: boolean })[];
}

/** Lines of a source file. */
export interface CodeFile {
  /** Path of the file; empty if unknown. */
  readonly file: string;
  readonly hasText: boolean;
  /** The sampled lines, in order. */
  readonly lines: readonly CodeLine[];
}

/** An instruction. */
export interface CodeInsn extends CodeCount {
  readonly address: string;
  /** Bytes in hex, two digits each. */
  readonly bytes: string;
  /** Text of the instruction; empty without a disassembler. */
  readonly text: string;
  /** Position in the source, `file:line`; empty if unknown. */
  readonly place: string;
  /** Functions inlined at the instruction, innermost last. */
  readonly inlined: readonly string[];
  /** Index of the instruction of the piece to which it may jump. */
  readonly jump?: number | undefined;
}

/** The size of addresses of x86 code in bits, or AArch64. */
export type CodeMode = InsnMode | "aarch64";

/** The source and the instructions of a function. */
export interface CodeAnswer {
  readonly files: readonly CodeFile[];
  /** Pieces of code: a name may have several. */
  readonly pieces: readonly (readonly CodeInsn[])[];
  /** Weight of the function, without its callees. */
  readonly self: CodeCount;
  /** Weight of the function and its callees. */
  readonly total: CodeCount;
  /** Weight of the whole selection. */
  readonly whole: CodeCount;
  /** Mode of instructions that have no text, so that the page can format them. */
  readonly mode?: CodeMode | undefined;
  /** Missing parts, with reasons. */
  readonly notes: readonly string[];
}

/** Consecutive lines of a source file. */
export interface SourcePart {
  /** Number of the first line. */
  readonly first: number;
  /** The lines, with a line feed between them. */
  readonly text: string;
}

/** Code of functions and text of source files. */
export interface CodeSource {
  /** Returns the pieces of a function's code with their samples, or the reason why there are none. */
  pieces(profile: Profile, counts: CodeCounts): Promise<readonly ReadCode[] | string>;
  /** Returns the known parts of a source file in order; `undefined` without any. */
  source(path: string): readonly SourcePart[] | undefined;
  /** Mode of instructions that have no text. */
  readonly mode?: CodeMode | undefined;
}

/** Input of {@linkcode recordedCode}. */
export interface RecordedCode extends Omit<CodeOptions, "disassembler" | "engine"> {
  /** Engine of the finished run. */
  readonly engine: CodeOptions["engine"] & {
    readonly reader: { readonly arch?: string | undefined };
  };
  /** Creates the disassembler for the recorded machine; `undefined` if the machine has no disassembler. */
  readonly disassembler: () => Promise<Disassembler | undefined>;
  /** Returns the lines of a source file, if it is available. */
  readonly source: (path: string) => readonly string[] | undefined;
  /** Mode of instructions, if the disassembler gives them no text. */
  readonly mode?: CodeMode | undefined;
}

/** Returns the code of a recording's functions, from programs and source files. */
export function recordedCode(
  { disassembler, source, mode, ...reading }: RecordedCode,
): CodeSource {
  return {
    mode,
    async pieces(profile, counts) {
      const decode = await disassembler();
      return decode === undefined
        ? `instructions of ${reading.engine.reader.arch} are not decoded here`
        : await readCode(profile, counts, { ...reading, disassembler: decode });
    },
    source(path) {
      const lines = source(path);
      return lines && [{ first: 1, text: lines.join("\n") }];
    },
  };
}

const NOTHING: CodeCount = { samples: 0, period: 0 };

/** Returns the source and the instructions of functions. */
export class CodeService {
  /** The shown profile, with addresses and lines. */
  readonly profile: Profile;
  readonly source: CodeSource;
  readonly #view: ViewProfile;

  /**
   * Creates the service; reads nothing.
   *
   * @param view The profile in the page's form.
   */
  constructor(profile: Profile, view: ViewProfile, source: CodeSource) {
    this.profile = profile;
    this.source = source;
    this.#view = view;
  }

  /** Returns the code of a function, by its index in the profile, with the weights of the selection. */
  async code(fn: number, selection: Selection): Promise<CodeAnswer> {
    const { profile, source } = this;
    const { functions } = profile;
    const name = functions.name[fn] ?? "";
    const notes: string[] = [];
    if (name === "") {
      const none = { self: NOTHING, total: NOTHING, whole: NOTHING };
      return { files: [], pieces: [], ...none, notes: ["no symbol names this code"] };
    }
    const rows = selectedRows(this.#view, selection);
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
    const [counts] = codeCounts(selected, selection.event, isWanted);
    const pieces: (readonly CodeInsn[])[] = [];
    if (counts === undefined) notes.push("no instructions of its own: it was inlined everywhere");
    else {
      const found = await source.pieces(selected, counts);
      if (typeof found === "string") notes.push(found);
      else {
        for (const { insns, missing } of found) {
          if (missing !== undefined) notes.push(`the code cannot be read: ${missing}`);
          else pieces.push(insns.map(shownInsn));
        }
      }
    }
    const whole = { samples: 0, period: 0 };
    const { samples } = selected;
    for (let i = 0; i < samples.length; i++) {
      whole.samples += samples.count[i] as number;
      whole.period += floatAt(samples.period, i);
    }
    const { self = NOTHING, total = NOTHING } = annotation ?? {};
    return { files, pieces, self, total, whole, mode: source.mode, notes };
  }

  /** Returns the text of a source file of the profile; `undefined` for other files, and without the text. */
  text(path: string): readonly SourcePart[] | undefined {
    return this.profile.files.includes(path) ? this.source.source(path) : undefined;
  }
}

function shownInsn({ address, bytes, text, self, frames, jump }: ReadInsn): CodeInsn {
  const { file, line = 0 } = frames.at(-1) ?? {};
  return {
    ...self,
    address: address.toString(16),
    bytes: Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join(" "),
    text,
    place: file === undefined || line === 0 ? "" : `${file}:${line}`,
    inlined: frames.slice(1).map(({ name }) => name),
    jump,
  };
}

function filesOf(
  lines: readonly AnnotatedLine[],
  { source }: CodeSource,
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
    return {
      file,
      hasText: file !== "" && source(file) !== undefined,
      lines: own.map(({ line, self, total, calls }): CodeLine => ({
        line,
        self,
        total,
        calls: calls.map(({ name, inlined, samples, period }) => (
          { name, inlined, samples, period }
        )),
      })),
    };
  });
}
