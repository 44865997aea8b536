import { CodePane, CodeView } from "../code/code.tsx";
import { CompareView } from "../compare/compare.tsx";
import { FlameView } from "../flame/flame.tsx";
import { OverviewView } from "../overview/overview.tsx";
import { PtView } from "../pt/pt.tsx";
import { RecordsView } from "../records/records.tsx";
import { SandwichView } from "../sandwich/sandwich.tsx";
import { FunctionsView } from "../table/functions.tsx";
import { Strip } from "../timeline/strip.tsx";
import { TimelineView } from "../timeline/timeline.tsx";
import { TreeView } from "../tree/tree.tsx";
import { byteSize, grouped } from "../ui/format.ts";
import { type JSX, type RefObject, useEffect, useReducer, useRef, useState } from "../ui/preact.ts";
import type { ProfileViewProps } from "../ui/context.ts";
import { searchError } from "../ui/matches.ts";
import { Generation } from "../ui/use_query.ts";
import type { Store } from "../ui/store.ts";
import type { ProgressState } from "../worker/protocol.ts";
import { BESIDE, coloringsOf, viewKey, type ViewName, VIEWS } from "../ui/state.ts";
import { DropPlace, FileChoice, useDrop } from "./drop_place.tsx";
import { FunctionMenu } from "./function_menu.tsx";
import { Keys } from "./keys.tsx";
import { LiveBar, NEXT_LAST } from "./live_bar.tsx";
import { SelectionBar } from "./selection_bar.tsx";
import { nextScheme } from "./scheme.ts";

const TITLES: Readonly<Record<ViewName, string>> = {
  overview: "Overview",
  timeline: "Timeline",
  flame: "Flame graph",
  functions: "Functions",
  sandwich: "Sandwich",
  source: "Source",
  tree: "Tree",
  compare: "Compare",
  records: "Records",
  pt: "Intel PT",
};

export function App(
  { store, takesFiles }: { readonly store: Store; readonly takesFiles: boolean },
): JSX.Element {
  const [, changed] = useReducer((n: number) => n + 1, 0);
  const [keysShown, showKeys] = useState(false);
  const search = useRef<HTMLInputElement>(null);
  useEffect(() => store.listen(() => changed(0)), [store]);
  const isOver = useDrop(store, takesFiles);
  const { open, state } = store;
  const isThere = (view: ViewName) => {
    if (view === "records") return open?.listed === true;
    if (view === "source") return open?.coded === true;
    if (view === "pt") return open?.pt !== undefined;
    return view !== "compare" || open?.compared === true || takesFiles;
  };
  const views = VIEWS.filter(isThere);
  const view = views.includes(state.view) ? state.view : "overview";
  const title = open?.facts?.title ?? "";
  useEffect(() => {
    document.title = title === "" ? "perfdata" : `${title} · ${TITLES[view]} · perfdata`;
  }, [title, view]);
  useKeys(store, views, {
    showKeys: () => showKeys(true),
    search: () => search.current?.focus(),
  });
  useEffect(() => {
    document.querySelector('nav [aria-current="page"]')?.scrollIntoView({
      block: "nearest",
      inline: "nearest",
    });
  }, [view]);
  const main = useViewFocus(view);
  return (
    <Generation.Provider value={open?.generation ?? 0}>
      <div class={`page${isOver ? " over" : ""}`}>
        <header>
          <h1 title={title}>{title === "" ? "perfdata" : title}</h1>
          {open !== undefined && <Views store={store} views={views} view={view} />}
          <span class="space" />
          {open?.facts !== undefined && <SearchBox store={store} input={search} />}
          {open !== undefined && takesFiles && <FileChoice store={store} text="Add files…" />}
          <Buttons store={store} showKeys={() => showKeys(true)} />
        </header>
        {store.error !== undefined && <p class="wrong error" role="alert">{store.error}</p>}
        {open?.live !== undefined && <LiveBar store={store} live={open.live} />}
        {open !== undefined && <Strip store={store} />}
        <main ref={main} tabIndex={-1}>
          {open?.facts !== undefined && view !== "overview" && view !== "pt" && (
            <SelectionBar store={store} />
          )}
          {open?.facts !== undefined && view !== "overview" && <Notes lines={open.facts.notes} />}
          <Main store={store} view={view} takesFiles={takesFiles} />
          {store.menu !== undefined && open?.facts !== undefined && (
            <FunctionMenu store={store} menu={store.menu} />
          )}
        </main>
        {open?.facts !== undefined && <footer title={open.facts.trust}>{open.facts.trust}</footer>}
        {keysShown && (
          <Keys
            views={views.map((name) => [viewKey(name), TITLES[name]])}
            close={() => showKeys(false)}
          />
        )}
      </div>
    </Generation.Provider>
  );
}

