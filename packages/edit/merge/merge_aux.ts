import { HEADER_NRCPUS, HEADER_SAMPLE_TIME } from "@perfdata/format/constants";
import {
  type AuxPiece,
  type AuxStream,
  auxStreamBytes,
  type AuxTrace,
  readAuxTrace,
} from "@perfdata/session/auxtrace";
import { PERF_AUXTRACE_INTEL_PT } from "@perfdata/user-records";
import { hasAuxtrace, type PayloadPart } from "../copy/aux_cut.ts";
import type { Part } from "./merge_part.ts";

/** A part of a payload, and the offset added to its position in the stream. */
export interface MovedPart {
  readonly part: PayloadPart;
  readonly shift: bigint;
}

/** Changes to the AUX data of an input. */
export interface PartAux {
  /** Whether the result has the input's AUXTRACE_INFO. */
  readonly isFirst: boolean;
  /** Offset added to the index of each buffer. */
  readonly idxOffset: number;
  /** Kept parts by file offset of the payload. Payloads that are not listed are dropped. */
  readonly parts: ReadonlyMap<number, MovedPart>;
}

/** Mask for perf's padding of payloads to eight bytes. */
const PADDING = 7;

/** An input with AUX data. */
interface AuxInput {
  readonly part: Part;
  readonly trace: AuxTrace;
  readonly streams: readonly AuxStream[];
}

/** End of each buffer's data in the inputs and in the result, by buffer. */
type Ends = Map<string, { input: bigint; result: bigint }>;

/**
 * Plans the AUX data of all inputs, and returns the order in which to copy the inputs.
 *
 * perf reads one AUXTRACE_INFO, with one time conversion. AUX data of an input with another AUXTRACE_INFO, or
 * with moved times, is dropped. Inputs with the same event ids are slices of one recording: their
 * buffers are concatenated, and data in both is kept once. Other inputs get new buffer numbers, and new CPU
 * numbers if two of them have the same CPU, because perf reads one buffer per CPU.
 *
 * Sets `aux` and `cpuOffset` of the parts.
 */
export async function planMergeAux(parts: readonly Part[], losses: string[]): Promise<Part[]> {
  const inputs: AuxInput[] = [];
  for (const part of parts) {
    const { reader, name } = part.input;
    if (!await hasAuxtrace(reader)) continue;
    const trace = await readAuxTrace(reader, { diagnostics: () => {} });
    const streams = trace.streams.filter(({ idx }) => idx >= 0);
    const bytes = streams.reduce((sum, stream) => sum + auxStreamBytes(stream), 0);
    const why = inputs[0] === undefined
      ? undefined
      : reasonAgainst(inputs[0], { part, trace, streams });
    if (why === undefined) inputs.push({ part, trace, streams });
    else {
      losses.push(
        `${name}: ${bytes} bytes of AUX data are left out: ${why}; read them from ${name} itself`,
      );
    }
  }
  inputs.sort((a, b) => compare(firstOffset(a), firstOffset(b)));
  const recordings: AuxInput[][] = [];
  for (const input of inputs) {
    const own = recordings.find(([first]) => first && isSameRecording(first.part, input.part));
    if (own === undefined) recordings.push([input]);
    else own.push(input);
  }
  const streams = inputs.flatMap((input) => input.streams);
  const idxStep = 1 + Math.max(0, ...streams.map(({ idx }) => idx));
  const cpuStep = cpuCount(parts);
  const taken = new Set<number>();
  for (const [i, recording] of recordings.entries()) {
    const cpus = recording.flatMap(({ streams }) => streams.flatMap(({ cpu }) => cpu ?? []));
    let cpuOffset = 0;
    while (cpus.some((cpu) => taken.has(cpu + cpuOffset))) cpuOffset += cpuStep;
    for (const cpu of cpus) taken.add(cpu + cpuOffset);
    const ends: Ends = new Map();
    for (const input of recording) {
      const kept = new Map<number, MovedPart>();
      for (const stream of input.streams) await keepNew(kept, stream, ends, input);
      const isFirst = input === recordings[0]?.[0];
      input.part.aux = { isFirst, idxOffset: i * idxStep, parts: kept };
      input.part.cpuOffset = cpuOffset;
    }
  }
  // The AUXTRACE_INFO comes first, then the parts of a recording in order of time.
  const ordered = recordings.flat().map(({ part }) => part);
  return [...ordered, ...inOrderOfTime(parts.filter((part) => !ordered.includes(part)))];
}

