import type { Diagnostics } from "@perfdata/format/bytes";
import type { OrderOptions } from "../order/order.ts";
import type { SampleFilter } from "../samples/resolve.ts";
import type { CodeFinder } from "../stacks/unwind.ts";
import type { Workers } from "../workers/thread.ts";
import type { RecordingIndex } from "../index/recording_index.ts";
import type { Engine } from "./engine.ts";

/** Options of `runEngine`: how a recording is read for its consumers. */
export interface EngineOptions extends OrderOptions {
  /**
   * Opens the finder of objects' code, with which copied stacks (`perf record --call-graph dwarf`)
   * are unwound. Called once, if a recording has such copies. Without it, these stacks have their
   * innermost frame only.
   */
  readonly unwind?: ((engine: Engine) => CodeFinder | Promise<CodeFinder>) | undefined;
  /**
   * Opens the finder of jitdump files, so that an address has a place for each piece of code that a
   * JIT compiler put there. The default is `unwind`.
   */
  readonly jit?: ((engine: Engine) => CodeFinder | Promise<CodeFinder>) | undefined;
  /**
   * Whether call stacks from branch records (`perf record --call-graph lbr`) that fill all
   * registers of the processor are joined with the call stacks of previous samples.
   */
  readonly stitchLbr?: boolean | undefined;
  /**
   * Whether samples of a stream are delivered before its end, even if their copied stacks are then
   * unwound without the build ids, which come at the end.
   */
  readonly live?: boolean | undefined;
  /** Filter of samples: see `Run.chosen`. */
  readonly filter?: SampleFilter;
  /**
   * Called with the bytes that were read since the last call. `more` corrects the total, which is
   * at first the size of the data section: the scan of a file adds to it, blocks that are not read
   * reduce it.
   */
  readonly progress?: ((bytes: number, more?: number) => void) | undefined;
  /**
   * An index of this recording from an earlier scan, so that the file is not scanned again if
   * samples are read in any order. That scan has to have passed the records that are not samples to
   * {@linkcode Consumer.other}. The index of a recording with compressed records can be used once.
   */
  readonly index?: RecordingIndex | undefined;
  /** Approximate bytes that a thread reads at a time (a block of the file); 1 MB by default. */
  readonly blockBytes?: number | undefined;
  /**
   * Other threads that read a part of the samples, if the consumer can be shared and needs no
   * order. The result is the same.
   */
  readonly workers?: Workers | undefined;
  /** Receives errors in feature sections. Without it, the first such error is thrown. */
  readonly diagnostics?: Diagnostics;
}
