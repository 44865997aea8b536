import type { FlowDecoder } from "@perfdata/intel-pt";
import type { AuxStream } from "@perfdata/session/auxtrace";
import type { ThreadCode } from "../code/pt_code.ts";

/** A buffer during decoding: the trace of a CPU, or of a thread. */
export interface PtBuffer {
  /** The buffer. */
  readonly stream: AuxStream;
  /** Index of the buffer, from 0. */
  readonly index: number;
  /** The running thread; -1 if unknown. */
  readonly tid: number;
  /** The code of the running thread. */
  readonly code: ThreadCode;
  /** The code at the next address of a packet: other code if a guest is entered or left. */
  readonly toCode: ThreadCode;
  /** Offset in the stream at which decoding began; events have offsets from there. */
  readonly begin: number;
  /** Time in ns up to which it is decoded; -Infinity or -1 if unknown. */
  readonly position: number;
  /** Core clocks counted by its CYC packets. */
  readonly cycles: number;
  /**
   * Whether another thread may run: a context switch is near, and neither times nor code show its
   * position.
   */
  readonly isUnsure: boolean;
}

/** Receives the decoded trace. */
export interface PtSink {
  /** Receives paths and events of a buffer: see `FlowSink`. */
  flow(buffer: PtBuffer, run: FlowDecoder): void;
  /** Called if another thread runs on the buffer's CPU, or if its code has changed. */
  thread?(buffer: PtBuffer): void;
  /**
   * Called if the next output of a buffer comes after the output of other buffers before its
   * `position`.
   */
  step?(buffer: PtBuffer): void;
  /** Called before numbers of blocks and paths are reused. */
  forget?(): void;
  /** Called occasionally between packets, for work that cannot be done in the calls above. */
  idle?(): Promise<void> | void;
  /** Called after the last output of a buffer. */
  ended?(buffer: PtBuffer): void;
  /** Returns whether to stop. */
  done?(): boolean;
  /** Called after all buffers are decoded up to this time in ns. */
  reached?(ns: number): void;
}

/** Receives ranges of buffers. Other threads may decode the data before each range. */
export interface PtPartSink<Found> extends PtSink {
  /**
   * Begins a range of a buffer, without any earlier state.
   *
   * @param isBefore Whether the data up to the next `takePart` is before the range, and only needed
   * for its state.
   */
  beginBuffer(index: number, isBefore: boolean): void;
  /**
   * The state of a buffer that determines its later output: two buffers with the same state
   * continue identically. `undefined` if unknown.
   */
  stateOf(buffer: PtBuffer): readonly number[] | undefined;
  /** The last time of a buffer in ns. */
  timeOfBuffer(index: number): number;
  /**
   * Returns the results since the last call.
   *
   * @param isEnd Whether it is the last part.
   */
  takePart(buffer: PtBuffer, isEnd?: boolean): Promise<Found>;
}

/** Options of `decodePt`. */
export interface DecodePtOptions {
  /** Only these buffers. */
  readonly wants?: (stream: AuxStream) => boolean;
  /**
   * Called with the number of bytes read since the last call; decoding continues after its promise.
   */
  readonly progress?: (bytes: number) => Promise<void> | void;
  /**
   * Maximum time in ns by which one buffer may be ahead of the others. By default, they stop at
   * changes only.
   */
  readonly slice?: number;
  /**
   * First time in ns that is needed: decoding begins at a PSB before it. Calls that were open then
   * are unknown.
   */
  readonly from?: number;
  /** Last time in ns. */
  readonly to?: number;
  /** Decodes packets without code: see `FlowOptions.quick`. */
  readonly quick?: 0 | 1 | 2;
}
