import type { PerfDataReader } from "@perfdata/format/records";
import type { Consumer } from "../engine/engine_consumer.ts";
import type { Engine } from "../engine/engine.ts";
import type { EngineOptions } from "../engine/engine_options.ts";
import type { EventNames } from "../events/event_names.ts";
import type { RecordedObjects } from "../places/recorded_objects.ts";

/** A recording to read, and the consumers to read it for. */
export interface Reading {
  /** The recording. */
  readonly reader: PerfDataReader;
  /** What the recording says of its objects. */
  readonly recorded: RecordedObjects;
  /** What the recording says of its events. */
  readonly described: EventNames;
  /** The consumers. */
  readonly consumers: readonly Consumer[];
  /** How to read. */
  readonly options: EngineOptions;
}

/**
 * A way to read a recording: hands all its records, resolved, to the consumers.
 *
 * @returns The engine that resolved them; `undefined`, with nothing handed out, if the recording cannot be read
 *   this way.
 */
export type Strategy = (reading: Reading) => Promise<Engine | undefined>;
