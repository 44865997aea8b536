import {
  eventLabel,
  FUNCTION_KIND,
  shareStyle,
  shortName,
  shortNames,
  type Style,
  UNVERIFIED_MARK,
} from "@perfdata/profile";
import { byteAt, floatAt, intAt, numberAt, visible } from "@perfdata/format/bytes";
import { NO_STACK } from "../data/call_graph.ts";
import { rowsIn, rowTest } from "../data/selection.ts";
import type { ProfileFacts, Shown, ViewEngine } from "../data/view_engine.ts";
import { searchNames } from "../flame/search.ts";
import { amount, duration, grouped } from "../ui/format.ts";
import { FIRST, startOf, type ViewState } from "../ui/state.ts";
import { bar, cells, cut, left, type Line, type Span, textOf } from "./lines.ts";
import { HELP_LINES } from "./help.ts";
import { type Row, RowList } from "./rows.ts";

/** A text on a separate screen. */
export interface TextPage {
  readonly title: string;
  readonly lines: readonly Line[];
  /** The line that is visible first. */
  readonly hot?: number;
}

/** Functions that the browser needs from its host. */
export interface BrowserHost {
  /** Returns the selected samples of a function as `annotate` shows them. */
  annotate(fn: number, shown: Shown): Promise<TextPage>;
  /** Runs a command of the user with a text on its standard input; returns a message. */
  send(command: string, text: string): Promise<string>;
  /**
   * Parses a range of time.
   *
   * @returns Nanoseconds from the first sample; `undefined` for an open end.
   * @throws {Error} If the text is not a range of time, with the reason.
   */
  parseTime(text: string): Promise<readonly [number | undefined, number | undefined]>;
}

/** An option of a chooser. */
interface Choice {
  readonly label: string;
  readonly weight: number;
  /** Change of the state when the option is chosen. */
  readonly change: Partial<ViewState>;
}

interface Chooser {
  readonly title: string;
  readonly choices: readonly Choice[];
  readonly sum: number;
  at: number;
}

interface Prompt {
  readonly label: string;
  text: string;
  /** Error in the text. */
  error: string;
  /** Text above the prompt. */
  readonly above?: string;
  changed?(text: string): void;
  entered(text: string): void | Promise<void>;
  left?(): void;
}

/** A list and the key of its query. */
interface Listed {
  readonly key: string;
  readonly list: RowList;
}

interface Pager extends TextPage {
  top: number;
}

/** Width of the bar in columns. */
const BAR = 10;
/** Screen width in columns below which names use the space of the bar and of objects. */
const NARROW = 60;

/** The choices of the key `l`: seconds at the end. */
const LAST: readonly (number | undefined)[] = [undefined, 10, 60];

/** What is known of a recording that is being made. */
export interface Growth {
  /** Whether the recording has ended. */
  readonly isOver: boolean;
  /** A few words about it. */
  readonly status: string;
}

function hasCallers({ profile }: ViewEngine): boolean {
  return profile.stacks.parent.some((up) => up >= 0);
}

/** The browser in the terminal: its state, its keys, and the lines of the screen. */
export class Browser {
  /** State of the browser, in the form of the page's address. */
  state: ViewState;
  /** Set when the browser has to end. */
  isOver = false;
  /** Size of the screen. */
  size: { readonly columns: number; readonly rows: number } = { columns: 80, rows: 24 };
  #engine: ViewEngine;
  #facts: ProfileFacts;
  readonly #host: BrowserHost;
  #hasStacks: boolean;
  readonly #fullNames: boolean;
  readonly #undo: ViewState[] = [];
  readonly #redo: ViewState[] = [];
  /** The order of functions in recordings with call chains. */
  readonly #firstSort: "total" | "self";
  #sort: "total" | "self";
  #list: Listed | undefined;
  #at = 0;
  #top = 0;
  #chooser: Chooser | undefined;
  #prompt: Prompt | undefined;
  #pager: Pager | undefined;
  #message = "";
  /** Whether the recording goes on; `undefined` if it is not live. */
  #isGoing: boolean | undefined;
  /** Status of a live recording, for the title. */
  #status = "";
  /** The newest engine, while the screen stands still. */
  #held: ViewEngine | undefined;
  #isHalted = false;

