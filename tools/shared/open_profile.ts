/** Shared by commands that show stacks: sample filters, names, and the line about trust. */
import {
  chooseEvent,
  type ChosenEvent,
  eventCounts,
  filterProfile,
  misleadingLines,
  type NameLookUp,
  type Profile,
  type ProfileOptions,
  remedyText,
  trustLines,
} from "@perfdata/profile";
import { newFile, openSource } from "@perfdata/format/files";
import { type EventLoopTurns, floatAt } from "@perfdata/format/bytes";
import { type AddressedPlaces, type Engine, stacksText } from "@perfdata/session";
import type { SymbolResolver } from "@perfdata/symbols";
import {
  about,
  complain,
  complainAll,
  InputError,
  NothingToShow,
  progressOf,
  writeOut,
} from "./cli.ts";
import type { PROFILE_FLAGS } from "./flag_sets.ts";
import type { FlagsOf } from "./flag_table.ts";
import type { SharedPass } from "../../view/recording/recording_service.ts";
import { choosesSamples, givenFilters, nameFilters, sampleFilter } from "./sample_flags.ts";
import { reportSwitches } from "./weight.ts";
import { parseJobs } from "./record_flags.ts";
import { openSamples, openTables, type SampleRecording } from "./open_input.ts";
import { type CommandRecording, printItraceLoss } from "./open_recording.ts";
import { open, type OpenOptions, type Recording, type TraceProfile } from "@perfdata/perfdata";
import { noSamplesText, whyNothing } from "./nothing.ts";
import { printLoss } from "./trace_loss.ts";

/** The parsed flags of commands that read a profile. */
type ProfileFlags = FlagsOf<typeof PROFILE_FLAGS>;

/** A profile, with details for messages and annotation. */
export interface ReadProfile {
  readonly profile: Profile;
  /** Whether all of the recording could be read. */
  readonly isWhole: boolean;
  /** Whether the profile is of Intel PT: executed stacks with durations, not samples. */
  readonly isPt: boolean;
  /** Whether another tool wrote it. */
  readonly isImported?: boolean;
  /**
   * The engine and symbols that made the profile; objects have the same numbers in both. Absent for
   * calls of Intel PT.
   */
  readonly source?: {
    readonly engine: Pick<Engine, "reader" | "recorded"> & { readonly places: AddressedPlaces };
    readonly resolver: SymbolResolver;
  };
}

interface ReadProfileOptions extends ProfileOptions, Pick<NameLookUp, "ranges"> {
  /** Whether to read source lines and inlined calls. */
  readonly debugInformation: boolean;
  /** The value of `--itrace`, to synthesize samples from Intel PT. */
  readonly itrace?: string | undefined;
  /** Whether to read Intel PT. If the file has no samples, Intel PT is read anyway. */
  readonly pt?: boolean;
  /** Whether a profile of Intel PT has the time of each stack, not sums. */
  readonly timeline?: boolean;
  /** Called while the recording is read: see `OpenOptions`. */
  readonly progress?: NonNullable<OpenOptions["progress"]>;
  /** Called while Intel PT is decoded: see `OpenOptions`. */
  readonly decoding?: NonNullable<OpenOptions["decoding"]>;
  /** Called while addresses are symbolized. */
  readonly naming?: NonNullable<OpenOptions["naming"]>;
  /**
   * Yields to the event loop while the recording is read and symbolized, for programs with other
   * work.
   */
  readonly turns?: EventLoopTurns;
  /** Counts for `info` in the same pass. Samples must have no filter. */
  readonly shared?: Partial<SharedPass> | undefined;
}

/**
 * Reads the samples of a recording with symbolized stacks. Prints what could not be resolved or
 * read.
 *
 * @param tool The command's name, for messages.
 * @throws {InputError} If no sample is left.
 */
export async function readProfile(
  tool: string,
  name: string,
  flags: ProfileFlags,
  options: ReadProfileOptions,
): Promise<ReadProfile> {
  if (options.pt === true && await openTables(name) === undefined) {
    const { openTrace } = await import("./command_trace.ts");
    const jobs = parseJobs(flags.value.jobs);
    const how = { jobs, decoding: options.decoding };
    const { trace, filter, ...about } = await openTrace(tool, name, flags, how);
    const read = await trace.profile({ timeline: options.timeline, filter });
    return await ofTrace(tool, name, flags, { ...read, ...about });
  }
  const opened = await openSamples(tool, name, flags, options);
  if (opened.recording.ready === undefined) {
    return await profileOfSamples(tool, name, opened, flags, options);
  }
  const { readReadyProfile } = await import("./ready_input.ts");
  return await readReadyProfile(tool, name, flags, { ...options, opened });
}

