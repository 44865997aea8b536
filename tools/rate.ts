/** Prints how fast events occurred and how often they were sampled: `deno run rate FILE`. */
import { PerfDataReader } from "@perfdata/format/reader";
import { openSource } from "@perfdata/format/file-source";
import {
  analyzeRate,
  incidentRow,
  jsonLine,
  RATE_COLUMNS,
  rateLines,
  RatePlot,
  rateRow,
  summaryRows,
} from "@perfdata/report";
import {
  about,
  aboutAsync,
  type Command,
  command,
  complain,
  Complaints,
  type FlagsOf,
  giveUpWriting,
  main,
  oneFile,
  openOutput,
  parseWord,
  Progress,
  UsageError,
  writeLines,
  writeOut,
} from "./_cli.ts";
import { csvText } from "./_csv.ts";

const HELP = `rate: prints how fast the events of a perf.data file occurred and were sampled

usage: perfdata rate [flags] [FILE]

FILE is a perf.data file or directory, or - for a pipe (default: perf.data).

For each event and CPU: how fast it occurred (λ = Δcount/Δt of successive samples), how often it
was sampled (λ/P) compared with what was requested, and when the period had settled. Counts are
READ values where the samples have them (perf record -e '{…}:S', or --sample-read), and otherwise
sums of periods.

      --by cpu|thread  what a counter counts (default: what the file says)
      --json           print a line of JSON per pair of samples, throttling and loss, then totals
      --csv            print a row of CSV per pair of samples
      --svg FILE       also draw the period and the sampling frequency over time
  -f, --force          overwrite the file if it exists
      --temp DIR       of a pipe, sort what does not fit into memory in a file there
      --debug          print the stack trace of an error
  -h, --help           print this help

examples:
  perfdata rate perf.data
  perfdata rate --svg rate.svg perf.data
  perfdata rate --json perf.data | jq 'select(.type == "counter")'

Exit codes: 0 done; 1 the file is damaged (what can be read is counted); 2 wrong usage.
`;

/** Lines that are gathered before they are written. */
const BLOCK = 4096;

/** Writes lines, or rows of CSV, in blocks. */
class Output {
  readonly #csv: boolean;
  readonly #json: boolean;
  #lines: string[] = [];
  #rows: unknown[][] = [];

  constructor({ csv, json }: { readonly csv: boolean; readonly json: boolean }) {
    this.#csv = csv;
    this.#json = json;
    if (csv) this.#rows.push([...RATE_COLUMNS]);
  }

  line(text: string): void {
    if (this.#lines.push(text) >= BLOCK) this.flush();
  }

  row(cells: unknown[]): void {
    if (this.#rows.push(cells) >= BLOCK) this.flush();
  }

  flush(): void {
    if (!this.#json) writeLines(this.#lines);
    else if (this.#lines.length > 0) writeOut(this.#lines.join("\n") + "\n");
    if (this.#csv && this.#rows.length > 0) writeOut(csvText(this.#rows));
    this.#lines = [];
    this.#rows = [];
  }
}

const FLAGS = {
  boolean: ["json", "csv", "force"],
  string: ["by", "svg", "temp"],
  alias: { f: "force" },
} as const;

async function run({ on, value, operands }: FlagsOf<typeof FLAGS>): Promise<number> {
  if (on.json && on.csv) throw new UsageError("--json and --csv exclude each other");
  const by = parseWord("by", value.by, ["cpu", "thread"]);
  giveUpWriting(value.svg, value.temp);
  const name = oneFile(operands);
  return await aboutAsync(name, async () => {
    using svg = value.svg === undefined ? undefined : openOutput(value.svg, on.force);
    const source = openSource(name, { interruptible: svg !== undefined });
    const complaints = new Complaints(`rate: ${name}`);
    const reader = await PerfDataReader.open(source, { diagnostics: complaints.take });
    const progress = new Progress("rate", reader.fileSize);
    const out = new Output(on);
    const plot = svg === undefined ? undefined : new RatePlot();
    let start = 0n;
    let names: string[] = [];
    const report = await analyzeRate(reader, {
      by,
      start: (time) => start = time,
      begin: (events) => names = events.map((event) => event.name),
      progress: progress.add,
      point: (point) => {
        plot?.point(point);
        if (on.json) out.line(jsonLine({ type: "point", ...rateRow(point, start, names) }));
        else if (on.csv) out.row(Object.values(rateRow(point, start, names)));
      },
      incident: (incident) => {
        plot?.incident(incident);
        if (on.json) out.line(jsonLine(incidentRow(incident, start, names)));
      },
    });
    progress.finish();
    if (on.json) { for (const row of summaryRows(report)) out.line(jsonLine(row)); }
    else if (!on.csv) { for (const line of rateLines(report)) out.line(line); }
    out.flush();
    if (svg !== undefined && plot !== undefined) {
      svg.write(new TextEncoder().encode(plot.svg(report.events)));
      about(value.svg ?? "", () => svg.commit());
    }
    complaints.finish();
    if (report.leftOut === 0 && report.events.every(({ samples }) => samples === 0)) {
      complain(`rate: ${name}: no samples`);
      return complaints.count > 0 ? 1 : 0;
    }
    if (report.streams.length === 0) {
      complain(`rate: ${name}: no samples with a time; record with perf record -T, --sample-cpu`);
      return 1;
    }
    return complaints.count > 0 ? 1 : 0;
  });
}

/** The command. */
export const tool: Command = command({ name: "rate", help: HELP, flags: FLAGS, run });

if (import.meta.main) await main(tool);
