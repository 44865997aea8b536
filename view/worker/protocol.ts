import type { ProfileFacts, Shown, TableRows, TreeRows } from "../data/view_engine.ts";
import type {
  ComparedBoxes,
  ComparedFunctions,
  ComparisonFacts,
  ComparisonQuery,
  Side,
} from "../data/comparison.ts";
import type { Direction } from "../data/call_graph.ts";
import type { FlameBoxes, FlameQuery } from "../data/flame_boxes.ts";
import type { PmuBoxes } from "../data/pmu_boxes.ts";
import type { Heat, HeatQuery } from "../data/heat.ts";
import type { ProfileWeight } from "@perfdata/profile";
import type { Selection } from "../data/selection.ts";
import type { TimeBoxes } from "../data/open_boxes.ts";
import type { Marks } from "../data/marks.ts";
import type { Switched } from "../data/switched.ts";
import type { Track, TrackQuery, Tracks, TrackSample } from "../data/tracks.ts";
import type { CodeAnswer, SourcePart } from "../recording/code_service.ts";
import type { PtFacts, PtInsns, PtPart, PtQuery } from "../recording/pt_service.ts";
import type { RecordDetail, RecordQuery, RecordRows } from "../recording/record_list.ts";
import type { ProfileFormat } from "./saved_profile.ts";
import type { StatSeries } from "../recording/stat_series.ts";
import type { IndexAnswer, InfoAnswer, SliceQuery } from "../recording/recording_service.ts";

/** Message in place of the profile after a cancellation. */
export const CANCELLED = "The samples were not read: that was cancelled.";

export interface ProgressState {
  /** Description of the operation. */
  readonly what: string;
  readonly unit: "bytes" | "addresses";
  readonly done: number;
  /** 0 if unknown. */
  readonly total: number;
}

/** The state of a recording that is being made. */
export interface LiveState {
  /** A number that rises when there is more to show. */
  readonly version: number;
  /** Whether the stream has ended. */
  readonly isOver: boolean;
  /** Why reading ended early. */
  readonly error: string | undefined;
  /** Bytes that arrived. */
  readonly bytes: number;
  /** Milliseconds since the last bytes arrived. */
  readonly quiet: number;
}

/** Source of a recording. */
export type Opening =
  /** A process that serves the recording, at an address below that of the page. */
  | {
    readonly from: "server";
    readonly address: string;
    /** Whether the server has a recording to compare with. */
    readonly compared: boolean;
    /** Whether the recording is being made. */
    readonly live?: boolean;
    readonly unread?: boolean;
    readonly counts?: ProfileWeight;
  }
  /** A page written by `perfdata view -o`: base64 of deflated data. */
  | {
    readonly from: "report";
    readonly packed: string;
    readonly unread?: boolean;
    readonly counts?: ProfileWeight;
  }
  | FilesOpening;

/** Script of a worker. */
export interface WorkerScript {
  readonly text: string;
  /** `module` if it imports a file beside the page; a page on disk cannot load modules. */
  readonly type: "classic" | "module";
}

/** Starts a worker. It is made from text, so that the policy of the page holds in it, too. */
export function startWorker({ text, type }: WorkerScript, name?: string): Worker {
  const url = URL.createObjectURL(new Blob([text], { type: "text/javascript" }));
  return new Worker(url, { type, ...(name === undefined ? {} : { name }) });
}

/** Dropped files: one or two recordings, and files with symbols. */
export interface FilesOpening {
  readonly from: "files";
  readonly files: readonly File[];
  /** Whether the newer of two recordings is the base of the comparison, instead of the older one. */
  readonly swapped?: boolean;
  /** Whether samples are not read, because the user cancelled that. */
  readonly unread?: boolean;
  /** Kind of weight: samples, or times of threads. */
  readonly counts?: ProfileWeight;
  /** The worker, which starts further workers. */
  readonly script: WorkerScript;
}

/** Functions of the worker that the page calls. */
export interface Calls {
  /** Opens a recording; returns whether there is another one to compare with, and whether there is code of functions. */
  open(opening: Opening): { readonly compared: boolean; readonly hasCode: boolean };
  /** Returns the lines of `info` that need no records; empty without a recording. */
  head(): readonly string[];
  /** `undefined` without a recording. */
  index(): IndexAnswer | undefined;
  info(): InfoAnswer | undefined;
  /** Context switches; `undefined` without a recording. */
  switched(): Switched | undefined;
  /** Tracepoints and notable records; `undefined` without a recording, or without times. */
  marks(): Marks | undefined;
  /** Counts of `perf stat record`; none of other recordings. */
  counts(): readonly StatSeries[] | undefined;
  profile(): ProfileFacts;
  /** Waits for a newer version of a recording that is being made. */
  wait(version: number): LiveState;
  /** Reads the samples so far. */
  grow(): ProfileFacts;
  /** Keeps the present data as the recording to compare with. */
  keep(): void;
  flame(shown: Shown, query: FlameQuery): FlameBoxes & PmuBoxes;
  /** `undefined` without another recording. */
  comparison(): ComparisonFacts | undefined;
  compareFunctions(shown: Shown, query: ComparisonQuery): ComparedFunctions;
  compareFlame(shown: Shown, query: FlameQuery, width: Side): ComparedBoxes;
  table(shown: Shown): TableRows;
  children(shown: Shown, direction: Direction, path: readonly number[], focus?: number): TreeRows;
  tracks(
    query: TrackQuery,
    selection: Pick<Selection, "pids" | "tids" | "cpus">,
  ): Tracks;
  /** The sample of a track that is next to a time. */
  sampleAt(
    track: Pick<Track, "kind" | "id">,
    query: Pick<TrackQuery, "event" | "weight" | "from" | "to">,
    at: number,
  ): TrackSample | undefined;
  /** `undefined` if samples have no times. */
  timeFlame(shown: Shown, least: number): TimeBoxes | undefined;
  /** The share of the selection that transforms dropped. */
  droppedShare(shown: Shown): number;
  /** The share of the selection with one of the given functions in its stack. */
  matchedShare(shown: Shown, matched: Uint8Array): number;
  heat(query: HeatQuery): Heat;
  /** Source and instructions of a function. */
  code(fn: number, shown: Shown): CodeAnswer;
  /** Known parts of a source file of the profile; `undefined` without any. */
  sourceText(file: string): readonly SourcePart[] | undefined;
  /** `undefined` without Intel PT. */
  pt(): PtFacts | undefined;
  /** Decodes a part of the Intel PT. */
  ptPart(query: PtQuery): PtPart;
  ptInsns(query: Pick<PtQuery, "from" | "to">): PtInsns;
  /** Returns the selection as a file for other tools. */
  save(shown: Shown, format: ProfileFormat): Blob;
  /** Returns the selection as a recording. */
  slice(query: SliceQuery): Blob;
  records(query: RecordQuery, from: number, count: number): RecordRows;
  position(query: RecordQuery, number: number): number;
  record(number: number): RecordDetail | undefined;
}

/** A call, as the page sends it. */
export interface Call {
  readonly id: number;
  readonly name: keyof Calls;
  readonly args: readonly unknown[];
}

/** A message of the worker. */
export type Message =
  | { readonly id: number; readonly result: unknown }
  | { readonly id: number; readonly error: string }
  | { readonly progress: ProgressState };
