import { floatAt, intAt } from "@perfdata/format/bytes";
import {
  addressText,
  type Direction,
  eventText,
  gapText,
  type Moved,
  type Replay,
  ROW,
  type Step,
} from "@perfdata/pt/decode";
import { cut, left, type Line, type Span } from "./lines.ts";
import { REPLAY_HELP } from "./replay_help.ts";

/** A thread that can be chosen. */
export interface ReplayThread {
  readonly tid: number;
  readonly name: string;
}

/** Functions that the replay needs from its host. */
export interface ReplayHost {
  /** The lines of a source file; `undefined` if it cannot be read. */
  lines(path: string): readonly string[] | undefined;
  /**
   * Parses a time; returns ns since the origin of the trace's times.
   *
   * @throws {Error} If the text is not a time, with the reason.
   */
  parseTime(text: string): Promise<number>;
  /** The threads of the trace. */
  threads(): readonly ReplayThread[];
  /** Opens the steps of a thread at a time in ns; `undefined` if it did not run before. */
  open(tid: number, time: number): Promise<Replay | undefined>;
}

/** A text of the user that is being typed. */
interface Prompt {
  readonly label: string;
  text: string;
  entered(text: string): Promise<void>;
}

/** A list on the whole screen. */
interface Page {
  readonly lines: readonly Line[];
  /** The selected line of a chooser. */
  at: number;
  chosen?(at: number): Promise<void>;
}

/** A test of a step for a search. */
type StepTest = (step: Step) => boolean;

const FOOT = "↑↓ instruction  p/n line  P/N over calls  c/C call  u caller  / find  t time  ? keys";

/** Steps backwards and forward through the instructions of a thread, with their source lines. */
export class ReplayBrowser {
  /** Set when the program has to end. */
  isOver = false;
  /** Size of the screen. */
  size: { readonly columns: number; readonly rows: number } = { columns: 80, rows: 24 };
  /** Draws the screen, before an action that takes long. */
  redraw: () => void = () => {};
  #replay: Replay;
  readonly #host: ReplayHost;
  readonly #title: string;
  #message = "";
  #prompt: Prompt | undefined;
  #page: Page | undefined;
  /** The last search. */
  #wanted = "";
  /** The steps on the screen, and the index of the current one among them. */
  #steps: readonly Step[] = [];
  #cursor = 0;

  /** @param title The name of the recording. */
  constructor(replay: Replay, host: ReplayHost, title: string) {
    this.#replay = replay;
    this.#host = host;
    this.#title = title;
  }

