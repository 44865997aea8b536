import { floatAt } from "@perfdata/format/bytes";
import type { ProfileFacts } from "../data/view_engine.ts";
import { alsoCalled, duration, grouped, percent } from "../ui/format.ts";
import { type JSX, useMemo } from "../ui/preact.ts";
import { eventLabel, type NamesById, shortName } from "@perfdata/profile";
import { useQuery } from "../ui/use_query.ts";
import { otherEventsText } from "../ui/context.ts";
import { SaveMenu } from "./save_menu.tsx";
import { BESIDE } from "../ui/state.ts";
import type { Store } from "../ui/store.ts";

/** Maximum number of threads in the list. */
const MOST = 300;

/** The selection and its weighting, which all views share. */
export function SelectionBar({ store }: { readonly store: Store }): JSX.Element | null {
  const { state, open } = store;
  const facts = open?.facts;
  if (facts === undefined) return null;
  const chips = chipsOf(store, facts);
  const isAll = chips.length === state.transforms.length;
  return (
    <div class="bar selection" role="group" aria-label="Selection">
      <EventChoice store={store} facts={facts} />
      <WeightChoice
        store={store}
        facts={facts}
        hasSwitches={open?.index?.switches === true && open.listed}
      />
      <ThreadChoice store={store} facts={facts} isAll={isAll} />
      <LevelChoice store={store} />
      {facts.hasInlined && (
        <label>
          <input
            type="checkbox"
            checked={state.inline}
            onChange={(event) => store.set({ inline: event.currentTarget.checked, zoom: [] })}
          />{" "}
          Inlined functions
        </label>
      )}
      {open?.coded === true && BESIDE.has(state.view) && (
        <button
          type="button"
          aria-pressed={state.beside}
          title="Source and instructions of the chosen function, beside the view (b)"
          onClick={() => store.set({ beside: !state.beside })}
        >
          Source beside
        </button>
      )}
      <SaveMenu store={store} />
      {chips.map(({ text, remove }, at) => (
        <span key={at} class="chip">
          {text}
          <button type="button" aria-label={`Remove ${text} from the selection`} onClick={remove}>
            ×
          </button>
        </span>
      ))}
      {state.transforms.length > 0 && <Dropped store={store} />}
    </div>
  );
}

/** Only code of the kernel, or only of programs. */
function LevelChoice({ store }: { readonly store: Store }): JSX.Element {
  const { transforms } = store.state;
  const level = transforms.find((text) => text.startsWith("only:"));
  return (
    <label title="Frames of other code are merged into their callers; samples that have no other frames are dropped">
      Code{" "}
      <select
        value={level ?? ""}
        onChange={(event) => {
          const { value } = event.currentTarget;
          const others = transforms.filter((text) => !text.startsWith("only:"));
          store.set({ transforms: value === "" ? others : [...others, value], zoom: [] });
        }}
      >
        <option value="">all</option>
        <option value="only:user">user</option>
        <option value="only:kernel">kernel</option>
      </select>
    </label>
  );
}

/** The share of the selection that transforms dropped. */
function Dropped({ store }: { readonly store: Store }): JSX.Element | null {
  const { shown, open } = store;
  const { value } = useQuery(
    JSON.stringify(shown),
    async () => await open?.client.call("droppedShare", shown) ?? 0,
  );
  if (value === undefined) return null;
  return (
    <output class="soft dropped">
      {value === 0 ? "all samples are kept" : `${percent(value, 1)} of the weight is dropped`}
    </output>
  );
}

const TRANSFORM_TEXTS: Readonly<Record<string, string>> = {
  focus: "focus on",
  callers: "callers of",
  merge: "merged:",
  drop: "dropped:",
  recursion: "recursion collapsed:",
  collapse: "collapsed:",
  "only-object": "only",
  only: "only code of",
};

