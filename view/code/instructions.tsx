import { jumpLines, type RowJump } from "@perfdata/export/code";
import { intAt } from "@perfdata/format/bytes";
import type { CodeAnswer, CodeInsn } from "../recording/code_service.ts";
import { Grid, type GridLine, Share } from "../ui/grid.tsx";
import { type JSX, useMemo, useState } from "../ui/preact.ts";
import { type CodeProps, sharesOf, weightOf } from "./code.tsx";
import { useQuery } from "../ui/use_query.ts";
import { loadDisassembler } from "./disassembler_script.ts";
import { JumpGutter } from "./jump_gutter.tsx";

const COLUMNS = [
  { title: "Self", class: "number" },
  { title: "Address", class: "number" },
  { title: "Instruction" },
];

/** An instruction, or the source of the instructions below. */
type InsnRow =
  | {
    readonly insn: CodeInsn;
    /** Row of the instruction to which it may jump; -1 for none. */
    readonly target: number;
  }
  | { readonly heading: string; readonly inlined: readonly string[] };

/** The rows of all pieces, and the jump lines beside them. */
interface InsnRows {
  readonly rows: readonly InsnRow[];
  readonly gutters: readonly string[];
  /** Number of jumps without a line. */
  readonly undrawn: number;
}

/** Lays out the instructions, with a heading where the source changes. */
function insnRows({ pieces }: CodeAnswer): InsnRows {
  const rows: InsnRow[] = [];
  const jumps: RowJump[] = [];
  for (const [i, piece] of pieces.entries()) {
    if (pieces.length > 1) {
      rows.push({ heading: `piece ${i + 1} of ${pieces.length}`, inlined: [] });
    }
    const rowOf = new Int32Array(piece.length);
    let last = "";
    let at = rows.length;
    const headings = piece.map((insn) => {
      const from = [...insn.inlined, insn.place].join("\0");
      const isNew = from !== last && (insn.place !== "" || insn.inlined.length > 0);
      last = from;
      return isNew;
    });
    for (const number of piece.keys()) {
      if (headings[number] === true) at++;
      rowOf[number] = at++;
    }
    for (const [number, insn] of piece.entries()) {
      if (headings[number] === true) rows.push({ heading: insn.place, inlined: insn.inlined });
      const target = insn.jump === undefined ? -1 : intAt(rowOf, insn.jump);
      if (target >= 0) jumps.push({ from: rows.length, to: target });
      rows.push({ insn, target });
    }
  }
  const { gutters, left } = jumpLines(rows.length, jumps);
  return { rows, gutters, undrawn: left };
}

/**
 * Loads the disassembler if instructions have no text, and returns the function that formats an instruction;
 * `undefined` until it is loaded, or if instructions have text.
 */
function useInsnText({ mode }: CodeAnswer): ((insn: CodeInsn) => string) | undefined {
  const { value: format } = useQuery(
    mode === undefined ? undefined : `disassembler ${mode}`,
    async () => ({ text: mode && await loadDisassembler(mode) }),
  );
  return useMemo(() => {
    const text = format?.text;
    if (mode === undefined || text === undefined) return undefined;
    const known = new Map<CodeInsn, string>();
    return (insn) => {
      let found = known.get(insn);
      if (found === undefined) {
        const bytes = Uint8Array.from(insn.bytes.split(" "), (byte) => Number.parseInt(byte, 16));
        // `insn.text` is the name of a callee here, or a directive of data.
        found = insn.text.startsWith(".")
          ? insn.text
          : (text(bytes, BigInt(`0x${insn.address}`)) ?? insn.bytes) + insn.text;
        known.set(insn, found);
      }
      return found;
    };
  }, [format, mode]);
}

export function Instructions(props: CodeProps): JSX.Element {
  const { code, name, place, setPlace } = props;
  const [at, setAt] = useState(-1);
  const weight = weightOf(props);
  const { base, text } = sharesOf(props);
  const { rows, gutters, undrawn } = useMemo(() => insnRows(code), [code]);
  const textOf = useInsnText(code);
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
    setPlace(row !== undefined && "insn" in row ? row.insn.place : "");
  };
  const own = rows[at];
  const isOwn = own !== undefined && "insn" in own && own.insn.place === place;
  const target = own !== undefined && "insn" in own ? own.target : -1;
  return (
    <Grid
      id="insn"
      class="insns"
      label={`Instructions of ${name}${
        undrawn === 0 ? "" : `; ${undrawn} jumps without a line: too many are side by side`
      }`}
      columns={COLUMNS}
      count={rows.length}
      height={20}
      at={at}
      start={at < 0 ? hottest : at}
      chosen={isOwn ? at : marked >= 0 ? marked : at < 0 ? hottest : at}
      choose={go}
      pick={() => target >= 0 && go(target)}
      line={(i): GridLine | undefined => {
        const row = rows[i];
        if (row === undefined) return undefined;
        const gutter = <JumpGutter gutter={gutters[i] ?? ""} />;
        if ("heading" in row) {
          return {
            class: "file",
            cells: (
              <>
                <div role="gridcell" />
                <div role="gridcell" />
                <div class="text" role="gridcell" title={row.heading}>
                  {gutter}
                  <span style={{ paddingLeft: `${row.inlined.length}em` }} />
                  <span class="soft">
                    {row.heading.slice(row.heading.lastIndexOf("/") + 1)}
                    {row.inlined.length > 0 && (
                      <>
                        <span class="tag">inlined</span> {row.inlined.at(-1)}
                      </>
                    )}
                  </span>
                </div>
              </>
            ),
          };
        }
        const { insn } = row;
        const self = weight(insn);
        return {
          class: `${insn.place === place && place !== "" ? "marked" : ""}${
            i === target ? " target" : ""
          }`,
          data: { address: insn.address, samples: insn.samples },
          cells: (
            <>
              {self === 0
                ? <div role="gridcell" />
                : <Share name="self" part={self} all={base} text={text(self)} />}
              <div class="number soft" role="gridcell">{insn.address}</div>
              <div class="text" role="gridcell" title={insn.bytes}>
                {gutter}
                {textOf === undefined ? insn.text === "" ? insn.bytes : insn.text : textOf(insn)}
              </div>
            </>
          ),
        };
      }}
    />
  );
}
