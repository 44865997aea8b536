/** `pt --replay`: steps through the instructions of a thread in the terminal, or prints the last ones. */
import {
  type EventTimes,
  momentOf,
  type PtCounts,
  type PtNames,
  ptSpan,
  type PtTrace,
  Replay,
  type ReplayOptions,
  rowLines,
} from "@perfdata/pt/decode";
import { ReplayBrowser, type ReplayHost } from "../../view/terminal/replay_browser.ts";
import { Screen } from "../../view/terminal/terminal.ts";
import { asInput, InputError, isInteractive, UsageError } from "./cli.ts";
import type { FlagsOf } from "./flag_table.ts";
import { insnText } from "./insn_text.ts";
import { stdinKeyboard } from "./keyboard.ts";
import { runOnTerminal, terminalWith } from "./on_terminal.ts";
import { parseCount } from "./record_flags.ts";
import { Sources } from "./source_lines.ts";
import type { FLAGS } from "../pt.ts";

/** Steps that are printed by default without a terminal. */
const LAST = 100;
/** Maximum number of steps that are printed; they are in memory at once. */
const MOST = 1 << 20;

/** The part of a trace to replay. */
export interface ReplayWish {
  readonly trace: PtTrace;
  readonly names: PtNames;
  readonly events: EventTimes;
  readonly flags: FlagsOf<typeof FLAGS>;
  readonly name: string;
  readonly tids: ReadonlySet<number> | undefined;
  readonly wants: ReplayOptions["wants"];
  /** Writes a line. */
  readonly put: (line: string) => void;
}

/** The result of a replay. */
export interface Replayed {
  /** Counts of the decoding of the last steps. */
  readonly counts: PtCounts;
  /** The number of lines printed. */
  readonly printed: number;
  readonly notes: readonly string[];
}

/** Shows the steps of a thread, or prints the last ones. */
export async function replaySteps(wish: ReplayWish): Promise<Replayed> {
  const { trace, names, events, flags: { on, value }, name, tids, wants, put } = wish;
  if (tids !== undefined && tids.size > 1) {
    throw new UsageError("--replay shows one thread: --tid has several");
  }
  const last = stepCount(value.last);
  const isShown = isInteractive() && !on.json && value.last === undefined;
  const span = await ptSpan(trace);
  const momentAt = async (flag: string, text: string): Promise<number> => {
    if (span === undefined) throw new InputError(`${name}: --${flag}: the trace has no times`);
    const moment = await asInput(
      () => momentOf(text, { trace, events, span }),
      `${name}: --${flag}: `,
    );
    return moment.time;
  };
  const { at = "end" } = value;
  const options: ReplayOptions = {
    ...{ trace, names, wants, text: await insnText("pt"), span },
    tid: tids === undefined ? undefined : [...tids][0],
    at: at === "end" ? undefined : await momentAt("at", at),
    most: isShown ? undefined : last,
    least: isShown ? undefined : last,
  };
  const replay = await Replay.open(options);
  const part = replay?.parts[0];
  if (replay === undefined || part === undefined) {
    const before = options.at === undefined ? "" : " before this time";
    throw new InputError(
      options.tid === undefined
        ? `${name}: --replay: no instruction was decoded${before}: pt without it says why`
        : `${name}: --replay: thread ${options.tid} was not traced${before}`,
    );
  }
  const { counts } = part;
  const { tid } = replay.thread;
  if (!isShown) {
    const list = { json: on.json, source: true };
    for (const line of rowLines(part.rows, names, part.texts, list)) put(line);
    const { count } = part.rows;
    const of = tids === undefined
      ? `, which ran last${threadsOf(trace).length > 1 ? "; --tid chooses another" : ""}`
      : "";
    const note = `the last ${count} steps of thread ${tid}${of}; --last N prints more, and a ` +
      "terminal steps through them";
    return { counts, printed: count, notes: [note] };
  }
  const sources = new Sources(value.sources, value.symbols);
  const threads = threadsOf(trace);
  const host: ReplayHost = {
    lines: (path) => sources.lines(path),
    parseTime: (text) => momentAt("at", text),
    threads: () => threads,
    open: (thread, time) =>
      Replay.open({ ...options, tid: thread, at: time < 0 ? undefined : time }),
  };
  const browser = new ReplayBrowser(replay, host, name);
  const keyboard = stdinKeyboard();
  const screen = new Screen(browser, terminalWith(keyboard));
  browser.size = screen.terminal.size();
  await browser.look();
  await runOnTerminal(browser, screen, keyboard);
  return { counts, printed: 1, notes: [] };
}

function stepCount(text: string | undefined): number {
  const count = parseCount("last", text) ?? LAST;
  if (count < 1 || count > MOST) {
    throw new UsageError(
      `--last is ${text}, expected a number of steps up to ${MOST}; ` +
        "--insns --last 10ms has no limit",
    );
  }
  return count;
}

/** The threads that ran, with their names at the end. */
function threadsOf({ aux, sideband }: PtTrace): { readonly tid: number; readonly name: string }[] {
  const tids = new Set<number>();
  for (const { tid } of aux.streams) if (tid !== undefined) tids.add(tid);
  for (const { first, tid, count } of sideband.switches.values()) {
    for (const ran of [first, ...tid.subarray(0, count)]) tids.add(ran);
  }
  for (const tid of sideband.started.values()) tids.add(tid);
  return [...tids].filter((tid) => tid > 0).sort((a, b) => a - b)
    .map((tid) => ({ tid, name: sideband.threads.name(tid, Infinity) ?? "" }));
}
