import type { CodeAnswer, CodeCount, CodeInsn, CodeLine } from "../recording/code_service.ts";
import { FunctionList, FunctionPicker } from "../sandwich/sandwich.tsx";
import { countedOf, nameOf, objectOf, type ProfileViewProps, unitOf } from "../ui/context.ts";
import { amount, percent } from "../ui/format.ts";
import { Grid, type GridLine, Share } from "../ui/grid.tsx";
import { type JSX, useMemo, useState } from "../ui/preact.ts";
import { useQuery } from "../ui/use_query.ts";

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
      {fn < 0 && <FunctionList {...props} />}
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
  /** Name of the function. */
  readonly name: string;
  /** The line that is marked in both lists, as `file:line`. */
  readonly place: string;
  readonly setPlace: (place: string) => void;
}

/** Returns the function that gets the selected weight of a count. */
function weightOf({ store }: ProfileViewProps): (count: CodeCount) => number {
  const { weight } = store.state;
  return weight === "samples" ? ({ samples }) => samples : ({ period }) => period;
}

const SOURCE_COLUMNS = [
  { title: "Self", class: "number" },
  { title: "Total", class: "number" },
  { title: "Line", class: "number" },
  { title: "Source" },
];

const INSN_COLUMNS = [
  { title: "Self", class: "number" },
  { title: "Address", class: "number" },
  { title: "Instruction" },
];

/** A row of the source list: a file, a line of source, or a call from that line. */
type SourceRow =
  | { readonly file: string }
  | { readonly line: CodeLine; readonly place: string; readonly isGap: boolean }
  | { readonly call: CodeLine["calls"][number] };

/** Returns the source rows of a function, file by file. */
function sourceRows({ files }: CodeAnswer): SourceRow[] {
  const rows: SourceRow[] = [];
  for (const { file, lines } of files) {
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
}

function SourceLines(props: CodeProps): JSX.Element {
  const { code, name, place, setPlace } = props;
  const [at, setAt] = useState(-1);
  const weight = weightOf(props);
  const rows = useMemo(() => sourceRows(code), [code]);
  // The line with the greatest weight is scrolled into view first.
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
  return (
    <Grid
      id="source"
      class="source"
      label={`Source of ${name}`}
      columns={SOURCE_COLUMNS}
      count={rows.length}
      height={20}
      at={at}
      start={at < 0 ? hottest : at}
      choose={go}
      line={(i): GridLine | undefined => {
        const row = rows[i];
        if (row === undefined) return undefined;
        if ("file" in row) {
          return {
            class: "file",
            cells: <div class="wide" role="gridcell" title={row.file}>{row.file}</div>,
          };
        }
        if ("call" in row) return { class: "call", cells: <CallCells {...props} {...row} /> };
        const { line } = row;
        const [self, total] = [weight(line.self), weight(line.total)];
        return {
          class: `${row.place === place ? "marked" : ""}${row.isGap ? " gap" : ""}`,
          data: { place: row.place, self, total },
          cells: <LineCells {...props} line={line} />,
        };
      }}
    />
  );
}

/** The cells of a call from a line. */
function CallCells(
  props: CodeProps & { readonly call: CodeLine["calls"][number] },
): JSX.Element {
  const { code, store, call } = props;
  const weight = weightOf(props);
  return (
    <>
      <div role="gridcell" />
      <div class="number soft" role="gridcell">{percent(weight(call), weight(code.whole))}</div>
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
    </>
  );
}

/** The cells of a line of source. */
function LineCells(props: CodeProps & { readonly line: CodeLine }): JSX.Element {
  const { code, line } = props;
  const weight = weightOf(props);
  const unit = unitOf(props);
  const whole = weight(code.whole);
  const [self, total] = [weight(line.self), weight(line.total)];
  return (
    <>
      {self === 0
        ? <div role="gridcell" />
        : <Share name="self" part={self} all={whole} text={amount(self, unit)} />}
      {total === 0
        ? <div role="gridcell" />
        : <Share name="total" part={total} all={whole} text={amount(total, unit)} />}
      <div class="number soft" role="gridcell">{line.line === 0 ? "?" : line.line}</div>
      <div class="text" role="gridcell">{line.text}</div>
    </>
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
  // The instruction of the line marked in the source is scrolled into view.
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
    <Grid
      id="insn"
      class="insns"
      label={`Instructions of ${name}`}
      columns={INSN_COLUMNS}
      count={rows.length}
      height={20}
      at={at}
      start={at < 0 ? hottest : at}
      chosen={isOwn ? at : marked >= 0 ? marked : at < 0 ? hottest : at}
      choose={go}
      line={(i): GridLine | undefined => {
        const row = rows[i];
        if (row === undefined) return undefined;
        if ("heading" in row) {
          return {
            class: "file",
            cells: (
              <div class="wide" role="gridcell" title={row.heading}>
                <span style={{ paddingLeft: `${row.inlined.length}em` }} />
                {row.heading.slice(row.heading.lastIndexOf("/") + 1)}
                {row.inlined.length > 0 && (
                  <>
                    <span class="tag">inlined</span> {row.inlined.at(-1)}
                  </>
                )}
              </div>
            ),
          };
        }
        const { insn } = row;
        const self = weight(insn);
        return {
          class: insn.place === place && place !== "" ? "marked" : "",
          data: { address: insn.address, samples: insn.samples },
          cells: (
            <>
              {self === 0
                ? <div role="gridcell" />
                : <Share name="self" part={self} all={whole} text={amount(self, unit)} />}
              <div class="number soft" role="gridcell">{insn.address}</div>
              <div class="text" role="gridcell" title={insn.bytes}>
                {insn.text === "" ? insn.bytes : insn.text}
              </div>
            </>
          ),
        };
      }}
    />
  );
}
