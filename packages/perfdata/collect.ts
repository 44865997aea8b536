import type { PerfDataReader } from "@perfdata/format/records";
import { isTimeWeight, type SampleCollector } from "@perfdata/profile";
import {
  type Consumer,
  type Engine,
  type EngineOptions,
  runEngine,
  type Shareable,
  SharedConsumers,
} from "@perfdata/session";
import type { SymbolResolver } from "@perfdata/symbols";

/** Options of {@linkcode collect}. */
export interface CollectingOptions extends Omit<EngineOptions, "unwind"> {
  /**
   * Opens the symbols of the recorded machine. Called once: when the first stack is unwound, or
   * after the last record.
   */
  readonly symbols: (engine: Engine) => SymbolResolver | Promise<SymbolResolver>;
  /**
   * Another consumer that reads the recording in the same pass. The workers, if there are any, have
   * to collect for both consumers: see {@linkcode SharedConsumers}.
   */
  readonly beside?: (Consumer & Shareable) | undefined;
}

/** A recording whose samples were collected. */
export interface Collected {
  /** The engine that read the recording. */
  readonly engine: Engine;
  /** Returns the resolver that stacks were unwound with, or opens it. */
  readonly symbols: () => Promise<SymbolResolver>;
}

/**
 * Reads a recording and collects its samples. Names are looked up afterwards. Commands, the page and
 * `open` all make profiles with this function.
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
  { symbols, filter, beside, ...options }: CollectingOptions,
): Promise<Collected> {
  let opened: SymbolResolver | Promise<SymbolResolver> | undefined;
  const open = (engine: Engine) => opened ??= symbols(engine);
  const consumers = beside === undefined
    ? [collector]
    : options.workers === undefined
    ? [collector, beside]
    : [new SharedConsumers([collector, beside])];
  const engine = await runEngine(reader, consumers, {
    ...options,
    // An off-CPU time has a start and an end, so the collector applies the filter itself.
    filter: isTimeWeight(collector.weight) ? undefined : filter,
    unwind: open,
  });
  return { engine, symbols: async () => await open(engine) };
}
