import type { CodeAnswer, CodeCount } from "../recording/code_service.ts";
import { FunctionList, FunctionPicker } from "../sandwich/sandwich.tsx";
import { nameOf, objectOf, type ProfileViewProps, unitOf } from "../ui/context.ts";
import { amount, percent } from "../ui/format.ts";
import { type JSX, useMemo, useState } from "../ui/preact.ts";
import type { ViewState } from "../ui/state.ts";
import { useQuery } from "../ui/use_query.ts";
import { disassemblerFile, loadDisassembler } from "./disassembler_script.ts";
import { Instructions } from "./instructions.tsx";
import { SourceLines } from "./source_lines.tsx";

/** The source and the instructions of a function, with the share of each line and instruction. */
export function CodeView(props: ProfileViewProps): JSX.Element {
  const { store, facts } = props;
  const { fn } = store;
  const names = useMemo(() => [...new Set(facts.functions.name)].sort(), [facts]);
  return (
    <section class="fill" aria-label="Source">
      <div class="bar">
        <FunctionPicker
          names={names}
          value={store.state.fn}
          pick={(name) => store.set({ fn: name })}
        />
        {fn >= 0 && <ShareChoice {...props} />}
      </div>
      {fn < 0 ? <FunctionList {...props} /> : <FunctionCode {...props} />}
    </section>
  );
}

/** The source and the instructions of the function that is chosen in the view beside it. */
export function CodePane(props: ProfileViewProps): JSX.Element {
  const { store, facts } = props;
  const { fn } = store;
  return (
    <aside class="fill pane" aria-label="Source of the chosen function">
      <div class="bar">
        <strong class="pane-name" title={store.state.fn}>
          {fn < 0 ? "Source" : nameOf(facts, fn)}
        </strong>
        {fn >= 0 && <ShareChoice {...props} />}
        <button
          type="button"
          class="pane-close"
          aria-label="Close the source"
          title="Close the source (b)"
          onClick={() => store.set({ beside: false })}
        >
          ×
        </button>
      </div>
      {fn < 0
        ? <p class="empty soft">Choose a function to see its source and its instructions.</p>
        : <FunctionCode {...props} />}
    </aside>
  );
}

/** The choice whether shares are of the selection or of the function. */
function ShareChoice({ store }: ProfileViewProps): JSX.Element {
  return (
    <label>
      Share of{" "}
      <select
        value={store.state.share}
        onChange={(event) => {
          store.set({ share: event.currentTarget.value as ViewState["share"] });
        }}
      >
        <option value="all">all</option>
        <option value="function">the function</option>
      </select>
    </label>
  );
}

/** The lists of the chosen function, and its weight. */
function FunctionCode(props: ProfileViewProps): JSX.Element {
  const { store, open, facts } = props;
  const { fn, shown } = store;
  const [place, setPlace] = useState("");
  const key = JSON.stringify([fn, shown]);
  const { value, error, key: known } = useQuery(key, () => open.client.call("code", fn, shown));
  const isOf = known === key;
  const { value: hasText } = useQuery(
    value?.mode === undefined || value.pieces.length === 0
      ? undefined
      : `disassembler ${value.mode}`,
    async () => value?.mode !== undefined && await loadDisassembler(value.mode) !== undefined,
  );
  const code = isOf || error === undefined ? value : undefined;
  // The lists start anew for another function, but not for another selection.
  const of = useMemo(() => known === undefined ? -1 : JSON.parse(known)[0], [known]);
  if (isOf && error !== undefined) return <p class="empty wrong" role="alert">{error}</p>;
  if (code === undefined) return <p class="empty soft" role="status">Reading the code…</p>;
  const weight = weightOf(props);
  const name = nameOf(facts, of);
  const parts = { ...props, code, name, place, setPlace };
  const unit = unitOf(props);
  return (
    <>
      <p class="foot soft code-sum">
        {objectOf(facts, of)}: self {percent(weight(code.self), weight(code.whole))}{" "}
        ({amount(weight(code.self), unit)}), total {percent(weight(code.total), weight(code.whole))}
        {" "}
        ({amount(weight(code.total), unit)})
      </p>
      <div class="code-box">
        <div class="code">
          {code.files.length > 0 && <SourceLines key={`source ${of}`} {...parts} />}
          {code.pieces.length > 0 && <Instructions key={`insns ${of}`} {...parts} />}
        </div>
      </div>
      {[...code.notes, ...textNotes(code, hasText), ...transformNotes(props)].map((note) => (
        <p key={note} class="foot soft">{note}</p>
      ))}
    </>
  );
}

/** Says why instructions are shown as bytes. */
function textNotes({ mode, pieces }: CodeAnswer, hasText: boolean | undefined): readonly string[] {
  return mode === undefined || pieces.length === 0 || hasText !== false ? [] : [
    `instructions have no text: ${disassemblerFile(mode)} is not beside this page`,
  ];
}

/** Says that transforms, which change stacks of functions, do not change the code. */
function transformNotes({ store }: ProfileViewProps): readonly string[] {
  return store.state.transforms.length === 0
    ? []
    : ["Shares in the code are of all selected samples: transforms do not apply here."];
}

/** Properties of a list of lines or instructions. */
export interface CodeProps extends ProfileViewProps {
  readonly code: CodeAnswer;
  readonly name: string;
  /** The line that is marked in both lists, as `file:line`. */
  readonly place: string;
  readonly setPlace: (place: string) => void;
}

/** Returns the function that gets the selected weight of a count. */
export function weightOf({ store }: ProfileViewProps): (count: CodeCount) => number {
  const { weight } = store.state;
  return weight === "samples" ? ({ samples }) => samples : ({ period }) => period;
}

/** Returns the total of which shares are shown, and the function for the tooltip of a weight. */
export function sharesOf(
  props: CodeProps,
): { readonly base: number; readonly text: (part: number) => string } {
  const { code, store } = props;
  const weight = weightOf(props);
  const unit = unitOf(props);
  const [whole, total] = [weight(code.whole), weight(code.total)];
  return {
    base: store.state.share === "function" ? total : whole,
    text: (part) =>
      `${amount(part, unit)}: ${percent(part, whole)} of all, ${
        percent(part, total)
      } of the function`,
  };
}