  /** Loads the steps around the current one, for the screen. */
  async look(): Promise<void> {
    const room = this.#heights.steps;
    const steps = [this.#replay.current];
    let distance = 1;
    for (; distance < room - 2; distance++) {
      const step = await this.#replay.near(-distance);
      if (step === undefined) break;
      steps.unshift(step);
    }
    this.#cursor = steps.length - 1;
    for (let after = 1; steps.length < room + 2; after++) {
      const step = await this.#replay.near(after);
      if (step === undefined) break;
      steps.push(step);
    }
    this.#steps = steps;
  }

  /** Handles a key. */
  async key(key: string): Promise<void> {
    this.#message = "";
    try {
      await this.#handle(key);
    } catch (error) {
      this.#message = (error as Error).message;
    }
  }

  async #handle(key: string): Promise<void> {
    if (key === "ctrl-c") this.isOver = true;
    else if (this.#prompt !== undefined) await this.#promptKey(this.#prompt, key);
    else if (this.#page !== undefined) await this.#pageKey(this.#page, key);
    else {
      await this.#stepKey(key);
      await this.look();
    }
  }

  /** Returns the lines of the screen, one for each row. */
  screen(): Line[] {
    const { rows } = this.size;
    const lines: Line[] = [this.#titleLine()];
    if (this.#page !== undefined) lines.push(...this.#pageLines(this.#page, rows - 3));
    else {
      const { steps, source, callers } = this.#heights;
      lines.push(...padded(this.#stepLines(steps), steps));
      lines.push(...padded(this.#sourceLines(source), source));
      lines.push(...padded(this.#callerLines(callers), callers));
    }
    lines.length = Math.min(lines.length, Math.max(1, rows - 2));
    while (lines.length < rows - 2) lines.push([]);
    return [...lines, ...this.#footLines()].slice(0, rows);
  }

  /** The rows of each part of the screen: between title and foot. */
  get #heights(): Readonly<Record<"steps" | "source" | "callers", number>> {
    const room = Math.max(3, this.size.rows - 3);
    const callers = Math.min(8, Math.floor(room / 4));
    const source = Math.floor((room - callers) * 2 / 5);
    return { callers, source, steps: room - callers - source };
  }

  // Keys.

  async #stepKey(key: string): Promise<void> {
    const replay = this.#replay;
    const page = this.#heights.steps;
    switch (key) {
      case "up":
      case "k":
        return this.#moved(await replay.step(-1), "the first instruction");
      case "down":
      case "j":
        return this.#moved(await replay.step(1), "the last instruction");
      case "pageup":
        return this.#moved(await replay.step(-page), "the first instruction");
      case "pagedown":
      case " ":
        return this.#moved(await replay.step(page), "the last instruction");
      case "home":
      case "g":
        await replay.goToStart();
        return;
      case "end":
      case "G":
        await replay.goTo(Infinity);
        return;
      case "p":
      case "P":
        return this.#moved(await replay.line(-1, key === "P"), "no line before this one");
      case "n":
      case "N":
        return this.#moved(await replay.line(1, key === "N"), "no line after this one");
      case "c":
        return this.#moved(await replay.call(-1), "no call before this instruction");
      case "C":
        return this.#moved(await replay.call(1), "no call after this instruction");
      case "u":
        return this.#moved(await replay.out(-1), "the trace has no call of this function");
      case "o":
        return this.#moved(await replay.out(1), "the trace has no return of this function");
      case "/":
      case "\\":
        return this.#ask(key === "/" ? "back to: " : "forward to: ", this.#wanted, (text) => {
          this.#wanted = text;
          return this.#find(key === "/" ? -1 : 1);
        });
      case "b":
      case "f":
        return await this.#find(key === "b" ? -1 : 1);
      case "t":
        return this.#ask("time: ", "", (text) => this.#goTo(text));
      case "T":
        return this.#chooseThread();
      case "s":
        if (!await replay.deepen()) this.#message = "no more calls around this one are known";
        return;
      case "?":
      case "h":
        this.#page = { lines: REPLAY_HELP, at: -1 };
        return;
      case "q":
        this.isOver = true;
    }
  }

  #moved({ isFound, gap }: Moved, none: string): void {
    if (gap !== undefined) this.#message = `a gap: ${gap}; the same key goes on`;
    else if (!isFound) this.#message = none;
  }

  #ask(label: string, text: string, entered: (text: string) => Promise<void>): void {
    this.#prompt = { label, text, entered };
  }

  async #promptKey(prompt: Prompt, key: string): Promise<void> {
    if (key === "escape") this.#prompt = undefined;
    else if (key === "enter") {
      this.#prompt = undefined;
      await prompt.entered(prompt.text.trim());
      await this.look();
    } else if (key === "backspace") prompt.text = [...prompt.text].slice(0, -1).join("");
    else if (key === "ctrl-u") prompt.text = "";
    else if ([...key].length === 1) prompt.text += key;
  }

  async #pageKey(page: Page, key: string): Promise<void> {
    const last = page.lines.length - 1;
    if (key === "q" || key === "escape" || key === "?") this.#page = undefined;
    else if (key === "down" || key === "j") page.at = Math.min(last, page.at + 1);
    else if (key === "up" || key === "k") page.at = Math.max(0, page.at - 1);
    else if (key === "enter" && page.chosen !== undefined) {
      this.#page = undefined;
      await page.chosen(page.at);
      await this.look();
    }
  }

  async #find(direction: Direction): Promise<void> {
    if (this.#wanted === "") return;
    const test = this.#testOf(this.#wanted);
    // A function that is running now has to be left first.
    let hasLeft = !test(this.#replay.current);
    const { isFound } = await this.#replay.find(direction, (step) => {
      const fits = test(step);
      if (hasLeft) return fits;
      hasLeft = !fits;
      return false;
    });
    if (!isFound) {
      this.#message = `${this.#wanted}: not ${direction < 0 ? "before" : "after"} this instruction`;
    }
  }

  #testOf(wanted: string): StepTest {
    const { names } = this.#replay;
    const [, digits] = /^0x([0-9a-f]+)$/i.exec(wanted) ?? [];
    if (digits !== undefined) {
      const address = digits.replace(/^0+(?=.)/, "").toLowerCase();
      return ({ rows, row }) => addressText(rows, row) === address;
    }
    const isLine = /:\d+$/.test(wanted);
    return ({ rows, row }) => {
      const place = intAt(rows.a, row);
      if (!isLine) return names.names[place] === wanted;
      const line = names.line(place) ?? "";
      return line === wanted || line.endsWith(`/${wanted}`);
    };
  }

  async #goTo(text: string): Promise<void> {
    const time = await this.#host.parseTime(text);
    if (!await this.#replay.goTo(time)) this.#message = "the thread did not run before this time";
  }

  #chooseThread(): void {
    const threads = this.#host.threads();
    const { tid } = this.#replay.thread;
    this.#page = {
      lines: threads.map(({ tid, name }): Line => [{ text: `${tid} ${name}` }]),
      at: Math.max(0, threads.findIndex((thread) => thread.tid === tid)),
      chosen: async (at) => {
        const thread = threads[at];
        if (thread === undefined) return;
        const { rows, row } = this.#replay.current;
        const opened = await this.#host.open(thread.tid, floatAt(rows.time, row));
        if (opened === undefined) this.#message = `thread ${thread.tid} has no instructions`;
        else this.#replay = opened;
      },
    };
  }

  // Lines.

  #titleLine(): Line {
    const { rows, row } = this.#replay.current;
    const { names, thread: { tid } } = this.#replay;
    const cpu = intAt(rows.cpu, row);
    const time = names.origin.secondsText(floatAt(rows.time, row));
    const name = this.#host.threads().find((thread) => thread.tid === tid)?.name ?? "";
    const parts = [
      this.#title,
      `thread ${tid} ${name}`.trim() + (rows.unsure[row] === 1 ? "?" : ""),
      ...(cpu < 0 ? [] : [`CPU ${cpu}`]),
      time === "" ? "no times" : time,
    ];
    return [{ text: left(parts.join("  "), this.size.columns), style: "head" }];
  }

  #stepLines(room: number): Line[] {
    const first = Math.max(
      0,
      Math.min(this.#cursor - Math.floor(room / 2), this.#steps.length - room),
    );
    return this.#steps.slice(first, first + room).map((step, i) => {
      const isCurrent = first + i === this.#cursor;
      const text = `${isCurrent ? ">" : " "} ${this.#stepText(step)}`;
      if (isCurrent) return [{ text: left(text, this.size.columns), style: "selected" }];
      return [{ text, style: gapText(step) === undefined ? "plain" : "hot" }];
    });
  }

  #stepText({ rows, row, texts }: Step): string {
    const { names } = this.#replay;
    const time = names.origin.secondsText(floatAt(rows.time, row));
    // The last digits of a second are enough beside the title.
    const short = time.slice(time.indexOf(".")).padStart(10);
    if (rows.row[row] !== ROW.INSN) return `${short} -- ${eventText(rows, row, names).trim()}`;
    const place = intAt(rows.a, row);
    const text = texts[intAt(rows.b, row)] as string;
    return `${short} ${addressText(rows, row).padStart(12)} ${names.text(place)}  ${text}`;
  }

  #sourceLines(room: number): Line[] {
    const { rows, row } = this.#replay.current;
    const place = intAt(rows.a, row);
    const { names } = this.#replay;
    const place_ = place < 0 ? "no instruction" : names.line(place) ??
      `${names.described(place)}: no source line`;
    const head: Line = [{ text: left(place_, this.size.columns), style: "head" }];
    const [, path = "", number = ""] = /^(.*):(\d+)$/.exec(place_) ?? [];
    const lines = number === "" ? undefined : this.#host.lines(path);
    if (lines === undefined) {
      return number === "" ? [head] : [head, [{ text: "this file was not found: --sources DIR" }]];
    }
    const at = Number(number) - 1;
    const first = Math.max(0, Math.min(at - Math.floor((room - 1) / 2), lines.length - room + 1));
    const shown = lines.slice(first, first + room - 1).map((text, i): Line => {
      const isAt = first + i === at;
      const span: Span = { text: `${String(first + i + 1).padStart(6)} ${text}` };
      return [isAt ? { text: left(span.text, this.size.columns), style: "bold" } : span];
    });
    return [head, ...shown];
  }

  #callerLines(room: number): Line[] {
    const { names } = this.#replay;
    const callers = this.#replay.callers();
    const head = callers.length === 0
      ? "no calls around: they began before the decoded part (s looks for more)"
      : `called from (${callers.length} known; s looks for more)`;
    const shown = callers.slice(0, room - 1).map((place): Line => {
      const line = names.line(place);
      return [{ text: `  ${names.described(place)}${line === undefined ? "" : `  ${line}`}` }];
    });
    return [[{ text: left(head, this.size.columns), style: "head" }], ...shown];
  }

  #pageLines({ lines, at }: Page, room: number): Line[] {
    const first = Math.max(0, Math.min(at - (room >> 1), lines.length - room));
    return lines.slice(first, first + room).map((line, i) =>
      first + i === at ? line.map(({ text }): Span => ({ text, style: "selected" })) : line
    );
  }

  #footLines(): Line[] {
    const { columns } = this.size;
    if (this.#prompt !== undefined) {
      const { label, text } = this.#prompt;
      return [[{ text: "Enter goes there, Escape stays" }], [
        { text: cut(`${label}${text}`, columns - 1), style: "bold" },
        { text: " ", style: "selected" },
      ]];
    }
    const keys = this.#page === undefined ? FOOT : "↑↓ Enter chooses  q back";
    return [[{ text: this.#message }], [{ text: cut(keys, columns), style: "dim" }]];
  }
}

/** Lines, with empty ones up to a number. */
function padded(lines: Line[], room: number): Line[] {
  while (lines.length < room) lines.push([]);
  return lines.slice(0, room);
}
