import type { FlowDecoder } from "@perfdata/intel-pt";
import type { AuxStream } from "@perfdata/session/auxtrace";
import type { ThreadCode } from "../code/pt_code.ts";

/** One buffer while it is decoded: the trace of a CPU, or of a thread. */
export interface PtBuffer {
  /** The buffer. */
  readonly stream: AuxStream;
  /** Its number, from 0. */
  readonly index: number;
  /** The thread that runs; -1 if it is not known. */
  readonly tid: number;
  /** The code that it sees. */
  readonly code: ThreadCode;
  /** The code at the next address of a packet: other code if a guest is entered or left. */
  readonly toCode: ThreadCode;
  /** Time up to which it is decoded, ns; -Infinity or -1 if it is not known. */
  readonly position: number;
  /** Core clocks that its CYC packets have counted. */
  readonly cycles: number;
  /** Whether another thread may run: a context switch is near, and neither times nor code say where. */
  readonly isUnsure: boolean;
}

/** Receives the decoded trace. */
export interface PtSink {
  /** Takes paths and events of a buffer: see `FlowSink`. */
  flow(buffer: PtBuffer, run: FlowDecoder): void;
  /** Another thread runs on the buffer's CPU, or other code is there. */
  thread?(buffer: PtBuffer): void;
  /** The next output of a buffer comes after the output of other buffers before its `position`. */
  step?(buffer: PtBuffer): void;
  /** The numbers of blocks and paths are about to be reused. */
  forget?(): void;
  /** Called occasionally between packets, for work that cannot be done in the calls above. */
  idle?(): Promise<void> | void;
  /** Nothing more comes of a buffer. */
  ended?(buffer: PtBuffer): void;
  /** Says whether it has seen enough. */
  done?(): boolean;
  /** All buffers are decoded up to this time, ns. */
  reached?(ns: number): void;
}

/** Receives ranges of buffers; other threads may have the data before each. */
export interface PtPartSink<Found> extends PtSink {
  /**
   * A range of a buffer begins: nothing is known of it yet.
   *
   * @param isBefore Whether what comes now is before it, up to `takePart`: it only says how things stand there.
   */
  beginBuffer(index: number, isBefore: boolean): void;
  /**
   * The state of a buffer that determines what follows: two with the same state continue identically.
   * `undefined` if unknown.
   */
  stateOf(buffer: PtBuffer): readonly number[] | undefined;
  /** The last time of a buffer, ns. */
  timeOfBuffer(index: number): number;
  /**
   * Hands out what was found since the call before.
   *
   * @param isEnd Whether nothing follows.
   */
  takePart(buffer: PtBuffer, isEnd?: boolean): Promise<Found>;
}

/** Options of `decodePt`. */
export interface DecodePtOptions {
  /** Only these buffers. */
  readonly wants?: (stream: AuxStream) => boolean;
  /** Called with the number of bytes read since the previous call; decoding continues when it is done. */
  readonly progress?: (bytes: number) => Promise<void> | void;
  /** By how many ns one buffer may be ahead of the others; they are stopped at changes only without it. */
  readonly slice?: number;
  /**
   * Only what is needed for the part from this time on, ns: decoding begins at a PSB before it. Calls that were
   * open then are not known.
   */
  readonly from?: number;
  /** Only up to this time, ns. */
  readonly to?: number;
  /** Follows no code: see `FlowOptions.quick`. */
  readonly quick?: 0 | 1 | 2;
}
