/** Runs `stat`. */
import { openSource } from "@perfdata/format/files";
import { jsonLine } from "@perfdata/format/bytes";
import {
  STAT_COLUMNS,
  STAT_GROUPINGS,
  statCells,
  statRow,
  StatText,
} from "@perfdata/report/figures";
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
import { openRecording } from "../shared/open_recording.ts";
import { csvText } from "../shared/csv.ts";
import { writeRow } from "../shared/styled.ts";
import type { FLAGS } from "../stat.ts";

export async function run({ on, value, operands }: FlagsOf<typeof FLAGS>): Promise<number> {
  const by = parseWord("by", value.by, STAT_GROUPINGS);
  giveUpWriting(value.svg);
  const name = oneFile(operands);
  return await aboutAsync(name, async () => {
    using svg = value.svg === undefined ? undefined : openOutput(value.svg, on.force);
    const source = openSource(name, { interruptible: svg !== undefined });
    const { recording, complaints, progress } = await openRecording("stat", name, { source });
    const plot = svg === undefined
      ? undefined
      : new (await import("@perfdata/report/figures")).StatPlot();
    const text = new StatText();
    let isFirst = true;
    const report = await recording.stat({
      by,
      round: (counts, about) => {
        plot?.round(counts);
        if (on.json) {
          for (const row of counts.rows) writeOut(`${jsonLine(statRow(counts, row))}\n`);
        } else if (on.csv) {
          const head = isFirst ? [[...STAT_COLUMNS]] : [];
          writeOut(csvText([...head, ...counts.rows.flatMap((row) => statCells(counts, row))]));
        } else for (const line of text.round(counts, about)) writeRow(line);
        isFirst = false;
      },
    });
    progress.finish();
    if (svg !== undefined && plot !== undefined) {
      svg.write(new TextEncoder().encode(plot.svg()));
      about(value.svg ?? "", () => svg.commit());
    }
    complaints.finish();
    if (report.rounds === 0) {
      complain(`stat: ${name}: no counts; record with perf stat record`);
      return 1;
    }
    if (report.wanted !== "") {
      complain(
        `stat: ${name}: the recording does not say what counts by ${report.wanted} are; ` +
          `they are by ${report.by}`,
      );
    }
    if (svg !== undefined && report.interval === 0) {
      complain(
        `stat: ${name}: there are no intervals to draw; record with perf stat record -I 100`,
      );
    }
    if (report.isCut) {
      complain(`stat: ${name}: the recording was cut off; the counts are the last ones in it`);
    }
    if (report.unknown > 0) {
      complain(`stat: ${name}: ${report.unknown} counts are of no known event, and left out`);
    }
    return complaints.count > 0 || report.isCut || report.unknown > 0 ? 1 : 0;
  });
}