/**
 * Moves the focus to a view when it is shown, so that its keys work immediately.
 *
 * The focus goes to its first element with `tabIndex={0}`, as soon as that exists, unless something else
 * has the focus by then.
 *
 * @returns The element that contains the views.
 */
function useViewFocus(view: ViewName): RefObject<HTMLElement> {
  const main = useRef<HTMLElement>(null);
  useEffect(() => {
    const around = main.current as HTMLElement;
    around.focus({ preventScroll: true });
    const focus = () => {
      const { activeElement: has, body } = document;
      if (has !== null && has !== body && has !== around) return;
      around.querySelector<HTMLElement>('[tabindex="0"]')?.focus({ preventScroll: true });
    };
    focus();
    // A view is drawn when its data arrives, and again for each new query.
    const observer = new MutationObserver(focus);
    observer.observe(around, { childList: true, subtree: true });
    return () => observer.disconnect();
  }, [view]);
  return main;
}

/** Handles the keys that do not belong to a part of the page. */
function useKeys(
  store: Store,
  views: readonly ViewName[],
  actions: { readonly showKeys: () => void; readonly search: () => void },
): void {
  useEffect(() => {
    const keyed = (event: KeyboardEvent) => {
      const target = event.target as HTMLElement;
      const writes = /^(INPUT|SELECT|TEXTAREA)$/.test(target.tagName) &&
        (target as HTMLInputElement).type !== "checkbox";
      const isControl = event.ctrlKey || event.metaKey;
      if (isControl && event.key.toLowerCase() === "z" && !writes) {
        if (event.shiftKey) store.redo();
        else store.undo();
      } else if (isControl && event.key.toLowerCase() === "y" && !writes) store.redo();
      else if (isControl || event.altKey || writes) return;
      else if (event.key === "?") actions.showKeys();
      else if (event.key === "/") actions.search();
      else if (event.key === "u") store.undo();
      else if (event.key === "U") store.redo();
      else if (event.key === "." && store.open?.live !== undefined) store.halt();
      else if (event.key === "l" && store.open?.live !== undefined) {
        store.showLast(NEXT_LAST.get(store.state.last));
      } else if (event.key === "c") store.set({ callers: !store.state.callers, zoom: [] });
      else if (event.key === "b" && BESIDE.has(store.state.view) && store.open?.coded === true) {
        store.set({ beside: !store.state.beside });
      } else if (event.key === "i" && store.state.view === "flame") {
        store.set({ flipped: !store.state.flipped });
      } else if (event.key === "k" && store.state.view === "flame") {
        const { coloring, event, timed } = store.state;
        const all = coloringsOf(timed ? undefined : store.open?.facts?.events[event]?.pmus);
        store.set({ coloring: all[(all.indexOf(coloring) + 1) % all.length] ?? "object" });
      } else {
        const wanted = views.find((view) => viewKey(view) === event.key);
        if (wanted === undefined || store.open === undefined) return;
        store.set({ view: wanted });
      }
      event.preventDefault();
    };
    addEventListener("keydown", keyed);
    return () => removeEventListener("keydown", keyed);
  }, [views.join()]);
}

function Views(
  { store, views, view }: {
    readonly store: Store;
    readonly views: readonly ViewName[];
    readonly view: ViewName;
  },
): JSX.Element {
  return (
    <nav aria-label="Views">
      {views.map((name) => (
        <a
          key={name}
          href={`#view=${name}`}
          aria-current={name === view ? "page" : undefined}
          title={`${TITLES[name]} (${viewKey(name)})`}
          onClick={(event) => {
            event.preventDefault();
            store.set({ view: name });
          }}
        >
          {TITLES[name]}
        </a>
      ))}
    </nav>
  );
}

function SearchBox(
  { store, input }: { readonly store: Store; readonly input: RefObject<HTMLInputElement> },
): JSX.Element {
  const { state } = store;
  const wrong = searchError(state.search);
  return (
    <label class="search">
      <span class="unseen">Search functions</span>
      <input
        ref={input}
        type="search"
        placeholder="Search: text or /expression/"
        spellcheck={false}
        autocomplete="off"
        value={state.search}
        aria-invalid={wrong !== undefined}
        title={wrong ?? "Part of a name, or a regular expression between slashes ( / )"}
        onInput={(event) => store.set({ search: event.currentTarget.value }, true)}
        onKeyDown={(event) => {
          if (event.key === "Escape") {
            store.set({ search: "" }, true);
            event.currentTarget.blur();
          }
        }}
      />
    </label>
  );
}

