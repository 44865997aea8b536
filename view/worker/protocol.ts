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
import type { ProfileWeight } from "@perfdata/profile/recorded-profile";
import type { Selection } from "../data/selection.ts";
import type { TimeBoxes } from "../data/time_boxes.ts";
import type { Switched } from "../data/switched.ts";
import type { Track, TrackQuery } from "../data/tracks.ts";
import type { CodeAnswer } from "../recording/code_service.ts";
import type { PtFacts, PtInsns, PtPart, PtQuery } from "../recording/pt_service.ts";
import type { RecordDetail, RecordQuery, RecordRows } from "../recording/record_list.ts";
import type { ProfileFormat } from "./saved_profile.ts";
import type { IndexAnswer, InfoAnswer, SliceQuery } from "../recording/recording_service.ts";

/** Why there is no profile after somebody cancelled it. */
export const CANCELLED = "The samples were not read: that was cancelled.";

/** Progress of an operation. */
export interface ProgressState {
  /** What goes on. */
  readonly what: string;
  readonly unit: "bytes" | "addresses";
  readonly done: number;
  /** 0 if it is not known. */
  readonly total: number;
}

/** Where a recording comes from. */
export type Opening =
  /** A process that serves it, at an address below that of the page. */
  | {
    readonly from: "server";
    readonly address: string;
    /** Whether it has a recording to compare with. */
    readonly compared: boolean;
    readonly unread?: boolean;
    readonly counts?: ProfileWeight;
  }
  /** What `perfdata view -o` has put into the page: base64 of deflated bytes. */
  | {
    readonly from: "report";
    readonly packed: string;
    readonly unread?: boolean;
    readonly counts?: ProfileWeight;
  }
  | FilesOpening;

/** Files that were dropped: one or two recordings, and what names their functions. */
export interface FilesOpening {
  readonly from: "files";
  readonly files: readonly File[];
  /** Of two recordings the older one is the base of a comparison; set if it is the other one. */
  readonly swapped?: boolean;
  /** Whether samples are not read, since somebody cancelled that. */
  readonly unread?: boolean;
  /** What counts: samples, or times of threads. */
  readonly counts?: ProfileWeight;
  /** The text of the worker, of which it starts others. */
  readonly script: string;
}

/** What the worker does for the page. */
export interface Calls {
  /** Says whether there is something to compare with. */
  open(opening: Opening): { readonly compared: boolean };
  /** The lines of `info` that need no record; none if the recording itself is not there. */
  head(): readonly string[];
  /** `undefined` if the recording itself is not there. */
  index(): IndexAnswer | undefined;
  info(): InfoAnswer | undefined;
  /** When threads got a CPU and left it; `undefined` if the recording itself is not there. */
  switched(): Switched | undefined;
  profile(): ProfileFacts;
  flame(shown: Shown, query: FlameQuery): FlameBoxes & PmuBoxes;
  /** `undefined` if there is nothing to compare with. */
  comparison(): ComparisonFacts | undefined;
  compareFunctions(shown: Shown, query: ComparisonQuery): ComparedFunctions;
  compareFlame(shown: Shown, query: FlameQuery, width: Side): ComparedBoxes;
  table(shown: Shown): TableRows;
  children(shown: Shown, direction: Direction, path: readonly number[], focus?: number): TreeRows;
  tracks(
    query: TrackQuery,
    selection: Pick<Selection, "pids" | "tids" | "cpus">,
  ): { readonly tracks: readonly Track[]; readonly count: number };
  /** `undefined` if samples have no times. */
  timeFlame(shown: Shown, least: number): TimeBoxes | undefined;
  /** The share of what is selected that has one of some functions in its stack. */
  matchedShare(shown: Shown, matched: Uint8Array): number;
  heat(query: HeatQuery): Heat;
  /** Source and instructions of a function. */
  code(fn: number, shown: Shown): CodeAnswer;
  /** `undefined` if there is no Intel PT. */
  pt(): PtFacts | undefined;
  /** A part of the Intel PT, decoded. */
  ptPart(query: PtQuery): PtPart;
  ptInsns(query: Pick<PtQuery, "from" | "to">): PtInsns;
  /** What is selected, as a file for other tools. */
  save(shown: Shown, format: ProfileFormat): Blob;
  /** What is selected, as a recording. */
  slice(query: SliceQuery): Blob;
  records(query: RecordQuery, from: number, count: number): RecordRows;
  position(query: RecordQuery, number: number): number;
  record(number: number): RecordDetail | undefined;
}

/** A call as it is sent. */
export interface Call {
  readonly id: number;
  readonly name: keyof Calls;
  readonly args: readonly unknown[];
}

/** What is sent back. */
export type Message =
  | { readonly id: number; readonly result: unknown }
  | { readonly id: number; readonly error: string }
  | { readonly progress: ProgressState };
