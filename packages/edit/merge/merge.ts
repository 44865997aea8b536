import { FEATURE_NAMES, HEADER_CLOCK_DATA, HEADER_SAMPLE_TIME } from "@perfdata/format/constants";
import { PerfDataError } from "@perfdata/format/bytes";
import type { PerfEventAttr, WriterEvent } from "@perfdata/format/records";
import { copyRecording } from "../copy/copy.ts";
import type { RecordingHead, RecordingOutput } from "../copy/recording_output.ts";
import { Features } from "./merge_features.ts";
import { planMergeAux } from "./merge_aux.ts";
import { PartEdit } from "./merge_edit.ts";
import { Turns } from "./merge_turns.ts";
import { idsOf, type MergeInput, Part, withIdentifier } from "./merge_part.ts";
/** `PID_MAX_LIMIT` of include/linux/threads.h: the maximum process id of a 64-bit Linux. */
export const PIDS_OF_A_HOST: number = 1 << 22;

/** Maximum number of hosts: their process id ranges have to fit into 31 bits. */
const MOST_HOSTS = 511;

/** Maximum number of inputs copied side by side, since each takes memory. */
const MOST_SIDE_BY_SIDE = 64;

export type { MergeInput } from "./merge_part.ts";

/** Options of {@link mergeRecordings}. */
export interface MergeOptions {
  /**
   * Method to align the clocks of the inputs. `wall`: by CLOCK_DATA, which maps times to the time of day;
   * all inputs need it. `start`: all recordings start at the start of the first one. `keep`: no change.
   * Default: `wall` for recordings of several hosts, otherwise `keep`.
   */
  readonly time?: "wall" | "start" | "keep";
  /** Called with the number of bytes read since the last call. */
  readonly progress?: (bytes: number) => void;
}

/** Changes to an input. */
export interface MergedInput {
  /** Name of the input, from {@link MergeInput}. */
  readonly name: string;
  /** Host name of the input, if it has one. */
  readonly host: string | undefined;
  /** Offset added to the input's process and thread ids, except for 0 and -1. */
  readonly pidOffset: number;
  /** Offset added to the input's event ids. */
  readonly idOffset: bigint;
  /** Offset added to the input's times, in ns. */
  readonly timeOffset: bigint;
  /** Offset added to the input's CPU numbers. */
  readonly cpuOffset: number;
  /** The count of the input's samples. */
  samples: number;
}

/** Result of {@link mergeRecordings}. */
export interface MergeReport {
  /** The inputs, in order. */
  readonly inputs: readonly MergedInput[];
  /** Number of events in the result. */
  readonly events: number;
  /** Data of the inputs that the result lacks, one line each. */
  readonly losses: readonly string[];
}

/**
 * Merges recordings into one.
 *
 * - Events with the same attr are united. Every sample and record gets the id of its event as
 *   `PERF_SAMPLE_IDENTIFIER`; its upper half is the number of the input, so that each
 *   sample can be traced to its file.
 * - Process and thread ids of the n-th host are increased by n × 2²². Recordings of the same host share them.
 * - Build ids are united. Other features are those of the first input that has them.
 * - AUX data is kept if one AUXTRACE_INFO can describe it. Slices of one recording are concatenated; otherwise,
 *   CPUs that two inputs traced get new numbers.
 * - Inputs are copied side by side, block by block in order of time, with new FINISHED_ROUND records,
 *   so that a reader has to hold few records. The inputs' own FINISHED_ROUND records are dropped, since the order
 *   that they promise does not hold across files. With AUX data, without an order of time in an input, or with
 *   more than 64 inputs, the inputs are copied one after another without rounds, and a reader has to sort all.
 *
 * Memory depends only on the number of inputs, their events and blocks.
 *
 * @throws {RangeError} If there are too many hosts or inputs.
 * @throws {PerfDataError} If an input is damaged, or has another byte order.
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
  // AUX data of the inputs is concatenated.
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

/** Unites events with the same attr. */
function uniteEvents(parts: readonly Part[]): {
  events: WriterEvent[];
  /** Index of each event in the result, by input and index of the event in the input. */
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

/** Output for the records of one input; drops its head, features and end. */
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
