/** Runs the browser in the terminal, for a recording that is read or one that is being made. */
import { eventCounts, type Profile } from "@perfdata/profile";
import { resolveTime } from "@perfdata/session";
import { viewProfile } from "@perfdata/export/tree";
import { ViewEngine } from "../../view/data/view_engine.ts";
import { Browser, type BrowserHost } from "../../view/terminal/browser.ts";
import { Screen } from "../../view/terminal/terminal.ts";
import type { AnnotatedPages, AnnotatedSource } from "./annotate_page.ts";
import { complain, exists, writeLine, writeOutput } from "./cli.ts";
import type { BROWSER_FLAGS, PROFILE_FLAGS } from "./flag_sets.ts";
import type { FlagsOf } from "./flag_table.ts";
import { type Keyboard, SHELL, stdinKeyboard } from "./keyboard.ts";
import type { LiveRecording, MadeProfile } from "./live_recording.ts";
import type { LiveState } from "../../view/worker/protocol.ts";
import { runOnTerminal, terminalWith } from "./on_terminal.ts";
import { chosenEvent, type ReadProfile } from "./open_profile.ts";
import { parsePercent } from "./record_flags.ts";
import { parseTime } from "./time_flag.ts";
import { wantedTransforms } from "./transformed.ts";

type BrowserFlags = FlagsOf<typeof BROWSER_FLAGS & typeof PROFILE_FLAGS>;

/** The profile in the browser, with its source and engine. */
export interface Shown {
  readonly profile: Profile;
  readonly source: ReadProfile["source"];
  readonly engine: ViewEngine;
}

export interface BrowseOptions {
  /** The command's name, for messages. */
  readonly tool: string;
  readonly name: string;
  readonly flags: BrowserFlags & AnnotatedSource["flags"];
  readonly shown: Shown;
  /** The event that is shown first. */
  readonly event: number;
  /** The share by which functions are sorted first. */
  readonly sort: "total" | "self";
  /** The keys; those of standard input by default. */
  readonly keyboard?: Keyboard | undefined;
  /** The recording, if it is being made. */
  readonly live?: { readonly recording: LiveRecording; readonly version: number } | undefined;
}

export function engineOf(profile: Profile, flags: BrowserFlags): ViewEngine {
  const tests = wantedTransforms(flags).flatMap(({ text, test }) =>
    test === undefined ? [] : [[text, test]] as const
  );
  return new ViewEngine(viewProfile(profile), new Map(tests));
}

/** Shows the browser until the user quits. */
export async function browse(options: BrowseOptions): Promise<void> {
  const { tool, name, flags, event, live, keyboard = stdinKeyboard() } = options;
  const { on } = flags;
  let { shown } = options;
  let pages: AnnotatedPages | undefined;
  const host: BrowserHost = {
    async annotate(fn, selected) {
      const { AnnotatedPages } = await import("./annotate_page.ts");
      const fullNames = on["full-names"];
      pages ??= new AnnotatedPages({ ...shown, name, flags, fullNames });
      return await pages.page(fn, selected);
    },
    save,
    suspend: () => suspend(screen, keyboard),
    send: (command, text) => send({ tool, screen, keyboard }, command, text),
    async parseTime(text) {
      const range = parseTime(text);
      const { start, duration } = shown.engine.profile;
      const first = BigInt(start);
      const span = [first, first + BigInt(Math.round(duration))] as const;
      const [from, to] = await resolveTime(range, () => Promise.resolve(span));
      const since = (time: bigint) => Math.max(0, Number(time - first));
      // A time range includes its end, a selection does not.
      return [
        range.first === undefined ? undefined : since(from),
        range.last === undefined || to >= span[1] ? undefined : since(to) + 1,
      ];
    },
  };
  const percent = parsePercent("percent-limit", flags.value["percent-limit"]);
  const browser = new Browser(shown.engine, host, {
    event,
    least: percent === undefined ? undefined : percent / 100,
    transforms: wantedTransforms(flags).map(({ text }) => text),
    fullNames: on["full-names"],
    sort: options.sort,
  });
  const screen = new Screen(browser, terminalWith(keyboard));
  let version = live?.version ?? 0;
  const grown = live && (async () => {
    const { recording } = live;
    const state = await recording.next(version, QUIET);
    const made = state.version > version ? await recording.profile() : undefined;
    if (made !== undefined) {
      ({ version } = made);
      shown = shownOf(made, recording, flags);
      pages = undefined;
    }
    browser.grow(made && shown.engine, { isOver: state.isOver, status: statusOf(state) });
    return !state.isOver;
  });
  if (live !== undefined) browser.grow(undefined, { isOver: false, status: "live" });
  await runOnTerminal(browser, screen, keyboard, grown);
}

