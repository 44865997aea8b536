/** Runs `records`. */
import { writeStdout } from "@perfdata/format/files";
import { textThreads } from "@perfdata/perfdata/workers";
import { bundledSymbols, isRecording, reportUnnamed } from "../shared/bundle_flag.ts";
import { aboutAsync, complain, oneFile, parseWord, UsageError } from "../shared/cli.ts";
import { SYMBOL_FILE_FLAGS } from "../shared/flag_sets.ts";
import { flagRows, type FlagsOf } from "../shared/flag_table.ts";
import {
  choosesSamples,
  givenFilters,
  nameFilters,
  parseNames,
  sampleFilter,
} from "../shared/sample_flags.ts";
import { whyNothing } from "../shared/nothing.ts";
import { parseCount, parseJobs, parseOffset } from "../shared/record_flags.ts";
import { openRecording, symbolsLater } from "../shared/open_recording.ts";
import { parseTypes } from "../shared/type_flag.ts";
import type { FLAGS } from "../records.ts";

type RecordsFlags = FlagsOf<typeof FLAGS>;

/**
 * Separates the file from the value of `--symbols`: in `--symbols perf.data` the flag has no value,
 * and `perf.data` is the recording.
 *
 * @returns The file, and `symbols`: the path of a bundle, `""` for this machine's files,
 * `undefined` for no symbols.
 */
function fileAndSymbols({ on, value, operands }: RecordsFlags): [file: string, symbols?: string] {
  const { symbols, symbol } = value;
  const given: Readonly<Record<string, string | undefined>> = value;
  const here = on.inline || on.srcline || symbol !== undefined ||
    flagRows(SYMBOL_FILE_FLAGS).some(({ flag }) => given[flag] !== undefined);
  if (symbols === undefined) return here ? [oneFile(operands), ""] : [oneFile(operands)];
  return symbols !== "" && operands.length === 0 && (symbols === "-" || isRecording(symbols))
    ? [symbols, ""]
    : [oneFile(operands), symbols];
}

export async function run(flags: RecordsFlags): Promise<number> {
  const { on, value } = flags;
  const [file, symbols] = fileAndSymbols(flags);
  if (value.order === "file") {
    const flag = on.unwind
      ? "unwind"
      : (["symbol", "dso", "comm"] as const).find((name) => value[name] !== undefined) ??
        (symbols === undefined ? undefined : "symbols");
    if (flag !== undefined) {
      throw new UsageError(
        `--${flag} needs --order time: what threads are called, and what is mapped, changes with time`,
      );
    }
  }
  const jobs = parseJobs(value.jobs);
  const names = {
    ...nameFilters(flags),
    event: value.event === undefined ? undefined : parseNames("event", value.event),
  };
  const options = {
    format: on.csv ? "csv" as const : "ndjson" as const,
    order: parseWord("order", value.order, ["file", "time"]),
    u64: parseWord("u64", value.u64, ["number", "string"]),
    types: parseTypes(value.type),
    from: parseOffset("from", value.from),
    limit: parseCount("limit", value.limit),
    inflate: !on["no-inflate"],
    stitchLbr: on["stitch-lbr"],
    fields: on.fields,
  };
  // Without a bundle, names and code are those of this machine.
  const local = { ...flags, value: { ...value, symbols: symbols === "" ? undefined : symbols } };
  const { recording, complaints, progress } = await aboutAsync(
    file,
    () =>
      openRecording("records", file, {
        symbols: symbolsLater(local, file),
        textThreads: textThreads(jobs),
      }),
  );
  const bundled = symbols === undefined || symbols === ""
    ? undefined
    : await bundledSymbols(symbols, !on["no-demangle"]);
  const isChosen = choosesSamples(flags) || value.event !== undefined;
  const filter = isChosen
    ? { ...names, ...await aboutAsync(file, () => sampleFilter(flags, recording)) }
    : undefined;
  const { engine, count, cut, names: looked } = await recording.writeRecords(writeStdout, {
    ...options,
    path: file,
    filter,
    symbols: bundled ?? symbols === "",
    lines: on.inline || on.srcline,
    unwind: on.unwind,
  }).finally(() => progress.finish());
  complaints.finish();
  const { type, from, event } = value;
  if (count === 0 && value.limit !== "0" && (isChosen || (type ?? from) !== undefined)) {
    const why = await whyNothing(file, { ...givenFilters(flags), event, type, from }, names);
    complain(`records: ${file}: no records: ${why}`);
  }
  if (cut > 0) {
    complain(`records: ${file}: ${cut} samples of tracepoints have no fields: their data are cut`);
  }
  if (on.fields && await engine.described.formats() === undefined) {
    complain(
      `records: ${file}: no fields: the recording has no formats of tracepoints (TRACING_DATA)`,
    );
  }
  if (bundled !== undefined) reportUnnamed("records", symbols ?? "", bundled);
  if (looked !== undefined || on.unwind) {
    const { reportLookUps } = await import("../shared/record_symbols.ts");
    reportLookUps(file, looked, on.unwind ? engine : undefined);
  }
  looked?.[Symbol.dispose]();
  return complaints.count > 0 ? 1 : 0;
}