/** Reads a profile from the samples of a recording, and prints what it lacks. */
async function profileOfSamples(
  tool: string,
  name: string,
  { recording, complaints, progress }: SampleRecording,
  flags: ProfileFlags,
  options: ReadProfileOptions,
): Promise<ReadProfile> {
  const { shared } = options;
  const { verbose } = flags.on;
  const answer = await recording.ask({
    ...options,
    lines: options.debugInformation,
    filter: await sampleFilter(flags, recording),
    // `--verbose` reports addresses, so collect them all.
    unmapped: options.unmapped === true || verbose,
    stitchLbr: flags.on["stitch-lbr"],
    index: shared?.index,
    beside: shared?.beside,
  });
  const { engine, resolver, collector, trust } = answer;
  progress.finish();
  shared?.counted?.(engine);
  await reportSwitches(tool, name, collector);
  if (answer.traced !== undefined) {
    const { profile, traced: loss } = answer;
    return await ofTrace(tool, name, flags, { profile, loss, complaints, progress });
  }
  if (collector.samples === 0) {
    complaints.finish();
    const isSound = complaints.count === 0 && !choosesSamples(flags);
    throw new (isSound ? NothingToShow : InputError)(
      `${name}: ${await noSamplesText(name, flags)}`,
    );
  }
  const names = nameFilters(flags);
  const profile = filterProfile(answer.profile, names);
  if (profile.samples.length === 0) {
    complaints.finish();
    throw new InputError(`${name}: ${await noSamplesText(name, flags, names)}`);
  }
  const stacks = stacksText(engine, verbose);
  if (stacks !== undefined) complain(`${tool}: ${name}: ${stacks}`);
  complainAll(tool, verbose ? trustLines(trust, { verbose }) : misleadingLines(trust));
  const lost = /callers where nothing was mapped/.test(profile.trust);
  complain(`${tool}: ${name}: ${profile.trust}${remedyText(trust, lost)}`);
  complaints.finish();
  const isWhole = await printItraceLoss(tool, name, recording) && complaints.count === 0;
  return { profile, isWhole, isPt: false, source: { engine, resolver } };
}

/** A profile of Intel PT, after a report of what it lacks. */
async function ofTrace(
  tool: string,
  name: string,
  flags: ProfileFlags,
  { profile: read, loss, complaints, progress }: TraceProfile & Omit<CommandRecording, "recording">,
): Promise<ReadProfile> {
  progress.finish();
  const isWhole = printLoss(tool, name, loss, complaints);
  const names = nameFilters(flags);
  const profile = filterProfile(read, names);
  if (profile.samples.length === 0) {
    const why = choosesSamples(flags)
      ? `: ${await whyNothing(name, givenFilters(flags), names)}`
      : "";
    throw new InputError(`${name}: nothing was decoded${why}`);
  }
  return { profile, isWhole, isPt: true };
}

/** Whether a file has Intel PT. Standard input is not read. */
export async function hasIntelPt(name: string): Promise<boolean> {
  return await isOf(name, (recording) => recording.hasTrace());
}

/** Whether a file has Intel PT and no samples. Standard input is not read. */
export async function hasOnlyPt(name: string): Promise<boolean> {
  return await isOf(name, (recording) => recording.hasOnlyTrace());
}

async function isOf(
  name: string,
  test: (recording: Recording) => Promise<boolean>,
): Promise<boolean> {
  if (name === "-") return false;
  using recording = await open(await openTables(name) ?? openSource(name));
  return await test(recording);
}

/**
 * Chooses the event for commands that show one. Prints the events that are left out if the user did
 * not choose.
 *
 * @param tool The command's name, for messages.
 * @param name The recording.
 * @param choice `wanted`: the value of `--event`. `hasAll`: whether the view lets users switch
 * events.
 * @throws {InputError} If there is no event of that name.
 */
export function chosenEvent(
  tool: string,
  name: string,
  { profile, wanted, hasAll = false }: {
    readonly profile: Profile;
    readonly wanted: string | undefined;
    readonly hasAll?: boolean;
  },
): ChosenEvent {
  const { events } = profile;
  const chosen = chooseEvent(profile, wanted);
  if (chosen === undefined) {
    throw new InputError(
      `no event ${wanted}; there ${events.length > 1 ? "are" : "is"} ${
        events.map((event) => event.name).join(", ")
      }`,
    );
  }
  if (wanted === undefined && !hasAll) reportOtherEvents(tool, name, chosen);
  return chosen;
}

function reportOtherEvents(tool: string, name: string, { profile, event }: ChosenEvent): void {
  const { events } = profile;
  const counts = eventCounts(profile);
  const others = events.filter((_, number) => number !== event && floatAt(counts, number) > 0);
  if (others.length === 0) return;
  const all = counts.reduce((sum, count) => sum + count, 0);
  const left = (100 * (all - floatAt(counts, event)) / all).toFixed(2);
  complain(
    `${tool}: ${name}: only samples of ${events[event]?.name}; ${left}% are of ` +
      `${others.map(({ name }) => name).join(", ")}: --event NAME`,
  );
}

/** Writes chunks to a file, which gets its name at the end, or to standard output for `-`. */
export async function writeChunks(
  path: string,
  force: boolean,
  chunks: Iterable<Uint8Array> | AsyncIterable<Uint8Array>,
): Promise<number> {
  let bytes = 0;
  const progress = progressOf(path === "-" ? "writing" : path, undefined);
  using file = path === "-" ? undefined : about(path, () => newFile(path, { force }));
  // Update progress for formats that write nothing until the end.
  progress.add(0);
  for await (const chunk of chunks) {
    if (file === undefined) writeOut(chunk);
    else file.write(chunk);
    bytes += chunk.length;
    progress.add(chunk.length);
  }
  progress.finish();
  about(path, () => file?.commit());
  return bytes;
}
