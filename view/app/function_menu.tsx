import { nameOf, objectOf } from "../ui/context.ts";
import { FUNCTION_TRANSFORMS } from "../ui/function_transforms.ts";
import { type JSX, useEffect, useLayoutEffect, useRef, useState } from "../ui/preact.ts";
import type { OpenMenu, Store } from "../ui/store.ts";

/** An entry of the menu: its key, if there is one, and its action. */
interface Entry {
  readonly text: string;
  readonly key?: string;
  readonly run: (store: Store, menu: OpenMenu) => void;
}

const ENTRIES: readonly Entry[] = [
  ...FUNCTION_TRANSFORMS.map(({ text, key, word, about }): Entry => ({
    text,
    key,
    run(store, menu) {
      const names = { function: nameIn(store, menu), object: objectIn(store, menu), all: "" };
      store.transform(`${word}:${names[about]}`);
    },
  })),
  {
    text: "Show callers and callees",
    key: "s",
    run: (store, menu) => store.set({ view: "sandwich", fn: nameIn(store, menu) }),
  },
  {
    text: "Show source",
    key: "S",
    run: (store, menu) => store.set({ view: "source", fn: nameIn(store, menu) }),
  },
  {
    text: "Copy name",
    key: "y",
    run: (store, menu) => copy(nameIn(store, menu)),
  },
  {
    text: "Copy stack",
    key: "Y",
    run: (store, { stack }) => {
      const facts = store.open?.facts;
      if (facts !== undefined) copy(stack.map((fn) => nameOf(facts, fn)).join("\n"));
    },
  },
];

function nameIn(store: Store, { fn }: OpenMenu): string {
  const facts = store.open?.facts;
  return facts === undefined ? "" : nameOf(facts, fn);
}

function objectIn(store: Store, { fn }: OpenMenu): string {
  const facts = store.open?.facts;
  return facts === undefined ? "" : objectOf(facts, fn);
}

/** Copies a text; a page that was opened from disk may not use the clipboard, but may copy a selection. */
function copy(text: string): void {
  const area = document.createElement("textarea");
  area.value = text;
  area.className = "unseen";
  document.body.append(area);
  area.select();
  document.execCommand("copy");
  area.remove();
}

/** The entries that apply to a function: those of objects need one. */
function entriesFor(store: Store, menu: OpenMenu): readonly Entry[] {
  const hasObject = objectIn(store, menu) !== "";
  const hasSource = store.open?.coded === true;
  return ENTRIES.filter(({ key }) =>
    (hasObject || !/^[oO]$/.test(key ?? "")) && (hasSource || key !== "S")
  );
}

/**
 * Executes the action of a key for a function.
 *
 * @param stack The functions that lead to it, outermost first, and the function itself.
 * @returns Whether the key means something.
 */
export function functionKey(
  store: Store,
  key: string,
  fn: number,
  stack: readonly number[],
): boolean {
  if (fn < 0) return false;
  const menu = { fn, stack, x: 0, y: 0 };
  const entry = entriesFor(store, menu).find((entry) => entry.key === key);
  entry?.run(store, menu);
  return entry !== undefined;
}

/** The menu with actions for a function, at the pointer. */
export function FunctionMenu(
  { store, menu }: { readonly store: Store; readonly menu: OpenMenu },
): JSX.Element {
  const element = useRef<HTMLDivElement>(null);
  const [at, setAt] = useState(0);
  const entries = entriesFor(store, menu);
  const before = useRef(document.activeElement);
  const close = () => {
    store.openMenu(undefined);
    if (before.current instanceof HTMLElement) before.current.focus({ preventScroll: true });
  };
  const run = (entry: Entry) => {
    close();
    entry.run(store, menu);
  };
  useLayoutEffect(() => {
    const box = element.current as HTMLDivElement;
    const { width, height } = box.getBoundingClientRect();
    box.style.left = `${Math.max(4, Math.min(menu.x, innerWidth - width - 4))}px`;
    box.style.top = `${Math.max(4, Math.min(menu.y, innerHeight - height - 4))}px`;
  }, [menu]);
  useEffect(() => {
    (element.current?.children[at + 1] as HTMLElement | undefined)?.focus();
  }, [at, menu]);
  useEffect(() => {
    const outside = (event: Event) => {
      if (!(element.current?.contains(event.target as Node) ?? false)) store.openMenu(undefined);
    };
    addEventListener("pointerdown", outside, true);
    return () => removeEventListener("pointerdown", outside, true);
  }, []);
  const keyed = (event: KeyboardEvent) => {
    event.stopPropagation();
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const steps: Record<string, number> = {
      ArrowDown: (at + 1) % entries.length,
      ArrowUp: (at + entries.length - 1) % entries.length,
      Home: 0,
      End: entries.length - 1,
    };
    const to = steps[event.key];
    const entry = entries.find(({ key }) => key === event.key);
    if (to !== undefined) setAt(to);
    else if (event.key === "Escape" || event.key === "Tab") close();
    else if (entry !== undefined) run(entry);
    else return;
    event.preventDefault();
  };
  const name = nameIn(store, menu);
  return (
    <div class="menu" role="menu" aria-label={name} ref={element} onKeyDown={keyed}>
      <p class="soft" role="presentation">{name}</p>
      {entries.map((entry) => (
        <button
          key={entry.text}
          type="button"
          role="menuitem"
          tabIndex={-1}
          onClick={() => run(entry)}
        >
          {entry.text}
          <kbd aria-hidden="true">{entry.key}</kbd>
        </button>
      ))}
    </div>
  );
}

export const FUNCTION_KEYS: readonly (readonly [string, string])[] = ENTRIES
  .map(({ key = "", text }) => [key, text]);
