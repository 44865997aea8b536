import { DwarfError } from "../dwarf/dwarf_error.ts";
import type { FdeIndex } from "./fde_index.ts";
import { ExpressionTable, type FrameRules } from "./frame_rules.ts";
import type { Fde, FrameSection } from "./frame_section.ts";
import { DAMAGED, NO_FDE, type RowTable } from "./row_table.ts";
import { RuleProgram } from "./rule_program.ts";

/** FDEs with more rows than this are not cached. */
const MAX_KEPT_ROWS = 4096;
/** Limit of the cached full rules. */
const MAX_KEPT = 32768;

/** A source of call frame information with look-ups by address. */
export interface CfiSource {
  /** The expressions that rules refer to by index. */
  readonly expressions: ExpressionTable;
  /**
   * Returns the row of an address.
   *
   * @returns a row of the table passed to the constructor, `NO_FDE` or `DAMAGED`
   */
  find(address: number): number;
  /** The rules of all registers at an address that has a row. */
  rules(address: number): FrameRules | undefined;
}

/**
 * The call frame information of one section. An FDE is compiled into rows on first use.
 *
 * Damage is not thrown; only the addresses of a damaged FDE have no rows. The total work is bounded
 * by a multiple of the section's size, even if entries overlap.
 */
export class FrameTable implements CfiSource {
  readonly expressions: ExpressionTable;
  readonly #section: FrameSection;
  readonly #index: FdeIndex;
  readonly #rows: RowTable;
  readonly #program: RuleProgram;
  readonly #onDamage: (error: DwarfError) => void;
  /**
   * For each entry of the index 1 + its index among the compiled FDEs; 0 if it is not compiled.
   */
  #entries: Int32Array | undefined;
  readonly #fdes: (Fde | undefined)[] = [];
  readonly #firstRow: number[] = [];
  readonly #rowCount: number[] = [];
  /** End of the valid rows of an FDE whose remaining instructions are damaged. */
  readonly #goodEnd: number[] = [];
  readonly #kept = new Map<number, KeptRules[]>();
  #keptRows = 0;
  /** Bytes of instructions that may still be executed. */
  #budget: number;

  /** Creates a table that compiles FDEs on first use, and reports damage to `onDamage`. */
  constructor(
    section: FrameSection,
    index: FdeIndex,
    rows: RowTable,
    onDamage: (error: DwarfError) => void,
  ) {
    this.#section = section;
    this.#index = index;
    this.#rows = rows;
    this.#onDamage = onDamage;
    const { bytes, littleEndian } = section.source;
    this.expressions = new ExpressionTable(bytes, littleEndian);
    this.#program = new RuleProgram(section, this.expressions);
    this.#budget = bytes.length * 4 + 65536;
  }

  find(address: number): number {
    const n = this.#compiled(address);
    if (n < 0) return n;
    const low = (this.#fdes[n] as Fde).low;
    if (address >= (this.#goodEnd[n] as number)) return DAMAGED;
    return this.#rows.search(
      this.#firstRow[n] as number,
      this.#rowCount[n] as number,
      address - low,
    );
  }

  rules(address: number): FrameRules | undefined {
    const n = this.#compiled(address);
    if (n < 0) return undefined;
    let kept = this.#kept.get(n);
    if (kept === undefined) {
      kept = this.#allRules(this.#fdes[n] as Fde);
      if (kept.length <= MAX_KEPT_ROWS) {
        if (this.#keptRows + kept.length > MAX_KEPT) {
          this.#kept.clear();
          this.#keptRows = 0;
        }
        this.#kept.set(n, kept);
        this.#keptRows += kept.length;
      }
    }
    let low = 0, high = kept.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((kept[middle] as KeptRules).low <= address) low = middle + 1;
      else high = middle;
    }
    const found = kept[low - 1];
    return found !== undefined && address < found.high ? found.rules : undefined;
  }

  /** All rows of the FDE with full rules. */
  #allRules(fde: Fde): KeptRules[] {
    const all: KeptRules[] = [];
    if (!this.#pay(fde)) return all;
    try {
      this.#program.run(fde, (low, high, rules) => all.push({ low, high, rules: rules.clone() }));
    } catch (error) {
      if (!(error instanceof DwarfError)) throw error;
    }
    return all;
  }

  /** Subtracts an FDE's cost from the budget. Returns `false` if the budget is exhausted. */
  #pay(fde: Fde): boolean {
    const { cie } = fde;
    this.#budget -= fde.end - fde.start + (cie.end - cie.start);
    return this.#budget >= 0;
  }

  /** Index of the compiled FDE of an address; `NO_FDE` or `DAMAGED` without one. */
  #compiled(address: number): number {
    const entry = this.#index.find(address);
    if (entry < 0) return NO_FDE;
    const entries = this.#entries ??= new Int32Array(this.#index.count);
    let n = (entries[entry] as number) - 1;
    if (n < 0) {
      n = this.#compile(entry);
      entries[entry] = n + 1;
    }
    const fde = this.#fdes[n];
    if (fde === undefined) return DAMAGED;
    return address >= fde.low && address < fde.high ? n : NO_FDE;
  }

  #compile(entry: number): number {
    const rows = this.#rows;
    const first = rows.count;
    let fde: Fde | undefined, goodEnd = 0;
    try {
      fde = this.#section.fde(this.#index.offset(entry));
      if (fde.high - fde.low > 0xffffffff) {
        throw new DwarfError(this.#section.source.name, fde.offset, "an FDE of over 4 GB");
      }
      if (!this.#pay(fde)) {
        throw new DwarfError(this.#section.source.name, fde.offset, "entries overlap");
      }
      const { low } = fde;
      goodEnd = low;
      this.#program.run(fde, (from, to, rules) => {
        rows.add(from - low, rules, this.expressions, first);
        goodEnd = to;
      });
    } catch (error) {
      if (!(error instanceof DwarfError)) throw error;
      this.#onDamage(error);
    }
    this.#firstRow.push(first);
    this.#rowCount.push(rows.count - first);
    this.#goodEnd.push(goodEnd);
    return this.#fdes.push(fde) - 1;
  }
}

interface KeptRules {
  readonly low: number;
  readonly high: number;
  readonly rules: FrameRules;
}
