// For tests: compares rows of call frame information with those of readelf.

import { assert, assertEquals } from "@std/assert";
import { addressToHex } from "../resolver/address.ts";
import { bytesSource } from "../files/binary_source.ts";
import { RULE } from "../cfi/cfi_constants.ts";
import type { FrameRules } from "../cfi/frame_rules.ts";
import { type CfiMachine, cfiMachine } from "../cfi/cfi_machine.ts";
import { ObjectCfi } from "../cfi/object_cfi.ts";
import { ROW, RowTable } from "../cfi/row_table.ts";
import { ElfFile } from "../elf/elf_file.ts";
import "../elf/plain_decompressors.ts";
import { framesInterp, type InterpretedRow } from "./frames_interp.ts";

const signed = (value: number): string => (value < 0 ? "" : "+") + value;

/** A rule in readelf's format. */
export function ruleText(rules: FrameRules, register: number): string {
  const value = rules.value[register] ?? 0;
  switch (rules.rule[register]) {
    case RULE.OFFSET:
      return `c${signed(value)}`;
    case RULE.VAL_OFFSET:
      return `v${signed(value)}`;
    case RULE.REGISTER:
      return `r${value}`;
    case RULE.EXPRESSION:
      return "exp";
    case RULE.VAL_EXPRESSION:
      return "vexp";
    case RULE.SAME:
      return "s";
  }
  return "u";
}

/** The CFA in readelf's format. */
export function cfaText(rules: FrameRules, machine: CfiMachine): string {
  if (rules.cfaRegister === -1) return "exp";
  return `${machine.names[rules.cfaRegister]}${signed(rules.cfaOffset)}`;
}

/** The compared part of a readelf row: the followed registers. */
function expected(row: InterpretedRow, machine: CfiMachine): string {
  const known = new Set([...machine.names, "ra"]);
  const columns = [...row.registers].filter(([name]) => known.has(name));
  return [row.cfa, ...columns.map(([name, rule]) => `${name}=${rule}`)].join(" ");
}

function found(rules: FrameRules, row: InterpretedRow, machine: CfiMachine): string {
  const columns = [...row.registers.keys()].filter((name) =>
    name === "ra" || machine.names.includes(name)
  );
  return [
    cfaText(rules, machine),
    ...columns.map((name) => {
      const register = name === "ra" ? rules.returnAddress : machine.names.indexOf(name);
      return `${name}=${ruleText(rules, register)}`;
    }),
  ].join(" ");
}

/** Checks that the compact row equals readelf's rules. Returns whether the rules fit into a row. */
function checkRow(rows: RowTable, row: number, rules: FrameRules, where: string): boolean {
  const { machine } = rows;
  const kind = rows.kind[row] ?? 0;
  const ra = rules.rule[rules.returnAddress];
  assertEquals((kind & ROW.END) !== 0, ra === RULE.UNDEFINED, where);
  if ((kind & (ROW.GENERIC | ROW.END)) !== 0) return false;
  if ((kind & ROW.CFA_DEREF) !== 0) assertEquals(rules.cfaRegister, -1, where);
  else {
    const base = (kind & ROW.CFA_FP) !== 0 ? machine.fp : machine.sp;
    assertEquals([rules.cfaRegister, rules.cfaOffset], [base, rows.cfa[row]], where);
  }
  assertEquals((kind & ROW.RA_SAVED) !== 0, ra === RULE.OFFSET, where);
  if (ra === RULE.OFFSET) assertEquals(rows.ra[row], rules.value[rules.returnAddress], where);
  const fp = rules.rule[machine.fp];
  assertEquals((kind & ROW.FP_SAVED) !== 0, fp === RULE.OFFSET, where);
  if (fp === RULE.OFFSET) assertEquals(rows.fp[row], rules.value[machine.fp], where);
  return true;
}

/** Counts of compared items. */
export interface Compared {
  fdes: number;
  rows: number;
  /** Rows that fit into the four numbers of a `RowTable`. */
  plain: number;
}

/** Compares every row of a section with readelf's. */
export function compareWithReadelf(path: string, section = ".eh_frame"): Compared {
  const { cfi, rows } = openCfi(path);
  const { machine } = rows;
  const total = { fdes: 0, rows: 0, plain: 0 };
  for (const fde of framesInterp(path)) {
    if (fde.section !== section || fde.low === 0) continue;
    total.fdes++;
    for (const row of fde.rows) {
      const where = `${path} ${addressToHex(row.low)}`;
      const number = cfi.find(row.low);
      assert(number >= 0, `${where}: ${number}`);
      assertEquals(cfi.find(row.high - 1), number, where);
      const rules = cfi.rules(row.low);
      assert(rules !== undefined, where);
      assertEquals(found(rules, row, machine), expected(row, machine), where);
      if (checkRow(rows, number, rules, where)) total.plain++;
      total.rows++;
    }
  }
  assertEquals(cfi.damage.map((error) => error.message), []);
  return total;
}

/** Opens the call frame information of a file. */
export function openCfi(path: string): { cfi: ObjectCfi; rows: RowTable; elf: ElfFile } {
  const elf = ElfFile.open(bytesSource(Deno.readFileSync(path)));
  const machine = cfiMachine(elf.machine);
  assert(machine !== undefined);
  const rows = new RowTable(machine);
  return { cfi: ObjectCfi.open({ runtime: elf }, rows), rows, elf };
}
