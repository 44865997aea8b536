import type { PerfDataReader } from "@perfdata/format/records";
import { checkMemory } from "@perfdata/format/bytes";
import { PERF_SAMPLE_STACK_USER } from "@perfdata/format/constants";
import { type Run, RunColumns } from "../order/run.ts";
import { Resolver } from "../samples/resolve.ts";
import type { Consumer, Needs } from "./engine_consumer.ts";
import type { Engine } from "./engine.ts";
import type { EngineOptions } from "./engine_options.ts";

/** One reading of a recording: resolves the records for all consumers. */
export interface Pass {
  /** Fills in threads, places and stacks. */
  readonly resolver: Resolver;
  /** Whether a consumer needs whole stacks. */
  readonly whole: boolean;
  /**
   * Resolves a group of records whose columns block, start, offset, event and time are filled, and
   * passes it to the consumers.
   *
   * @param filled Called after the columns that depend on a record's bytes alone are filled.
   */
  take(run: Run, filled?: (run: Run) => void): void;
  /** Adds counts of skipped samples to the engine; called after the last record. */
  end(): void;
}

/** Creates a resolver for the columns that consumers need, and starts the consumers. */
export async function openPass(
  engine: Engine,
  consumers: readonly Consumer[],
  { filter = {}, unwind, jit = unwind, stitchLbr }: EngineOptions,
): Promise<Pass> {
  const { reader, machine, recorded, past } = engine;
  const wants = (need: keyof Needs) => consumers.some(({ needs }) => needs[need] === true);
  const resolves = consumers.some(({ needs }) => needs.machine !== false);
  const joined = wants("joined");
  const stacks = wants("stacks") || joined;
  const frames = wants("frames");
  const whole = stacks || frames;
  const resolver = new Resolver({
    reader,
    machine,
    recorded,
    places: engine.places,
    stacks: engine.stacks,
    needs: {
      places: consumers.some(({ needs }) => hasPlaces(needs)),
      stacks,
      calls: wants("calls"),
      addr: wants("addr"),
      branches: wants("branches"),
      chains: wants("chains") || joined,
      joined,
      frames,
      maps: wants("maps"),
      looksAt: anyLooksAt(consumers),
    },
    filter,
    past,
  });
  engine.places.joinsUnmapped = !consumers.some(({ needs }) =>
    needs.unmapped !== false && hasPlaces(needs)
  );
  engine.places.joinsObjects = !consumers.some(({ needs }) =>
    needs.addresses !== false && hasPlaces(needs)
  );
  const watchers = consumers.filter(({ applied }) => applied !== undefined);
  if (watchers.length > 0) {
    resolver.applied = (run, row) => {
      for (const watcher of watchers) watcher.applied?.(run, row);
    };
  }
  if (past === undefined) {
    machine.arch = reader.arch;
    machine.setKnownBinaries(recorded.known);
  }
  engine.eventNames = await engine.described.all();
  const { userChains } = resolver;
  if (whole) await userChains.deferred.readAll(reader);
  userChains.stitches = stitchLbr === true;
  if (whole && unwind !== undefined && mayHaveCopies(reader)) {
    // Loaded on demand: few recordings need it.
    const { UnwindStep } = await import("../stacks/unwind.ts");
    resolver.unwind = engine.unwinding = await UnwindStep.open(engine, await unwind(engine));
    engine.unwound = engine.unwinding.counts;
  }
  // In a stream, jitdump files are known only when their records come.
  if (
    jit !== undefined && consumers.some(({ needs }) => hasPlaces(needs)) &&
    (past === undefined || recorded.jitdumpCount > 0)
  ) {
    const { JitRecorded } = await import("../places/jit_versions.ts");
    const { codeSearch } = await jit(engine);
    engine.places.jit = new JitRecorded(reader, recorded, codeSearch.jit);
  }
  for (const consumer of consumers) await consumer.start?.(engine);
  const columns = new RunColumns(reader);
  let runs = 0;
  return {
    resolver,
    whole,
    take(run, filled) {
      if ((runs++ & 15) === 0) checkMemory();
      columns.fill(run);
      filled?.(run);
      if (resolves) resolver.take(run);
      for (const consumer of consumers) consumer.rows(run);
    },
    end() {
      engine.leftOut = resolver.leftOut;
      engine.unjoined = userChains.unjoined;
      engine.unstitched = stitchLbr === true && !userChains.isStitching;
    },
  };
}

/** Whether a consumer needs places, or columns that are made from them. */
function hasPlaces({ places, stacks, joined, frames, addr, branches, chains }: Needs): boolean {
  return (places || stacks || joined || frames || addr || branches || chains) === true;
}

/** The samples whose places any consumer reads; `undefined` if a consumer reads all. */
function anyLooksAt(consumers: readonly Consumer[]): Needs["looksAt"] {
  const all = consumers.filter(({ needs }) => hasPlaces(needs)).map(({ needs }) => needs.looksAt);
  const [first] = all;
  if (all.length <= 1 || all.includes(undefined)) return all.length === 1 ? first : undefined;
  return (run, i) => all.some((looksAt) => looksAt?.(run, i));
}

/** Whether samples may hold copies of the stack. Unknown, so true, for a pipe. */
function mayHaveCopies(reader: PerfDataReader): boolean {
  const { all } = reader.events;
  return reader.isPipe || all.length === 0 ||
    all.some(({ layout }) => (layout.sampleType & PERF_SAMPLE_STACK_USER) !== 0);
}
