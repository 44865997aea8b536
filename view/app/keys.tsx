import { FUNCTION_KEYS } from "./function_menu.tsx";
import { type JSX, useEffect, useRef } from "../ui/preact.ts";

const KEYS: readonly (readonly [string, string])[] = [
  ["/", "search functions; Escape ends it"],
  ["u, Ctrl+Z", "undo"],
  ["U, Ctrl+Shift+Z", "redo"],
  ["c", "invert: sampled functions first, then their callers"],
  [
    "← → ↑ ↓",
    "flame graph: the box beside, above, below; lists: the line above, below; tree: open, close",
  ],
  ["Enter", "flame graph: zoom; lists: the function in the sandwich; a jump: its target"],
  ["b", "source and instructions of the chosen function beside graph, table, sandwich or tree"],
  ["0, Escape", "reset the zoom"],
  ["n, N", "flame graph: the next box that matches the search, the one before"],
  ["i, k", "flame graph: icicle; colors by object, by kind of code, or by PMU"],
  ["+ − , wheel with Ctrl", "timeline: zoom; ← → move, z shows what is selected"],
  ["e", "timeline: tracepoints and other events, as marks and as a table"],
  ["← → in the strip", "move the selected time; with Shift its end; Escape takes it back"],
  [". l", "a recording that is being made: stop what is shown, or go on; the last seconds, or all"],
  ["?", "this list"],
  ["right click, Menu key", "what can be done with a function; in graphs, lists and trees also:"],
];

export function Keys(
  { views, close }: {
    readonly views: readonly (readonly [string, string])[];
    readonly close: () => void;
  },
): JSX.Element {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => dialog.current?.showModal(), []);
  return (
    <dialog ref={dialog} onClose={close} aria-labelledby="keys-title">
      <h2 id="keys-title">Keys</h2>
      <dl>
        <div>
          <dt>{views.map(([key]) => key).join(" ")}</dt>
          <dd>{views.map(([, title]) => title).join(", ")}</dd>
        </div>
        {[...KEYS, ...FUNCTION_KEYS].map(([key, what]) => (
          <div key={key}>
            <dt>{key}</dt>
            <dd>{what}</dd>
          </div>
        ))}
      </dl>
      <button type="button" onClick={() => dialog.current?.close()}>Close</button>
    </dialog>
  );
}
