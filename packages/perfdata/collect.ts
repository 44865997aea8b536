import type { PerfDataReader } from "@perfdata/format/records";
import { isTimeWeight, type SampleCollector } from "@perfdata/profile";
import { type Engine, type EngineOptions, runEngine } from "@perfdata/session";
import type { SymbolResolver } from "@perfdata/symbols";

/** How {@linkcode collect} goes through a recording. */
export interface CollectingOptions extends Omit<EngineOptions, "unwind"> {
  /**
   * Opens the symbols of the recorded machine: asked once, for stacks that have to be unwound or, after the
   * last record, for names.
   */
  readonly symbols: (engine: Engine) => SymbolResolver | Promise<SymbolResolver>;
}

/** A recording whose samples were collected. */
export interface Collected {
  /** What went through it. */
  readonly engine: Engine;
  /** The symbols: those that stacks were unwound with, or opened now. */
  readonly symbols: () => Promise<SymbolResolver>;
}

/**
 * Goes through a recording and collects its samples, which are named afterwards: the one way from a recording
 * to a profile, in commands, in the page and in `open`.
 *
 * @example
 * ```ts
 * import { PerfDataReader } from "@perfdata/format";
 * import { collect } from "@perfdata/perfdata/collect";
 * import { pathSource } from "@perfdata/perfdata/files";
 * import { profileColumns, recordedProfile, SampleCollector } from "@perfdata/profile";
 * import { SymbolResolver } from "@perfdata/symbols";
 * import { assert } from "@std/assert";
 *
 * const source = pathSource("fixtures/recorded/callchain.perf.data");
 * const collector = new SampleCollector(profileColumns({}));
 * const { symbols } = await collect(await PerfDataReader.open(source), collector, {
 *   symbols: () => new SymbolResolver({ open: () => undefined, read: () => undefined }),
 * });
 * const resolver = await symbols();
 * const { profile } = await recordedProfile(collector, { resolver, title: "callchain" });
 * assert(profile.samples.length > 0);
 * source.close();
 * ```
 */
export async function collect(
  reader: PerfDataReader,
  collector: SampleCollector,
  { symbols, filter, ...options }: CollectingOptions,
): Promise<Collected> {
  let opened: SymbolResolver | Promise<SymbolResolver> | undefined;
  const open = (engine: Engine) => opened ??= symbols(engine);
  const engine = await runEngine(reader, [collector], {
    ...options,
    // Of times without a CPU both ends count: the collector chooses them when they are known.
    filter: isTimeWeight(collector.weight) ? undefined : filter,
    unwind: open,
  });
  return { engine, symbols: async () => await open(engine) };
}
