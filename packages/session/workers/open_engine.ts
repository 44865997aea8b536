import type { Diagnostics } from "@perfdata/format/bytes";
import type { PerfDataReader } from "@perfdata/format/records";
import { Engine, historyOf } from "../engine/engine.ts";
import { EventNames } from "../events/event_names.ts";
import type { Applied, HistoryIndex } from "../history/history.ts";
import { KeptRecords } from "../index/kept_records.ts";
import type { HistoryPart } from "../index/recording_index.ts";
import { Rounds } from "../index/rounds.ts";
import { SeenThreads } from "../index/seen_threads.ts";
import { RecordedObjects } from "../places/recorded_objects.ts";

/** The past, received from another thread. */
export function historyIndexOf({ isTimed, rounds, records, seen }: HistoryPart): HistoryIndex {
  return {
    isTimed,
    rounds: Rounds.of(rounds),
    records: KeptRecords.of(records),
    seen: SeenThreads.of(seen),
  };
}

/**
 * Gets ready to resolve parts of a recording of which another pass has made the index, and reports what
 * is damaged.
 *
 * @param diagnostics Gets parts of the features that cannot be read.
 * @param past What the past of the machine is made of, where that is needed.
 * @param applied Called for the records that it is made of.
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
