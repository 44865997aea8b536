import {
  fromBase64,
  inflate,
  type ReportParts,
  unpack,
  type ViewProfile,
} from "@perfdata/export/tree";
import type { Selection } from "../data/selection.ts";
import type { Marks } from "../data/marks.ts";
import type { Switched } from "../data/switched.ts";
import { byteAt, joinBytes } from "@perfdata/format/bytes";
import type { CodeAnswer, CodeService, SourcePart } from "../recording/code_service.ts";
import type { ReportCode } from "../recording/report_code.ts";
import type { PtFacts, PtInsns, PtPart, PtQuery } from "../recording/pt_service.ts";
import type { RecordDetail, RecordQuery, RecordRows } from "../recording/record_list.ts";
import type { StatSeries } from "../recording/stat_series.ts";
import type { IndexAnswer, InfoAnswer, SliceQuery } from "../recording/recording_service.ts";
import type { LiveState, Opening, ProgressState } from "./protocol.ts";

/** Access to a recording, in the worker. */
export interface ViewSource {
  head(): Promise<readonly string[]>;
  index(): Promise<IndexAnswer | undefined>;
  info(): Promise<InfoAnswer | undefined>;
  switched(): Promise<Switched | undefined>;
  /** Tracepoints and notable records. */
  marks(): Promise<Marks | undefined>;
  /** Counts of `perf stat record`. */
  counts(): Promise<readonly StatSeries[] | undefined>;
  /**
   * Reads the profile of the recording.
   *
   * @throws {Error} If there is no profile; the message is the reason.
   */
  profile(progress: (state: ProgressState) => void): Promise<ViewProfile>;
  /** Reads the recording to compare with; `undefined` without a comparison. */
  readonly base: ((progress: (state: ProgressState) => void) => Promise<ViewProfile>) | undefined;
  /** Waits for a newer version; missing if the recording is not being made. */
  readonly growth?: ((version: number) => Promise<LiveState>) | undefined;
  records(query: RecordQuery, from: number, count: number): Promise<RecordRows>;
  position(query: RecordQuery, number: number): Promise<number>;
  record(number: number): Promise<RecordDetail | undefined>;
  /** Whether there may be source or instructions of functions. */
  readonly hasCode: boolean;
  code(fn: number, selection: Selection): Promise<CodeAnswer>;
  /** Known parts of a source file of the profile. */
  sourceText(file: string): Promise<readonly SourcePart[] | undefined>;
  /** Returns the properties of the Intel PT; `undefined` without it. */
  pt(): Promise<PtFacts | undefined>;
  /** Decodes a part of the Intel PT. */
  ptPart(query: PtQuery): Promise<PtPart>;
  ptInsns(query: Pick<PtQuery, "from" | "to">): Promise<PtInsns>;
  /** Returns a part of the recording as a recording. */
  slice(query: SliceQuery): Promise<Blob>;
}

/** Data inside of a report; without a recording, only the profile. */
export interface ReportData extends ReportParts {
  readonly index?: IndexAnswer | undefined;
  readonly info?: InfoAnswer | undefined;
  readonly switched?: Switched | undefined;
  readonly marks?: Marks | undefined;
  readonly code?: ReportCode | undefined;
}

/** Opens a report, which has the profile but no records. */
export async function reportSource(packed: string): Promise<ViewSource> {
  const data = unpack<ReportData>(await inflate(fromBase64(packed)));
  const { profile, code } = data;
  const service = profile === undefined || code === undefined
    ? undefined
    : await codeServiceOf(profile, code);
  return {
    ...withoutRecords("a report", "perfdata view FILE shows them"),
    ...(service === undefined ? {} : {
      hasCode: true,
      code: (fn: number, selection: Selection) =>
        code?.known.includes(fn) === true ? service.code(fn, selection) : Promise.reject(
          new Error(
            `a report has the code of the functions with most samples, here ${code?.known.length}: ` +
              "perfdata view FILE shows that of others",
          ),
        ),
      sourceText: (file: string) => Promise.resolve(service.text(file)),
    }),
    index: () => Promise.resolve(data.index),
    info: () => Promise.resolve(data.info),
    switched: () => Promise.resolve(data.switched),
    marks: () => Promise.resolve(data.marks),
    profile: () =>
      data.profile === undefined
        ? Promise.reject(new Error("no samples"))
        : Promise.resolve(data.profile),
    base: data.base === undefined ? undefined : () => Promise.resolve(data.base as ViewProfile),
  };
}

async function codeServiceOf(profile: ViewProfile, code: ReportCode): Promise<CodeService> {
  const { CodeService } = await import("../recording/code_service.ts");
  const { codeOfReport, reportProfile } = await import("../recording/report_code.ts");
  return new CodeService(reportProfile(profile, code), profile, codeOfReport(code));
}

