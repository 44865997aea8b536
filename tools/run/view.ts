/** Runs `view`. */
import { EventLoopTurns, isRandomAccess } from "@perfdata/format/bytes";
import { fileSource, openSource } from "@perfdata/format/files";
import { isTimeWeight, type ProfileWeight, shownEvents } from "@perfdata/profile";
import { VIEW_PARTS } from "@perfdata/page";
import { pageText, reportText, type ViewProfile, viewProfile } from "@perfdata/export/tree";
import { CodeService, recordedCode } from "../../view/recording/code_service.ts";
import { reportCode } from "../../view/recording/report_code.ts";
import { PtService } from "../../view/recording/pt_service.ts";
import { ShortRequests } from "../../view/server/short_requests.ts";
import {
  RecordingService,
  type SharedPass,
  type SliceQuery,
} from "../../view/recording/recording_service.ts";
import { ProgressSteps } from "../../view/recording/progress_steps.ts";
import { newToken, type ProfileMaker, viewHandler } from "../../view/server/server.ts";
import {
  about,
  aboutAsync,
  complain,
  InputError,
  isStreamed,
  oneFile,
  readyOutput,
  UsageError,
  writeLine,
} from "../shared/cli.ts";
import type { FlagsOf } from "../shared/flag_table.ts";
import { readProfile, writeChunks } from "../shared/open_profile.ts";
import { titleOf } from "../shared/open_recording.ts";
import { choosesSamples } from "../shared/sample_flags.ts";
import { resolverOf } from "../shared/symbol_flags.ts";
import { parseWeight } from "../shared/weight.ts";
import { disassembler } from "../shared/disassembler.ts";
import { codeOf, imagesOf, objectCode } from "../shared/pt_input.ts";
import { insnText } from "../shared/insn_text.ts";
import { finishedFiles } from "../shared/followed_folder.ts";
import type { LiveRecording } from "../shared/live_recording.ts";
import { Sources } from "../shared/source_lines.ts";
import { openInput, openTables } from "../shared/open_input.ts";
import type { FLAGS } from "../view.ts";

type ViewFlags = FlagsOf<typeof FLAGS>;

export async function run(flags: ViewFlags): Promise<number> {
  const { on, value, operands } = flags;
  const name = oneFile(operands.slice(-1));
  const base = operands.length === 2 ? operands[0] : undefined;
  if (operands.length > 2) {
    throw new UsageError(`expected one file, or two to compare, not ${operands.length}`);
  }
  if (base === "-") throw new UsageError("BASE is a file, not a pipe");
  if (value.save === undefined) readyOutput(value.output, { force: on.force, temp: value.temp });
  const weight = parseWeight(value.weight);
  if (weight !== "period" && on.pt) {
    throw new UsageError("--weight counts what context switches say, and --pt what Intel PT does");
  }
  if (value.output !== undefined) {
    return await aboutAsync(name, () => report(name, base, value.output as string, weight, flags));
  }
  const port = value.port === undefined ? 0 : Number(value.port);
  if (!(Number.isInteger(port) && port >= 0 && port < 65536)) {
    throw new UsageError(`--port is ${value.port}, expected a number below 65536`);
  }
  return await aboutAsync(name, () => serve(name, base, port, weight, flags));
}

/** The record service of a seekable recording; `undefined` for pipes, tables and other profiles. */
async function recordingOf(name: string): Promise<RecordingService | undefined> {
  if (name === "-") return undefined;
  const { source, kind } = await openInput(name);
  if (kind !== undefined) return undefined;
  return isRandomAccess(source) ? new RecordingService(source, name) : undefined;
}

/**
 * The Intel PT service of a seekable recording; `undefined` for pipes, tables and other profiles.
 */
async function ptOf(name: string, flags: ViewFlags): Promise<PtService | undefined> {
  if (name === "-") return undefined;
  const { source, kind } = await openInput(name);
  return kind === undefined && isRandomAccess(source)
    ? new PtService({
      source,
      code: (sideband) => codeOf(sideband, flags.value, imagesOf(undefined, name)),
      resolver: (machine) =>
        resolverOf(flags, name, {
          machine,
          parameters: false,
          debugInformation: false,
        }),
      text: () => insnText("view"),
    })
    : undefined;
}

/** A profile in the page's format. */
interface MadeProfile {
  readonly profile: ViewProfile;
  readonly isWhole: boolean;
  readonly code: CodeService | undefined;
}

