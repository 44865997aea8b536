// Test support: samples of small traces as text.
import { decodePt } from "../decode/pt_run.ts";
import { type OpenedSmall, type Small, small } from "../testing.ts";
import { parseItrace } from "./itrace.ts";
import type { SamplesOptions } from "./pt_sample_maker.ts";
import {
  BRANCH_WORDS,
  CHAIN_WORDS,
  DATA_WORDS,
  type PtSampleRows,
  SAMPLE,
  SAMPLE_WORD,
  SAMPLE_WORDS,
} from "./pt_sample_rows.ts";
import { PtSamples } from "./pt_samples.ts";

const KINDS = Object.entries(SAMPLE).reduce((names, [name, kind]) => {
  names[kind] = name.toLowerCase();
  return names;
}, [] as string[]);

/** An address of two halves. */
export function address(high = 0, low = 0): string {
  return ((BigInt(high >>> 0) << 32n) | BigInt(low >>> 0)).toString(16);
}

/** The lists of a row: callers, branches as `from>to`, data of an event. */
export function listsText({ lists }: Pick<PtSampleRows, "lists">, at: number): string {
  const parts: string[] = [];
  const take = (words: number, text: (entry: Int32Array) => string) => {
    const count = lists[at++] ?? 0;
    const entries = Array.from(
      { length: count },
      (_, i) => text(lists.subarray(at + i * words, at + (i + 1) * words)),
    );
    at += count * words;
    return entries.join(" ");
  };
  const chain = take(CHAIN_WORDS, ([high, low]) => address(high, low));
  if (chain !== "") parts.push(`callers ${chain}`);
  const branches = take(
    BRANCH_WORDS,
    ([fromHigh, from, , toHigh, to]) => `${address(fromHigh, from)}>${address(toHigh, to)}`,
  );
  if (branches !== "") parts.push(`branches ${branches}`);
  const data = take(DATA_WORDS, ([type, high, low]) => `${type}=${address(high, low)}`);
  if (data !== "") parts.push(`data ${data}`);
  return parts.join(", ");
}

/**
 * A line for a row: kind, thread, ns since an origin, addresses, flags in hexadecimal, value; then, if they are
 * not 0, the place's own address, the upper half of the payload, depth, instructions and core clocks, lists, bytes.
 */
export function rowText(
  rows: PtSampleRows,
  row: number,
  origin: number,
  { trace: { code: { places: table } } }: Pick<OpenedSmall, "trace">,
  texts: readonly string[],
): string {
  const { words, time, value } = rows;
  const word = (name: keyof typeof SAMPLE_WORD) =>
    words[row * SAMPLE_WORDS + SAMPLE_WORD[name]] ?? 0;
  const when = time[row] ?? -1;
  const to = address(word("TO_HI"), word("TO_LO"));
  const more = [
    word("FROM") < 0 ? "" : `at ${table.address(word("FROM")).toString(16)}`,
    word("TO") < 0 ? "" : `to ${table.address(word("TO")).toString(16)}`,
    word("PAYLOAD_HI") === 0 ? "" : `high ${word("PAYLOAD_HI")}`,
    word("DEPTH") === 0 ? "" : `depth ${word("DEPTH")}`,
    word("IPC_CYCLES") === 0 ? "" : `ipc ${word("IPC_INSNS")}/${word("IPC_CYCLES")}`,
    word("LISTS") < 0 ? "" : listsText(rows, word("LISTS")),
    texts[word("INSN")] ?? "",
  ].filter((text) => text !== "");
  return [
    ...[KINDS[word("KIND")], `${word("TID")}/${word("PID")}/${word("CPU")}`],
    when < 0 ? "-" : when - origin,
    `${address(word("FROM_HI"), word("FROM_LO"))}${to === "0" ? "" : `>${to}`}`,
    word("FLAGS").toString(16),
    value[row],
    ...(more.length === 0 ? [] : [`(${more.join("; ")})`]),
  ].join(" ");
}

/** Options besides the letters of `--itrace`. */
export interface SampleRowsOptions extends Partial<Omit<SamplesOptions, "itrace" | "idle">> {
  /** Called after all rows were passed on. */
  readonly end?: (sink: PtSamples, opened: OpenedSmall) => void;
  /** A part of the trace, in ns since the first TSC packet. */
  readonly from?: number;
  readonly to?: number;
}

/** The samples of a trace, a line each; times are ns since the first TSC packet. */
export async function sampleRows(
  recording: Small,
  letters: string,
  { end, from, to, ...options }: SampleRowsOptions = {},
): Promise<string[]> {
  const opened = await small(recording);
  const { trace } = opened;
  const { clock } = trace;
  // The time of the trace's first TSC packet.
  const origin = clock.ns(Number(0x5_0000_0000n - clock.base));
  const lines: string[] = [];
  const itrace = parseItrace(letters);
  const sink: PtSamples = new PtSamples(trace, {
    itrace,
    maxNonTurboRatio: 28,
    hasKernel: false,
    snapshots: false,
    merge: false,
    ...(from === undefined && to === undefined ? {} : {
      filter: {
        ...(from === undefined ? {} : { from: origin + from }),
        ...(to === undefined ? {} : { to: origin + to }),
      },
    }),
    ...options,
    idle: () => {
      const { rows } = sink;
      for (let i = 0; i < rows.count; i++) {
        lines.push(rowText(rows, i, origin, opened, sink.insnTexts));
      }
      sink.clear();
    },
  });
  await decodePt(trace, sink, {
    quick: itrace.quick,
  });
  sink.finish();
  await sink.idle();
  end?.(sink, opened);
  return lines;
}
