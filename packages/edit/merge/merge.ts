import {
  FEATURE_NAMES,
  HEADER_CLOCK_DATA,
  HEADER_SAMPLE_TIME,
} from "@perfdata/format/feature-names";
import { PerfDataError, type PerfEventAttr, type WriterEvent } from "@perfdata/format";
import { copyRecording } from "../copy/copy.ts";
import type { RecordingHead, RecordingOutput } from "../copy/recording_output.ts";
import { Features } from "./merge_features.ts";
import { planMergeAux } from "./merge_aux.ts";
import { PartEdit } from "./merge_edit.ts";
import { Turns } from "./merge_turns.ts";
import { idsOf, type MergeInput, Part, withIdentifier } from "./merge_part.ts";
/** `PID_MAX_LIMIT` of include/linux/threads.h: no process id of a 64-bit Linux is larger. */
export const PIDS_OF_A_HOST: number = 1 << 22;

/** Most hosts whose process ids fit into 32 signed bits side by side. */
const MOST_HOSTS = 511;

/** Maximum number of inputs that are copied side by side: each takes some memory. */
const MOST_SIDE_BY_SIDE = 64;

export type { MergeInput } from "./merge_part.ts";

/** How to merge. */
export interface MergeOptions {
  /**
   * How times become comparable. `wall`: by CLOCK_DATA, which says which time of day a time is, where
   * all inputs have it. `start`: each recording begins when the first one does. `keep`: as they are.
   * By default `wall` for recordings of several hosts, and otherwise `keep`.
   */
  readonly time?: "wall" | "start" | "keep";
  /** Called with the bytes that were read since the call before. */
  readonly progress?: (bytes: number) => void;
}

/** Changes to an input. */
export interface MergedInput {
  /** As in {@link MergeInput}. */
  readonly name: string;
  /** Name of its host, where it says so. */
  readonly host: string | undefined;
  /** Added to its process and thread ids, except for those that are 0 or -1. */
  readonly pidOffset: number;
  /** Added to its event ids. */
  readonly idOffset: bigint;
  /** Added to its times, ns. */
  readonly timeOffset: bigint;
  /** Added to its CPUs. */
  readonly cpuOffset: number;
  /** Samples. */
  samples: number;
}

/** What a merge did. */
export interface MergeReport {
  /** The inputs, in order. */
  readonly inputs: readonly MergedInput[];
  /** Events of the result. */
  readonly events: number;
  /** What the result has not of an input, a line each. */
  readonly losses: readonly string[];
}

/**
 * Merges recordings into one.
 *
 * - Events with the same attr become one; others stay apart. Every sample and record gets the id of
 *   its event as `PERF_SAMPLE_IDENTIFIER`; its upper half is the number of the input, so that each
 *   sample can be traced to the file that it came from.
 * - Process and thread ids of the n-th host are n × 2²² higher; recordings of one host share theirs.
 * - Build ids are united; other features are those of the first input that has them.
 * - AUX data is kept as far as one AUXTRACE_INFO can describe it; slices of one recording continue each
 *   other, and otherwise CPUs that two inputs traced get numbers of their own.
 * - Inputs are copied side by side, block by block in the order of time, with FINISHED_ROUND records of the
 *   result, so that a reader holds few records. Those of the inputs go: each promises an order that several
 *   files do not have. With AUX data, where an input has no order of time, and with more than 64 of them,
 *   one input follows another without rounds, and a reader sorts all of it.
 *
 * Memory grows with the number of inputs, their events and blocks only.
 *
 * @throws {RangeError} If there are more hosts, or more inputs, than fit.
 * @throws {PerfDataError} If an input is damaged, or of another byte order.
 */
