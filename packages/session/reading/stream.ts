import type { PerfDataReader, RecordBatch } from "@perfdata/format/records";
import {
  PERF_RECORD_EVENT_UPDATE,
  PERF_RECORD_USER_TYPE_START,
  PERF_SAMPLE_STACK_USER,
} from "@perfdata/format/constants";
import { type Engine, engineOf } from "../engine/engine.ts";
import type { EngineOptions } from "../engine/engine_options.ts";
import { openPass } from "../engine/pass.ts";
import type { EventNames } from "../events/event_names.ts";
import { deliverRuns, type OrderOptions } from "../order/order.ts";
import type { Run } from "../order/run.ts";
import { DeferredChains } from "../stacks/user_chains.ts";
import type { Reading } from "./strategy.ts";

/** The count of stacks above which all are cleared, if no consumer keeps indices of stacks. */
const MANY_STACKS = 1 << 19;

/**
 * Reads all records once, in the order of time or of the file; the machine has the state of the
 * current record.
 *
 * @throws {TypeError} If several consumers want payloads.
 */
export async function readStream(
  { reader, recorded, described: names, consumers, options }: Reading,
): Promise<Engine> {
  const { progress } = options;
  const engine = engineOf(reader, recorded, names, undefined);
  const takers = consumers.filter(({ payload }) => payload !== undefined);
  if (takers.length > 1) throw new TypeError("runEngine: several consumers want payloads");
  const waiting = consumers.filter(({ settle }) => settle !== undefined);
  const pass = await openPass(engine, consumers, options);
  const { resolver: { userChains }, whole } = pass;
  const inFileOrder = consumers.every(({ needs }) => needs.order === "file");
  const named = reader.isPipe ? undefined : (run: Run) => {
    if (takeUpdates(run, names)) engine.eventNames = names.current();
  };
  let taken = 0;
  // The features of a file that arrives as a stream come last.
  let isLate = reader.fileSize === undefined;
  const lateFeatures = async (): Promise<void> => {
    if (isLate) await recorded.readFeatures(reader);
    isLate = false;
  };
  engine.order = await deliverRuns(reader, {
    batch: reader.isPipe
      ? async (batch) => {
        if (takeNames(batch, names)) engine.eventNames = await names.all();
        if (whole && DeferredChains.areAsked(reader)) userChains.deferred.take(batch);
      }
      : undefined,
    run(run) {
      pass.take(run, named);
    },
    async payload(payload) {
      const again = await names.payload(payload);
      if (again !== payload) {
        engine.eventNames = await names.all();
        for (const consumer of consumers) await consumer.described?.();
      }
      for (const taker of takers) await taker.payload?.(again);
    },
    waitsForEnd: () =>
      whole && options.unwind !== undefined && options.live !== true && mayLearnBuilds(reader),
    read: lateFeatures,
    settle: waiting.length === 0 ? undefined : async () => {
      for (const consumer of waiting) await consumer.settle?.();
      if (
        engine.stacks.count > MANY_STACKS &&
        consumers.every((consumer) => consumer.releasesStacks?.() === true)
      ) pass.resolver.resetStacks();
    },
    done() {
      const { recordBytes, payloadBytes } = reader.stats;
      progress?.(recordBytes + payloadBytes - taken);
      taken = recordBytes + payloadBytes;
      return consumers.every((consumer) => consumer.done?.() === true);
    },
  }, { ...(inFileOrder ? { order: "file" } : {}), ...orderOptionsOf(options) });
  pass.end();
  await lateFeatures();
  return engine;
}

/**
 * Whether the build ids of the files to unwind with come at the end of the stream only. Files of
 * other builds must not be used. If MMAP2 records have build ids, they are known in time.
 */
function mayLearnBuilds({ isPipe, fileSize, events }: PerfDataReader): boolean {
  return (isPipe || fileSize === undefined) &&
    events.all.some(({ attr, layout }) =>
      (layout.sampleType & PERF_SAMPLE_STACK_USER) !== 0 && !attr.flags.build_id
    );
}

/** The order options among the options of an engine. */
function orderOptionsOf(
  { from, to, inflate, lookAhead, hold, order }: EngineOptions,
): OrderOptions {
  return {
    from,
    to,
    inflate,
    lookAhead,
    hold,
    order,
  };
}

/** Applies EVENT_UPDATE records, which rename events of a file; returns whether there was one. */
function takeUpdates(run: Run, names: EventNames): boolean {
  const { count, type } = run;
  let some = false;
  for (let i = 0; i < count; i++) {
    if (type[i] !== PERF_RECORD_EVENT_UPDATE) continue;
    const { bytes, view } = run.at(i);
    names.record(bytes, view, run.start[i] as number, run.end[i] as number);
    some = true;
  }
  return some;
}

/** Applies records with names of events; returns whether there may be new names. */
function takeNames(batch: RecordBatch, names: EventNames): boolean {
  const { bytes, view } = batch;
  let some = false;
  for (let i = 0; i < batch.count; i++) {
    if (batch.type(i) < PERF_RECORD_USER_TYPE_START) continue;
    names.record(bytes, view, batch.start(i), batch.start(i) + batch.size(i));
    some = true;
  }
  return some;
}
