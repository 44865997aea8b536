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
import { FUNCTION_TRANSFORMS, type FunctionTransform } from "../ui/function_transforms.ts";
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
  /** Writes a text to a new file; returns a message. */
  save(text: string): string;
  /** Suspends the program, and returns a message after it resumes. */
  suspend(): Promise<string>;
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

interface Menu {
  readonly title: string;
  readonly entries: readonly (readonly [key: string, text: string])[];
  at: number;
}

interface Prompt {
  readonly label: string;
  text: string;
  error: string;
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

/** The share of rows that `E` and `e` open, if the user chose no limit, as in perf. */
const LEAST_OPENED = 0.005;

function transformText(transform: string): string {
  return transform.replace(/:$/, "").replace(":", " ");
}

/** Width of the bar in columns. */
const BAR = 10;
/** Screen width in columns below which names use the space of the bar and of objects. */
const NARROW = 60;

/** The choices of the key `l`: seconds at the end. */
const LAST: readonly (number | undefined)[] = [undefined, 10, 60];

/** The state of a recording that is being made. */
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
  /** Draws the screen, before an action that takes long. */
  redraw: () => void = () => {};
  #engine: ViewEngine;
  #facts: ProfileFacts;
  readonly #host: BrowserHost;
  #hasStacks: boolean;
  #fullNames: boolean;
  /** The least share of rows that the user chose, from 0 to 1. */
  #least: number | undefined;
  readonly #undo: ViewState[] = [];
  readonly #redo: ViewState[] = [];
  /** The order of functions in recordings with call chains. */
  readonly #firstSort: "total" | "self";
  #sort: "total" | "self";
  #list: Listed | undefined;
  #at = 0;
  #top = 0;
  #chooser: Chooser | undefined;
  #menu: Menu | undefined;
  #prompt: Prompt | undefined;
  #pager: Pager | undefined;
  #message = "";
  /** Whether the recording is still being made; `undefined` if it is not live. */
  #isGoing: boolean | undefined;
  /** Status of a live recording, for the title. */
  #status = "";
  /** The engine with the newest samples, while the screen does not grow. */
  #held: ViewEngine | undefined;
  #isHalted = false;

  /**
   * Creates a browser.
   *
   * @param options The shown event, whether names are never shortened, the order of functions, the
   * least share of rows from 0 to 1, and transforms of stacks.
   */
  constructor(
    engine: ViewEngine,
    host: BrowserHost,
    options: {
      readonly event: number;
      readonly fullNames?: boolean;
      readonly sort?: "total" | "self";
      readonly least?: number | undefined;
      readonly transforms?: readonly string[];
    },
  ) {
    this.#engine = engine;
    this.#host = host;
    this.#facts = engine.facts();
    this.#fullNames = options.fullNames === true;
    this.#least = options.least;
    const { event, transforms = [] } = options;
    this.state = { ...FIRST, view: "functions", callers: true, event, transforms };
    this.#hasStacks = hasCallers(engine);
    this.#firstSort = options.sort ?? "total";
    this.#sort = this.#hasStacks ? this.#firstSort : "self";
  }

