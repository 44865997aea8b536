import type { ComparisonFacts } from "../data/comparison.ts";
import type { ProfileFacts, Shown } from "../data/view_engine.ts";
import type { PtFacts } from "../recording/pt_service.ts";
import type { IndexAnswer, InfoAnswer } from "../recording/recording_service.ts";
import {
  CANCELLED,
  type LiveState,
  type Opening,
  type ProgressState,
  type WorkerScript,
} from "../worker/protocol.ts";
import { functionColors } from "@perfdata/export/tree";
import { ViewClient } from "./client.ts";
import { matches } from "./matches.ts";
import { FIRST, fromHash, startOf, toHash, type ViewState } from "./state.ts";

/** The open recording, and the data known of it so far. */
export interface OpenRecording {
  readonly client: ViewClient;
  readonly listed: boolean;
  /** Whether there is source or code of its functions. */
  readonly coded: boolean;
  /** The lines of `info` that need no records. */
  readonly head: readonly string[];
  readonly index: IndexAnswer | undefined;
  readonly info: InfoAnswer | undefined;
  /** Properties of its Intel PT. */
  readonly pt: PtFacts | undefined;
  readonly facts: ProfileFacts | undefined;
  /** Reason why there is no profile. */
  readonly failed: string | undefined;
  readonly progress: ProgressState | undefined;
  /** State of a recording that is being made; `undefined` for others. */
  readonly live: LiveState | undefined;
  /** Number of times that the recording grew. */
  readonly generation: number;
  readonly compared: boolean;
  readonly comparison: ComparisonFacts | undefined;
  /** Reason why there is no comparison, although one was requested. */
  readonly comparisonFailed: string | undefined;
  readonly colors: readonly string[];
}

/** A menu with actions for a function. */
export interface OpenMenu {
  readonly fn: number;
  /** The functions that lead to it, outermost first, and the function itself. */
  readonly stack: readonly number[];
  /** Position of the menu in the page. */
  readonly x: number;
  readonly y: number;
}

/** State and data of the page. Views draw it and request changes. */
export class Store {
  state: ViewState;
  open: OpenRecording | undefined;
  /** Whether a recording was requested and none of its data has arrived. */
  opening = false;
  menu: OpenMenu | undefined;
  /** Whether the page stands still while the recording grows. */
  isHalted = false;
  /** Called when the page resumes. */
  #goesOn: () => void = () => {};
  /** Reason why the dropped files cannot be opened. */
  error: string | undefined;
  readonly #script: WorkerScript;
  #opening: Opening | undefined;
  readonly #listeners = new Set<() => void>();
  /** Position in the page's own history, and its length. */
  #at = 0;
  #last = 0;
  #matches: { names: readonly string[]; search: string; found: Uint8Array | undefined } | undefined;