/** Describes a transform in words. */
function transformText(transform: string): string {
  const colon = transform.indexOf(":");
  const about = transform.slice(colon + 1);
  const level = { user: "programs", kernel: "the kernel" }[about];
  const word = transform.slice(0, colon);
  const of = word === "only" ? level ?? about : about === "" ? "all" : shortName(about, 40);
  return `${TRANSFORM_TEXTS[word] ?? word} ${of}`;
}

interface ChoiceProps {
  readonly store: Store;
  readonly facts: ProfileFacts;
}

/** A part of the selection, with the function that removes it. */
interface Chip {
  readonly text: string;
  readonly remove: () => void;
}

function chipsOf(store: Store, facts: ProfileFacts): Chip[] {
  const { state } = store;
  const chips: Chip[] = [];
  const list = (
    name: "pids" | "tids" | "cpus",
    text: (id: number) => string,
  ) => {
    for (const id of state[name] ?? []) {
      const rest = (state[name] ?? []).filter((other) => other !== id);
      chips.push({
        text: text(id),
        remove: () => store.set({ [name]: rest.length === 0 ? undefined : rest, zoom: [] }),
      });
    }
  };
  if (state.from !== undefined || state.to !== undefined) {
    const [from, to] = [state.from ?? 0, state.to ?? facts.duration];
    chips.push({
      text: `${duration(from)} – ${duration(to)}`,
      remove: () => store.set({ from: undefined, to: undefined, zoom: [] }),
    });
  }
  list("pids", (pid) => `process ${facts.names.processes.name.get(pid) ?? "?"} ${pid}`);
  list("tids", (tid) => `thread ${facts.names.threads.name.get(tid) ?? "?"} ${tid}`);
  list("cpus", (cpu) => `CPU ${cpu}`);
  for (const [at, transform] of state.transforms.entries()) {
    const rest = state.transforms.filter((_, other) => other !== at);
    chips.push({
      text: transformText(transform),
      remove: () => store.set({ transforms: rest, zoom: [] }),
    });
  }
  return chips;
}

/** The choice of the event, if several have samples. */
function EventChoice({ store, facts }: ChoiceProps): JSX.Element | null {
  const sampled = facts.events.map((event, number) => ({ label: eventLabel(event), number }))
    .filter(({ number }) => (facts.totals[number]?.samples ?? 0) > 0);
  if (sampled.length < 2) return null;
  return (
    <label>
      Event{" "}
      <select
        value={store.state.event}
        onChange={(event) => store.set({ event: Number(event.currentTarget.value), zoom: [] })}
      >
        {sampled.map(({ label, number }) => (
          <option key={number} value={number}>
            {label} ({grouped(facts.totals[number]?.samples ?? 0)})
          </option>
        ))}
      </select>{" "}
      <span class="soft">{otherEventsText(facts, store.state.event)}</span>
    </label>
  );
}

/** Options of the choice: a weight of samples, or of times of threads. */
type WeightWord = "period" | "samples" | "latency" | "off-cpu" | "waits" | "wall";

function WeightChoice(
  { store, facts, hasSwitches }: ChoiceProps & {
    /** Whether the recording has context switches, so that times of threads can be counted. */
    readonly hasSwitches: boolean;
  },
): JSX.Element {
  const { counts, weight, event } = store.state;
  const word: WeightWord = counts === "period"
    ? weight
    : counts === "off-cpu" && weight === "samples"
    ? "waits"
    : counts;
  const choose = (word: WeightWord) => {
    const weight = word === "samples" || word === "waits" ? "samples" : "period";
    const wanted = word === "samples" ? "period" : word === "waits" ? "off-cpu" : word;
    store.set({
      weight,
      counts: wanted,
      ...(wanted === counts ? {} : { event: 0, from: undefined, to: undefined, zoom: [] }),
    });
  };
  return (
    <label title="What is counted: what threads ran, from samples; or how long they had no CPU, from context switches">
      Weight{" "}
      <select
        value={word}
        onChange={(event) => choose(event.currentTarget.value as WeightWord)}
      >
        {(counts === "period" || hasSwitches) && (
          <>
            <option value="period">
              {counts === "period" && facts.events[event]?.unit === "nanoseconds"
                ? "time"
                : "period"}
            </option>
            <option value="samples">samples</option>
          </>
        )}
        {(counts === "latency" || hasSwitches) && (
          <option value="latency">latency: divided by running threads</option>
        )}
        {(counts === "off-cpu" || hasSwitches) && (
          <>
            <option value="off-cpu">time off CPU</option>
            <option value="waits">times off CPU: how many</option>
          </>
        )}
        {(counts === "wall" || hasSwitches) && (
          <option value="wall">wall: time on and off CPU</option>
        )}
      </select>
    </label>
  );
}

