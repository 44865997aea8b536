/** The rows of functions of a recording, for tests. */
import type { PerfDataReader } from "@perfdata/format/records";
import { SampleCollector } from "@perfdata/profile";
import { type EngineOptions, runEngine } from "@perfdata/session";
import type { SymbolResolver } from "@perfdata/symbols";
import { functionColumns } from "./function_keys.ts";
import type { FunctionOptions, NamedFunctionRow } from "./function_options.ts";
import { functionTable } from "./functions.ts";

/** Options of {@link functions}. */
export interface FunctionsOptions
  extends FunctionOptions, Pick<EngineOptions, "filter" | "diagnostics"> {
  readonly symbols?: SymbolResolver;
  /** Also count callees, from call chains. */
  readonly children?: boolean;
}

/** Collects the samples of a recording. Returns an object per row. */
export async function functions(
  reader: PerfDataReader,
  options: FunctionsOptions = {},
): Promise<NamedFunctionRow[]> {
  const { symbols, children = false, filter, diagnostics, ...rest } = options;
  const counts = new SampleCollector(functionColumns(rest, children));
  await runEngine(reader, [counts], { filter, diagnostics });
  const table = await functionTable(counts, symbols, rest);
  return Array.from(table.rows, (row) => ({
    ...table.row(row),
    eventName: table.eventNames[table.event(row)] ?? "",
  }));
}