/** Undo, redo, colors and keys. */
function Buttons(
  { store, showKeys }: { readonly store: Store; readonly showKeys: () => void },
): JSX.Element {
  return (
    <span class="group">
      {store.open !== undefined && (
        <>
          <button
            type="button"
            aria-label="Undo"
            title="Undo (u)"
            disabled={!store.canUndo}
            onClick={() => store.undo()}
          >
            ↶
          </button>
          <button
            type="button"
            aria-label="Redo"
            title="Redo (U)"
            disabled={!store.canRedo}
            onClick={() => store.redo()}
          >
            ↷
          </button>
        </>
      )}
      <button
        type="button"
        aria-label="Colors: dark, light, or as the system has them"
        title="Dark, light, or as the system has them"
        onClick={nextScheme}
      >
        ◐
      </button>
      <button type="button" aria-label="Keys" title="Keys (?)" onClick={showKeys}>
        ?
      </button>
    </span>
  );
}

/** Notes about missing data, each with the command that records it. */
function Notes({ lines = [] }: { readonly lines: readonly string[] | undefined }): JSX.Element {
  return (
    <>
      {lines.map((line) => {
        const [text = "", command] = line.split(/: (?=perf record )/);
        return (
          <p key={line} class="note" role="note">
            {text}
            {command !== undefined && (
              <>
                : <code>{command}</code>
              </>
            )}
          </p>
        );
      })}
    </>
  );
}

/** Formats progress as a part of a total. */
function doneText({ unit, done, total }: ProgressState): string {
  return unit === "bytes"
    ? `${byteSize(done)} of ${byteSize(total)}`
    : `${grouped(done)} of ${grouped(total)} ${unit}`;
}

/** The current view, or the reason why it cannot be shown. */
function Main(
  { store, view, takesFiles }: {
    readonly store: Store;
    readonly view: ViewName;
    readonly takesFiles: boolean;
  },
): JSX.Element | null {
  const { open } = store;
  if (open === undefined) {
    return <DropPlace store={store} takesFiles={takesFiles} />;
  }
  if (view === "overview") return <OverviewView store={store} open={open} />;
  if (view === "records") return <RecordsView store={store} open={open} />;
  if (view === "pt") {
    return open.pt === undefined ? null : <PtView store={store} open={open} facts={open.pt} />;
  }
  const { facts, progress, failed } = open;
  if (failed !== undefined) {
    return (
      <div class="empty" role="alert">
        <p class={store.isCancelled ? "" : "wrong"}>{failed}</p>
        {store.isCancelled && (
          <button type="button" onClick={() => store.readSamples()}>Read the samples</button>
        )}
        {open.pt !== undefined && (
          <button type="button" onClick={() => store.set({ view: "pt" })}>
            Show its Intel PT
          </button>
        )}
        {!store.isCancelled && store.state.counts !== "period" && (
          <button
            type="button"
            onClick={() => store.set({ counts: "period" })}
          >
            Count what ran
          </button>
        )}
      </div>
    );
  }
  if (facts === undefined) {
    return (
      <div class="empty" role="status">
        <p>
          {progress?.what ?? "Reading the samples"}
          {progress !== undefined && progress.total > 0 ? `: ${doneText(progress)}` : "…"}
        </p>
        <progress
          aria-label="Progress"
          {...(progress === undefined || progress.total === 0
            ? {}
            : { value: progress.done, max: progress.total })}
        />
        <button type="button" onClick={() => store.cancel()}>Cancel</button>
      </div>
    );
  }
  const props = { store, open, facts };
  // The view keeps its place in the document, and so its focus and state, when the code opens.
  return (
    <div class="beside">
      <ProfileView {...props} view={view} />
      {BESIDE.has(view) && store.state.beside && open.coded && <CodePane {...props} />}
    </div>
  );
}

function ProfileView(
  { view, ...props }: ProfileViewProps & { readonly view: ViewName },
): JSX.Element | null {
  switch (view) {
    case "timeline":
      return <TimelineView {...props} />;
    case "flame":
      return <FlameView {...props} />;
    case "functions":
      return <FunctionsView {...props} />;
    case "sandwich":
      return <SandwichView {...props} />;
    case "source":
      return <CodeView {...props} />;
    case "tree":
      return <TreeView {...props} />;
    case "compare":
      return <CompareView {...props} />;
    default:
      return null;
  }
}
