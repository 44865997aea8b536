import type { Diagnostics } from "@perfdata/format/bytes";
import type { OrderOptions } from "../order/order.ts";
import type { SampleFilter } from "../samples/resolve.ts";
import type { CodeFinder } from "../stacks/unwind.ts";
import type { Workers } from "../workers/thread.ts";
import type { Engine } from "./engine.ts";

/** How to run. */
export interface EngineOptions extends OrderOptions {
  /**
   * Finds the code of objects, so that stacks are unwound that were recorded as copies (`perf record
   * --call-graph dwarf`): asked once, where a recording has such. Without it they have their
   * innermost frame only.
   */
  readonly unwind?: ((engine: Engine) => CodeFinder | Promise<CodeFinder>) | undefined;
  /**
   * Finds jitdump files, so that an address has a place for each piece of code that a JIT compiler put
   * there: as `unwind` by default.
   */
  readonly jit?: ((engine: Engine) => CodeFinder | Promise<CodeFinder>) | undefined;
  /**
   * Whether call stacks from branch records (`perf record --call-graph lbr`) that are deeper than the
   * processor has registers are joined with those of the samples before.
   */
  readonly stitchLbr?: boolean | undefined;
  /** Which samples count: see `Run.chosen`. */
  readonly filter?: SampleFilter;
  /**
   * Called with the bytes that were read since the call before, and how many more there are to read than
   * the data has: where it is looked through first, all of it, and less once it is known what is needed.
   */
  readonly progress?: ((bytes: number, more?: number) => void) | undefined;
  /** Bytes of a block that a thread takes at a time, about; 1 MB by default. */
  readonly blockBytes?: number | undefined;
  /**
   * Other threads that take a part of the samples, where the consumer is one that can be shared, and
   * needs no order. The result is the same.
   */
  readonly workers?: Workers | undefined;
  /** Gets parts of the features that cannot be read; without it they are thrown. */
  readonly diagnostics?: Diagnostics;
}
