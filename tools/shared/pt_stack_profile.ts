/** Profiles of Intel PT: stacks that ran, with their times. */
import type { CallWriter } from "@perfdata/export";
import { ChromeCalls, PerfettoCalls } from "@perfdata/export/traces";
import { type Profile, ptProfile } from "@perfdata/profile";
import {
  type CallEvents,
  callWhole,
  decodePt,
  joinCalls,
  listCalls,
  lossText,
  PtCalls,
  type PtCounts,
  unsureText,
} from "@perfdata/pt/decode";
import { PtNames, type PtTrace } from "@perfdata/pt/code";
import { complain, InputError, Progress } from "./cli.ts";
import { sampleFilter } from "./sample_flags.ts";
import { resolverOf } from "./symbol_flags.ts";
import { codeOf, imagesOf, openPt, reportLoss } from "./pt_input.ts";
import { ofCpus, ptJobs, ptRows, ptWorkers } from "./pt_workers.ts";

/** Told of bytes that were decoded; decoding goes on when it is done. */
/** Called with the bytes of the trace that were decoded since the call before, and with all there are. */
export type DecodedBytes = (bytes: number, all: number) => Promise<void> | void;

type PtFlags = Parameters<typeof sampleFilter>[0] & Parameters<typeof resolverOf>[0];

/** What a decoded trace is handed on with. */
interface Decoded {
  /** Their sums, where they were not taken one by one. */
  readonly calls: PtCalls | undefined;
  readonly names: PtNames;
  readonly trace: PtTrace;
  /** What was not decoded, in words. */
  readonly loss: string | undefined;
  /** Closes the files, and says what is missing; returns whether nothing is. */
  finish(): boolean;
}

/** Decodes a recording to calls. */
async function decode(
  tool: string,
  name: string,
  flags: PtFlags,
  options: {
    readonly tree?: boolean;
    readonly timeline?: boolean;
    /** How many threads, if it is said. */
    readonly jobs?: number | undefined;
    readonly decoded?: DecodedBytes | undefined;
    /** Takes calls that ended, between packets; their names are known. */
    readonly events?: (events: CallEvents, names: PtNames, trace: PtTrace) => void;
  },
): Promise<Decoded> {
  let chosen: Awaited<ReturnType<typeof sampleFilter>> | undefined;
  const { trace, complaints } = await openPt(tool, name, {
    code: (recorded) => codeOf(recorded, flags.value, imagesOf(undefined, name)),
    filter: async (reader) => chosen = await sampleFilter(flags, reader),
  });
  const { clock, bytes } = trace;
  const names = new PtNames(
    trace.code,
    await resolverOf(flags, name, {
      machine: trace.engine.recorded,
      parameters: false,
      debugInformation: false,
    }),
  );
  const { events, tree = false, timeline = false } = options;
  const time = chosen?.time;
  const filter = {
    tids: chosen?.tids,
    ...(time === undefined
      ? {}
      : { from: clock.origin.since(time[0]), to: clock.origin.since(time[1]) }),
  };
  const shown = new Progress(tool, bytes);
  const all = bytes;
  const progress = (bytes: number) => {
    shown.add(bytes);
    return options.decoded?.(bytes, all);
  };
  const cpus = chosen?.cpus;
  const wants = ofCpus(cpus);
  const opened = { trace, filter, wants };
  // Which stack was there when is one thread's.
  const threads = timeline ? 1 : ptJobs(name, options.jobs, bytes);
  const by = events === undefined ? "stacks" : "events";
  const whole = callWhole({ ...opened, ...ptRows(names, by) });
  const about = { name, flags, image: undefined, guestImage: undefined, filter, cpus, by } as const;
  const workers = threads === 1 ? undefined : ptWorkers(threads, about, progress);
  const decodeOptions = { progress, wants };
  let calls: PtCalls | undefined;
  let counts: PtCounts;
  let met: Uint8Array | undefined;
  if (events !== undefined) {
    const take = (rows: CallEvents) => events(rows, names, trace);
    ({ counts, met } = await listCalls(whole, workers, decodeOptions, take));
  } else {
    const joined = workers && await joinCalls(whole, workers);
    calls = joined?.calls ?? new PtCalls(trace, { tree, timeline, filter });
    counts = joined?.counts ?? await decodePt(trace, calls, decodeOptions);
    if (joined === undefined) calls.finish();
    else met = calls.met;
    await names.resolve();
  }
  if (met !== undefined) names.limitTo(met);
  shown.finish();
  return {
    calls,
    names,
    trace,
    loss: [lossText(counts), unsureText(counts)].filter((text) => text !== undefined).join("; ") ||
      undefined,
    finish: () => {
      names.close();
      return reportLoss(tool, name, { counts, trace, names, complaints }) === 0;
    },
  };
}

/**
 * Makes a profile of what ran: time and instructions by stack, or, with `timeline`, which stack was
 * there when.
 *
 * @throws {InputError} If nothing was decoded.
 */
export async function readPtProfile(
  tool: string,
  name: string,
  flags: PtFlags,
  { title, timeline, jobs, decoded }: {
    readonly title: string;
    readonly timeline: boolean;
    readonly jobs?: number | undefined;
    readonly decoded?: DecodedBytes | undefined;
  },
): Promise<{ profile: Profile; isWhole: boolean }> {
  const { calls, names, trace, loss, finish } = await decode(tool, name, flags, {
    tree: true,
    timeline,
    jobs,
    decoded,
  });
  if (calls?.tree === undefined || (timeline && !trace.clock.known)) {
    throw new InputError(`${name}: no times: ${trace.clock.why}`);
  }
  const profile = ptProfile({
    tree: calls.tree,
    timeline: calls.timeline,
    names,
    trace,
    timed: trace.clock.known,
    title,
    trust: loss ?? "all was decoded",
  });
  const isWhole = finish();
  if (profile.samples.length === 0) throw new InputError(`${name}: nothing was decoded`);
  return { profile, isWhole };
}

/** Hands on each call as it ends; returns whether all was decoded. */
export async function eachPtCall(
  tool: string,
  name: string,
  flags: PtFlags,
  take: (events: CallEvents, names: PtNames, trace: PtTrace) => void,
): Promise<boolean> {
  // Where there are several recordings, each has a thread.
  const { finish } = await decode(tool, name, flags, { events: take, jobs: 1 });
  return finish();
}

/** Formats that have each call as a slice. */
export type CallFormat = "chrome" | "perfetto";

/** Writes each call as a slice; returns whether all was decoded. */
export async function writeCallSlices(
  tool: string,
  name: string,
  flags: PtFlags,
  { title, format, jobs }: {
    readonly title: string;
    readonly format: CallFormat;
    readonly jobs: number | undefined;
  },
  out: (bytes: Uint8Array) => void,
): Promise<boolean> {
  let writer: CallWriter | undefined;
  const open = (names: PtNames, { sideband: { history } }: PtTrace) =>
    format === "chrome"
      ? new ChromeCalls(names, history, { title })
      : new PerfettoCalls(names, history);
  const { finish, names, trace } = await decode(tool, name, flags, {
    jobs,
    events: (events, names, trace) => {
      writer ??= open(names, trace);
      writer.rows(events, out);
    },
  });
  writer ??= open(names, trace);
  if (writer.calls === 0) {
    throw new InputError(
      `${name}: ${writer.untimed > 0 ? `no times: ${trace.clock.why}` : "no calls"}`,
    );
  }
  writer.finish(out);
  if (writer.headless > 0) {
    complain(
      `${tool}: ${name}: ${writer.headless} calls began before the part that is written, and are not in it`,
    );
  }
  return finish();
}
