import type { PerfDataReader } from "@perfdata/format/records";
import { PERF_SAMPLE_READ } from "@perfdata/format/constants";
import type { Consumer } from "../engine/engine_consumer.ts";
import type { Engine } from "../engine/engine.ts";
import type { EngineOptions } from "../engine/engine_options.ts";
import { EventNames } from "../events/event_names.ts";
import { RecordedObjects } from "../places/recorded_objects.ts";
import { isShareable } from "../workers/part.ts";
import { readAnyOrder } from "./any_order.ts";
import { readStream } from "./stream.ts";
import type { Reading, Strategy } from "./strategy.ts";
import { readWindows } from "./windows.ts";

/**
 * Reads a recording once, resolves its records, and passes them to consumers.
 *
 * ```text
 * bytes → RecordBatch → order of time → columns → machine → places, stacks → consumers
 * ```
 *
 * A file, a pipe, a directory, compressed records and either byte order are the same to consumers.
 * This function chooses the strategy: samples in any order, alone or shared with other threads;
 * windows of time; else a stream.
 *
 * @returns The engine, with the machine, places and stacks that results of consumers refer to.
 * @throws {PerfDataError} In strict mode, if the recording is damaged.
 * @throws {TypeError} If several consumers want payloads.
 *
 * @example
 * ```ts
 * import { bytesSource, PerfDataReader } from "@perfdata/format";
 * import { runEngine } from "@perfdata/session";
 * import { assertEquals } from "@std/assert";
 *
 * const pipe = new Uint8Array(24);
 * pipe.set(new TextEncoder().encode("PERFILE2"));
 * pipe.set([16], 8);
 * pipe.set([68, 0, 0, 0, 0, 0, 8, 0], 16);
 * const types: number[] = [];
 * await runEngine(await PerfDataReader.open(bytesSource(pipe)), [{
 *   needs: {},
 *   rows: ({ count, type }) => types.push(...type.subarray(0, count)),
 * }]);
 * assertEquals(types, [68]);
 * ```
 */
export async function runEngine(
  reader: PerfDataReader,
  consumers: readonly Consumer[],
  options: EngineOptions = {},
): Promise<Engine> {
  const { diagnostics } = options;
  const recorded = new RecordedObjects(reader, diagnostics);
  const described = new EventNames(reader, diagnostics);
  await recorded.readFeatures(reader);
  // The names of events are needed first: the meaning of samples may depend on them.
  await described.all();
  const reading: Reading = { reader, recorded, described, consumers, options };
  const read = await strategyFor(reading);
  const engine = await read(reading) ?? await readStream(reading);
  engine.eventNames = await described.all();
  engine.places.finish();
  engine.stacks.seal();
  for (const consumer of consumers) await consumer.finish?.();
  return engine;
}

/** Chooses the strategy that reads least, with most threads. */
async function strategyFor({ reader, consumers, options }: Reading): Promise<Strategy> {
  const { workers, filter } = options;
  if (!isFree(reader, consumers, options)) return readStream;
  if (consumers.every(({ needs }) => needs.order === "any")) {
    const [first, ...others] = consumers;
    const isShared = first !== undefined && others.length === 0 && isShareable(first);
    if (workers === undefined || workers.jobs === 1 || !isShared) return readAnyOrder;
    const { readWithWorkers } = await import("../workers/run_workers.ts");
    return (reading) => readWithWorkers(reading, first, workers);
  }
  const hasTime = filter?.time !== undefined;
  const samplesOnly = consumers.every(({ needs }) =>
    needs.samples === true || needs.order === "any"
  );
  return hasTime && samplesOnly ? readWindows : readStream;
}

/** Whether parts of a file can be read independently: no sample depends on the one before. */
function isFree(
  reader: PerfDataReader,
  consumers: readonly Consumer[],
  { stitchLbr, from, to, order }: EngineOptions,
): boolean {
  return !reader.isPipe && reader.fileSize !== undefined && stitchLbr !== true &&
    from === undefined && to === undefined && order !== "file" &&
    consumers.every(({ applied, payload, settle, done }) =>
      applied === undefined && payload === undefined && settle === undefined && done === undefined
    ) &&
    // Values of counters (READ) are compared with the previous sample.
    reader.events.all.every(({ layout }) => (layout.sampleType & PERF_SAMPLE_READ) === 0);
}
