import { byteSize } from "../ui/format.ts";
import type { JSX } from "../ui/preact.ts";
import type { Store } from "../ui/store.ts";
import type { LiveState } from "../worker/protocol.ts";

/** The choices of the shown time: seconds at the end, or all. */
const LAST: readonly (number | undefined)[] = [undefined, 10, 60, 300];

/** The choice after each one. */
export const NEXT_LAST: ReadonlyMap<number | undefined, number | undefined> = new Map(
  LAST.map((last, at) => [last, LAST[(at + 1) % LAST.length]]),
);

/** Milliseconds after which the page says that nothing arrives. */
const QUIET = 3000;

/** State of a recording that is being made, with controls to stop it, choose the shown time, and compare. */
export function LiveBar(
  { store, live }: { readonly store: Store; readonly live: LiveState },
): JSX.Element {
  const { isHalted, state } = store;
  return (
    <div class="bar live" role="group" aria-label="Recording">
      <span class={live.error === undefined ? "" : "wrong"} role="status">
        {stateText(live, isHalted)}
      </span>
      {!live.isOver && (
        <button
          type="button"
          title="What arrives is not lost (.)"
          onClick={() => store.halt()}
        >
          {isHalted ? "Go on" : "Stop"}
        </button>
      )}
      <label title="The next choice: l">
        Show{" "}
        <select
          value={state.last ?? ""}
          onChange={(event) => {
            const { value } = event.currentTarget;
            store.showLast(value === "" ? undefined : Number(value));
          }}
        >
          {LAST.map((last) => (
            <option key={last} value={last ?? ""}>
              {last === undefined ? "all" : `the last ${last} s`}
            </option>
          ))}
        </select>
      </label>
      <button
        type="button"
        title="Keep what is shown now, and compare what comes later with it"
        onClick={() => store.keep()}
      >
        Keep this moment
      </button>
      <span title="A stream is read once. A file has both: one that --save has written, or a followed one">
        without records and source
      </span>
    </div>
  );
}

function stateText({ isOver, error, bytes, quiet }: LiveState, isHalted: boolean): string {
  const size = byteSize(bytes);
  if (error !== undefined) return `ended: ${error} (${size})`;
  if (isOver) return `ended (${size})`;
  if (isHalted) return `stopped (${size} so far)`;
  return quiet > QUIET
    ? `nothing arrives for ${Math.floor(quiet / 1000)} s (${size})`
    : `live (${size})`;
}
