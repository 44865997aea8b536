/** Runs `annotate`. */
import {
  annotate,
  type Annotation,
  codeCounts,
  codeJson,
  codeLines,
  type CodeOptions,
  findFunctions,
  noSuchFunction,
  parseWanted,
  readCode,
  sourceLines,
} from "@perfdata/export/code";
import { type Profile, totals } from "@perfdata/profile";
import {
  aboutAsync,
  asInput,
  asUsage,
  complain,
  exists,
  InputError,
  oneFile,
  UsageError,
  writeLine,
  writeOut,
} from "../shared/cli.ts";
import type { FlagsOf } from "../shared/flag_table.ts";
import { chosenEvent, hasOnlyPt, type ReadProfile, readProfile } from "../shared/open_profile.ts";
import { disassembler } from "../shared/disassembler.ts";
import { objectCode } from "../shared/pt_input.ts";
import { KERNEL_FILE_NOTE } from "../shared/trace_loss.ts";
import type { TracedInsns } from "../shared/annotate_pt.ts";
import { Sources } from "../shared/source_lines.ts";
import { writeStyled } from "../shared/styled.ts";
import type { FLAGS } from "../annotate.ts";

type AnnotateFlags = FlagsOf<typeof FLAGS>;

/** Input of both views: source lines and instructions. */
interface Shown {
  readonly name: string;
  readonly profile: Profile;
  readonly event: number;
  readonly eventName: string;
  /** Sum of the periods of all samples of the event. */
  readonly whole: number;
  readonly sources: Sources;
  /** Execution counts decoded from the trace, if there is one. */
  readonly traced: TracedInsns["traced"] | undefined;
}

export async function run(flags: AnnotateFlags): Promise<number> {
  const { on, value, operands } = flags;
  if (on["data-type"]) return await dataTypes(flags);
  const [files, wanted] = fileAndFunction(operands);
  if (wanted === undefined) throw new UsageError("no function");
  const context = value.context === undefined ? undefined : Number(value.context);
  if (context !== undefined && (!Number.isInteger(context) || context < 0)) {
    throw new UsageError(`--context is ${value.context}, expected a number of lines`);
  }
  const asked = asUsage(() => parseWanted(wanted));
  const name = oneFile(files);
  return await aboutAsync(name, async () => {
    const { itrace } = value;
    const traced = on.pt || (itrace === undefined && name !== "-" && await hasOnlyPt(name))
      ? await (await import("../shared/annotate_pt.ts")).readTracedInsns("annotate", name, flags)
      : undefined;
    const { profile: all, isWhole, source } = traced ??
      await readProfile("annotate", name, flags, { debugInformation: true, itrace });
    const { profile, event } = chosenEvent("annotate", name, { profile: all, wanted: value.event });
    const found = await asInput(() => findFunctions(profile, source, asked));
    const shown: Shown = {
      name,
      profile,
      event,
      eventName: profile.events[event]?.name ?? "",
      whole: totals(profile)[event]?.period ?? 0,
      sources: new Sources(value.source, value.symbols),
      traced: traced?.traced,
    };
    const annotations = annotate(profile, event, found.lines);
    if (annotations.length === 0) {
      const isOneFile = operands.length === 1 && isFile(wanted);
      throw new InputError(
        noSuchFunction(profile, wanted) +
          (isOneFile ? `; for that file: perfdata annotate ${wanted} FUNCTION` : ""),
      );
    }
    let isRead = true;
    if (on.insns || !(on.lines || on.json)) {
      const code = await codeOf(shown, found.code, source, flags, context ?? 8);
      if (code === undefined) printLines(annotations, shown, on.json, context ?? 2);
      else isRead = code;
    } else printLines(annotations, shown, on.json, context ?? 2);
    reportSources(shown, value.source);
    return isWhole && isRead ? 0 : 1;
  });
}

/**
 * Sorts two operands into the file and the function, in any order: the file is the operand that
 * exists.
 */
function fileAndFunction(
  operands: readonly string[],
): [files: readonly string[], wanted: string | undefined] {
  const [first, second] = operands;
  const isSwapped = operands.length === 2 && first !== undefined && second !== undefined &&
    first !== "-" && !exists(first) && (second === "-" || exists(second));
  return isSwapped ? [[second], first] : [operands.slice(0, -1), operands.at(-1)];
}

