/** `script --itrace`: prints samples synthesized from Intel PT together with recorded ones. */
import {
  asksFor,
  CODE_FIELDS,
  rowNeeds,
  ScriptRows,
  type ShownRecords,
} from "@perfdata/export/script";
import type { ByteSource } from "@perfdata/format/bytes";
import {
  hasManyLines,
  recordedBetween,
  recordedSamples,
  type TraceScript,
  traceScript,
  type TraceScriptWish,
  writePtScript,
  type WrittenPtScript,
} from "@perfdata/export/traces";
import { packetsText, type PtSamples, type PtWhole } from "@perfdata/pt/decode";
import { asInput, complain, Progress, UsageError, writeOut } from "./cli.ts";
import { sampleFilter, type SampleFlags } from "./sample_flags.ts";
import type { SymbolFlags } from "./symbol_flags.ts";
import { codeOf, imagesOf, type OpenedPt, openPt, openPtAgain, reportLoss } from "./pt_input.ts";
import { ptJobs } from "./pt_workers.ts";
import { parseJobs } from "./record_flags.ts";
import { reportCode, scriptHost } from "./script_host.ts";

const MODULE = { type: "module" } as const;

/** The options of `script` for traces. */
export interface PtScriptWish extends Omit<TraceScriptWish, "chains" | "filter"> {
  readonly shown: ShownRecords | undefined;
}

type ScriptFlags = SampleFlags & SymbolFlags & {
  readonly on: Readonly<Record<"hide-call-graph", boolean>>;
  readonly value: Readonly<Record<"jobs", string | undefined>>;
};

/** Options for worker threads. */
export interface PtScriptAbout extends TraceScriptWish {
  readonly name: string;
  readonly flags: ScriptFlags;
}

/** Opens in a worker the recording that the first thread has opened. */
export async function openPtScript(about: PtScriptAbout): Promise<PtWhole<unknown>> {
  const { name, flags } = about;
  const code = (recorded: Parameters<typeof codeOf>[0]) =>
    codeOf(recorded, flags.value, imagesOf(undefined, name));
  return await traceScript(await openPtAgain(name, code), about, scriptHost(about));
}

/**
 * Prints the samples of a recording, some of whose bytes may have been read. Returns the exit code.
 */
export async function ptScript(
  name: string,
  flags: ScriptFlags,
  { shown, ...wished }: PtScriptWish,
  bytes?: ByteSource,
): Promise<number> {
  const { on, value } = flags;
  const { itrace, wish } = wished;
  const ofCode = CODE_FIELDS.find((field) => asksFor(wish, field));
  if (ofCode !== undefined && itrace.branchStack === undefined) {
    throw new UsageError(`--fields: ${ofCode} is of branch stacks: --itrace with l, as in i1000il`);
  }
  const jobs = parseJobs(value.jobs);
  const chains = !on["hide-call-graph"];
  const rows = new ScriptRows({ ...rowNeeds([], wish, chains), addresses: true }, false, shown);
  let filter: TraceScriptWish["filter"];
  const { trace: opened, complaints } = await openPt("script", name, {
    code: (recorded) => codeOf(recorded, value, imagesOf(undefined, name)),
    consumers: [rows],
    filter: async (reader) => {
      filter = await sampleFilter(flags, reader);
      if (shown !== undefined) shown.cpus = filter.cpus;
      return filter;
    },
    opened: bytes,
  });
  const about: PtScriptAbout = { name, flags, ...wished, chains, filter };
  const script = await asInput(() => traceScript(opened, about, scriptHost(about)), `${name}: --`);
  const { trace: { clock, bytes: size }, names } = script;
  let samples: PtSamples | undefined;
  const write = { write: writeOut, added: () => samples?.added };
  const others = await recordedBetween(script, rows, about, write);
  const progress = new Progress("script", size);
  const threads = ptJobs(name, jobs, size, hasManyLines(itrace));
  const start = () => new Worker(new URL("./pt_script_worker.ts", import.meta.url), MODULE);
  const adds = itrace.addedChain !== undefined || itrace.addedBranches !== undefined;
  const made = await writePtScript(
    script,
    threads === 1 ? undefined : { jobs: threads, about, start },
    {
      write: writeOut,
      others,
      progress: progress.add,
      begins: (own) => samples = own,
      ...(adds ? { recorded: recordedSamples(rows, clock.origin) } : {}),
    },
  );
  await names.resolve();
  if (made.met !== undefined) names.limitTo(made.met);
  others(Infinity);
  progress.finish();
  names.close();
  if (made.printed + rows.count + rows.shown === 0) complain(`script: ${name}: no samples`);
  return reportMade(about, script, made, complaints);
}

/** Reports what was left out, and returns the exit code. */
function reportMade(
  { name, itrace }: PtScriptAbout,
  { trace, names, writer, outputs }: TraceScript,
  { counts, interruptChanges, pebsRecords }: WrittenPtScript,
  complaints: OpenedPt["complaints"],
): number {
  if (interruptChanges > 0) {
    complain(
      `script: ${name}: no lines of ${interruptChanges} changes of the interrupt flag: ` +
        "see pt --events",
    );
  }
  if (itrace.pebs && pebsRecords > 0) {
    const why = outputs === 0
      ? "no event of the recording writes them (aux_output)"
      : `no AUX_OUTPUT_HW_ID says which of ${outputs} events they are of`;
    complain(`script: ${name}: no lines of ${pebsRecords} records of PEBS: ${why}`);
  }
  if (itrace.quick === 1) complain(`script: ${name}: ${packetsText(counts)}`);
  if (writer.code !== undefined) reportCode(name, writer.code);
  const { timeless = false } = itrace;
  return reportLoss("script", name, { counts, trace, names, complaints, timeless });
}
