import type { Diagnostics } from "@perfdata/format/bytes";
import type { OrderOptions } from "../order/order.ts";
import type { SampleFilter } from "../samples/resolve.ts";
import type { CodeFinder } from "../stacks/unwind.ts";
import type { Workers } from "../workers/thread.ts";
import type { RecordingIndex } from "../index/recording_index.ts";
import type { Engine } from "./engine.ts";

/** Options of an engine's run. */
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
   * Whether samples are delivered while a stream goes on, even if the build ids of the files to
   * unwind their stacks with come at its end.
   */
  readonly live?: boolean | undefined;
  /** Filter of samples: see `Run.chosen`. */
  readonly filter?: SampleFilter;
  /**
   * Called with the bytes that were read since the last call. `more` corrects the total, which is
   * the size of the data at first: the scan of a file adds to it, blocks that are not needed reduce
   * it.
   */
  readonly progress?: ((bytes: number, more?: number) => void) | undefined;
  /**
   * An index of this recording from an earlier scan, which passed other records to
   * {@linkcode Consumer.other} of the consumers that want them. If samples are read in any order,
   * the file is then not scanned again. Not of compressed records: their blocks are used up.
   */
  readonly index?: RecordingIndex | undefined;
  /** Approximate bytes of a block that a thread reads at a time; 1 MB by default. */
  readonly blockBytes?: number | undefined;
  /**
   * Other threads that read a part of the samples, if the consumer can be shared and needs no
   * order. The result is the same.
   */
  readonly workers?: Workers | undefined;
  /** Receives errors in feature sections. Without it, the first such error is thrown. */
  readonly diagnostics?: Diagnostics;
}
