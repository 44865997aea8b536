/** Runs `script`. */
import { misleadingLines, remedyText, trustLines, unverifiedLines } from "@perfdata/profile";
import type { PerfEvent } from "@perfdata/format/records";
import { openSource } from "@perfdata/format/files";
import {
  asksFor,
  FieldError,
  parseFields,
  refuseOfTraces,
  SCRIPT_FIELDS,
  type WrittenScript,
} from "@perfdata/export/script";
import { textJobs, unwoundText } from "@perfdata/session";
import { DEFAULT_ITRACE, type ItraceOptions, parseItrace } from "@perfdata/pt";
import { aboutAsync, complain, complainAll, oneFile, UsageError, writeOut } from "../shared/cli.ts";
import type { FlagsOf } from "../shared/flag_table.ts";
import { choosesSamples, givenFilters, nameFilters, sampleFilter } from "../shared/sample_flags.ts";
import { openRecording } from "../shared/open_recording.ts";
import { whyNoSamples, whyNothing } from "../shared/nothing.ts";
import { parseJobs } from "../shared/record_flags.ts";
import { reportCode, scriptHost } from "../shared/script_host.ts";
import { symbolsOf } from "../shared/symbol_flags.ts";
import { shownRecords } from "@perfdata/dump";
import type { FLAGS } from "../script.ts";

/** Width of the object column in a call trace, as in perf. */
const OBJECT_WIDTH = 50;

export async function run(flags: FlagsOf<typeof FLAGS>): Promise<number> {
  const { on, value, operands } = flags;
  const traced = traceWish(flags);
  const text = traced?.fields ?? value.fields;
  const wish = fieldError(() => text === undefined ? undefined : parseFields(text));
  const name = oneFile(operands);
  const shown = shownRecords(on);
  if (traced !== undefined) {
    const { ptScript } = await import("../shared/pt_script.ts");
    return await aboutAsync(name, () => ptScript(name, flags, { ...traced, wish, shown }));
  }
  const names = nameFilters(flags);
  const jobs = parseJobs(value.jobs);
  return await aboutAsync(name, async () => {
    const { intelPtAhead } = await import("@perfdata/session/auxtrace");
    const { source, hasIntelPt } = await intelPtAhead(openSource(name));
    if (hasIntelPt) {
      const { ptScript } = await import("../shared/pt_script.ts");
      const wanted = {
        ...{ itrace: DEFAULT_ITRACE, wish, shown },
        ...{ nanoseconds: on.ns, objectWidth: 0 },
      };
      return await ptScript(name, flags, wanted, source);
    }
    const given = { name, flags };
    const host = scriptHost(given);
    const { recording, complaints, progress } = await openRecording("script", name, {
      source,
      symbols: symbolsOf(flags, name),
      textThreads: (_, reader) => ({ jobs: textJobs(jobs, reader), start: startThread, given }),
    });
    const filter = await sampleFilter(flags, recording);
    fieldError(() => refuseOfTraces(wish));
    const { script, engine } = await recording.script(writeOut, {
      path: name,
      fields: text,
      chains: !on["hide-call-graph"],
      inline: !on["no-inline"],
      nanoseconds: on.ns,
      unmapped: on.verbose,
      filter,
      names,
      stitchLbr: on["stitch-lbr"],
      shown: shownRecords(on, filter.cpus),
      code: host.code,
    }).catch((error) => {
      throw wrongField(error);
    });
    progress.finish();
    if (asksFor(wish, "cpu") && !script.fields.some((own) => own.has("cpu"))) {
      complain(`script: ${name}: its samples have no cpu: perf record --sample-cpu`);
    }
    if (script.printed === 0 && script.samples.shown === 0) {
      const why = choosesSamples(flags)
        ? `: ${await whyNothing(name, givenFilters(flags), names)}`
        : script.samples.count > 0
        ? " have any of these fields"
        : await whyNoSamples(name);
      complain(`script: ${name}: no samples${why}`);
    }
    reportNames(name, script, on.verbose);
    complaints.finish();
    reportTextless(name, script, engine.reader.events.all);
    const stacks = on["hide-call-graph"] ? undefined : unwoundText(engine, on.verbose);
    if (stacks !== undefined) complain(`script: ${name}: ${stacks}`);
    return complaints.count > 0 || (script.printed === 0 && choosesSamples(flags)) ? 1 : 0;
  });
}