/** Sorts by first sample if all inputs have its time, because counters are read in file order. */
function inOrderOfTime(parts: readonly Part[]): readonly Part[] {
  const firsts = new Map(parts.map((part) => [part, firstTime(part)]));
  if ([...firsts.values()].includes(undefined)) return parts;
  return parts.toSorted((a, b) => compare(firsts.get(a) ?? 0n, firsts.get(b) ?? 0n));
}

function firstTime(part: Part): bigint | undefined {
  const times = part.feature(HEADER_SAMPLE_TIME) as { first_sample_time: bigint } | undefined;
  return times === undefined ? undefined : times.first_sample_time + part.timeOffset;
}

/** Returns the reason why AUX data cannot be merged with that of the first input; `undefined` if it can. */
function reasonAgainst(first: AuxInput, { part, trace, streams }: AuxInput): string | undefined {
  if (part.timeOffset !== first.part.timeOffset) return "times in it cannot be moved";
  const words = (info: AuxTrace["info"]) => [info?.type, ...info?.priv ?? []].join();
  if (words(trace.info) !== words(first.trace.info)) {
    return `a recording has one AUXTRACE_INFO, and its own is not that of ${first.part.input.name}`;
  }
  const taken = new Set(first.streams.map(({ cpu }) => cpu));
  const isPt = trace.type === PERF_AUXTRACE_INTEL_PT;
  if (!isPt && streams.some(({ cpu }) => cpu !== undefined && taken.has(cpu))) {
    return `${trace.typeName} data of the same CPUs cannot be distinguished`;
  }
  return undefined;
}

/** Whether two inputs are parts of one recording. Event ids are unique while a machine runs. */
function isSameRecording(a: Part, b: Part): boolean {
  const ids = new Set(a.events.flatMap((event) => event.ids));
  return ids.size > 0 && a.host === b.host &&
    b.events.some((event) => event.ids.some((id) => ids.has(id)));
}

/** Returns a power of two that is at least the number of CPUs of each input. */
function cpuCount(parts: readonly Part[]): number {
  const counts = parts.map((part) =>
    (part.feature(HEADER_NRCPUS) as { nr_cpus_avail?: number } | undefined)?.nr_cpus_avail ?? 4096
  );
  return 2 ** Math.ceil(Math.log2(Math.max(1, ...counts)));
}

function firstOffset({ streams }: AuxInput): bigint {
  return streams.reduce<bigint | undefined>((least, { pieces }) => {
    const offset = pieces[0]?.auxOffset;
    return offset === undefined || (least !== undefined && least <= offset) ? least : offset;
  }, undefined) ?? 0n;
}

function compare(a: bigint, b: bigint): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** Adds the pieces of a stream that earlier parts of its recording do not have. */
async function keepNew(
  kept: Map<number, MovedPart>,
  stream: AuxStream,
  ends: Ends,
  input: AuxInput,
): Promise<void> {
  const key = `${stream.cpu} ${stream.tid} ${stream.idx}`;
  const before = ends.get(key);
  let shift = before === undefined ? 0n : before.result - before.input;
  let end = before;
  for (const piece of stream.pieces) {
    const offset = piece.auxOffset ?? 0n;
    const skipped = before === undefined ? 0n : before.input - offset;
    if (skipped >= BigInt(piece.size)) continue;
    const from = Number(skipped > 0n ? skipped : 0n);
    const pad = -(piece.size - from) & PADDING;
    if (from > 0) shift = (before?.result ?? 0n) - (offset + BigInt(from - pad));
    kept.set(piece.fileOffset, {
      part: { before: pad, from, to: piece.size, after: 0 },
      shift,
    });
    const last = offset + BigInt(piece.size);
    end = { input: last, result: last + shift };
  }
  if (end === undefined || end === before) return;
  // Zeros at the end may be padding. If they are data, the next part has them as well; excess
  // zeros are PAD packets.
  const zeros = await zerosAtEnd(stream.pieces.at(-1), input);
  ends.set(key, { input: end.input - zeros, result: end.result });
}

async function zerosAtEnd(piece: AuxPiece | undefined, { part }: AuxInput): Promise<bigint> {
  if (piece === undefined) return 0n;
  const size = Math.min(PADDING, piece.size);
  const { reader } = part.input;
  const bytes = await reader.readSection(piece.fileOffset + piece.size - size, size, "AUX data");
  return BigInt(size - 1 - bytes.findLastIndex((byte) => byte !== 0));
}
