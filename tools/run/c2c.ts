/** Runs `c2c`. */
import { trustLines } from "@perfdata/profile";
import { type RecordedObjects, sampleJobs } from "@perfdata/session";
import { openSource } from "@perfdata/format/files";
import {
  cacheLineJson,
  CacheLines,
  cacheLineText,
  COALESCED,
  CONTENTION,
} from "@perfdata/report/contention";
import { jsonLine } from "@perfdata/format/bytes";
import {
  aboutAsync,
  complain,
  complainAll,
  InputError,
  oneFile,
  parseWord,
  writeOut,
} from "../shared/cli.ts";
import type { FlagsOf } from "../shared/flag_table.ts";
import { choosesSamples, givenFilters, nameFilters, sampleFilter } from "../shared/sample_flags.ts";
import { resolverOf, symbolOptions } from "../shared/symbol_flags.ts";
import { openRecording } from "../shared/open_recording.ts";
import { whyNoAccesses, whyNothing } from "../shared/nothing.ts";
import { parseCount, parseJobs, parsePercent } from "../shared/record_flags.ts";
import { writeTable } from "../shared/styled.ts";
import type { FLAGS } from "../c2c.ts";

export async function run(flags: FlagsOf<typeof FLAGS>): Promise<number> {
  const { on, value, operands } = flags;
  const words = Object.keys(CONTENTION) as (keyof typeof CONTENTION)[];
  const display = value.display === undefined
    ? undefined
    : parseWord("display", value.display, words);
  const coalesced = (value.coalesce ?? "iaddr").split(",")
    .map((key) => parseWord("coalesce", key, COALESCED));
  const least = (parsePercent("percent-limit", value["percent-limit"]) ?? 0.1) / 100;
  const limit = parseCount("limit", value.limit) ?? Infinity;
  const chosen = {
    ...flags,
    value: { ...value, comm: undefined, dso: undefined, symbol: undefined },
  };
  const filters = givenFilters(chosen);
  const name = oneFile(operands);
  return await aboutAsync(name, async () => {
    const jobs = parseJobs(value.jobs);
    const { recording, complaints, progress } = await openRecording("c2c", name, {
      source: openSource(name, { interruptible: true }),
      threads: async ({ reader }) => {
        const threads = await sampleJobs(jobs, reader);
        if (threads === 1) return undefined;
        const { lineWorkers } = await import("@perfdata/perfdata/workers");
        return lineWorkers(name, threads, { by: coalesced, symbols: symbolOptions(flags) });
      },
    });
    const counts = new CacheLines(coalesced);
    const resolverFor = (machine: RecordedObjects) =>
      resolverOf(flags, name, {
        machine,
        parameters: false,
        debugInformation: on.srcline,
        ...symbolOptions(flags),
      });
    const { recorded } = await recording.read([counts], {
      filter: await sampleFilter(chosen, recording),
      jit: ({ recorded }) => resolverFor(recorded),
    });
    progress.finish();
    if (!counts.hasAccesses) {
      if (!choosesSamples(chosen)) {
        throw new InputError(`${name}: ${await whyNoAccesses(name, "perf c2c record")}`);
      }
      complain(
        `c2c: ${name}: no accesses: ${await whyNothing(name, filters, nameFilters(chosen))}`,
      );
      return 1;
    }
    const by = display ??
      (counts.contended("hitm") > 0 || counts.contended("peer") === 0 ? "hitm" : "peer");
    if (display === undefined && by === "peer") {
      complain(`c2c: ${name}: no load hit a modified line: lines are those that peers answered`);
    }
    const resolver = await resolverFor(recorded);
    const report = await counts.report(resolver, { by, least, limit, lines: on.srcline });
    if (on.json) {
      writeOut(`${jsonLine({ total: report.total, line_count: report.lineCount })}\n`);
      for (const [i, line] of report.lines.entries()) {
        writeOut(`${jsonLine(cacheLineJson(line, i))}\n`);
      }
    } else writeTable(`${cacheLineText(report, by).join("\n")}\n`);
    complainAll("c2c", trustLines(report.trust, { verbose: on.verbose, counted: "accesses" }));
    complaints.finish();
    if (counts.leftOut > 0) {
      complain(`c2c: ${name}: ${counts.leftOut} samples left out: they are too short`);
    }
    if (report.lines.length === 0) {
      complain(
        `c2c: ${name}: none of ${report.lineCount} lines is contended; --percent-limit 0 shows all`,
      );
    }
    return complaints.count > 0 || counts.leftOut > 0 ? 1 : 0;
  });
}
