/** Profiles of Intel PT: executed stacks with their times. */
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
  PtNames,
  type PtTrace,
  unsureText,
} from "@perfdata/pt/decode";
import { complain, InputError, Progress } from "./cli.ts";
import { sampleFilter } from "./sample_flags.ts";
import { resolverOf } from "./symbol_flags.ts";
import { codeOf, imagesOf, openPt, reportLoss } from "./pt_input.ts";
import { ofCpus, ptJobs, ptRows, ptWorkers } from "./pt_workers.ts";

/**
 * Called with the bytes of the trace that were decoded since the previous call, and the bytes in
 * total. Decoding continues when the promise resolves.
 */
export type DecodedBytes = (bytes: number, all: number) => Promise<void> | void;

type PtFlags = Parameters<typeof sampleFilter>[0] & Parameters<typeof resolverOf>[0];

/** The result of decoding. */
interface Decoded {
  /** Sums of calls, unless calls were delivered one by one. */
  readonly calls: PtCalls | undefined;
  readonly names: PtNames;
  readonly trace: PtTrace;
  /** The message about AUX data that was not decoded. */
  readonly loss: string | undefined;
  /** Closes the files, and prints that message. Returns whether all AUX data was decoded. */
  finish(): boolean;
}

/** Decodes the calls of a recording. */
async function decode(
  tool: string,
  name: string,
  flags: PtFlags,
  options: {
    readonly tree?: boolean;
    readonly timeline?: boolean;
    /** The value of `--jobs`. */
    readonly jobs?: number | undefined;
    readonly decoded?: DecodedBytes | undefined;
    /** Receives finished calls, between packets, when their names are known. */
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
  // The timeline is built in one thread.
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
 * Reads a profile from a trace: time and instructions by stack, or the sequence of stacks if
 * `timeline` is set.
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
    writes: timeline ? calls.writes : undefined,
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

/** Passes on each call when it ends. Returns whether all was decoded. */
export async function eachPtCall(
  tool: string,
  name: string,
  flags: PtFlags,
  take: (events: CallEvents, names: PtNames, trace: PtTrace) => void,
): Promise<boolean> {
  // One thread: several recordings have a thread each.
  const { finish } = await decode(tool, name, flags, { events: take, jobs: 1 });
  return finish();
}

/** Formats that show each call as a slice. */
export type CallFormat = "chrome" | "perfetto";

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
  const open = (names: PtNames, { sideband: { threads } }: PtTrace) =>
    format === "chrome"
      ? new ChromeCalls(names, threads, { title })
      : new PerfettoCalls(names, threads);
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