/** Shows a recording that is being made; returns the exit code. */
export async function browseLive(
  recording: LiveRecording,
  options: Pick<BrowseOptions, "tool" | "name" | "flags" | "keyboard" | "sort">,
): Promise<number> {
  const { tool, name, flags } = options;
  complain(`${tool}: ${name}: waiting for samples`);
  let made: MadeProfile | undefined;
  for (let state = recording.state; made === undefined; state = await recording.next(0)) {
    made = await recording.profile();
    if (made === undefined && state.isOver) return 1;
  }
  const { profile, version } = made;
  const { event } = chosenEvent(tool, name, {
    profile,
    wanted: flags.value.event ?? mainEvent(profile),
    hasAll: true,
  });
  await browse({
    ...options,
    shown: shownOf(made, recording, flags),
    event,
    live: { recording, version },
  });
  return recording.state.isOver ? (await recording.done ? 0 : 1) : 0;
}

/** Milliseconds after which the screen says that nothing arrives. */
const QUIET = 1000;

function shownOf(
  { profile }: MadeProfile,
  { source }: LiveRecording,
  flags: BrowserFlags,
): Shown {
  return { profile, source, engine: engineOf(profile, flags) };
}

function mainEvent(profile: Profile): string | undefined {
  const counts = eventCounts(profile);
  return profile.events[counts.indexOf(Math.max(...counts))]?.name;
}

/** A few words about a recording that is being made. */
function statusOf({ isOver, error, quiet }: LiveState): string {
  if (error !== undefined) return `ended: ${error}`;
  if (isOver) return "ended";
  return quiet > 2 * QUIET ? `nothing for ${Math.floor(quiet / 1000)} s` : "live";
}

/** The number of files that the key `P` writes at most, as in perf. */
const MOST_FILES = 8192;

/** Writes a text to the first file `perf.hist.N` that does not exist. */
function save(text: string): string {
  for (let number = 0; number < MOST_FILES; number++) {
    const path = `perf.hist.${number}`;
    if (exists(path)) continue;
    try {
      writeOutput(path, text, false);
      return `written: ${path}`;
    } catch (error) {
      return (error as Error).message;
    }
  }
  return "there are too many files perf.hist.N";
}

/**
 * Suspends this program and those that started it for the terminal, as Ctrl-Z does elsewhere. The
 * shell that sends the signal is suspended too, and ends after all of them continue.
 */
async function suspend(screen: Screen, keyboard: Keyboard): Promise<string> {
  const { state } = Deno.permissions.querySync({ name: "run", command: SHELL });
  if (state !== "granted") return `it cannot be suspended here: deno run --allow-run=${SHELL}`;
  screen.leave();
  keyboard.setRaw(false);
  try {
    await new Deno.Command(SHELL, { args: ["-c", "kill -TSTP 0"], stdin: "null" }).spawn().status;
  } finally {
    keyboard.setRaw(true);
    screen.enter();
  }
  return "";
}

/** Runs a shell command of the user on the terminal, with a text on its standard input. */
async function send(
  { tool, screen, keyboard }: {
    readonly tool: string;
    readonly screen: Screen;
    readonly keyboard: Keyboard;
  },
  command: string,
  text: string,
): Promise<string> {
  const { state } = Deno.permissions.querySync({ name: "run", command: SHELL });
  if (state !== "granted") return `commands may not be run here: deno run --allow-run=${SHELL}`;
  screen.leave();
  keyboard.setRaw(false);
  // Ctrl-C ends only the command.
  const ignore = () => {};
  Deno.addSignalListener("SIGINT", ignore);
  try {
    const child = new Deno.Command(SHELL, { args: ["-c", command], stdin: "piped" }).spawn();
    const writer = child.stdin.getWriter();
    try {
      await writer.write(new TextEncoder().encode(text));
      await writer.close();
    } catch {
      // The command closed its standard input early.
    }
    const { code } = await child.status;
    writeLine(`${tool}: ${code === 0 ? "done" : `exit code ${code}`}: Enter goes back`);
    await keyboard.line();
    return code === 0 ? "" : `${command}: exit code ${code}`;
  } finally {
    Deno.removeSignalListener("SIGINT", ignore);
    keyboard.setRaw(true);
    screen.enter();
  }
}