/** Prints data types with the samples of each field. */
async function dataTypes(flags: AnnotateFlags): Promise<number> {
  const { on, value, operands } = flags;
  const [first, second, ...others] = operands;
  if (others.length > 0) throw new UsageError("one FILE and one TYPE at most");
  const isType = first !== undefined && second === undefined && first !== "-" && !exists(first);
  const name = oneFile(first === undefined || isType ? [] : [first]);
  return await aboutAsync(name, async () => {
    const { profile: all, isWhole, source } = await readProfile("annotate", name, flags, {
      debugInformation: true,
      itrace: value.itrace,
    });
    const { profile, event } = chosenEvent("annotate", name, { profile: all, wanted: value.event });
    const { printTypes } = await import("../shared/printed_types.ts");
    const wanted = isType ? first : second;
    await printTypes({ name, profile, event, source, files: value, wanted, json: on.json });
    return isWhole ? 0 : 1;
  });
}

/**
 * Prints the instructions of functions.
 *
 * @returns Whether all code could be read. `undefined` if no code could be read and the flags do
 * not demand instructions.
 */
async function codeOf(
  { name, profile, event, eventName, whole, sources, traced }: Shown,
  matches: Parameters<typeof codeCounts>[2],
  source: ReadProfile["source"],
  flags: AnnotateFlags,
  context: number,
): Promise<boolean | undefined> {
  const { on, value } = flags;
  const without = (reason: string): undefined => {
    if (on.insns) throw new InputError(`${name}: ${reason}`);
    complain(`annotate: ${name}: source lines alone: ${reason}`);
  };
  if (source === undefined) return without("no code is known");
  const found = codeCounts(profile, event, matches);
  if (found.length === 0) {
    return without("it is always inlined: the function around it has the code");
  }
  const { arch } = source.engine.reader;
  const decode = await disassembler("annotate", arch);
  if (decode === undefined) return without(`instructions of ${arch} are not decoded`);
  const options: CodeOptions = {
    ...source,
    disassembler: decode,
    code: await objectCode(source.engine.recorded, value, name),
  };
  const pieces = [];
  for (const counts of found) pieces.push(...await readCode(profile, counts, options));
  for (const { counts, missing } of pieces) {
    if (missing === undefined) continue;
    complain(`annotate: ${name}: the code of ${counts.name} cannot be read: ${missing}`);
  }
  const read = pieces.filter(({ missing }) => missing === undefined);
  if (read.length === 0 && !on.insns) return undefined;
  const { recordedRuns, runsOf } = await import("../shared/recorded_runs.ts");
  const runsIn = traced === undefined
    ? await recordedRuns(name, source.engine.reader, flags, "annotate")
    : runsOf(traced);
  const room = on["full-names"] ? Infinity : Deno.stdout.isTerminal() ? 30 : 60;
  for (const [i, piece] of read.entries()) {
    const runs = runsIn?.(piece);
    if (on.json) {
      for (const line of codeJson(piece, eventName, runs)) writeOut(`${line}\n`);
      continue;
    }
    if (i > 0) writeLine("");
    writeStyled(codeLines(piece, { event: eventName, whole, sources, context, room, runs }).lines);
  }
  if (options.code.kernelFile !== undefined) complain(`annotate: ${name}: ${KERNEL_FILE_NOTE}`);
  return read.length === pieces.length || !on.insns;
}

function printLines(
  found: readonly Annotation[],
  { name, eventName, whole, sources }: Shown,
  json: boolean,
  context: number,
): void {
  for (const [i, one] of found.entries()) {
    if (json) {
      for (const line of one.lines) {
        const { name, object, verified } = one;
        const about = { event: eventName, function: name, verified, object };
        writeOut(JSON.stringify({ ...about, ...line }) + "\n");
      }
    } else {
      if (i > 0) writeLine("");
      writeStyled(sourceLines(one, { event: eventName, whole, sources, context }));
    }
  }
  const bare = found.filter(({ lines }) => lines.every(({ line }) => line === 0));
  if (bare.length > 0) {
    complain(
      `annotate: ${name}: no debug information for ` +
        bare.map(({ name, object }) => `${name} (${object})`).slice(0, 3).join(", "),
    );
  }
}

/** Prints the name of the first source file that was not found, and the number of others. */
function reportSources({ name, sources }: Shown, folder: string | undefined): void {
  const [absent, ...others] = sources.absent();
  if (absent === undefined) return;
  const more = others.length > 0 ? ` and ${others.length} more` : "";
  const where = folder === undefined ? "; --source DIR says where it is" : ` in ${folder}`;
  complain(`annotate: ${name}: source not found: ${absent}${more}${where}`);
}

function isFile(path: string): boolean {
  try {
    return Deno.statSync(path).isFile;
  } catch {
    return false;
  }
}
