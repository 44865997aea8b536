import type { CodeAnswer, CodeCount, CodeLine, SourcePart } from "../recording/code_service.ts";
import { percent } from "../ui/format.ts";
import { Grid, type GridLine, Share } from "../ui/grid.tsx";
import { type JSX, useMemo, useState } from "../ui/preact.ts";
import { useQuery } from "../ui/use_query.ts";
import { type CodeProps, sharesOf, weightOf } from "./code.tsx";

const COLUMNS = [
  { title: "Self", class: "number" },
  { title: "Total", class: "number" },
  { title: "Line", class: "number" },
  { title: "Source" },
];

/** A row of the source list: a file, a line of source, or a call from that line. */
type SourceRow =
  | { readonly file: string }
  | {
    readonly line: number;
    readonly text: string;
    /** Weights of the line, if it was sampled. */
    readonly sampled: CodeLine | undefined;
    readonly place: string;
    readonly isGap: boolean;
  }
  | { readonly call: CodeLine["calls"][number] };

/** Returns the source rows of a function, file by file: the lines whose text is known, and the sampled ones. */
function sourceRows(
  { files }: CodeAnswer,
  texts: ReadonlyMap<string, readonly SourcePart[]>,
): SourceRow[] {
  const rows: SourceRow[] = [];
  for (const { file, lines } of files) {
    rows.push({ file: file === "" ? "unknown file" : file });
    const text = new Map<number, string>();
    for (const part of texts.get(file) ?? []) {
      for (const [i, line] of part.text.split("\n").entries()) text.set(part.first + i, line);
    }
    const sampled = new Map(lines.map((line) => [line.line, line]));
    let last = 0;
    for (const line of [...new Set([...text.keys(), ...sampled.keys()])].sort((a, b) => a - b)) {
      const own = sampled.get(line);
      const isGap = last !== 0 && line > last + 1;
      last = line;
      const place = `${file}:${line}`;
      rows.push({ line, text: text.get(line) ?? "", sampled: own, place, isGap });
      for (const call of own?.calls ?? []) rows.push({ call });
    }
  }
  return rows;
}

export function SourceLines(props: CodeProps): JSX.Element {
  const { code, open, name, place, setPlace } = props;
  const [at, setAt] = useState(-1);
  const weight = weightOf(props);
  const known = code.files.filter(({ hasText }) => hasText).map(({ file }) => file);
  const { value: found = [] } = useQuery(
    JSON.stringify(known),
    () =>
      Promise.all(
        known.map(async (file) =>
          [file, await open.client.call("sourceText", file) ?? []] as const
        ),
      ),
  );
  const rows = useMemo(() => sourceRows(code, new Map(found)), [code, found]);
  // The line with the greatest weight is scrolled into view first.
  const hottest = useMemo(() => {
    let best = -1;
    let most = 0;
    for (const [i, row] of rows.entries()) {
      if ("line" in row && row.sampled !== undefined && weight(row.sampled.total) > most) {
        [best, most] = [i, weight(row.sampled.total)];
      }
    }
    return best;
  }, [rows]);
  // The line of the instruction that is marked in the other list is scrolled into view.
  const marked = useMemo(
    () => rows.findIndex((row) => "place" in row && row.place === place && place !== ""),
    [rows, place],
  );
  const own = rows[at];
  const isOwn = own !== undefined && "place" in own && own.place === place;
  const go = (to: number) => {
    setAt(to);
    const row = rows[to];
    setPlace(row !== undefined && "place" in row ? row.place : "");
  };
  return (
    <Grid
      id="source"
      class="source"
      label={`Source of ${name}`}
      columns={COLUMNS}
      count={rows.length}
      height={20}
      at={at}
      start={at < 0 ? hottest : at}
      chosen={isOwn ? at : marked >= 0 ? marked : at < 0 ? hottest : at}
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
        const { line, text, sampled } = row;
        const [self, total] = sampled === undefined
          ? [0, 0]
          : [weight(sampled.self), weight(sampled.total)];
        return {
          class: `${row.place === place ? "marked" : ""}${row.isGap ? " gap" : ""}`,
          data: { place: row.place, self, total },
          cells: (
            <>
              <Part {...props} name="self" part={self} />
              <Part {...props} name="total" part={total} />
              <div class="number soft" role="gridcell">{line === 0 ? "?" : line}</div>
              <div class="text" role="gridcell" title={text.trim()}>{text}</div>
            </>
          ),
        };
      }}
    />
  );
}

/** The share of a weight; an empty cell for 0. */
function Part(props: CodeProps & { readonly part: number }): JSX.Element {
  const { name, part } = props;
  const { base, text } = sharesOf(props);
  return part === 0
    ? <div role="gridcell" />
    : <Share name={name} part={part} all={base} text={text(part)} />;
}

function CallCells(
  props: CodeProps & {
    readonly call: CodeCount & { readonly name: string; readonly inlined: boolean };
  },
): JSX.Element {
  const { store, call } = props;
  const part = weightOf(props)(call);
  const { base, text } = sharesOf(props);
  return (
    <>
      <div role="gridcell" />
      <div class="number soft" role="gridcell" title={text(part)}>{percent(part, base)}</div>
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