/**
 * Reads a profile in the same pass as the service counts for its info, if that is of all samples.
 */
async function passOf(
  recording: RecordingService | undefined,
  flags: ViewFlags,
  weight: ProfileWeight,
  read: (shared?: SharedPass) => Promise<MadeProfile>,
): Promise<MadeProfile> {
  return recording === undefined || weight !== "period" || flags.on.pt || choosesSamples(flags)
    ? await read()
    : await recording.pass(read);
}

async function profileOf(
  name: string,
  flags: ViewFlags,
  weight: ProfileWeight = "period",
  how: Pick<
    Parameters<typeof readProfile>[3],
    "progress" | "naming" | "decoding" | "turns" | "shared"
  > = {},
): Promise<MadeProfile> {
  const { profile: read, isWhole, source: from } = await readProfile("view", name, flags, {
    timed: true,
    debugInformation: !flags.on["no-inline"],
    pt: weight === "period" && flags.on.pt,
    weight,
    ...how,
  });
  const profile = shownEvents(read);
  const view = viewProfile(profile);
  if (from === undefined) return { profile: view, isWhole, code: undefined };
  const { engine, resolver } = from;
  const sources = new Sources(flags.value.source, flags.value.symbols);
  const source = recordedCode({
    engine,
    resolver,
    code: await objectCode(engine.recorded, flags.value, name),
    disassembler: () => disassembler("view", engine.reader.arch),
    source: (path) => sources.lines(path),
  });
  const code = new CodeService(profile, view, source);
  return { profile: view, isWhole, code };
}

/** Writes a page that contains all its data. */
async function report(
  name: string,
  base: string | undefined,
  output: string,
  weight: ProfileWeight,
  flags: ViewFlags,
): Promise<number> {
  const recording = await recordingOf(name);
  const index = await recording?.index();
  const switched = await recording?.switched();
  const marks = await recording?.marks();
  const { profile, isWhole, code: service } = await passOf(
    recording,
    flags,
    weight,
    (shared) => profileOf(name, flags, weight, { shared }),
  );
  const { info: _, ...info } = await recording?.info() ?? { info: undefined };
  const code = flags.on["no-code"] || service === undefined ? undefined : await reportCode(service);
  const other = base === undefined
    ? undefined
    : await aboutAsync(base, () => profileOf(base, flags, weight));
  const text = await reportText(VIEW_PARTS, {
    profile,
    base: other?.profile,
    index,
    switched,
    marks,
    code,
    info: "lines" in info ? info : undefined,
  });
  const bytes = await writeChunks(output, flags.on.force, [new TextEncoder().encode(text)]);
  const inside = code === undefined || code.functions.length === 0
    ? ""
    : `, with the code of ${code.functions.length} functions and lines of ${code.files.length} ` +
      "source files (--no-code leaves them out)";
  if (output !== "-") complain(`view: ${output}: ${bytes} bytes${inside}`);
  return isWhole && other?.isWhole !== false ? 0 : 1;
}

