import type { JSX } from "./preact.ts";
import type { Store } from "./store.ts";

/** The checkbox that makes stacks begin with the sampled functions. */
export function InvertChoice({ store }: { readonly store: Store }): JSX.Element {
  return (
    <label title="The sampled functions first, then their callers (c)">
      <input
        type="checkbox"
        checked={store.state.callers}
        onChange={(event) => store.set({ callers: event.currentTarget.checked, zoom: [] })}
      />{" "}
      Invert
    </label>
  );
}
