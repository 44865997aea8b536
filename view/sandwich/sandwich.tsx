import { floatAt } from "@perfdata/format/bytes";
import { boxActions } from "../flame/flame.tsx";
import { FlameGraph } from "../flame/flame_graph.tsx";
import type { Direction } from "../data/call_graph.ts";
import { countedOf, nameOf, objectOf, type ProfileViewProps, unitOf } from "../ui/context.ts";
import { amount, percent } from "../ui/format.ts";
import { FunctionsView } from "../table/functions.tsx";
import { type JSX, useMemo, useState } from "../ui/preact.ts";
import { useQuery } from "../ui/use_query.ts";

/** A function with all its callers above and all its callees below. */
export function SandwichView(props: ProfileViewProps): JSX.Element {
  const { store, open, facts } = props;
  const { fn, shown } = store;
  const names = useMemo(() => [...new Set(facts.functions.name)].sort(), [facts]);
  const { value } = useQuery(JSON.stringify(shown), () => open.client.call("table", shown));
  const row = value?.item.indexOf(fn) ?? -1;
  const [self, total, sum] = value === undefined || row < 0
    ? [0, 0, value?.sum ?? 0]
    : [floatAt(value.self, row), floatAt(value.total, row), value.sum];
  const unit = unitOf(props);
  return (
    <section class="fill" aria-label="Sandwich">
      <div class="bar">
        <FunctionPicker
          names={names}
          value={store.state.fn}
          pick={(name) => store.set({ fn: name })}
        />
        {fn >= 0 && value !== undefined && (
          <span class="numbers">
            Self <strong>{percent(self, sum)}</strong> ({amount(self, unit)}), total{" "}
            <strong>{percent(total, sum)}</strong> ({amount(total, unit)})
            <span class="soft">{objectOf(facts, fn)}</span>
          </span>
        )}
      </div>
      {fn < 0 ? <FunctionList {...props} /> : (
        <div class="sandwich">
          <Half {...props} direction="up" fn={fn} title="Callers" />
          <p class="filling" title={nameOf(facts, fn)}>{nameOf(facts, fn)}</p>
          <Half {...props} direction="down" fn={fn} title="Callees" />
        </div>
      )}
    </section>
  );
}

function Half(
  props: ProfileViewProps & {
    readonly direction: Direction;
    readonly fn: number;
    readonly title: string;
  },
): JSX.Element {
  const { store, open, facts, direction, fn, title } = props;
  const { shown, matched } = store;
  const [zoom, setZoom] = useState<readonly number[]>([]);
  const [width, setWidth] = useState(1200);
  const query = {
    direction,
    focus: fn,
    zoom: zoom[0] === fn ? zoom : [],
    least: 0.4 / width,
  };
  const { value } = useQuery(
    JSON.stringify([shown, query]),
    () => open.client.call("flame", shown, query),
  );
  return (
    <div class="half">
      <h2>{title}</h2>
      {value !== undefined && (
        <FlameGraph
          boxes={value}
          names={facts.functions.name}
          objectOf={(of) => objectOf(facts, of)}
          colors={open.colors}
          matched={matched}
          search={store.state.search}
          isUpward={direction === "up"}
          unit={unitOf(props)}
          counted={countedOf(props)}
          label={title}
          zoomTo={(path) => setZoom(path.length > 1 ? path : [])}
          pick={(of) => store.set({ fn: nameOf(facts, of) })}
          onFunction={boxActions(store, facts, direction === "up")}
          onWidth={setWidth}
        />
      )}
    </div>
  );
}

/** The list of functions, shown if none is chosen or the chosen name is unknown. */
export function FunctionList(props: ProfileViewProps): JSX.Element {
  const { store } = props;
  const { fn } = store.state;
  return (
    <>
      {fn !== "" && <p class="note" role="status">No function is called {fn} here.</p>}
      <FunctionsView {...props} pick={(name) => store.set({ fn: name })} />
    </>
  );
}

/** Maximum number of suggested names. */
const SUGGESTED = 50;

/** The input that chooses a function by name. */
export function FunctionPicker(
  { names, value, pick }: {
    readonly names: readonly string[];
    readonly value: string;
    readonly pick: (name: string) => void;
  },
): JSX.Element {
  const [text, setText] = useState<string | undefined>();
  const part = (text ?? "").toLowerCase();
  const suggested = part === ""
    ? []
    : names.filter((name) => name.toLowerCase().includes(part)).slice(0, SUGGESTED);
  return (
    <label class="picker">
      Function{" "}
      <input
        type="search"
        list="functions"
        value={text ?? value}
        spellcheck={false}
        autocomplete="off"
        onInput={(event) => {
          const written = event.currentTarget.value;
          setText(written);
          if (names.includes(written)) {
            pick(written);
            setText(undefined);
          }
        }}
        onBlur={() => setText(undefined)}
      />
      <datalist id="functions">
        {suggested.map((name) => <option key={name} value={name} />)}
      </datalist>
    </label>
  );
}
