import { countedOf, nameOf, objectOf, type ProfileViewProps, unitOf } from "../ui/context.ts";
import { type JSX, useMemo, useState } from "../ui/preact.ts";
import { useQuery } from "../ui/use_query.ts";
import { FlameGraph } from "./flame_graph.tsx";
import { Legend } from "./legend.tsx";

/** The flame graph of what is selected. */
export function FlameView(props: ProfileViewProps): JSX.Element {
  const { store, open, facts } = props;
  const { shown, state, matched } = store;
  const [width, setWidth] = useState(1200);
  const query = {
    direction: state.callers ? "up" : "down",
    zoom: state.zoom,
    least: 0.4 / width,
  } as const;
  const { value } = useQuery(
    JSON.stringify([shown, query]),
    () => open.client.call("flame", shown, query),
  );
  const zoomed = useMemo(() => state.zoom.map((fn) => nameOf(facts, fn)), [state.zoom, facts]);
  return (
    <section class="fill" aria-label="Flame graph">
      <div class="bar">
        <label>
          First row{" "}
          <select
            value={state.callers ? "up" : "down"}
            onChange={(event) =>
              store.set({ callers: event.currentTarget.value === "up", zoom: [] })}
          >
            <option value="down">outermost callers</option>
            <option value="up">sampled functions</option>
          </select>
        </label>
        {zoomed.length > 0 && (
          <button type="button" onClick={() => store.set({ zoom: [] })}>Show everything</button>
        )}
        <Legend {...props} />
      </div>
      {value !== undefined && (
        <FlameGraph
          boxes={value}
          names={facts.functions.name}
          objectOf={(fn) => objectOf(facts, fn)}
          colors={open.colors}
          matched={matched}
          isUpward={!state.callers}
          unit={unitOf(props)}
          counted={countedOf(props)}
          label="Flame graph"
          zoomTo={(zoom) => store.set({ zoom })}
          pick={(fn) => store.set({ view: "sandwich", fn: nameOf(facts, fn) })}
          onWidth={setWidth}
        />
      )}
    </section>
  );
}