  /**
   * Creates a browser.
   *
   * @param options The shown event, whether names are never shortened, and the order of functions.
   */
  constructor(
    engine: ViewEngine,
    host: BrowserHost,
    options: {
      readonly event: number;
      readonly fullNames?: boolean;
      readonly sort?: "total" | "self";
    },
  ) {
    this.#engine = engine;
    this.#host = host;
    this.#facts = engine.facts();
    this.#fullNames = options.fullNames === true;
    this.state = { ...FIRST, view: "functions", callers: true, event: options.event };
    this.#hasStacks = hasCallers(engine);
    this.#firstSort = options.sort ?? "total";
    this.#sort = this.#hasStacks ? this.#firstSort : "self";
  }

  /**
   * Shows a recording that is being made.
   *
   * @param engine What was read so far; `undefined` if it did not change.
   * @param status A few words about the recording.
   */
  grow(engine: ViewEngine | undefined, { isOver, status }: Growth): void {
    this.#isGoing = !isOver;
    this.#status = status;
    if (engine === undefined) return;
    if (this.#isHalted) this.#held = engine;
    else this.#become(engine);
  }

  #become(engine: ViewEngine): void {
    const before = this.#list?.list;
    const path = before?.rows[this.#at]?.path;
    const hadStacks = this.#hasStacks;
    this.#engine = engine;
    this.#facts = engine.facts();
    this.#hasStacks = hasCallers(engine);
    if (!hadStacks && this.#hasStacks) this.#sort = this.#firstSort;
    this.#held = this.#list = undefined;
    if (before === undefined) return;
    const { list } = this.#rows();
    list.openAs(before);
    // The cursor at the top stays there; else it stays at its function.
    if (this.#at > 0 && path !== undefined) this.#at = Math.max(0, list.find(path));
  }

  /** The selection and its weighting. */
  get shown(): Shown {
    const { event, weight, inline, to, pids, tids, cpus, objects } = this.state;
    const from = startOf(this.#facts, this.state);
    return { event, weight, inline, from, to, pids, tids, cpus, objects };
  }

  /** Handles a key. */
  async key(key: string): Promise<void> {
    this.#message = "";
    if (key === "ctrl-c") this.isOver = true;
    else if (this.#prompt !== undefined) await this.#promptKey(this.#prompt, key);
    else if (this.#pager !== undefined) await this.#pagerKey(this.#pager, key);
    else if (this.#chooser !== undefined) this.#chooserKey(this.#chooser, key);
    else await this.#listKey(key);
  }

  /** Returns the lines of the screen, one for each row. */
  screen(): Line[] {
    const { rows } = this.size;
    const room = Math.max(1, rows - 4);
    const body = this.#pager !== undefined
      ? this.#pagerLines(this.#pager, room + 1)
      : this.#chooser !== undefined
      ? this.#chooserLines(this.#chooser, room + 1)
      : this.#listLines(room);
    const lines = [this.#titleLine(), ...body];
    while (lines.length < rows - 2) lines.push([]);
    lines.length = Math.max(1, rows - 2);
    lines.push(...this.#footLines());
    return lines.slice(0, rows);
  }

  /** Returns the current view as text, with full names. */
  text(): string {
    if (this.#pager !== undefined) {
      const { title, lines } = this.#pager;
      const texts = [textOf(this.#titleLine(Infinity)), title, ...lines.map(textOf)];
      return texts.map((text) => visible(text)).join("\n") + "\n";
    }
    const { list } = this.#rows();
    const names = list.rows.map(({ item }) => this.#nameOf(item));
    const width = Math.max(8, ...names.map((name, i) => cells(name) + this.#indent(list.rows[i])));
    const objects = Math.max(6, ...list.rows.map(({ item }) => cells(this.#objectOf(item))));
    const lines = [
      textOf(this.#titleLine(Infinity)),
      textOf(this.#headLine(width, objects)),
      ...list.rows.map((row, i) =>
        textOf(this.#rowLine(row, names[i] as string, list, width, objects, false))
      ),
    ];
    return lines.join("\n") + "\n";
  }

  // The selection.

  #set(change: Partial<ViewState>): void {
    this.#undo.push(this.state);
    this.#redo.length = 0;
    this.#show({ ...this.state, ...change });
  }

  #show(state: ViewState): void {
    this.state = state;
    this.#at = this.#top = 0;
  }

  #step(from: ViewState[], to: ViewState[], none: string): void {
    const state = from.pop();
    if (state === undefined) this.#message = none;
    else {
      to.push(this.state);
      this.#show(state);
    }
  }

  #rows(): Listed {
    const { view, callers, search } = this.state;
    const key = JSON.stringify([this.shown, view, callers, search, this.#sort]);
    if (this.#list?.key === key) return this.#list;
    const matched = searchNames(this.#facts.functions.name, search);
    const list = new RowList(this.#engine, {
      shown: this.shown,
      view: view === "tree" ? "tree" : "functions",
      sort: this.#sort,
      callers,
      matched: matched instanceof Error || view === "tree" ? undefined : matched,
    });
    return this.#list = { key, list };
  }

  #nameOf(item: number): string {
    if (item === NO_STACK) return "[no stack]";
    const { name, kind } = this.#facts.functions;
    const isInlined = (byteAt(kind, item) & FUNCTION_KIND.INLINED) !== 0;
    const isUnverified = (byteAt(kind, item) & FUNCTION_KIND.UNVERIFIED) !== 0;
    return visible(name[item] ?? "") + (isUnverified ? UNVERIFIED_MARK : "") +
      (isInlined ? " (inlined)" : "");
  }

  #objectOf(item: number): string {
    return visible(this.#facts.objects[this.#facts.functions.object[item] ?? -1]?.name ?? "");
  }

  // Keys.

  // One function for all keys: each case has a few lines and shares nothing with the others.
  async #listKey(key: string): Promise<void> {
    const { list } = this.#rows();
    const room = Math.max(1, this.size.rows - 5);
    const row = list.rows[this.#at];
    switch (key) {
      case "q":
        this.isOver = true;
        break;
      case "down":
      case "j":
        this.#at++;
        break;
      case "up":
      case "k":
        this.#at--;
        break;
      case "pagedown":
      case " ":
      case "ctrl-f":
        this.#at += room;
        break;
      case "pageup":
      case "ctrl-b":
        this.#at -= room;
        break;
      case "home":
      case "g":
        this.#at = 0;
        break;
      case "end":
      case "G":
        this.#at = list.rows.length - 1;
        break;
      case "enter":
      case "right":
      case "+":
        if (key === "right" && row?.isOpen === true) this.#at++;
        else if (row !== undefined && !list.toggle(this.#at)) {
          this.#message = `${this.state.callers ? "nothing called" : "nothing was called by"} ` +
            `${this.#nameOf(row.item)}` + (this.#hasStacks ? "" : ": no call chains were recorded");
        }
        break;
      case "left":
      case "-":
        if (row?.isOpen === true) list.toggle(this.#at);
        else this.#at = list.above(this.#at);
        break;
      case "tab":
      case "shift-tab":
        this.#set({ view: this.state.view === "tree" ? "functions" : "tree" });
        break;
      case "c":
        this.#set({ callers: !this.state.callers });
        break;
      case "s":
        if (this.#hasStacks) this.#sort = this.#sort === "self" ? "total" : "self";
        this.#at = this.#top = 0;
        break;
      case "w":
        this.#set({ weight: this.state.weight === "period" ? "samples" : "period" });
        break;
      case "i":
        this.#set({ inline: !this.state.inline });
        break;
      case "u":
        this.#step(this.#undo, this.#redo, "nothing to undo");
        break;
      case "U":
        this.#step(this.#redo, this.#undo, "nothing to do again");
        break;
      case "z":
        this.#halt();
        break;
      case "l":
        this.#last();
        break;
      case "escape":
        if (this.state.search !== "") this.#set({ search: "" });
        break;
      case "n":
      case "N":
        this.#nextMatch(key === "n" ? 1 : -1);
        break;
      case "/":
        this.#search();
        break;
      case "d":
        this.#narrowToObject(row);
        break;
      case "t":
        this.#choose("thread");
        break;
      case "p":
        this.#choose("process");
        break;
      case "e":
        this.#chooseEvent();
        break;
      case "r":
        this.#askTime();
        break;
      case "a":
        await this.#annotate(row);
        break;
      case "|":
        this.#askCommand();
        break;
      case "?":
      case "h":
        this.#pager = { title: "Keys", lines: HELP_LINES, top: 0 };
        break;
      case "ctrl-l":
        break;
      default:
        this.#message = `${key} does nothing here: ? lists the keys`;
    }
    this.#at = Math.max(0, Math.min(this.#at, this.#rows().list.rows.length - 1));
  }

  /** Stops the growth of what is shown, or shows what came meanwhile. */
  #halt(): void {
    if (this.#isGoing === undefined) {
      this.#message = "z stops a recording that is being made, and this one is not";
      return;
    }
    this.#isHalted = !this.#isHalted;
    if (this.#held !== undefined) this.#become(this.#held);
  }

  /** Shows the last seconds, or all. */
  #last(): void {
    const at = LAST.indexOf(this.state.last);
    this.#set({ last: LAST[(at + 1) % LAST.length], from: undefined, to: undefined });
  }

  async #pagerKey(pager: Pager, key: string): Promise<void> {
    const room = Math.max(1, this.size.rows - 4);
    const steps: Readonly<Record<string, number>> = {
      down: 1,
      j: 1,
      enter: 1,
      up: -1,
      k: -1,
      pagedown: room,
      " ": room,
      pageup: -room,
      home: -Infinity,
      g: -Infinity,
      end: Infinity,
      G: Infinity,
    };
    const step = steps[key];
    if (step !== undefined) {
      const last = Math.max(0, pager.lines.length - room);
      pager.top = Math.max(0, Math.min(last, pager.top + step));
    } else if (key === "H" && pager.hot !== undefined) pager.top = this.#topOf(pager.hot, pager);
    else if (key === "|") this.#askCommand();
    else if (["q", "escape", "left", "backspace", "?"].includes(key)) this.#pager = undefined;
    else this.#message = `${key} does nothing here: q goes back`;
    await Promise.resolve();
  }

  #chooserKey(chooser: Chooser, key: string): void {
    const room = Math.max(1, this.size.rows - 5);
    const steps: Readonly<Record<string, number>> = {
      down: 1,
      j: 1,
      up: -1,
      k: -1,
      pagedown: room,
      pageup: -room,
      home: -Infinity,
      g: -Infinity,
      end: Infinity,
      G: Infinity,
    };
    const step = steps[key];
    if (step !== undefined) {
      chooser.at = Math.max(0, Math.min(chooser.choices.length - 1, chooser.at + step));
    } else if (key === "enter" || key === "right") {
      this.#chooser = undefined;
      this.#set(chooser.choices[chooser.at]?.change ?? {});
    } else if (["q", "escape", "left", "backspace"].includes(key)) this.#chooser = undefined;
    else this.#message = `${key} does nothing here: Enter chooses, q goes back`;
  }

  async #promptKey(prompt: Prompt, key: string): Promise<void> {
    if (key === "escape") {
      this.#prompt = undefined;
      prompt.left?.();
      return;
    }
    if (key === "enter") {
      try {
        await prompt.entered(prompt.text);
        if (this.#prompt === prompt) this.#prompt = undefined;
      } catch (error) {
        prompt.error = (error as Error).message;
      }
      return;
    }
    if (key === "backspace") prompt.text = [...prompt.text].slice(0, -1).join("");
    else if (key === "ctrl-u") prompt.text = "";
    else if (key === "ctrl-w") prompt.text = prompt.text.trimEnd().replace(/(?<!\S)\S*$/, "");
    else if ([...key].length === 1) prompt.text += key;
    prompt.error = "";
    prompt.changed?.(prompt.text);
  }

  // Actions of keys.

  #search(): void {
    const before = this.state;
    this.#prompt = {
      label: "search: ",
      text: before.search,
      error: "",
      changed: (text) => {
        const found = searchNames([], text);
        if (found instanceof Error) this.#prompt && (this.#prompt.error = found.message);
        else {
          this.#show({ ...this.state, search: text });
          if (before.view === "tree") this.#nextMatch(0);
        }
      },
      entered: () => {
        if (this.state.search !== before.search) this.#undo.push(before);
        if (this.state.search !== "" && this.#rows().list.rows.length === 0) {
          this.#message = `no function has ${this.state.search} in its name: Escape shows all`;
        }
      },
      left: () => this.#show(before),
    };
  }

  /** Moves to the next row whose function matches the search. */
  #nextMatch(step: -1 | 0 | 1): void {
    const { rows } = this.#rows().list;
    const matched = searchNames(this.#facts.functions.name, this.state.search);
    if (matched === undefined || matched instanceof Error) {
      this.#message = "nothing is searched: / does";
      return;
    }
    for (let i = step === 0 ? 0 : 1; i <= rows.length; i++) {
      const at = (this.#at + (step || 1) * i + rows.length * 2) % rows.length;
      if (matched[rows[at]?.item ?? -1] === 1) {
        this.#at = at;
        return;
      }
    }
    this.#message = `no row here has ${this.state.search} in its name`;
  }

  #narrowToObject(row: Row | undefined): void {
    if (this.state.objects !== undefined) return this.#set({ objects: undefined });
    if (row === undefined || row.item === NO_STACK) return;
    const object = intAt(this.#facts.functions.object, row.item);
    this.#set({ objects: [object] });
  }

  /** Returns the weight of each thread of the profile in the selection, ignoring its threads. */
  #threadWeights(): Float64Array {
    const { profile } = this.#engine;
    const selection = { ...this.shown, pids: undefined, tids: undefined };
    const isSelected = rowTest(profile, selection);
    const { thread, count, period } = profile.samples;
    const weight = this.state.weight === "period" ? period : count;
    const sums = new Float64Array(profile.threads.length);
    const [first, last] = rowsIn(profile, selection);
    for (let row = first; row < last; row++) {
      if (!isSelected(row)) continue;
      const of = intAt(thread, row);
      sums[of] = floatAt(sums, of) + floatAt(weight, row);
    }
    return sums;
  }

  /** Returns the name of a thread or process. */
  #threadName(what: "thread" | "process", id: number): string {
    const { names } = this.#facts;
    return (what === "thread" ? names.threads : names.processes).name.get(id) ?? "?";
  }

  #choose(what: "thread" | "process"): void {
    const found = new Map<number, { label: string; weight: number }>();
    let sum = 0;
    for (const [number, weight] of this.#threadWeights().entries()) {
      if (weight === 0) continue;
      const { pid, tid } = this.#facts.threads[number] ?? { pid: -1, tid: -1 };
      const id = what === "thread" ? tid : pid;
      const of = what === "thread" && pid !== tid ? ` (of ${pid})` : "";
      const own = found.get(id) ?? { label: `${id} ${this.#threadName(what, id)}${of}`, weight: 0 };
      own.weight += weight;
      found.set(id, own);
      sum += weight;
    }
    const none = { pids: undefined, tids: undefined };
    const choices = [...found].sort(([, a], [, b]) => b.weight - a.weight)
      .map(([id, { label, weight }]): Choice => ({
        label,
        weight,
        change: { ...none, [what === "thread" ? "tids" : "pids"]: [id] },
      }));
    const all = what === "thread" ? "all threads" : "all processes";
    choices.unshift({ label: all, weight: sum, change: none });
    const chosen = what === "thread" ? this.state.tids : this.state.pids;
    const at = choices.findIndex(({ change }) =>
      (what === "thread" ? change.tids : change.pids)?.[0] === chosen?.[0]
    );
    this.#chooser = { title: `Narrow to a ${what}`, choices, sum, at: Math.max(0, at) };
  }

  #chooseEvent(): void {
    const { events, totals } = this.#facts;
    const choices = events.map((one, event): Choice => ({
      label: eventLabel(one),
      weight: totals[event]?.samples ?? 0,
      change: { event },
    }));
    const sum = choices.reduce((sum, { weight }) => sum + weight, 0);
    this.#chooser = { title: "Samples of an event", choices, sum, at: this.state.event };
  }

  #askTime(): void {
    if (!this.#facts.timed) {
      this.#message = "samples have no times: perf record -T";
      return;
    }
    this.#prompt = {
      label: "time (1.5s-2s, 10%-20%, empty for all): ",
      text: "",
      error: "",
      above: this.#sparkline(Math.max(1, this.size.columns - 2)),
      entered: async (text) => {
        const [from, to] = text.trim() === "" ? [] : await this.#host.parseTime(text.trim());
        this.#set({ from, to, last: undefined });
      },
    };
  }

  /** Returns a sparkline of the samples over the whole time. */
  #sparkline(columns: number): string {
    const { event, weight, pids, tids, cpus } = this.state;
    const { tracks: [track] } = this.#engine.tracks({
      kind: "all",
      event,
      weight,
      from: 0,
      to: this.#facts.duration,
      bins: columns,
      most: 1,
    }, { pids, tids, cpus });
    if (track === undefined) return "";
    const levels = track.bins.length / columns;
    const sums = Array.from({ length: columns }, (_, bin) => {
      let sum = 0;
      for (let level = 0; level < levels; level++) {
        sum += floatAt(track.bins, bin * levels + level);
      }
      return sum;
    });
    const most = Math.max(...sums, 1);
    return sums.map((sum) => sum === 0 ? " " : "▁▂▃▄▅▆▇█"[Math.min(7, Math.floor(8 * sum / most))])
      .join("");
  }

  async #annotate(row: Row | undefined): Promise<void> {
    if (row === undefined || row.item === NO_STACK) {
      this.#message = "there is no function to annotate";
      return;
    }
    // Shown if it takes long.
    this.#message = "reading the code …";
    try {
      const page = await this.#host.annotate(row.item, this.shown);
      this.#message = "";
      this.#pager = { ...page, top: this.#topOf(page.hot ?? 0, page) };
    } catch (error) {
      this.#message = (error as Error).message;
    }
  }

  #topOf(line: number, { lines }: TextPage): number {
    const room = Math.max(1, this.size.rows - 4);
    return Math.max(0, Math.min(line - (room >> 1), lines.length - room));
  }

  #askCommand(): void {
    this.#prompt = {
      label: "| ",
      text: "",
      error: "",
      entered: async (command) => {
        if (command.trim() === "") return;
        this.#message = await this.#host.send(command, this.text());
      },
    };
  }

  // Lines.

  #titleLine(columns = this.size.columns): Line {
    const { title, events, objects } = this.#facts;
    const { event, from, to, last, pids, tids, search, weight, view, callers, inline } = this.state;
    const { samples } = this.#rows().list;
    const parts = [
      title,
      `${events[event]?.name ?? "?"}${weight === "samples" ? ", samples" : ""}`,
      `${grouped(samples)} samples`,
    ];
    if (this.#isGoing !== undefined) {
      parts.push(this.#isHalted ? "stopped: z goes on" : this.#status);
    }
    if (view === "tree") parts.push(callers ? "tree of callers" : "tree of calls");
    if (!inline) parts.push("nothing inlined");
    if (last !== undefined) parts.push(`last ${last} s`);
    if (from !== undefined || to !== undefined) {
      parts.push(`${duration(from ?? 0)} to ${duration(to ?? this.#facts.duration)}`);
    }
    const named = (ids: readonly number[], what: "thread" | "process") =>
      `${what} ${ids.map((id) => `${id} ${this.#threadName(what, id)}`).join(", ")}`;
    if (tids !== undefined) parts.push(named(tids, "thread"));
    if (pids !== undefined) parts.push(named(pids, "process"));
    if (this.state.objects !== undefined) {
      const names = this.state.objects.map((number) => objects[number]?.name ?? "[unknown]");
      parts.push(`in ${names.join(", ")}`);
    }
    if (search !== "") parts.push(`/${search}`);
    const text = visible(` ${parts.join(" · ")}`);
    return [{ text: columns === Infinity ? text : left(text, columns), style: "selected" }];
  }

  #footLines(): Line[] {
    const { columns } = this.size;
    const prompt = this.#prompt;
    if (prompt !== undefined) {
      const above = prompt.error === "" ? prompt.above ?? "" : prompt.error;
      // The end of the input stays visible.
      let text = `${prompt.label}${prompt.text}`;
      while (cells(text) > columns - 1) text = text.slice(1);
      return [[{ text: above, style: prompt.error === "" ? "plain" : "hot" }], [
        { text, style: "bold" },
        { text: " ", style: "selected" },
      ]];
    }
    const keys = this.#pager !== undefined
      ? "↑↓ PgUp PgDn  H hottest  | send  q back"
      : this.#chooser !== undefined
      ? "↑↓ Enter chooses  q back"
      : "Enter opens  a annotate  d/t/p narrow  r time  / search  ? keys  q quit";
    return [[{ text: this.#message === "" ? this.#detail() : this.#message }], [
      { text: cut(keys, columns), style: "dim" },
    ]];
  }

  /** Returns the details of the row at the cursor. */
  #detail(): string {
    if (this.#pager !== undefined || this.#chooser !== undefined) return "";
    const { list } = this.#rows();
    const row = list.rows[this.#at];
    if (row === undefined) return list.rows.length === 0 ? "nothing is selected: u goes back" : "";
    const { unit = "count" } = this.#facts.events[this.state.event] ?? {};
    const value = this.state.weight === "samples"
      ? `${grouped(row.total)} samples`
      : amount(row.total, unit);
    const room = this.size.columns - cells(value) - 2;
    return `${left(shortName(this.#nameOf(row.item), room), room)}  ${value}`;
  }

  #indent(row: Row | undefined): number {
    return 2 * Math.min(row?.depth ?? 0, 12) + 2;
  }

  /** Returns the widths of the columns of names and objects. */
  #widths(): readonly [number, number] {
    const isNarrow = this.size.columns < NARROW;
    const shares = this.#hasStacks ? 16 : 8;
    const rest = this.size.columns - shares - cells(this.#barText(0));
    const objects = isNarrow ? 0 : Math.max(0, Math.min(24, Math.floor(rest / 3.2)));
    return [Math.max(4, rest - objects - 1), objects];
  }

  /** Returns the bar of a row, with spaces around it. */
  #barText(share: number): string {
    return this.size.columns < NARROW ? " " : ` ${bar(share, BAR)} `;
  }

  #headLine(width: number, objects: number): Line {
    const by = (sort: "total" | "self", text: string) =>
      this.#sort === sort && this.state.view !== "tree" ? `${text}▼` : `${text} `;
    const total = this.#hasStacks ? by("total", "TOTAL").padStart(8) : "";
    const text = `${total}${by("self", "SELF").padStart(8)}${" ".repeat(cells(this.#barText(0)))}` +
      `${left("  FUNCTION", width)} ${left("OBJECT", objects)}`;
    return [{ text, style: "head" }];
  }

  #rowLine(
    row: Row,
    name: string,
    list: RowList,
    width: number,
    objects: number,
    isAt: boolean,
  ): Line {
    const share = (value: number) => list.sum === 0 ? 0 : 100 * value / list.sum;
    const percent = (value: number): Span => ({
      text: `${share(value).toFixed(2)}%`.padStart(8),
      style: value === 0 ? "dim" : shareStyle(share(value)),
    });
    const indent = " ".repeat(this.#indent(row) - 2);
    const sign = !row.hasMore ? "  " : row.isOpen ? "▾ " : "▸ ";
    const barOf = row.depth > 0 || this.#sort === "total" || this.state.view === "tree"
      ? row.total
      : row.self;
    const found = this.state.search !== "" && this.state.view === "tree" &&
      this.#matches(row.item);
    const spans: Span[] = [
      ...(this.#hasStacks ? [percent(row.total)] : []),
      // A caller was sampled in its callee, not in itself.
      row.depth > 0 && this.state.callers ? { text: "".padStart(8) } : percent(row.self),
      { text: this.#barText(share(barOf) / 100) },
      { text: left(`${indent}${sign}${name}`, width), style: found ? "match" : "plain" },
      { text: ` ${left(shortName(this.#objectOf(row.item), objects), objects)}`, style: "dim" },
    ];
    if (!isAt) return spans;
    return [{ text: spans.map(({ text }) => text).join(""), style: "selected" }];
  }

  #matches(item: number): boolean {
    const name = this.#facts.functions.name[item];
    const found = name === undefined ? undefined : searchNames([name], this.state.search);
    return found instanceof Uint8Array && found[0] === 1;
  }

  #listLines(room: number): Line[] {
    const { list } = this.#rows();
    const count = Math.max(1, room);
    if (this.#at < this.#top) this.#top = this.#at;
    if (this.#at >= this.#top + count) this.#top = this.#at - count + 1;
    const rows = list.rows.slice(this.#top, this.#top + count);
    const [width, objects] = this.#widths();
    const names = this.#shortNames(rows, width);
    return [
      this.#headLine(width, objects),
      ...rows.map((row, i) =>
        this.#rowLine(row, names[i] as string, list, width, objects, this.#top + i === this.#at)
      ),
    ];
  }

  /** Shortens the names of rows to the available width, so that names at the same depth stay distinct. */
  #shortNames(rows: readonly Row[], width: number): string[] {
    const names = rows.map(({ item }) => this.#nameOf(item));
    if (this.#fullNames) return names;
    for (const depth of new Set(rows.map(({ depth }) => depth))) {
      const own = [...rows.keys()].filter((i) => rows[i]?.depth === depth);
      const room = width - this.#indent(rows[numberAt(own, 0)]);
      for (const [k, text] of shortNames(own.map((i) => names[i] as string), room).entries()) {
        names[numberAt(own, k)] = text;
      }
    }
    return names;
  }

  #pagerLines(pager: Pager, room: number): Line[] {
    const style: Style = "head";
    return [[{ text: pager.title, style }], ...pager.lines.slice(pager.top, pager.top + room - 1)];
  }

  #chooserLines({ title, choices, sum, at }: Chooser, room: number): Line[] {
    const count = Math.max(1, room - 1);
    const top = Math.max(0, Math.min(at - (count >> 1), choices.length - count));
    return [
      [{ text: title, style: "head" }],
      ...choices.slice(top, top + count).map(({ label, weight }, i): Line => {
        const percent = sum === 0 ? 0 : 100 * weight / sum;
        const text = `${percent.toFixed(2)}%`.padStart(8) + ` ${bar(percent / 100, BAR)} `;
        const rest = left(visible(label), Math.max(1, this.size.columns - cells(text)));
        if (top + i === at) return [{ text: text + rest, style: "selected" }];
        return [{ text: text.slice(0, 8), style: shareStyle(percent) }, {
          text: text.slice(8) + rest,
        }];
      }),
    ];
  }
}
