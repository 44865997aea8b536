import { decodeFeature } from "@perfdata/format/features";
import {
  type PerfDataReader,
  PerfEvent,
  type PerfEventAttr,
  type RecordBatch,
} from "@perfdata/format/records";
import { HEADER_HOSTNAME, PERF_SAMPLE_IDENTIFIER } from "@perfdata/format/constants";
import type { PartAux } from "./merge_aux.ts";
import { copyRecording } from "../copy/copy.ts";
import type { RecordingOutput } from "../copy/recording_output.ts";

/** A recording to be merged. */
export interface MergeInput {
  /** Name of the recording in messages. */
  readonly name: string;
  /** The recording: a file or a directory, not a stream, since it is read twice. */
  readonly reader: PerfDataReader;
}

/** Distance between the event ids of two inputs. */
const IDS_OF_AN_INPUT = 1n << 32n;

/** An input with its events, features and offsets. */
export class Part {
  readonly input: MergeInput;
  readonly events: readonly PerfEvent[];
  readonly features: ReadonlyMap<number, Uint8Array>;
  readonly host: string | undefined;
  readonly idOffset: bigint;
  pidOffset = 0;
  timeOffset = 0n;
  cpuOffset = 0;
  aux: PartAux | undefined;

  private constructor(input: MergeInput, index: number, features: Map<number, Uint8Array>) {
    this.input = input;
    this.events = [...input.reader.events.all];
    this.features = features;
    this.idOffset = BigInt(index) * IDS_OF_AN_INPUT;
    const host = this.feature(HEADER_HOSTNAME);
    this.host = typeof host === "string" ? host : undefined;
  }

  /** Opens an input: reads its features, and the head of a pipe. */
  static async open(input: MergeInput, index: number): Promise<Part> {
    const collected = new Map<number, Uint8Array>();
    const collector: RecordingOutput = {
      position: 0,
      begin: () => Promise.resolve(),
      features(features) {
        for (const { id, bytes } of features) collected.set(id, bytes);
        return Promise.resolve();
      },
      write: () => Promise.resolve(),
      auxtrace: () => Promise.resolve(),
      payload: () => Promise.resolve(),
      end: () => Promise.resolve(),
    };
    const { reader } = input;
    await copyRecording(reader, collector, {
      // A file has its features in a table; a pipe may have them anywhere.
      // Damage of the pipe is reported when it is read again.
      batches: (options) =>
        reader.isPipe ? reader.batches({ ...options, quiet: true }) : noBatches(),
    });
    return new Part(input, index, collected);
  }

  /** Returns a decoded feature, if the input has it and it can be decoded. */
  feature(id: number): unknown {
    const bytes = this.features.get(id);
    if (bytes === undefined) return undefined;
    const { littleEndian } = this.input.reader;
    const feature = decodeFeature(id, bytes, { littleEndian });
    return feature.name === "RAW" ? undefined : feature.value;
  }
}

async function* noBatches(): AsyncGenerator<RecordBatch, void, void> {}

/** Returns the ids of an event in the result; an event without ids gets one. */
export function idsOf(part: Part, event: PerfEvent, i: number): bigint[] {
  const ids = event.ids.length > 0 ? event.ids : [BigInt(i + 1)];
  return ids.map((id) => id + part.idOffset);
}

export function withIdentifier(attr: PerfEventAttr): PerfEventAttr {
  return { ...attr, sample_type: attr.sample_type | BigInt(PERF_SAMPLE_IDENTIFIER) };
}
