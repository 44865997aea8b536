import type { CodeAnswer, CodeCount, CodeInsn, CodeLine } from "../recording/code_service.ts";
import { FunctionPicker } from "../sandwich/sandwich.tsx";
import { Share } from "../table/functions.tsx";
import { countedOf, nameOf, objectOf, type ProfileViewProps, unitOf } from "../ui/context.ts";
import { amount, percent } from "../ui/format.ts";
import { type JSX, useMemo, useState } from "../ui/preact.ts";
import { useQuery } from "../ui/use_query.ts";
import { lineOfKey, VirtualList } from "../ui/virtual_list.tsx";

/** The source and the instructions of a function, with the share of each line and instruction. */
export function CodeView(props: ProfileViewProps): JSX.Element {
  const { store, open, facts } = props;
  const { fn, shown } = store;
  const names = useMemo(() => [...new Set(facts.functions.name)].sort(), [facts]);
  const [place, setPlace] = useState("");
  const { value, error, key } = useQuery(
    fn < 0 ? undefined : JSON.stringify([fn, shown]),
    () => open.client.call("code", fn, shown),
  );
  const isOf = key === JSON.stringify([fn, shown]);
  return (
    <section class="fill" aria-label="Source">
      <div class="bar">
        <FunctionPicker
          names={names}
          value={store.state.fn}
          pick={(name) => store.set({ fn: name })}
        />
        {fn >= 0 && <span class="soft">{objectOf(facts, fn)}, {countedOf(props)}</span>}
      </div>
      {fn < 0 && (
        <p class="empty">
          {store.state.fn === ""
            ? "Choose a function: here, or with a click on its name in another view."
            : `No function is called ${store.state.fn} here.`}
        </p>
      )}
      {fn >= 0 && isOf && error !== undefined && <p class="empty wrong" role="alert">{error}</p>}
      {fn >= 0 && value !== undefined && (error === undefined || !isOf) && (
        <>
          <div class="code">
            {value.files.length > 0 && (
              <SourceLines
                {...props}
                code={value}
                name={nameOf(facts, fn)}
                place={place}
                setPlace={setPlace}
              />
            )}
            {value.pieces.length > 0 && (
              <Instructions
                {...props}
                code={value}
                name={nameOf(facts, fn)}
                place={place}
                setPlace={setPlace}
              />
            )}
          </div>
          {value.notes.map((note) => <p key={note} class="foot soft">{note}</p>)}
        </>
      )}
    </section>
  );
}

interface CodeProps extends ProfileViewProps {
  readonly code: CodeAnswer;
  /** The function. */
  readonly name: string;
  /** The line that is marked on both sides, `file:line`. */
  readonly place: string;
  readonly setPlace: (place: string) => void;
}

/** What is counted of a line. */
function weightOf({ store }: ProfileViewProps): (count: CodeCount) => number {
  const { weight } = store.state;
  return weight === "samples" ? ({ samples }) => samples : ({ period }) => period;
}

/** A line of the list: a heading, a line of source, or what is called from there. */
type SourceRow =
  | { readonly file: string }
  | { readonly line: CodeLine; readonly place: string; readonly isGap: boolean }
  | { readonly call: CodeLine["calls"][number] };

function SourceLines(props: CodeProps): JSX.Element {
  const { code, name, place, setPlace, store } = props;
  const [at, setAt] = useState(-1);
  const weight = weightOf(props);
  const unit = unitOf(props);
  const rows = useMemo(() => {
    const rows: SourceRow[] = [];
    for (const { file, lines } of code.files) {
      rows.push({ file: file === "" ? "unknown file" : file });
      let last = 0;
      for (const line of lines) {
        const isGap = last !== 0 && line.line > last + 1;
        rows.push({ line, place: `${file}:${line.line}`, isGap });
        for (const call of line.calls) rows.push({ call });
        last = line.line;
      }
    }
    return rows;
  }, [code]);
  // Hottest first: it is brought into view.
  const hottest = useMemo(() => {
    let best = -1;
    let most = 0;
    for (const [i, row] of rows.entries()) {
      if ("line" in row && weight(row.line.total) > most) {
        [best, most] = [i, weight(row.line.total)];
      }
    }
    return best;
  }, [rows]);
  const go = (to: number) => {
    setAt(to);
    const row = rows[to];
    if (row !== undefined && "place" in row) setPlace(row.place);
  };
  const whole = weight(code.whole);
  return (
    <VirtualList
      class="grid source"
      role="grid"
      aria-label={`Source of ${name}`}
      aria-rowcount={rows.length + 1}
      aria-activedescendant={at < 0 ? undefined : `source-${at}`}
      tabIndex={0}
      onKeyDown={(event) => {
        const to = lineOfKey(event.key, at < 0 ? hottest : at, rows.length);
        if (to === undefined) return;
        go(to);
        event.preventDefault();
      }}
      head={
        <div class="row head" role="row" aria-rowindex={1}>
          <div class="number" role="columnheader">Self</div>
          <div class="number" role="columnheader">Total</div>
          <div class="number" role="columnheader">Line</div>
          <div role="columnheader">Source</div>
        </div>
      }
      count={rows.length}
      height={20}
      chosen={at < 0 ? hottest : at}
      render={(i) => {
        const row = rows[i];
        if (row === undefined) return null;
        const common = { role: "row", id: `source-${i}`, "aria-rowindex": i + 2 } as const;
        if ("file" in row) {
          return (
            <div {...common} class="row file">
              <div class="wide" role="gridcell" title={row.file}>{row.file}</div>
            </div>
          );
        }
        if ("call" in row) {
          const { call } = row;
          return (
            <div {...common} class="row call">
              <div role="gridcell" />
              <div class="number soft" role="gridcell">{percent(weight(call), whole)}</div>
              <div role="gridcell" />
              <div role="gridcell">
                <span class="soft" aria-hidden="true">↳</span>
                <button
                  type="button"
                  class="link"
                  tabIndex={-1}
                  title={call.name}
                  onClick={() => store.set({ fn: call.name })}
                >
                  {call.name}
                </button>
                {call.inlined && <span class="tag">inlined</span>}
              </div>
            </div>
          );
        }
        const { line } = row;
        const [self, total] = [weight(line.self), weight(line.total)];
        return (
          <div
            {...common}
            class={`row${i === at ? " chosen" : ""}${row.place === place ? " marked" : ""}${
              row.isGap ? " gap" : ""
            }`}
            aria-selected={i === at}
            data-place={row.place}
            data-self={self}
            data-total={total}
            onClick={() => go(i)}
          >
            {self === 0
              ? <div role="gridcell" />
              : <Share name="self" part={self} all={whole} text={amount(self, unit)} />}
            {total === 0
              ? <div role="gridcell" />
              : <Share name="total" part={total} all={whole} text={amount(total, unit)} />}
            <div class="number soft" role="gridcell">{line.line === 0 ? "?" : line.line}</div>
            <div class="text" role="gridcell">{line.text}</div>
          </div>
        );
      }}
    />
  );
}

