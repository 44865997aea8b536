/** `annotate`: prints source lines of a function with their shares. */
import { annotate, codeCounts } from "@perfdata/export/annotate";
import { type Profile, totals } from "@perfdata/profile/profile";
import { ObjectCodeReader } from "@perfdata/session/object-code";
import {
  aboutAsync,
  type Command,
  command,
  complain,
  type FlagsOf,
  InputError,
  main,
  oneFile,
  UsageError,
  writeLine,
  writeLines,
  writeOut,
} from "./_cli.ts";
import { sourceLines, Sources } from "./_source_lines.ts";
import { textOf } from "../view/terminal/lines.ts";
import { insnMode, printInsns } from "./_insns.ts";
import { insnText } from "./_insn_text.ts";
import { codeFiles, imagesOf, KERNEL_FILE_NOTE } from "./_pt.ts";
import {
  eventNumber,
  PROFILE_FLAGS,
  PROFILE_HELP,
  readProfile,
  reportOtherEvents,
} from "./_profile.ts";

const HELP = `annotate: prints source lines of a function with their shares of the samples

usage: perfdata annotate [flags] [FILE] FUNCTION

FILE is a perf.data file or directory, or - for a pipe (default: perf.data). FUNCTION is a name, or
an expression between slashes.

A line has the share of what was sampled at it, and of that with all that was called from it or is
inlined there; below it are these functions. Each begins with path:line, so that editors can jump to
it. Where the source is readable, its text is printed.

      --event NAME       the event (default: the first that has samples)
      --source DIR       look for source files there, by all or the last parts of their path
      --context N        print N lines around those that were sampled (default: 2)
      --insns            instructions with their shares instead of source lines: of x86, where the
                         code is here (docs/annotate.md)
      --json             lines of JSON
${PROFILE_HELP}
examples:
  perfdata annotate perf.data parse_number
  perfdata annotate --source ~/src/server perf.data '/^Server::/'
  perfdata annotate --json perf.data main | jq 'select(.self.samples > 100)'

Exit codes: 0 done; 1 the recording is damaged, or has no samples in such a function; 2 wrong usage.
`;

const FLAGS = {
  boolean: ["insns", "json", ...PROFILE_FLAGS.boolean],
  string: ["event", "source", "context", ...PROFILE_FLAGS.string],
} as const;

async function run(flags: FlagsOf<typeof FLAGS>): Promise<number> {
  const { on, value, operands } = flags;
  const wanted = operands.at(-1);
  if (wanted === undefined) throw new UsageError("no function");
  const context = Number(value.context ?? 2);
  if (!Number.isInteger(context) || context < 0) {
    throw new UsageError(`--context is ${value.context}, expected a number of lines`);
  }
  const matches = nameTest(wanted);
  const name = oneFile(operands.slice(0, -1));
  return await aboutAsync(name, async () => {
    const { profile, isWhole, source } = await readProfile("annotate", name, flags, {
      debugInformation: true,
    });
    const event = eventNumber(profile, value.event);
    reportOtherEvents("annotate", name, profile, event, value.event);
    if (on.insns) {
      if (source === undefined) throw new InputError(`${name}: no samples: see pt --insns`);
      const { arch } = source.engine.reader;
      const mode = insnMode(arch);
      if (mode === undefined) throw new InputError(`instructions of ${arch} are not decoded`);
      const found = codeCounts(profile, event, matches);
      if (found.length === 0) {
        const isCaller = profile.functions.name.some((name) => name !== "" && matches(name));
        throw new InputError(
          isCaller
            ? `no samples in ${wanted} itself, only in what it calls`
            : missing(profile, operands),
        );
      }
      const options = {
        name,
        event: profile.events[event]?.name ?? "",
        whole: totals(profile)[event]?.period ?? 0,
        json: on.json,
        mode,
        text: await insnText("annotate"),
        code: new ObjectCodeReader(
          codeFiles(source.engine.recorded, value),
          imagesOf(undefined, name),
        ),
      };
      let isRead = isWhole;
      for (const [i, counts] of found.entries()) {
        if (i > 0 && !on.json) writeLine("");
        isRead = await printInsns(profile, counts, source, options) && isRead;
      }
      if (options.code.kernelFile !== undefined) complain(`annotate: ${name}: ${KERNEL_FILE_NOTE}`);
      return isRead ? 0 : 1;
    }
    const found = annotate(profile, event, matches);
    if (found.length === 0) throw new InputError(missing(profile, operands));
    const whole = totals(profile)[event]?.period ?? 0;
    const eventName = profile.events[event]?.name ?? "";
    const sources = new Sources(value.source);
    for (const [i, one] of found.entries()) {
      if (on.json) {
        for (const line of one.lines) {
          const { name, object, verified } = one;
          const about = { event: eventName, function: name, verified, object };
          writeOut(JSON.stringify({ ...about, ...line }) + "\n");
        }
      } else {
        if (i > 0) writeLine("");
        writeLines(sourceLines(one, { event: eventName, whole, sources, context }).map(textOf));
      }
    }
    const [absent, ...others] = sources.absent();
    if (absent !== undefined) {
      const more = others.length > 0 ? ` and ${others.length} more` : "";
      const where = value.source === undefined
        ? "; --source DIR says where it is"
        : ` in ${value.source}`;
      complain(`annotate: ${name}: source not found: ${absent}${more}${where}`);
    }
    const bare = found.filter(({ lines }) => lines.every(({ line }) => line === 0));
    if (bare.length > 0) {
      complain(
        `annotate: ${name}: no debug information for ` +
          bare.map(({ name, object }) => `${name} (${object})`).slice(0, 3).join(", "),
      );
    }
    return isWhole ? 0 : 1;
  });
}

function nameTest(wanted: string): (name: string) => boolean {
  const match = /^\/(.+)\/(i?)$/.exec(wanted);
  if (match === null) return (name) => name === wanted;
  try {
    const expression = new RegExp(match[1] ?? "", match[2]);
    return (name) => expression.test(name);
  } catch (error) {
    throw new UsageError(`${wanted}: ${error instanceof Error ? error.message : error}`);
  }
}

/** Says that there is no such function, and which one may be meant. */
function missing({ functions }: Profile, operands: readonly string[]): string {
  const wanted = operands.at(-1) ?? "";
  const part = wanted.replaceAll("/", "").toLowerCase();
  const near = functions.name.filter((name) => name.toLowerCase().includes(part));
  const some = [...new Set(near)].slice(0, 3).join(", ");
  const hint = some !== ""
    ? `; there are ${some}`
    : operands.length === 1 && isFile(wanted)
    ? `; for that file: perfdata annotate ${wanted} FUNCTION`
    : "";
  return `no samples in a function ${wanted}${hint}`;
}

function isFile(path: string): boolean {
  try {
    return Deno.statSync(path).isFile;
  } catch {
    return false;
  }
}

/** The command. */
export const tool: Command = command({ name: "annotate", help: HELP, flags: FLAGS, run });

if (import.meta.main) await main(tool);