function startThread(): Worker {
  return new Worker(new URL("../shared/script_worker.ts", import.meta.url), { type: "module" });
}

/** Reports how trustworthy the printed function names are, and which objects have no symbols. */
function reportNames(
  name: string,
  script: WrittenScript["script"],
  isVerbose: boolean,
): void {
  const { fields, samples: rows } = script;
  const trust = script.trust();
  if (isVerbose) complainAll("script", trustLines(trust, { verbose: true }));
  const { all, resolved } = trust;
  const named = fields.some((own) => own.has("sym"));
  if (named && !isVerbose) {
    complainAll("script", misleadingLines(trust));
    complainAll("script", unverifiedLines(trust));
  }
  if (named && all.samples > resolved.samples) {
    const percent = (part: number) => `${(100 * part / all.samples).toFixed(2)}%`;
    const causes = [...trust.unresolved].filter(([, { samples }]) => samples > 0)
      .sort(([, a], [, b]) => b.samples - a.samples)
      .map(([cause, { samples }]) => `${cause} ${percent(samples)}`);
    complain(
      `script: ${name}: ${percent(resolved.samples)} of samples have a function; without: ` +
        causes.join(", ") + remedyText(trust),
    );
  }
  reportCode(name, script.code);
  if (rows.unmapped > 0) {
    const percent = (100 * rows.unmapped / rows.frames).toFixed(2);
    complain(
      `script: ${name}: at ${rows.unmapped} of ${rows.frames} addresses in call chains ` +
        `(${percent}%) nothing was mapped`,
    );
  }
}

function reportTextless(
  name: string,
  { fields, samples }: WrittenScript["script"],
  events: readonly PerfEvent[],
): void {
  const textless = samples.countOf((event) =>
    fields[event]?.has("trace") === true &&
    samples.traces?.has(events[event] as PerfEvent) !== true
  );
  if (textless > 0) {
    complain(
      `script: ${name}: ${textless} samples of tracepoints have no text: the recording has no format of theirs`,
    );
  }
}

/** Turns errors about fields into wrong usage. */
function fieldError<T>(action: () => T): T {
  try {
    return action();
  } catch (error) {
    throw wrongField(error);
  }
}

/** The {@link UsageError} for an error about fields; other errors unchanged. */
function wrongField(error: unknown): unknown {
  if (!(error instanceof FieldError)) return error;
  return new UsageError(`--fields: ${error.message}`, { word: error.word, known: SCRIPT_FIELDS });
}

/** Options for decoding Intel PT; `undefined` if no flag mentions it. */
function traceWish({ on, value }: FlagsOf<typeof FLAGS>) {
  const { itrace, fields } = value;
  const isCall = on["call-trace"] || on["call-ret-trace"];
  const isInsn = on["insn-trace"];
  if (itrace === undefined && !isCall && !isInsn) return undefined;
  const letters = itrace ?? (isInsn ? "i0ns" : on["call-ret-trace"] ? "crewp" : "cewp");
  const own = isInsn
    ? "+insn,-event,-period"
    : isCall
    ? `-ip,-addr,-event,-period,+callindent${on["call-ret-trace"] ? ",+flags" : ""}`
    : undefined;
  const isChange = fields !== undefined && /^[+-]/.test(fields);
  return {
    itrace: itraceOf(letters),
    fields: own === undefined ? fields : isChange ? `${own},${fields}` : fields ?? own,
    nanoseconds: on.ns || isCall || isInsn,
    objectWidth: isCall && !on["call-ret-trace"] ? OBJECT_WIDTH : 0,
  };
}

/**
 * Parses the letters of `--itrace`.
 *
 * @throws {UsageError} If a letter is unknown.
 */
function itraceOf(letters: string): ItraceOptions {
  try {
    return parseItrace(letters);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw new UsageError(`--${error.message}`);
  }
}
