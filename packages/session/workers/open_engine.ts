import type { Diagnostics } from "@perfdata/format/bytes";
import type { PerfDataReader } from "@perfdata/format/records";
import { Engine, historyOf } from "../engine/engine.ts";
import { EventNames } from "../events/event_names.ts";
import type { Applied, HistoryIndex } from "../history/history_keeper.ts";
import { KeptRecords } from "../index/kept_records.ts";
import type { HistoryPart } from "../index/recording_index.ts";
import { Rounds } from "../index/rounds.ts";
import { SeenThreads } from "../index/seen_threads.ts";
import { RecordedObjects } from "../places/recorded_objects.ts";

/** Restores the inputs of the history from another thread. */
export function historyIndexOf({ isTimed, rounds, records, seen }: HistoryPart): HistoryIndex {
  return {
    isTimed,
    rounds: Rounds.of(rounds),
    records: KeptRecords.of(records),
    seen: SeenThreads.of(seen),
  };
}

/**
 * Creates an engine for parts of a recording whose index was made by another pass, and reports
 * damage.
 *
 * @param diagnostics Receives errors in feature sections.
 * @param past Inputs of the machine's history, if needed.
 * @param applied Called for each record of the history.
 */
export async function openEngine(
  reader: PerfDataReader,
  past: HistoryIndex | undefined,
  diagnostics: Diagnostics,
  applied?: Applied,
): Promise<Engine> {
  const recorded = new RecordedObjects(reader, diagnostics);
  const described = new EventNames(reader, diagnostics);
  await recorded.readFeatures(reader);
  await described.all();
  const history = past && historyOf(past, reader, recorded, described, applied);
  return new Engine(reader, recorded, described, history);
}
