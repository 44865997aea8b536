import { countedOf, nameOf, objectOf, type ProfileViewProps, unitOf } from "../ui/context.ts";
import { duration, seconds } from "../ui/format.ts";
import { type JSX, useMemo, useState } from "../ui/preact.ts";
import type { FlameBoxes } from "../data/flame_boxes.ts";
import type { TimeBoxes } from "../data/time_boxes.ts";
import { useQuery } from "../ui/use_query.ts";
import { FlameGraph } from "./flame_graph.tsx";
import { Legend } from "./legend.tsx";

/** The flame graph of what is selected. */
export function FlameView(props: ProfileViewProps): JSX.Element {
  const { store, open, facts } = props;
  const { shown, state, matched } = store;
  const [width, setWidth] = useState(1200);
  const isTimed = state.timed && facts.timed;
  const query = {
    direction: state.callers ? "up" : "down",
    zoom: state.zoom,
    least: 0.4 / width,
  } as const;
  const { value } = useQuery<FlameBoxes | TimeBoxes | undefined>(
    JSON.stringify(isTimed ? [shown, query.least] : [shown, query]),
    () =>
      isTimed
        ? open.client.call("timeFlame", shown, query.least)
        : open.client.call("flame", shown, query),
  );
  const zoomed = useMemo(() => state.zoom.map((fn) => nameOf(facts, fn)), [state.zoom, facts]);
  const times = value !== undefined && "from" in value ? value : undefined;
  return (
    <section class="fill" aria-label="Flame graph">
      <div class="bar">
        <label>
          {isTimed ? "Boxes" : "First row"}{" "}
          <select
            value={isTimed ? "time" : state.callers ? "up" : "down"}
            onChange={(event) => {
              const { value } = event.currentTarget;
              store.set({ callers: value === "up", timed: value === "time", zoom: [] });
            }}
          >
            <option value="down">outermost callers</option>
            <option value="up">sampled functions</option>
            {facts.timed && <option value="time">in order of time</option>}
          </select>
        </label>
        {zoomed.length > 0 && !isTimed && (
          <button
            type="button"
            onClick={() => store.set({ zoom: [] })}
          >
            Show everything
          </button>
        )}
        {isTimed && (state.from !== undefined || state.to !== undefined) && (
          <button
            type="button"
            onClick={() => store.set({ from: undefined, to: undefined })}
          >
            Show everything
          </button>
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
          isUpward={!state.callers && !isTimed}
          unit={unitOf(props)}
          counted={countedOf(props)}
          label={isTimed ? "Flame graph in order of time" : "Flame graph"}
          {...(times === undefined ? {} : {
            note: (box: number) => {
              const [from, to] = [times.from[box] as number, times.to[box] as number];
              return `from ${seconds(from, 1000)}, for ${duration(to - from)}`;
            },
            // What a box was sampled in becomes what is selected.
            zoomToBox: (box: number) =>
              store.set(
                box < 0
                  ? { from: undefined, to: undefined }
                  : { from: times.from[box], to: (times.to[box] as number) + 1 },
              ),
          })}
          zoomTo={(zoom) => store.set({ zoom })}
          pick={(fn) => store.set({ view: "sandwich", fn: nameOf(facts, fn) })}
          onWidth={setWidth}
        />
      )}
    </section>
  );
}
