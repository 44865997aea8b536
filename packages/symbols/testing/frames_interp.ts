// For tests: call frame information as readelf interprets it.

import { addressFromBigInt } from "../resolver/address.ts";

/** A row printed by readelf: valid from `low` to the next row or the end of the FDE. */
export interface InterpretedRow {
  readonly low: number;
  readonly high: number;
  /** `rsp+8`, `exp`. */
  readonly cfa: string;
  /** Rules by column name: `c-8`, `u`, `s`, `exp`. `ra` is the return address. */
  readonly registers: ReadonlyMap<string, string>;
}

/** An FDE printed by readelf. */
export interface InterpretedFde {
  readonly section: string;
  readonly low: number;
  readonly high: number;
  readonly rows: readonly InterpretedRow[];
}

/** The parsed output of `readelf --debug-dump=frames-interp` for a file. */
export function framesInterp(path: string): InterpretedFde[] {
  // The exit code is ignored: it is 1 if a separate debug file is missing.
  const { stdout } = new Deno.Command("readelf", {
    args: ["-W", "--debug-dump=frames-interp", path],
    env: { LC_ALL: "C" },
    stderr: "null",
  }).outputSync();
  return parse(new TextDecoder().decode(stdout));
}

const address = (hex: string): number => addressFromBigInt(BigInt("0x" + hex));

function parse(text: string): InterpretedFde[] {
  const fdes: InterpretedFde[] = [];
  let section = "", columns: string[] = [];
  let fde: { section: string; low: number; high: number; rows: InterpretedRow[] } | undefined;
  let starts: { low: number; cfa: string; registers: Map<string, string> }[] = [];
  let inherited: typeof starts = [];
  const cies = new Map<string, typeof starts>();
  let cie: string | undefined;
  const finish = (): void => {
    if (cie !== undefined) cies.set(cie, starts);
    else if (fde !== undefined) {
      const { high } = fde;
      // An FDE without instructions has the rows of its CIE.
      const rows = starts.length > 0
        ? starts
        : inherited.map((row) => ({ ...row, low: fde?.low ?? 0 }));
      rows.forEach((row, i) => {
        const end = Math.min(rows[i + 1]?.low ?? high, high);
        if (end > row.low) fde?.rows.push({ ...row, high: end });
      });
      fdes.push(fde);
    }
    fde = undefined;
    cie = undefined;
    starts = [];
  };
  for (const line of text.split("\n")) {
    const name = /^Contents of the (\S+) section/.exec(line);
    if (name !== null) {
      finish();
      section = name[1] as string;
      cies.clear();
      continue;
    }
    const head =
      /^([0-9a-f]+) [0-9a-f]+ [0-9a-f]+ (?:(CIE)|FDE cie=([0-9a-f]+) pc=([0-9a-f]+)\.\.([0-9a-f]+))/
        .exec(line);
    if (head !== null) {
      finish();
      columns = [];
      if (head[2] !== undefined) cie = head[1];
      else {
        const low = address(head[4] as string), high = address(head[5] as string);
        fde = { section, low, high, rows: [] };
        inherited = cies.get(head[3] as string) ?? [];
      }
      continue;
    }
    if (/^\s+LOC\s/.test(line)) {
      columns = line.trim().split(/\s+/).slice(2);
      continue;
    }
    const row = /^([0-9a-f]{8,16}) (exp|\S+[+-]\d+)\s*(.*)$/.exec(line);
    if (row === null || columns.length === 0 && (row[3] ?? "") !== "") continue;
    // A register is printed with number and name: `r1 (rdx)`.
    const values = (row[3] ?? "").replaceAll(/\s+\(\w+\)/g, "").trim().split(/\s+/);
    const registers = new Map(columns.map((column, i) => [column, values[i] ?? ""]));
    starts.push({ low: address(row[1] as string), cfa: row[2] as string, registers });
  }
  finish();
  return fdes;
}
