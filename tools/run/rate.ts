/** Runs `rate`. */
import { openSource, tempFile } from "@perfdata/format/files";
import {
  incidentRow,
  RATE_COLUMNS,
  rateLines,
  RatePlot,
  rateRow,
  summaryRows,
} from "@perfdata/report/figures";
import { jsonLine } from "@perfdata/format/bytes";
import {
  about,
  aboutAsync,
  complain,
  giveUpWriting,
  oneFile,
  openOutput,
  parseWord,
  writeOut,
} from "../shared/cli.ts";
import type { FlagsOf } from "../shared/flag_table.ts";
import { choosesSamples, chosenFilter, nameFilters } from "../shared/sample_flags.ts";
import { openRecording, symbolsLater } from "../shared/open_recording.ts";
import { writeRow } from "../shared/styled.ts";
import { complainRounded } from "../shared/periods.ts";
import { csvText } from "../shared/csv.ts";
import { noSamplesText } from "../shared/nothing.ts";
import type { FLAGS } from "../rate.ts";

/** Lines that are gathered before each write. */
const BLOCK = 4096;

/** Writes lines or CSV rows in blocks. */
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
    if (!this.#json) { for (const line of this.#lines) writeRow(line); }
    else if (this.#lines.length > 0) writeOut(this.#lines.join("\n") + "\n");
    if (this.#csv && this.#rows.length > 0) writeOut(csvText(this.#rows));
    this.#lines = [];
    this.#rows = [];
  }
}

export async function run(flags: FlagsOf<typeof FLAGS>): Promise<number> {
  const { on, value, operands } = flags;
  const by = parseWord("by", value.by, ["cpu", "thread"]);
  const named = nameFilters(flags);
  const isChosen = choosesSamples(flags);
  // With filters, the input is read twice, and a pipe is copied to a temporary file. Otherwise only
  // `--svg` and `--temp` need the write permission.
  if (!isChosen) giveUpWriting(value.svg, value.temp);
  const name = oneFile(operands);
  return await aboutAsync(name, async () => {
    using svg = value.svg === undefined ? undefined : openOutput(value.svg, on.force);
    const source = openSource(name, { interruptible: svg !== undefined });
    const { recording, complaints, progress } = await openRecording("rate", name, {
      source,
      symbols: symbolsLater(flags, name),
      temp: tempFile,
    });
    using _ = recording;
    const filter = await chosenFilter(flags, recording, named);
    const out = new Output(on);
    const plot = svg === undefined ? undefined : new RatePlot();
    let start = 0n;
    let names: string[] = [];
    const report = await recording.rate({
      by,
      filter,
      start: (time) => start = time,
      begin: (events) => names = events.map((event) => event.name),
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
    const isNone = report.leftOut === 0 && report.events.every(({ samples }) => samples === 0);
    if (on.json) { for (const row of summaryRows(report)) out.line(jsonLine(row)); }
    else if (!on.csv && !(isNone && isChosen)) {
      for (const line of rateLines(report)) out.line(line);
    }
    out.flush();
    if (svg !== undefined && plot !== undefined) {
      svg.write(new TextEncoder().encode(plot.svg(report.events)));
      about(value.svg ?? "", () => svg.commit());
    }
    let period = 0;
    for (const { period: of, count } of report.streams) {
      period = Math.max(period, count, of?.max ?? 0);
    }
    complainRounded("rate", name, [{ period }]);
    complaints.finish();
    if (isNone) {
      complain(`rate: ${name}: ${await noSamplesText(name, flags, named)}`);
      return isChosen || complaints.count > 0 ? 1 : 0;
    }
    if (report.streams.length === 0) {
      complain(`rate: ${name}: no samples with a time; record with perf record -T, --sample-cpu`);
      return 1;
    }
    return complaints.count > 0 ? 1 : 0;
  });
}