  /**
   * Shows a recording that is being made.
   *
   * @param engine The samples so far; `undefined` if there are no new ones.
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

  get shown(): Shown {
    const { event, weight, inline, to, pids, tids, cpus, objects } = this.state;
    const from = startOf(this.#facts, this.state);
    const { transforms } = this.state;
    return { event, weight, inline, from, to, pids, tids, cpus, objects, transforms };
  }

  async key(key: string): Promise<void> {
    this.#message = "";
    if (key === "ctrl-c") this.isOver = true;
    else if (this.#prompt !== undefined) await this.#promptKey(this.#prompt, key);
    else if (this.#pager !== undefined) await this.#pagerKey(this.#pager, key);
    else if (this.#menu !== undefined) await this.#menuKey(this.#menu, key);
    else if (this.#chooser !== undefined) this.#chooserKey(this.#chooser, key);
    else await this.#listKey(key);
  }

  screen(): Line[] {
    const { rows } = this.size;
    const room = Math.max(1, rows - 4);
    const body = this.#pager !== undefined
      ? this.#pagerLines(this.#pager, room + 1)
      : this.#menu !== undefined
      ? this.#menuLines(this.#menu, room + 1)
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
    const key = JSON.stringify([this.shown, view, callers, search, this.#sort, this.#least]);
    if (this.#list?.key === key) return this.#list;
    const matched = searchNames(this.#facts.functions.name, search);
    const list = new RowList(this.#engine, {
      shown: this.shown,
      view: view === "tree" ? "tree" : "functions",
      sort: this.#sort,
      callers,
      matched: matched instanceof Error || view === "tree" ? undefined : matched,
      least: this.#least ?? 0,
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
        this.#openMenu(row);
        break;
      case "right":
      case "+":
        if (key === "right" && row?.isOpen === true) this.#at++;
        else if (row !== undefined && !list.toggle(this.#at)) this.#nothingBelow(row);
        break;
      case "e":
        if (row !== undefined && !list.toggleAll(this.#at, this.#leastOpened)) {
          this.#nothingBelow(row);
        }
        break;
      case "E":
        this.#expandAll(row);
        break;
      case "C":
        this.#at = Math.max(
          0,
          list.rows.slice(0, this.#at + 1).filter(({ depth }) => depth === 0).length - 1,
        );
        list.closeAll();
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
        else if (this.#undo.length > 0) this.#step(this.#undo, this.#redo, "");
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
      case "v":
        this.#chooseEvent();
        break;
      case "L":
        this.#askLimit();
        break;
      case "P":
        this.#message = this.#host.save(this.text());
        break;
      case "V":
        this.#fullNames = !this.#fullNames;
        break;
      case "K":
        this.#only("kernel");
        break;
      case "Y":
        this.#only("user");
        break;
      case "ctrl-z":
        this.#message = await this.#host.suspend();
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
      default: {
        const found = FUNCTION_TRANSFORMS.find(({ key: own, terminalKey = own }) =>
          terminalKey === key
        );
        if (found === undefined) this.#message = `${key} does nothing here: ? lists the keys`;
        else this.#transform(found, row);
      }
    }
    this.#at = Math.max(0, Math.min(this.#at, this.#rows().list.rows.length - 1));
  }

  /** Stops the growth of the screen's data, or shows the samples that arrived meanwhile. */
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

  async #menuKey(menu: Menu, key: string): Promise<void> {
    const last = menu.entries.length - 1;
    const steps: Readonly<Record<string, number>> = {
      down: 1,
      j: 1,
      up: -1,
      k: -1,
      home: -last,
      pageup: -last,
      end: last,
      pagedown: last,
    };
    const step = steps[key];
    const chosen = key === "enter" || key === "right"
      ? menu.entries[menu.at]?.[0]
      : menu.entries.find(([own]) => own === key)?.[0];
    if (step !== undefined) menu.at = Math.max(0, Math.min(last, menu.at + step));
    else if (chosen !== undefined) {
      this.#menu = undefined;
      await this.#listKey(chosen);
    } else if (["q", "escape", "left", "backspace"].includes(key)) this.#menu = undefined;
    else this.#message = `${key} does nothing here: Enter chooses, q goes back`;
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

  #nothingBelow(row: Row): void {
    this.#message = `${this.state.callers ? "nothing called" : "nothing was called by"} ` +
      `${this.#nameOf(row.item)}` + (this.#hasStacks ? "" : ": no call chains were recorded");
  }

