import type { EventLoopTurns } from "@perfdata/format/bytes";
import type { PerfDataReader } from "@perfdata/format/records";
import type { CallEvents, PtLoss, PtNames } from "@perfdata/pt/decode";
import { type Engine, type EngineOptions, runEngine } from "@perfdata/session";
import { type OpenTable, PT_CALLS, PtCallRows, RecordingTables } from "@perfdata/tables";
import type { OpenSymbols } from "./profile_question.ts";
import type { RecordingTrace } from "./trace/recording_trace.ts";

/** Contents of the tables of {@linkcode Recording.writeTables}. */
export interface TablesOptions extends Pick<EngineOptions, "filter" | "stitchLbr"> {
  /** Whether frames have names. By default they have addresses alone, and names can be added later. */
  readonly names?: boolean | undefined;
  /** Whether there is a table of the calls of Intel PT. */
  readonly calls?: boolean | undefined;
  /** Number of sample rows in a group. */
  readonly groupRows?: number | undefined;
}

/** Result of {@linkcode Recording.writeTables}. */
export interface WrittenTables {
  /** The engine, with the facts about stacks. */
  readonly engine: Engine;
  /** Number of sample rows. */
  readonly samples: number;
  /** Number of damaged samples and samples of unknown events. */
  readonly leftOut: number;
  /** What is missing in the table of calls, if there is one. */
  readonly traced: PtLoss | undefined;
}

/** Inputs of {@linkcode writeTables}. */
export interface TablesHost extends Pick<EngineOptions, "progress" | "diagnostics"> {
  readonly reader: PerfDataReader;
  /** The name of the recording. */
  readonly name: string;
  readonly turns: EventLoopTurns;
  readonly symbols: OpenSymbols;
  /** Opens the Intel PT. */
  readonly trace: () => Promise<RecordingTrace>;
}

/** Writes the rows of a recording to tables. */
export async function writeTables(
  { reader, name, turns, symbols, trace, progress, diagnostics }: TablesHost,
  open: OpenTable,
  { names = false, calls = false, groupRows, filter, stitchLbr }: TablesOptions,
): Promise<WrittenTables> {
  const resolver = (lines: boolean) => async ({ recorded }: Engine) =>
    await symbols({ machine: recorded, lines });
  const tables = new RecordingTables(reader, {
    name,
    open,
    groupRows,
    pause: turns.turn,
    resolver: names ? resolver(true) : undefined,
  });
  const unwind = resolver(false);
  const options = { filter, stitchLbr, unwind, progress, diagnostics };
  const engine = await runEngine(reader, [tables], options);
  await tables.write();
  const { samples, leftOut } = tables;
  if (!calls) return { engine, samples, leftOut, traced: undefined };
  const rows = new PtCallRows(open(PT_CALLS, tables.key), tables.key.id);
  const opened = await trace();
  const { sideband: { threads } } = opened.trace;
  const take = (names: PtNames) => (events: CallEvents) => rows.take(events, names, threads);
  const traced = await opened.calls(take, { filter });
  rows.finish();
  return { engine, samples, leftOut, traced };
}