  /** @param script The worker. */
  constructor(script: WorkerScript) {
    this.#script = script;
    const { first = "" } = document.documentElement.dataset;
    this.state = fromHash(location.hash === "" ? first : location.hash);
    history.replaceState({ at: 0 }, "", location.hash === "" ? location.href : location.hash);
    addEventListener("popstate", (event) => {
      const at = (event.state as { at?: number } | null)?.at;
      if (at === undefined) {
        // The user entered another address.
        this.#at = this.#last = this.#at + 1;
        history.replaceState({ at: this.#at }, "", location.hash);
      } else this.#at = at;
      this.#become(fromHash(location.hash));
    });
  }

  /** Calls back after each change; the result stops that. */
  listen(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Changes the state. Each change can be undone, except those in quick succession. */
  set(change: Partial<ViewState>, replace = false): void {
    const isRange = change.from !== undefined || change.to !== undefined;
    const state = { ...this.state, ...change, ...(isRange ? { last: undefined } : {}) };
    const hash = toHash(state);
    const isSame = hash === toHash(this.state);
    if (!isSame) {
      if (replace) history.replaceState({ at: this.#at }, "", hash);
      else {
        this.#last = ++this.#at;
        history.pushState({ at: this.#at }, "", hash);
      }
    }
    this.#become(state);
  }

  /** Shows another state; reads the samples again if it counts something else. */
  #become(state: ViewState): void {
    const isOther = state.counts !== this.state.counts;
    this.state = state;
    this.#moveStart();
    this.#changed();
    const opening = this.#opening;
    if (isOther && opening !== undefined) this.start({ ...opening, counts: state.counts });
  }

  /** Sets the start of the last seconds, if these are shown. */
  #moveStart(): void {
    const { state } = this;
    if (state.last === undefined) return;
    const from = startOf(this.open?.facts ?? { duration: 0 }, state);
    this.state = { ...state, from, to: undefined };
  }

  /** Shows the last seconds of the recording, or all. */
  showLast(last: number | undefined): void {
    this.set({ last, from: undefined, to: undefined, zoom: [] });
  }

  /** Stops or resumes the growth of the page's data. */
  halt(): void {
    this.isHalted = !this.isHalted;
    this.#goesOn();
    this.#changed();
  }

  /** Keeps the present data, and compares with it from now on. */
  async keep(): Promise<void> {
    const { open } = this;
    if (open === undefined) return;
    await open.client.call("keep");
    const comparison = await open.client.call("comparison");
    if (this.open?.client !== open.client) return;
    this.open = { ...this.open, compared: true, comparison };
    this.set({ view: "compare" });
  }

  /** Shows more of a recording while it is made, until its end. */
  async #grow(client: ViewClient, update: (change: Partial<OpenRecording>) => void): Promise<void> {
    const isOpen = () => this.open?.client === client;
    for (let version = 0; isOpen();) {
      if (this.isHalted) {
        await new Promise<void>((goesOn) => this.#goesOn = goesOn);
        continue;
      }
      const state = await client.call("wait", version);
      // Stopped while it waited.
      if (!isOpen() || this.isHalted) continue;
      if (state.version > version) {
        const facts = await client.call("grow");
        ({ version } = state);
        const hasKept = this.open?.comparison !== undefined;
        const comparison = hasKept ? await client.call("comparison") : undefined;
        if (this.open === undefined || !isOpen()) return;
        const generation = this.open.generation + 1;
        this.open = { ...this.open, facts };
        this.#moveStart();
        update({ live: state, colors: colorsOf(facts.functions), generation, comparison });
      } else {
        update({ live: state });
        if (state.isOver) return;
      }
    }
  }

  get canUndo(): boolean {
    return this.#at > 0;
  }

  get canRedo(): boolean {
    return this.#at < this.#last;
  }

  undo(): void {
    if (this.canUndo) history.back();
  }

  redo(): void {
    if (this.canRedo) history.forward();
  }

  get shown(): Shown {
    const { event, weight, inline, from, to, pids, tids, cpus, transforms } = this.state;
    const shown = { event, weight, inline, from, to, pids, tids, cpus };
    return transforms.length === 0 ? shown : { ...shown, transforms };
  }

  /** Transforms stacks, after the transforms that there are. */
  transform(text: string): void {
    this.set({ transforms: [...this.state.transforms, text], zoom: [] });
  }

  /** Shows the code of a function, if it is shown beside the view. This is no step of the history. */
  look(fn: number): void {
    const name = this.open?.facts?.functions.name[fn];
    if (!this.state.beside || name === undefined || name === this.state.fn) return;
    this.set({ fn: name }, true);
  }

  /** Opens or closes the menu of a function. */
  openMenu(menu: OpenMenu | undefined): void {
    this.menu = menu;
    this.#changed();
  }

  get matched(): Uint8Array | undefined {
    const names = this.open?.facts?.functions.name ?? [];
    const { search } = this.state;
    if (this.#matches?.names !== names || this.#matches.search !== search) {
      this.#matches = { names, search, found: matches(names, search) };
    }
    return this.#matches.found;
  }

  /** Number of the sandwich function; -1 for none. */
  get fn(): number {
    return this.state.fn === ""
      ? -1
      : this.open?.facts?.functions.name.indexOf(this.state.fn) ?? -1;
  }

  /** Opens dropped or chosen files. Files dropped later are added. */
  async openFiles(files: readonly File[]): Promise<void> {
    if (files.length === 0) return;
    const before = this.open === undefined || this.#opening?.from !== "files"
      ? []
      : this.#opening.files;
    await this.start({ from: "files", files: [...before, ...files], script: this.#script });
  }

  /** Shows the reason why files cannot be opened. */
  fail(error: string): void {
    this.error = error;
    this.#changed();
  }

  get takesFiles(): boolean {
    return this.#opening === undefined || this.#opening.from === "files";
  }

  /** Swaps the two compared recordings. */
  async swap(): Promise<void> {
    const opening = this.#opening;
    if (opening?.from !== "files") return;
    await this.start({ ...opening, swapped: opening.swapped !== true });
  }

  async start(opening: Opening): Promise<void> {
    // The current recording stays open until the new one is known to be readable.
    const before = this.open;
    const isSame = opening.unread === true;
    opening = { ...opening, counts: this.state.counts };
    this.opening = true;
    this.error = undefined;
    this.#changed();
    const client = new ViewClient(this.#script);
    let compared: boolean;
    let hasCode: boolean;
    try {
      ({ compared, hasCode } = await client.call("open", opening));
    } catch (error) {
      client.end();
      this.opening = false;
      this.error = (error as Error).message;
      this.#changed();
      return;
    }
    if (!isSame) before?.client.end();
    this.#opening = opening;
    this.open = {
      client,
      listed: opening.from !== "report",
      coded: hasCode,
      head: isSame ? before?.head ?? [] : [],
      index: isSame ? before?.index : undefined,
      info: isSame ? before?.info : undefined,
      pt: undefined,
      facts: undefined,
      failed: isSame ? CANCELLED : undefined,
      progress: undefined,
      live: undefined,
      generation: 0,
      compared,
      comparison: undefined,
      comparisonFailed: undefined,
      colors: [],
    };
    const update = (change: Partial<OpenRecording>) => {
      if (this.open?.client !== client) return;
      this.open = { ...this.open, ...change };
      this.#changed();
    };
    this.#changed();
    client.progress = (progress) => update({ progress });
    // Head and index first, since they take almost no time. The profile is not awaited.
    const head = client.call("head").then((head) => {
      this.opening = false;
      update({ head });
    });
    const index = client.call("index").then((index) => {
      this.opening = false;
      const listed = opening.from !== "report" && index !== undefined;
      update({ index, listed, coded: listed || (opening.from === "report" && hasCode) });
      if (index?.types.some(({ name }) => name === "AUXTRACE_INFO") !== true) return;
      return client.call("pt").then((pt) => update({ pt }));
    });
    const profile = client.call("profile").then((facts) => {
      this.opening = false;
      update({ facts, progress: undefined, colors: colorsOf(facts.functions) });
      this.#began(facts);
      const isLive = opening.from === "server" && opening.live === true;
      if (isLive) {
        this.#grow(client, update).catch(() => {
          const { live } = this.open ?? {};
          const error = "perfdata view has ended";
          if (live !== undefined) update({ live: { ...live, isOver: true, error } });
        });
      }
    }, (error: Error) => {
      this.opening = false;
      update({ failed: error.message, progress: undefined });
    });
    const info = client.call("info").then((info) => update({ info }));
    // The comparison last: its other recording is read when everything else has arrived.
    const comparison = profile.then(() => client.call("comparison")).then(
      (comparison) => update({ comparison, progress: undefined }),
      (error: Error) => update({ comparisonFailed: error.message }),
    );
    await Promise.allSettled([head, index, profile, info, comparison]);
  }

  /** Cancels reading samples; data that does not need samples stays. */
  async cancel(): Promise<void> {
    if (this.#opening === undefined) return;
    // Immediately: pending queries fail with this reason.
    this.open?.client.end();
    await this.start({ ...this.#opening, unread: true });
  }

  /** Reads the samples after a cancellation. */
  async readSamples(): Promise<void> {
    if (this.#opening !== undefined) await this.start({ ...this.#opening, unread: false });
  }

  /** Whether reading the samples was cancelled. */
  get isCancelled(): boolean {
    return this.#opening?.unread === true;
  }

  /** Selects the first event with samples, unless another one was requested. */
  #began({ events, totals }: ProfileFacts): void {
    const { event } = this.state;
    if (event < events.length && (totals[event]?.samples ?? 0) > 0) return;
    const first = totals.findIndex(({ samples }) => samples > 0);
    this.set({ event: Math.max(0, first) }, true);
  }

  #changed(): void {
    for (const listener of this.#listeners) listener();
  }
}

export function colorsOf(
  functions: Pick<ProfileFacts["functions"], "name" | "object" | "kind">,
  coloring: "object" | "kind" = "object",
): readonly string[] {
  const counts = new Map<number, number>();
  for (const object of functions.object) counts.set(object, (counts.get(object) ?? 0) + 1);
  const most = [...counts].filter(([object]) => object >= 0)
    .sort(([a, countA], [b, countB]) => countB - countA || a - b);
  const rank = new Map(most.map(([object], at) => [object, at]));
  const data = {
    names: functions.name,
    functionObject: functions.object.map((object) => rank.get(object) ?? -1),
    functionKind: functions.kind,
  };
  return functionColors(data, coloring);
}

export { FIRST };