/** A process or thread to choose. */
interface Choice {
  readonly label: string;
  /** Other names that the process or thread had. */
  readonly others: readonly string[];
  readonly count: number;
}

function choicesOf(
  facts: ProfileFacts,
  samples: Float64Array,
): Record<"processes" | "threads", [number, Choice][]> {
  const processes = new Map<number, Choice>();
  const threads = new Map<number, Choice>();
  const add = (to: Map<number, Choice>, { name, others }: NamesById, id: number, count: number) =>
    to.set(id, {
      label: `${name.get(id) ?? "?"} ${id}`,
      others: others.get(id) ?? [],
      count: (to.get(id)?.count ?? 0) + count,
    });
  for (const [number, { pid, tid }] of facts.threads.entries()) {
    const count = floatAt(samples, number);
    add(processes, facts.names.processes, pid, count);
    add(threads, facts.names.threads, tid, count);
  }
  const most = (of: Map<number, Choice>) =>
    [...of].sort(([, a], [, b]) => b.count - a.count).slice(0, MOST);
  return {
    processes: most(processes),
    threads: threads.size > processes.size ? most(threads) : [],
  };
}

/** The list that adds a process, thread or CPU to the selection. */
function ThreadChoice(
  { store, facts, isAll }: ChoiceProps & {
    /** Whether everything is selected. */
    readonly isAll: boolean;
  },
): JSX.Element {
  const { state } = store;
  const samples = facts.threadSamples[state.event] ?? new Float64Array(facts.threads.length);
  const choices = useMemo(() => choicesOf(facts, samples), [facts, state.event]);
  const all = samples.reduce((sum, count) => sum + count, 0);
  const cpus = facts.cpus[state.event] ?? [];
  return (
    <label>
      Threads{" "}
      <select
        class="of"
        value=""
        onChange={(event) => {
          const [kind, id] = event.currentTarget.value.split(" ");
          event.currentTarget.value = "";
          if (id === undefined) {
            store.set({ pids: undefined, tids: undefined, cpus: undefined, zoom: [] });
            return;
          }
          const name = kind === "p" ? "pids" : kind === "t" ? "tids" : "cpus";
          const before = state[name] ?? [];
          if (!before.includes(Number(id))) {
            store.set({ [name]: [...before, Number(id)], zoom: [] });
          }
        }}
      >
        <option value="">{isAll ? "all" : "add…"}</option>
        {!isAll && <option value="all">all</option>}
        {choices.processes.length > 0 && (
          <optgroup label="Processes">
            {choices.processes.map(([pid, { label, others, count }]) => (
              <option key={pid} value={`p ${pid}`} title={alsoCalled(others)}>
                {label} ({percent(count, all)})
              </option>
            ))}
          </optgroup>
        )}
        {choices.threads.length > 0 && (
          <optgroup label="Threads">
            {choices.threads.map(([tid, { label, others, count }]) => (
              <option key={tid} value={`t ${tid}`} title={alsoCalled(others)}>
                {label} ({percent(count, all)})
              </option>
            ))}
          </optgroup>
        )}
        {cpus.length > 1 && (
          <optgroup label="CPUs">
            {cpus.map((cpu) => <option key={cpu} value={`c ${cpu}`}>CPU {cpu}</option>)}
          </optgroup>
        )}
      </select>
    </label>
  );
}
