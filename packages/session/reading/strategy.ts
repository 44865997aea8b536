import type { PerfDataReader } from "@perfdata/format/records";
import type { Consumer } from "../engine/engine_consumer.ts";
import type { Engine } from "../engine/engine.ts";
import type { EngineOptions } from "../engine/engine_options.ts";
import type { EventNames } from "../events/event_names.ts";
import type { RecordedObjects } from "../places/recorded_objects.ts";

/** A recording to read, and the consumers to read it for. */
export interface Reading {
  readonly reader: PerfDataReader;
  /** Descriptions of the mapped objects. */
  readonly recorded: RecordedObjects;
  /** Names of events, and formats of tracepoints. */
  readonly described: EventNames;
  readonly consumers: readonly Consumer[];
  readonly options: EngineOptions;
}

/**
 * A way to read a recording: resolves all its records, and passes them to the consumers.
 *
 * @returns The engine that resolved them; `undefined`, with nothing passed on, if this strategy
 * cannot read the recording.
 */
export type Strategy = (reading: Reading) => Promise<Engine | undefined>;