/** Returns the answers of a source without records and code. */
export function withoutRecords(
  what: string,
  instead: string,
): Omit<ViewSource, "profile" | "base"> {
  const none = () => Promise.reject(new Error(`${what} has no records: ${instead}`));
  return {
    head: () => Promise.resolve([]),
    index: () => Promise.resolve(undefined),
    info: () => Promise.resolve(undefined),
    switched: () => Promise.resolve(undefined),
    marks: () => Promise.resolve(undefined),
    counts: () => Promise.resolve(undefined),
    records: none,
    position: none,
    record: none,
    slice: none,
    pt: () => Promise.resolve(undefined),
    ptPart: none,
    ptInsns: none,
    hasCode: false,
    sourceText: () => Promise.resolve(undefined),
    code: () => Promise.reject(new Error(`${what} has no source and no instructions: ${instead}`)),
  };
}

/** Kinds of frames in which the server sends a profile: see `server.ts`. */
export const FRAME = { PROGRESS: 0, DATA: 1, ERROR: 2 } as const;

/** Opens a recording that a process serves. */
export function serverSource(
  { address, compared, live, counts = "period" }: Pick<
    Opening & { readonly from: "server" },
    "address" | "compared" | "live" | "counts"
  >,
): ViewSource {
  const ask = async <T>(path: string): Promise<T> => {
    const response = await fetch(`${address}${path}`);
    if (!response.ok) throw new Error((await response.text()).trim());
    // The server sends `null` for missing data.
    return unpack<T | null>(new Uint8Array(await response.arrayBuffer())) ?? undefined as T;
  };
  const text = (query: RecordQuery | SliceQuery | Pick<PtQuery, "from" | "to">) =>
    encodeURIComponent(JSON.stringify(query));
  const profile = (path: string) => async (progress: (state: ProgressState) => void) => {
    const response = await fetch(`${address}${path}`);
    if (!response.ok || response.body === null) throw new Error(await response.text());
    const chunks: Uint8Array[] = [];
    for await (const { kind, bytes } of frames(response.body)) {
      if (kind === FRAME.DATA) chunks.push(bytes);
      else {
        const value = JSON.parse(new TextDecoder().decode(bytes));
        if (kind === FRAME.ERROR) throw new Error(value);
        progress(value);
      }
    }
    return unpack<ViewProfile>(joinBytes(chunks));
  };
  return {
    head: () => ask("head"),
    index: () => ask("index"),
    info: () => ask("info"),
    switched: () => ask("switched"),
    marks: () => ask("marks"),
    counts: () => ask("counts"),
    profile: profile(`profile?counts=${counts}`),
    base: compared ? profile(`base?counts=${counts}`) : undefined,
    growth: live === true ? (version) => ask(`growth?after=${version}`) : undefined,
    records: (query, from, count) =>
      ask(`records?query=${text(query)}&from=${from}&count=${count}`),
    position: (query, number) => ask(`position?query=${text(query)}&number=${number}`),
    record: (number) => ask(`record?number=${number}`),
    code: (fn, { event, from, to, pids, tids, cpus }) => {
      const query = JSON.stringify({ fn, event, from, to, pids, tids, cpus });
      return ask(`code?counts=${counts}&query=${encodeURIComponent(query)}`);
    },
    hasCode: true,
    sourceText: (file) => ask(`source?counts=${counts}&file=${encodeURIComponent(file)}`),
    pt: () => ask("pt"),
    ptPart: (query) => ask(`pt-part?query=${text(query)}`),
    ptInsns: ({ from, to }) => ask(`pt-insns?query=${text({ from, to })}`),
    async slice(query) {
      const response = await fetch(`${address}slice?query=${text(query)}`);
      if (!response.ok) throw new Error((await response.text()).trim());
      return await response.blob();
    },
  };
}

/** Yields the frames of a stream: a byte with the kind, four with the length, and the bytes. */
async function* frames(
  stream: ReadableStream<Uint8Array>,
): AsyncGenerator<{ readonly kind: number; readonly bytes: Uint8Array }, void, void> {
  const reader = stream.getReader();
  let parts: Uint8Array[] = [];
  let length = 0;
  // Bytes of the next frame with its head, as far as they are known.
  let wanted = 5;
  for (;;) {
    const { value, done } = await reader.read();
    if (done) break;
    parts.push(value);
    length += value.length;
    if (length < wanted) continue;
    let rest = joinBytes(parts);
    while (rest.length >= 5) {
      wanted = 5 + new DataView(rest.buffer, rest.byteOffset).getUint32(1, true);
      if (rest.length < wanted) break;
      yield { kind: byteAt(rest, 0), bytes: rest.subarray(5, wanted) };
      rest = rest.subarray(wanted);
      wanted = 5;
    }
    parts = [rest];
    length = rest.length;
  }
  if (length > 0) throw new Error("the server ended before all was sent");
}
