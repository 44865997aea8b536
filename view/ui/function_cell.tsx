import { NO_STACK } from "../data/call_graph.ts";
import {
  isInlined,
  isUnverified,
  nameOf,
  NO_STACK_TEXT,
  type ProfileViewProps,
} from "./context.ts";
import { Name } from "./name.tsx";
import type { ComponentChildren, JSX } from "./preact.ts";

export function FunctionCell(
  { facts, store, fn, pick, children }: ProfileViewProps & {
    readonly fn: number;
    /** Handles a click instead of opening the sandwich view. */
    readonly pick?: (() => void) | undefined;
    /** Content before the name. */
    readonly children?: ComponentChildren;
  },
): JSX.Element {
  const name = nameOf(facts, fn);
  const hint = fn === NO_STACK ? `${name}: ${NO_STACK_TEXT}` : name;
  return (
    <div class="name" role="gridcell" title={hint}>
      {children}
      <button
        type="button"
        class="link"
        tabIndex={-1}
        onClick={pick ?? (() => store.set({ view: "sandwich", fn: name }))}
      >
        <Name text={name} search={store.state.search} />
      </button>
      {isInlined(facts, fn) && <span class="tag">inlined</span>}
      {isUnverified(facts, fn) && (
        <span
          class="tag"
          title="The recording has no build id of the file that the name is from"
        >
          unverified
        </span>
      )}
    </div>
  );
}
