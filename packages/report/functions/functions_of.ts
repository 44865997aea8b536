import type { Diagnostics } from "@perfdata/format/bytes";
import type { PerfDataReader } from "@perfdata/format/records";
import { SampleCollector } from "@perfdata/profile";
import { type EngineOptions, runEngine } from "@perfdata/session";
import type { SymbolResolver } from "@perfdata/symbols";
import type { FunctionOptions, FunctionRow } from "./functions.ts";
import { functionColumns } from "./function_keys.ts";
import { functionTable } from "./functions.ts";

/** A row with the name of its event. */
export interface NamedFunctionRow extends FunctionRow {
  /** The event, as given to `perf record -e`. */
  readonly eventName: string;
}

/** Options of {@link functions}. */
export interface FunctionsOptions extends FunctionOptions {
  /**
   * Finds symbols: `openResolver()` of `@perfdata/symbols/files` reads this machine's
   * files. Without it, functions are addresses.
   */
  readonly symbols?: SymbolResolver;
  /** Also count callees, from call chains: {@link FunctionRow.children}. */
  readonly children?: boolean;
  /** Selection of samples. */
  readonly filter?: EngineOptions["filter"];
  /** Makes the call tolerant: receives errors of unreadable parts. */
  readonly diagnostics?: Diagnostics;
}

/**
 * The functions of a recording, sorted by their share of each event's period.
 *
 * This is {@link functionTable} in one call, with an object per row. Samples that are damaged or
 * have an unknown event are dropped.
 *
 * @throws {PerfDataError} In strict mode, if the recording is damaged.
 *
 * @example
 * ```ts
 * import { bytesSource, PerfDataReader } from "@perfdata/format";
 * import { functions } from "@perfdata/report";
 * import { assertEquals } from "@std/assert";
 *
 * const pipe = new Uint8Array(16);
 * pipe.set(new TextEncoder().encode("PERFILE2"));
 * pipe.set([16], 8);
 * assertEquals(await functions(await PerfDataReader.open(bytesSource(pipe))), []);
 * ```
 */
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
