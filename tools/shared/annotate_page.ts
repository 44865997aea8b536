/** A page of the terminal browser that shows a function with its code and source. */
import {
  annotate,
  codeCounts,
  codeLines,
  type CodeOptions,
  type FunctionTest,
  readCode,
  sourceLines,
} from "@perfdata/export/code";
import { functionName, pickSamples, type Profile, totals } from "@perfdata/profile";
import { rowsIn, rowTest } from "../../view/data/selection.ts";
import type { Shown, ViewEngine } from "../../view/data/view_engine.ts";
import type { TextPage } from "../../view/terminal/browser.ts";
import { type Line, textOf } from "../../view/terminal/lines.ts";
import { disassembler } from "./disassembler.ts";
import type { ReadProfile } from "./open_profile.ts";
import { type codeFiles, objectCode } from "./pt_input.ts";
import { type RecordedRuns, recordedRuns } from "./recorded_runs.ts";
import { Sources } from "./source_lines.ts";

/** The inputs of annotated pages. The code is opened for the first page. */
export interface AnnotatedSource {
  readonly name: string;
  /** The profile, with the same sample rows as the engine. */
  readonly profile: Profile;
  readonly source: ReadProfile["source"];
  readonly engine: ViewEngine;
  /** Flags that select samples, source files and the kernel image. */
  readonly flags: Parameters<typeof recordedRuns>[2] & {
    readonly value: { readonly source: string | undefined } & Parameters<typeof codeFiles>[1];
  };
  readonly fullNames: boolean;
}

/** Columns for the name of a called function. */
const NAME_ROOM = 30;

const NOT_NARROWED = "EXECUTED and CYCLES are of all samples that were read, not of these alone";

const NOT_TRANSFORMED = "transforms of stacks do not change which samples are annotated";

/** Creates pages that annotate functions with the selected samples. */
export class AnnotatedPages {
  readonly #about: AnnotatedSource;
  readonly #sources: Sources;
  #code: Promise<CodeOptions | string> | undefined;
  #runs: Promise<RecordedRuns | undefined> | undefined;

  constructor(about: AnnotatedSource) {
    this.#about = about;
    this.#sources = new Sources(about.flags.value.source, about.flags.value.symbols);
  }

  /** The page of a function: its instructions, or its source lines if there is no code. */
  async page(fn: number, shown: Shown): Promise<TextPage> {
    const page = await this.#page(fn, shown);
    if ((shown.transforms ?? []).length === 0) return page;
    const { lines, hot = 0 } = page;
    const note: Line = [{ text: NOT_TRANSFORMED, style: "dim" }];
    return { ...page, lines: [note, ...lines], hot: hot + 1 };
  }

  async #page(fn: number, shown: Shown): Promise<TextPage> {
    const { profile, fullNames } = this.#about;
    const selected = this.#selected(shown);
    const { functions } = profile;
    if (fn >= functions.name.length) throw new Error("the code of an object is of many functions");
    const [name, object] = [functions.name[fn] ?? "", functions.object[fn]];
    if (name === "") throw new Error(`nothing names the code of ${functionName(profile, fn)}`);
    const test: FunctionTest = (other, number) =>
      other === name && functions.object[number] === object;
    const whole = totals(selected)[shown.event]?.period ?? 0;
    const event = profile.events[shown.event]?.name ?? "";
    const options = { event, whole, sources: this.#sources };
    const [counts] = codeCounts(selected, shown.event, test);
    const code = await (this.#code ??= this.#open());
    let why = counts === undefined ? "it is always inlined" : typeof code === "string" ? code : "";
    if (counts !== undefined && typeof code !== "string") {
      const lines: Line[] = [];
      let hot = 0;
      const runsOf = await (this.#runs ??= this.#readRuns());
      for (const piece of await readCode(selected, counts, code)) {
        if (piece.missing !== undefined) {
          why = piece.missing;
          continue;
        }
        const room = fullNames ? Infinity : NAME_ROOM;
        const runs = runsOf?.(piece);
        const own = codeLines(piece, { ...options, context: Infinity, room, runs });
        if (lines.length === 0) hot = own.hottest;
        else lines.push([]);
        lines.push(...own.lines);
      }
      if (lines.length > 0) {
        if (runsOf !== undefined && selected.samples.length < profile.samples.length) {
          lines.splice(1, 0, [{ text: NOT_NARROWED, style: "dim" }]);
          hot++;
        }
        return paged(lines, hot);
      }
    }
    const [found] = annotate(selected, shown.event, test);
    if (found === undefined) throw new Error(`no samples in ${name}`);
    const lines = sourceLines(found, { ...options, context: 5 });
    lines.splice(1, 0, [{ text: `source lines alone: ${why}`, style: "dim" }]);
    return paged(lines, hottest(lines));
  }

  /** Opens the code reader. Returns the reason as text if there is no code. */
  async #open(): Promise<CodeOptions | string> {
    const { source, name, flags } = this.#about;
    if (source === undefined) return "nothing was sampled; pt --insns shows what was traced";
    const { arch } = source.engine.reader;
    const decode = await disassembler("report", arch);
    if (decode === undefined) return `instructions of ${arch} are not decoded`;
    const code = await objectCode(source.engine.recorded, flags.value, name);
    return { ...source, disassembler: decode, code };
  }

  /**
   * Execution counts of instructions. They cover the whole recording, not only the threads and
   * times on screen.
   */
  async #readRuns(): Promise<RecordedRuns | undefined> {
    const { source, name, flags } = this.#about;
    return source && await recordedRuns(name, source.engine.reader, flags);
  }

  /** The profile with only the selected samples. */
  #selected(shown: Shown): Profile {
    const { profile, engine } = this.#about;
    const [first, last] = rowsIn(engine.profile, shown);
    const isSelected = rowTest(engine.profile, shown);
    const rows: number[] = [];
    for (let row = first; row < last; row++) if (isSelected(row)) rows.push(row);
    return { ...profile, samples: pickSamples(profile.samples, Int32Array.from(rows)) };
  }
}

/** A page with the first line as its title. */
function paged(lines: readonly Line[], hot: number): TextPage {
  return { title: textOf(lines[0] ?? []), lines: lines.slice(1), hot: hot - 1 };
}

/** The index of the line with the largest self share. */
function hottest(lines: readonly Line[]): number {
  let [best, most] = [0, -1];
  for (const [i, [self]] of lines.entries()) {
    const share = /^ *([\d.]+)%$/.exec(self?.text ?? "");
    if (share !== null && Number(share[1]) > most) [best, most] = [i, Number(share[1])];
  }
  return best;
}
