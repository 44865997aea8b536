/** `script`: prints samples as `perf script` does. */
import { PERF_SAMPLE_REGS_USER, PERF_SAMPLE_STACK_USER } from "@perfdata/format/perf-event";
import { openSource } from "@perfdata/format/file-source";
import { PerfDataReader } from "@perfdata/format/reader";
import {
  eventFields,
  FieldError,
  parseFields,
  SCRIPT_FIELDS,
} from "@perfdata/export/script-fields";
import { script } from "@perfdata/export/script";
import { ScriptPlaces } from "@perfdata/export/script-places";
import { ScriptRows } from "@perfdata/export/script-rows";
import { runEngine } from "@perfdata/session/engine";
import {
  aboutAsync,
  type Command,
  command,
  complain,
  Complaints,
  type FlagsOf,
  main,
  oneFile,
  parseNumbers,
  Progress,
  UsageError,
  writeOut,
} from "./_cli.ts";
import { PROFILE_FLAGS, PROFILE_HELP } from "./_profile.ts";
import { causesText, resolverOf, tellTrust } from "./_symbol_flags.ts";
import { parseTime, resolveTime, sampleSpan } from "./_time.ts";

const HELP = `script: prints samples as perf script does, for all that reads its text

usage: perfdata script [flags] [FILE]

FILE is a perf.data file or directory, or - for a pipe (default: perf.data). The text is that of
perf 6.1, byte for byte where perf is right; docs/script.md says what differs.

  -F, --fields LIST      the fields to print, or +field,-field for more and fewer than the default
                         ones, out of
                         ${SCRIPT_FIELDS.join(",")}
  -G, --hide-call-graph  print no call chains
      --ns               print times with nanoseconds
      --no-inline        print no inlined functions in unwound stacks
${PROFILE_HELP}
examples:
  perfdata script perf.data | stackcollapse-perf.pl | flamegraph.pl > flame.svg
  perfdata script -F comm,tid,time,ip,sym perf.data
  perf record -g -o - -- ./program | perfdata script -

Exit codes: 0 done; 1 the recording is damaged (what can be read is printed); 2 wrong usage.
`;

const FLAGS = {
  boolean: ["hide-call-graph", "ns", "no-inline", ...PROFILE_FLAGS.boolean],
  string: ["fields", ...PROFILE_FLAGS.string],
  alias: { F: "fields", G: "hide-call-graph" },
} as const;

async function run(flags: FlagsOf<typeof FLAGS>): Promise<number> {
  const { on, value, operands } = flags;
  const wish = fieldError(() => value.fields === undefined ? undefined : parseFields(value.fields));
  const name = oneFile(operands);
  const numbers = (flag: "pid" | "tid" | "cpu") =>
    value[flag] === undefined ? undefined : parseNumbers(flag, value[flag]);
  const [pids, tids, cpus] = [numbers("pid"), numbers("tid"), numbers("cpu")];
  const range = value.time === undefined ? undefined : parseTime(value.time);
  return await aboutAsync(name, async () => {
    const complaints = new Complaints(`script: ${name}`);
    const reader = await PerfDataReader.open(openSource(name), { diagnostics: complaints.take });
    const time = range && await resolveTime(range, () => sampleSpan(reader));
    const asked = (field: typeof SCRIPT_FIELDS[number]) => wish?.add.has(field) === true;
    const rows = new ScriptRows({
      stacks: !on["hide-call-graph"],
      addresses: true,
      branches: asked("brstack"),
    });
    const progress = new Progress("script", reader.fileSize);
    const engine = await runEngine(reader, [rows], {
      filter: { pids, tids, cpus, time },
      progress: progress.add,
      diagnostics: complaints.take,
    });
    progress.finish();
    const events = reader.events.all;
    const fields = fieldError(() => eventFields(events, engine.eventNames, wish));
    // perf expands inlined functions in stacks that it unwinds.
    const unwinds = PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;
    const inline = !on["no-inline"] && !on["hide-call-graph"] &&
      events.some(({ layout }) => (layout.sampleType & unwinds) === unwinds);
    const lines = fields.some((own) => own.has("srcline"));
    const resolver = await resolverOf(flags, name, {
      ...engine.recorded.machine,
      parameters: false,
      debugInformation: inline || lines,
    });
    const places = await ScriptPlaces.of(engine, resolver, rows.samples(), { inline, lines });
    for (
      const chunk of script(engine, rows, places, {
        fields,
        chains: !on["hide-call-graph"],
        nanoseconds: on.ns,
      })
    ) writeOut(chunk);
    const { trust } = places;
    if (on.verbose) tellTrust("script", trust, true);
    const { all, resolved } = trust;
    if (all.samples > resolved.samples) {
      const percent = (100 * resolved.samples / all.samples).toFixed(2);
      complain(
        `script: ${name}: ${percent}% of samples have a function; without: ${causesText(trust)}`,
      );
    }
    complaints.finish();
    const traced = rows.countOf((event) => fields[event]?.has("trace") === true);
    if (traced > 0) {
      complain(`script: ${name}: the fields of ${traced} samples of tracepoints are not printed`);
    }
    return complaints.count > 0 ? 1 : 0;
  });
}

/** Makes wrong fields wrong usage. */
function fieldError<T>(action: () => T): T {
  try {
    return action();
  } catch (error) {
    if (!(error instanceof FieldError)) throw error;
    throw new UsageError(`--fields: ${error.message}`, {
      word: error.word,
      known: SCRIPT_FIELDS,
    });
  }
}

/** The command. */
export const tool: Command = command({ name: "script", help: HELP, flags: FLAGS, run });

if (import.meta.main) await main(tool);