type InsnRow =
  | { readonly insn: CodeInsn }
  | { readonly heading: string; readonly inlined: readonly string[] };

function Instructions(props: CodeProps): JSX.Element {
  const { code, name, place, setPlace } = props;
  const [at, setAt] = useState(-1);
  const weight = weightOf(props);
  const unit = unitOf(props);
  const rows = useMemo(() => {
    const rows: InsnRow[] = [];
    for (const [i, piece] of code.pieces.entries()) {
      if (code.pieces.length > 1) {
        rows.push({ heading: `piece ${i + 1} of ${code.pieces.length}`, inlined: [] });
      }
      let last = "";
      for (const insn of piece) {
        const from = [...insn.inlined, insn.place].join("\0");
        if (from !== last && (insn.place !== "" || insn.inlined.length > 0)) {
          rows.push({ heading: insn.place, inlined: insn.inlined });
        }
        last = from;
        rows.push({ insn });
      }
    }
    return rows;
  }, [code]);
  const hottest = useMemo(() => {
    let best = -1;
    let most = 0;
    for (const [i, row] of rows.entries()) {
      if ("insn" in row && weight(row.insn) > most) [best, most] = [i, weight(row.insn)];
    }
    return best;
  }, [rows]);
  // What is marked in the source is brought into view.
  const marked = useMemo(
    () => rows.findIndex((row) => "insn" in row && row.insn.place === place && place !== ""),
    [rows, place],
  );
  const go = (to: number) => {
    setAt(to);
    const row = rows[to];
    if (row !== undefined && "insn" in row) setPlace(row.insn.place);
  };
  const whole = weight(code.whole);
  const own = rows[at];
  const isOwn = own !== undefined && "insn" in own && own.insn.place === place;
  return (
    <VirtualList
      class="grid insns"
      role="grid"
      aria-label={`Instructions of ${name}`}
      aria-rowcount={rows.length + 1}
      aria-activedescendant={at < 0 ? undefined : `insn-${at}`}
      tabIndex={0}
      onKeyDown={(event) => {
        const to = lineOfKey(event.key, at < 0 ? hottest : at, rows.length);
        if (to === undefined) return;
        go(to);
        event.preventDefault();
      }}
      head={
        <div class="row head" role="row" aria-rowindex={1}>
          <div class="number" role="columnheader">Self</div>
          <div class="number" role="columnheader">Address</div>
          <div role="columnheader">Instruction</div>
        </div>
      }
      count={rows.length}
      height={20}
      chosen={isOwn ? at : marked >= 0 ? marked : at < 0 ? hottest : at}
      render={(i) => {
        const row = rows[i];
        if (row === undefined) return null;
        const common = { role: "row", id: `insn-${i}`, "aria-rowindex": i + 2 } as const;
        if ("heading" in row) {
          return (
            <div {...common} class="row file">
              <div class="wide" role="gridcell" title={row.heading}>
                <span style={{ paddingLeft: `${row.inlined.length}em` }} />
                {row.heading.slice(row.heading.lastIndexOf("/") + 1)}
                {row.inlined.length > 0 && (
                  <>
                    <span class="tag">inlined</span> {row.inlined.at(-1)}
                  </>
                )}
              </div>
            </div>
          );
        }
        const { insn } = row;
        const self = weight(insn);
        return (
          <div
            {...common}
            class={`row${i === at ? " chosen" : ""}${
              insn.place === place && place !== "" ? " marked" : ""
            }`}
            aria-selected={i === at}
            data-address={insn.address}
            data-samples={insn.samples}
            onClick={() => go(i)}
          >
            {self === 0
              ? <div role="gridcell" />
              : <Share name="self" part={self} all={whole} text={amount(self, unit)} />}
            <div class="number soft" role="gridcell">{insn.address}</div>
            <div class="text" role="gridcell" title={insn.bytes}>
              {insn.text === "" ? insn.bytes : insn.text}
            </div>
          </div>
        );
      }}
    />
  );
}
