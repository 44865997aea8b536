import type { PerfDataReader } from "@perfdata/format/records";
import { EventNames } from "../events/event_names.ts";
import { type Applied, History, type HistoryIndex } from "../history/history.ts";
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

/** How much there is of a recording. */
export interface Extent {
  /** Samples, those that do not count included. */
  readonly samples: number;
  /** The youngest time of a record, in ns; 0 if none has a time. */
  readonly youngest: bigint;
}

/** Shared state of all consumers of a pass. */
export class Engine {
  /** The recording. */
  readonly reader: PerfDataReader;
  /** The machine as it was recorded, at the present moment; where there is no order, after all of it. */
  readonly machine: Machine;
  /** What it was at any moment, where samples are taken in any order. */
  readonly past: History | undefined;
  /** The one of both by which samples are resolved: `Run.thread` is a number of it. */
  readonly view: MachineView;
  /** Names of the machine: comms and paths by number. */
  readonly names: NameTable;
  /** What the recording says of its objects. */
  readonly recorded: RecordedObjects;
  /** All places that were met; complete after the run. */
  readonly places: Places;
  /** All stacks that were met. */
  readonly stacks: StackTable = new StackTable();
  /** What the recording says of its events: their names, and the formats of tracepoints. */
  readonly described: EventNames;
  /** Names of the events by their numbers; in a stream, those that are known by now. */
  eventNames: readonly string[] = [];
  /** What was found about the order of the file. */
  order: OrderStats = { queued: 0, violations: 0, peakBytes: 0, spilledBytes: 0 };
  /** What unwound the stacks, where there were copies of them. */
  unwinding: UnwindStep | undefined;
  /** How unwinding went, where stacks were unwound. */
  unwound: UnwindCounts | undefined;
  /** Samples whose user callers were to come in a later record, which is not there. */
  unjoined: number = 0;
  /** Whether call stacks of branch records were to be stitched, and could not be. */
  unstitched: boolean = false;
  /** Samples of no known event, or damaged. */
  leftOut: number = 0;
  /** What a file has in all, known before its records are read: where it was looked through. */
  extent: Extent | undefined;

  /** Prepares for one recording, of which what it says of its objects and events is known. */
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

/** An engine for a recording, with its past where the file was looked through. */
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
 * Makes the past of a recording's machine; what its records say of objects and events is noted.
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