export async function mergeRecordings(
  inputs: readonly MergeInput[],
  output: RecordingOutput,
  options: MergeOptions = {},
): Promise<MergeReport> {
  const first = inputs[0]?.reader;
  if (first === undefined) throw new RangeError("no recordings to merge");
  for (const { name, reader } of inputs) {
    if (reader.littleEndian !== first.littleEndian) {
      throw new PerfDataError(
        `${name}: its byte order is not that of ${inputs[0]?.name}; convert --byte-order turns it`,
      );
    }
  }
  const losses: string[] = [];
  const parts: Part[] = [];
  for (const [i, input] of inputs.entries()) parts.push(await Part.open(input, i));
  const hosts = [...new Set(parts.map(({ host }) => host))];
  if (hosts.length > MOST_HOSTS) {
    throw new RangeError(`${hosts.length} hosts, expected at most ${MOST_HOSTS}`);
  }
  for (const part of parts) part.pidOffset = hosts.indexOf(part.host) * PIDS_OF_A_HOST;
  alignTimes(parts, options.time ?? (hosts.length > 1 ? "wall" : "keep"), losses);

  const { events, numbers } = uniteEvents(parts);
  await output.begin({ littleEndian: first.littleEndian, events });
  const features = new Features(parts, events, numbers, losses);
  await output.features(await features.early());
  const report: MergedInput[] = [];
  const ordered = await planMergeAux(parts, losses);
  // AUX data of one recording follows that of another.
  const hasAux = parts.some(({ aux }) => aux !== undefined);
  const turns = hasAux || parts.length > MOST_SIDE_BY_SIDE
    ? undefined
    : await Turns.of(ordered, output);
  const copy = async (part: Part): Promise<void> => {
    const edit = new PartEdit(part, hosts, losses);
    await turns?.wait(part, 0);
    await copyRecording(part.input.reader, new Body(output), {
      edit,
      ...(turns === undefined ? {} : { settled: (records) => turns.wait(part, records) }),
      progress: options.progress,
    });
    await turns?.leave(part);
    edit.finish();
    const { host, pidOffset, idOffset, timeOffset, cpuOffset } = part;
    report[parts.indexOf(part)] = {
      name: part.input.name,
      host,
      pidOffset,
      idOffset,
      timeOffset,
      cpuOffset,
      samples: edit.samples,
    };
  };
  if (turns === undefined) { for (const part of ordered) await copy(part); }
  else await Promise.all(ordered.map(copy));
  await output.end();
  return { inputs: report, events: events.length, losses };
}

function alignTimes(
  parts: readonly Part[],
  how: "wall" | "start" | "keep",
  losses: string[],
): void {
  if (how === "keep") return;
  const id = how === "wall" ? HEADER_CLOCK_DATA : HEADER_SAMPLE_TIME;
  const moments = parts.map((part) => {
    const value = part.feature(id) as Readonly<Record<string, bigint>> | undefined;
    return how === "wall"
      ? value && (value["wall_clock_ns"] ?? 0n) - (value["clockid_time_ns"] ?? 0n)
      : value?.["first_sample_time"];
  });
  const without = parts.filter((_, i) => moments[i] === undefined);
  if (without.length > 0) {
    losses.push(
      `times are kept as they are: ${without.length} of ${parts.length} recordings have no ` +
        `${FEATURE_NAMES[id]} (${without[0]?.input.name})`,
    );
    return;
  }
  const [zero = 0n] = moments as bigint[];
  parts.forEach((part, i) => {
    const moment = moments[i] as bigint;
    part.timeOffset = how === "wall" ? moment - zero : zero - moment;
  });
}

/** The events of all inputs: those with the same attr are one. */
function uniteEvents(parts: readonly Part[]): {
  events: WriterEvent[];
  /** By input and number of its event: the number in the result. */
  numbers: number[][];
} {
  const events: { attr: PerfEventAttr; ids: bigint[] }[] = [];
  const byAttr = new Map<string, number>();
  const numbers = parts.map((part) =>
    part.events.map((event, i) => {
      const attr = withIdentifier(event.attr);
      const key = JSON.stringify(
        attr,
        (_, value) => typeof value === "bigint" ? `${value}n` : value,
      );
      let number = byAttr.get(key);
      if (number === undefined) {
        number = events.push({ attr, ids: [] }) - 1;
        byAttr.set(key, number);
      }
      events[number]?.ids.push(...idsOf(part, event, i));
      return number;
    })
  );
  return { events, numbers };
}

/** Hands on the records of one input; head, features and end are those of the whole. */
class Body implements RecordingOutput {
  readonly #output: RecordingOutput;

  constructor(output: RecordingOutput) {
    this.#output = output;
  }

  get position(): number {
    return this.#output.position;
  }

  begin(_: RecordingHead): Promise<void> {
    return Promise.resolve();
  }

  features(): Promise<void> {
    return Promise.resolve();
  }

  write(records: Uint8Array): Promise<void> {
    return this.#output.write(records);
  }

  auxtrace(record: Uint8Array): Promise<void> {
    return this.#output.auxtrace(record);
  }

  payload(bytes: Uint8Array): Promise<void> {
    return this.#output.payload(bytes);
  }

  end(): Promise<void> {
    return Promise.resolve();
  }
}