  /** The share of rows that `E` and `e` open. */
  get #leastOpened(): number {
    return this.#least ?? LEAST_OPENED;
  }

  #expandAll(row: Row | undefined): void {
    this.#work("expanding …");
    const { list } = this.#rows();
    const isAll = list.openAll(this.#leastOpened);
    if (row !== undefined) this.#at = Math.max(0, list.find(row.path));
    const percent = (100 * this.#leastOpened).toFixed(2);
    this.#message = isAll
      ? `rows of ${percent}% or more are expanded: L changes the limit`
      : `the first ${grouped(list.rows.length)} rows are expanded: L leaves out small ones`;
  }

  /** Shows a message at once, before work that takes long. */
  #work(message: string): void {
    this.#message = message;
    this.redraw();
    this.#message = "";
  }

  #askLimit(): void {
    this.#prompt = {
      label: "rows of at least so many percent (0 for all): ",
      text: this.#least === undefined ? "" : `${100 * this.#least}`,
      error: "",
      entered: (text) => {
        const percent = Number(text);
        if (!(percent >= 0 && percent <= 100)) throw new Error(`${text} is not a percentage`);
        this.#least = text.trim() === "" ? undefined : percent / 100;
        this.#at = this.#top = 0;
      },
    };
  }

  /** Shows a menu of actions for the function of a row. Each entry has a key. */
  #openMenu(row: Row | undefined): void {
    const { objects, transforms } = this.state;
    const entries: (readonly [string, string])[] = [];
    if (row?.hasMore === true) {
      entries.push(["+", row.isOpen ? "Collapse" : "Expand one level"]);
      if (!row.isOpen) entries.push(["e", "Expand all levels"]);
    }
    const isFunction = row !== undefined && row.item !== NO_STACK;
    if (isFunction) entries.push(["a", "Annotate"]);
    if (objects !== undefined) entries.push(["d", "Zoom out of object"]);
    else if (isFunction) entries.push(["d", `Zoom into object ${this.#objectOf(row.item)}`]);
    entries.push(["t", "Zoom into a thread …"], ["p", "Zoom into a process …"]);
    if (this.#facts.timed) entries.push(["r", "Zoom into a range of time …"]);
    if (this.#facts.events.length > 1) entries.push(["v", "Another event …"]);
    if (isFunction) {
      for (const { text, key, terminalKey = key } of FUNCTION_TRANSFORMS) {
        entries.push([terminalKey, text]);
      }
    }
    for (const [key, level, code] of [["K", "kernel", "the kernel"], ["Y", "user", "programs"]]) {
      const isOn = transforms.includes(`only:${level}`);
      entries.push([key as string, isOn ? "Code of all" : `Only code of ${code}`]);
    }
    if (this.#undo.length > 0) entries.push(["u", "Undo"]);
    const title = row === undefined ? "No function" : this.#nameOf(row.item);
    this.#menu = { title, entries, at: 0 };
  }

  #transform({ word, about }: FunctionTransform, row: Row | undefined): void {
    if (about !== "all" && (row === undefined || row.item === NO_STACK)) {
      this.#message = "there is no function to transform";
      return;
    }
    const names = {
      function: this.#facts.functions.name[row?.item ?? -1] ?? "",
      object: this.#facts.objects[this.#facts.functions.object[row?.item ?? -1] ?? -1]?.name ?? "",
      all: "",
    };
    if (about === "object" && names.object === "") {
      this.#message = "the function is in no object";
      return;
    }
    this.#changeStacks([...this.state.transforms, `${word}:${names[about]}`]);
  }

  /** Shows only code of a level, or all code if that was shown already. */
  #only(level: "kernel" | "user"): void {
    const own = `only:${level}`;
    const { transforms } = this.state;
    const others = transforms.filter((text) => !text.startsWith("only:"));
    this.#changeStacks(transforms.includes(own) ? others : [...others, own]);
  }

  #changeStacks(transforms: readonly string[]): void {
    this.#work("changing stacks …");
    this.#set({ transforms });
    const dropped = 100 * this.#engine.droppedShare(this.shown);
    if (dropped > 0) this.#message = `${dropped.toFixed(2)}% of the weight is dropped: u undoes`;
  }

  #narrowToObject(row: Row | undefined): void {
    if (this.state.objects !== undefined) return this.#set({ objects: undefined });
    if (row === undefined || row.item === NO_STACK) return;
    const object = intAt(this.#facts.functions.object, row.item);
    this.#set({ objects: [object] });
  }

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
    this.#work(`reading the code of ${this.#nameOf(row.item)} …`);
    try {
      const page = await this.#host.annotate(row.item, this.shown);
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
    const { transforms } = this.state;
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
    parts.push(...transforms.map(transformText));
    if (this.#least !== undefined && this.#least > 0) parts.push(`≥ ${100 * this.#least}%`);
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
      : this.#chooser !== undefined || this.#menu !== undefined
      ? "↑↓ Enter chooses  q back"
      : "Enter menu  + expand  a annotate  d/t/p zoom  r time  / search  ? keys  q quit";
    return [[{ text: this.#message === "" ? this.#detail() : this.#message }], [
      { text: cut(keys, columns), style: "dim" },
    ]];
  }

  #detail(): string {
    const isList = this.#pager === undefined && this.#chooser === undefined;
    if (!isList || this.#menu !== undefined) return "";
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

  #menuLines({ title, entries, at }: Menu, room: number): Line[] {
    const count = Math.max(1, room - 1);
    const top = Math.max(0, Math.min(at - (count >> 1), entries.length - count));
    return [
      [{ text: cut(title, this.size.columns), style: "head" }],
      ...entries.slice(top, top + count).map(([key, text], i): Line => {
        const line = left(visible(`  ${key.padEnd(4)}${text}`), this.size.columns);
        return [{ text: line, style: top + i === at ? "selected" : "plain" }];
      }),
    ];
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
