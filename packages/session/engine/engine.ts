import type { PerfDataReader } from "@perfdata/format/records";
import { EventNames } from "../events/event_names.ts";
import { History } from "../history/history.ts";
import type { Applied, HistoryIndex } from "../history/history_keeper.ts";
import type { RecordingIndex } from "../index/recording_index.ts";
import { Machine } from "../machine/machine.ts";
import type { NameTable } from "../machine/machine_names.ts";
import type { MachineView } from "../machine/machine_view.ts";
import type { OrderStats } from "../order/order.ts";
import { Places } from "../places/places.ts";
import { RecordedObjects } from "../places/recorded_objects.ts";
import { StackTable } from "../stacks/stacks.ts";
import type { UnwindStep } from "../stacks/unwind.ts";
import type { UnwindCounts } from "../stacks/unwind_counts.ts";

/** Number of samples and last time of a recording. */
export interface Extent {
  /** Samples, including those that filters exclude. */
  readonly samples: number;
  /** The latest time of a record, in ns; 0 if no record has a time. */
  readonly youngest: bigint;
}

/** Shared state of all consumers of a pass. */
export class Engine {
  /** The recording. */
  readonly reader: PerfDataReader;
  /**
   * The recorded machine at the current record; after the last record if samples are read in any
   * order.
   */
  readonly machine: Machine;
  /** The machine at any moment. Present if samples are read in any order. */
  readonly past: History | undefined;
  /**
   * The machine or its history, by which samples are resolved; `Run.thread` is an index in it.
   */
  readonly view: MachineView;
  /** Names of the machine: comms and paths by index. */
  readonly names: NameTable;
  /** Descriptions of the mapped objects: build ids, jitdump files and others. */
  readonly recorded: RecordedObjects;
  /** All places of samples; complete after the pass. */
  readonly places: Places;
  /** All stacks of samples. */
  readonly stacks: StackTable = new StackTable();
  /** Recorded names of the events, and formats of tracepoints. */
  readonly described: EventNames;
  /** Names of the events by index. In a stream, those that were read so far. */
  eventNames: readonly string[] = [];
  /** Counts about the order of the records. */
  order: OrderStats = { queued: 0, violations: 0, peakBytes: 0, spilledBytes: 0 };
  /** The unwinder. Present if samples with copied stacks are unwound. */
  unwinding: UnwindStep | undefined;
  /** Counts of unwound stacks. Present if stacks were unwound. */
  unwound: UnwindCounts | undefined;
  /** Samples whose deferred user callers never came in a later record. */
  unjoined: number = 0;
  /** Whether stitching of LBR call stacks was requested and is not possible. */
  unstitched: boolean = false;
  /** Samples that were skipped: damaged, or of an unknown event. */
  leftOut: number = 0;
  /** Totals of the file. Present if an index was made before the records are read. */
  extent: Extent | undefined;

  /**
   * Prepares for one recording. Descriptions of objects and events can be shared with other
   * engines.
   */
  constructor(
    reader: PerfDataReader,
    recorded: RecordedObjects = new RecordedObjects(reader),
    described: EventNames = new EventNames(reader),
    past?: History,
  ) {
    this.reader = reader;
    this.past = past;
    this.machine = past?.end ?? new Machine(reader.littleEndian);
    this.view = past ?? this.machine;
    this.names = this.view.names;
    this.recorded = recorded;
    this.places = new Places(this.view, recorded);
    this.described = described;
  }
}

/** Creates the engine of a recording, with a history if the recording has an index. */
export function engineOf(
  reader: PerfDataReader,
  recorded: RecordedObjects,
  described: EventNames,
  index: RecordingIndex | undefined,
): Engine {
  const past = index && historyOf(index, reader, recorded, described);
  const engine = new Engine(reader, recorded, described, past);
  engine.extent = index && extentOf(index);
  return engine;
}

function extentOf({ blocks }: RecordingIndex): Extent {
  let [samples, youngest] = [0, 0n];
  for (const block of blocks) {
    samples += block.samples;
    if (block.youngest > youngest) youngest = block.youngest;
  }
  return { samples, youngest };
}

/**
 * Creates the history of a recording's machine, and notes what records say about objects and
 * events.
 *
 * @param applied Called after each record of the kernel.
 */
export function historyOf(
  index: HistoryIndex,
  reader: PerfDataReader,
  recorded: RecordedObjects,
  described: EventNames,
  applied?: Applied,
): History {
  return new History(index, {
    littleEndian: reader.littleEndian,
    arch: reader.arch,
    known: recorded.known,
    record(bytes, view, start, end) {
      recorded.record(bytes, view, start, end);
      described.record(bytes, view, start, end);
    },
    applied,
  });
}