/** Serves the page until the process is interrupted. */
async function serve(
  name: string,
  base: string | undefined,
  port: number,
  weight: ProfileWeight,
  flags: ViewFlags,
): Promise<number> {
  if (flags.on.follow) about(name, () => Deno.readDirSync(name));
  const live = await liveOf(name, weight, flags);
  const { save } = flags.value;
  if (save !== undefined && live === undefined) {
    throw new UsageError("--save keeps what arrives through a pipe, and nothing does");
  }
  const recording = flags.on.follow ? undefined : await recordingOf(name);
  // Report a missing file before the server starts.
  if (base !== undefined && await openTables(base) === undefined) {
    about(base, () => openSource(base));
  }
  const page = await pageText(VIEW_PARTS, "server", {
    compared: base !== undefined,
    live: live !== undefined,
  });
  const token = newToken();
  const codes = new Map<ProfileWeight, CodeService | undefined>();
  const short = new ShortRequests();
  const maker = (of: string, isShown: boolean): ProfileMaker => async (progress, counts) => {
    // Read the index first: the page draws it while samples are read.
    if (isShown) await recording?.index();
    // Report a missing file by its name.
    if (of !== "-") about(of, () => Deno.statSync(of));
    // Yields to requests of the page.
    const turns = new EventLoopTurns();
    const steps = new ProgressSteps(progress);
    const made = await passOf(
      isShown ? recording : undefined,
      flags,
      counts,
      (shared) =>
        profileOf(of, flags, counts, {
          shared,
          turns,
          progress: (_, bytes, all) => steps.reached(`Reading ${titleOf(of)}`, bytes, all),
          decoding(bytes, all) {
            steps.read(`Decoding the Intel PT of ${titleOf(of)}`, bytes, all);
            return short.settled();
          },
          naming: (done, all) => steps.named(`Naming the functions of ${titleOf(of)}`, done, all),
        }),
    );
    if (isShown) codes.set(counts, made.code);
    return made.profile;
  };
  const handler = viewHandler({
    token,
    page,
    recording,
    profile: live === undefined ? maker(name, true) : growing(live, weight),
    growth: live && ((version) => live.next(version)),
    slice: save === undefined ? undefined : (query) => sliceOf(save, query),
    base: base === undefined ? undefined : maker(base, false),
    code: (counts) => codes.get(counts),
    pt: flags.on.follow ? undefined : await ptOf(name, flags),
    short,
  });
  const end = new AbortController();
  const server = about(`port ${port}`, () =>
    Deno.serve({
      hostname: "127.0.0.1",
      port,
      signal: end.signal,
      onListen: () => {},
      onError: () => new Response("the server failed\n", { status: 500 }),
    }, handler));
  const hash = weight === "period" ? "" : `#counts=${weight}`;
  const address = `http://127.0.0.1:${server.addr.port}/${token}/${hash}`;
  writeLine(address);
  complain(`view: ${titleOf(name)} is shown at this address until Ctrl-C`);
  if (flags.on.open) openBrowser(address);
  Deno.addSignalListener("SIGINT", () => end.abort());
  await server.finished;
  return 0;
}

/** The recording, if it arrives through a pipe or in files while it is made. */
async function liveOf(
  name: string,
  weight: ProfileWeight,
  flags: ViewFlags,
): Promise<LiveRecording | undefined> {
  const { follow } = flags.on;
  if (!follow && (name !== "-" || flags.on.pt || !isStreamed())) return undefined;
  if (follow && isTimeWeight(weight)) {
    throw new UsageError(`--follow counts no times off the CPU: --weight ${weight} needs one file`);
  }
  if (isTimeWeight(weight)) {
    complain(`view: ${titleOf(name)}: times off the CPU are shown when the recording has ended`);
    return undefined;
  }
  const { save } = flags.value;
  const debugInformation = !flags.on["no-inline"];
  const { LiveRecording } = await import("../shared/live_recording.ts");
  const file = save === undefined ? undefined : about(save, () =>
    Deno.openSync(save, {
      write: true,
      truncate: true,
      ...(flags.on.force ? { create: true } : { createNew: true }),
    }));
  return new LiveRecording({
    ...{ tool: "view", name, flags, weight, debugInformation },
    files: follow ? finishedFiles(name) : undefined,
    save: file && ((bytes) => {
      for (let at = 0; at < bytes.length;) at += file.writeSync(bytes.subarray(at));
    }),
  });
}

/** The profile of a recording that is being made, once there is one. */
function growing(live: LiveRecording, weight: ProfileWeight): ProfileMaker {
  return async (progress, counts) => {
    if (counts !== weight) {
      throw new InputError(`this was not counted: perfdata view --weight ${counts} - counts it`);
    }
    for (;;) {
      const made = await live.profile();
      if (made !== undefined) return viewProfile(made.profile);
      const { isOver, error = "no samples", bytes } = live.state;
      if (isOver) throw new InputError(error);
      progress({ what: "Waiting for samples", unit: "bytes", done: bytes, total: 0 });
      await live.next(0, WAIT);
    }
  };
}

/** Milliseconds after which a page that waits for samples is told so. */
const WAIT = 500;

/** A part of the bytes saved so far. */
async function sliceOf(path: string, query: SliceQuery): Promise<Uint8Array<ArrayBuffer>> {
  using source = fileSource(path);
  return await new RecordingService(source, path).slice(query);
}

function openBrowser(address: string): void {
  try {
    // An absolute path: if a run permission names a program that is not in the PATH, Deno prints a
    // warning in every command.
    new Deno.Command("/usr/bin/xdg-open", {
      args: [address],
      stdin: "null",
      stdout: "null",
      stderr: "null",
    }).spawn().unref();
  } catch {
    throw new InputError("--open: /usr/bin/xdg-open is not there; open the address by hand");
  }
}
