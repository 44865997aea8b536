import { intAt, numberAt } from "@perfdata/format/bytes";
import { StackTable } from "@perfdata/session";
import { percentText } from "./function_text.ts";
import { markedText, nameText } from "./function_keys.ts";
import type { FunctionTable } from "./functions.ts";

/**
 * Direction of chains, named as in `perf report -g`. `caller`: from the outermost caller to the
 * sampled function; with `--children`, from the row's function down, if it was not sampled itself.
 * `callee`: from the row's function up to its callers.
 */
export type ChainOrder = "caller" | "callee";

/** A path of functions in a row's samples. */
export interface FunctionChain {
  /** Samples with this path. */
  readonly samples: number;
  /** Period of these samples. */
  readonly period: number;
  /** Names of the functions. */
  readonly frames: readonly string[];
}

/** A displayed node. */
interface ChainNode {
  readonly symbol: number;
  samples: number;
  period: number;
  ownSamples: number;
  ownPeriod: number;
  readonly children: number[];
}

/**
 * The stacks of the samples of a {@link FunctionTable}'s rows: the output of `perf report -g ORDER`
 * below its rows. Recursive calls are kept. If a row that counts callees has its function several
 * times in a stack, the outermost one is used for `caller`, the innermost one for `callee`
 * (`callchain_append` and `he_cache` of tools/perf/util).
 */
export class FunctionChains {
  readonly #table: FunctionTable;
  readonly #nodes = new StackTable();
  readonly #all: ChainNode[] = [];
  /** Nodes without a parent, by row. */
  readonly #roots = new Map<number, number[]>();

  /** Adds the stacks of all counted samples. */
  constructor(table: FunctionTable, order: ChainOrder) {
    this.#table = table;
    const symbolOf = (entry: number) => table.names.column("symbol")[entry] ?? -1;
    table.forEachStack(order === "caller", ({ row, path, length, at }, samples, period) => {
      // The root of a row has the row's number.
      let node = this.#node(-1, row);
      if (order === "callee") {
        for (let k = at; k < length; k++) node = this.#node(node, symbolOf(numberAt(path, k)));
      } else {
        for (let k = at === 0 ? length - 1 : at; k >= 0; k--) {
          node = this.#node(node, symbolOf(numberAt(path, k)));
        }
      }
      const reached = this.#all[node] as ChainNode;
      reached.ownSamples += samples;
      reached.ownPeriod += period;
    });
    for (let node = this.#all.length - 1; node >= 0; node--) {
      const own = this.#all[node] as ChainNode;
      own.samples += own.ownSamples;
      own.period += own.ownPeriod;
      const above = this.#all[intAt(this.#nodes.parent, node)];
      if (above === undefined) continue;
      above.samples += own.samples;
      above.period += own.period;
    }
  }

  #node(parent: number, symbol: number): number {
    const node = this.#nodes.child(parent, symbol);
    if (node === this.#all.length) {
      const zeros = { samples: 0, period: 0, ownSamples: 0, ownPeriod: 0 };
      this.#all.push({ symbol, ...zeros, children: [] });
      if (parent < 0) this.#roots.set(symbol, [node]);
      else this.#all[parent]?.children.push(node);
    }
    return node;
  }

  #below(row: number): readonly number[] {
    return this.#all[this.#roots.get(row)?.[0] ?? -1]?.children ?? [];
  }

  #name(symbol: number, text: (table: FunctionTable, number: number) => string): string {
    return symbol < 0 ? "[unknown]" : text(this.#table, symbol);
  }

  #sorted(nodes: readonly number[]): number[] {
    const period = (node: number) => this.#all[node]?.period ?? 0;
    const name = (node: number) => this.#name(this.#all[node]?.symbol ?? -1, nameText);
    return nodes.toSorted((a, b) => period(b) - period(a) || (name(a) < name(b) ? -1 : 1));
  }

  /** The paths of a row, by descending period. */
  chains(row: number): FunctionChain[] {
    const found: FunctionChain[] = [];
    const waiting = this.#sorted(this.#below(row)).reverse().map((node) => ({ node, depth: 0 }));
    const frames: string[] = [];
    for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
      const { symbol, ownSamples: samples, ownPeriod: period, children } = this
        .#all[next.node] as ChainNode;
      frames.length = next.depth;
      frames.push(this.#name(symbol, nameText));
      if (samples > 0) found.push({ samples, period, frames: [...frames] });
      const depth = next.depth + 1;
      for (const node of this.#sorted(children).reverse()) waiting.push({ node, depth });
    }
    return found.sort((a, b) => b.period - a.period || b.samples - a.samples);
  }

  /**
   * Formats the paths of a row as a tree: share of the event's period, and functions. Nodes with a
   * single child share its line.
   *
   * @param least Smallest share of the event that is shown.
   */
  lines(row: number, least: number): string[] {
    const table = this.#table;
    const enough = (node: number) => table.share(row, this.#all[node]?.period ?? 0) >= least;
    const lines: string[] = [];
    const waiting: { node: number; indent: string; mark: string }[] = [];
    const push = (nodes: readonly number[], indent: string): void => {
      const shown = this.#sorted(nodes.filter(enough));
      for (let i = shown.length - 1; i >= 0; i--) {
        const mark = shown.length === 1 ? "→ " : i === shown.length - 1 ? "└ " : "├ ";
        waiting.push({ node: numberAt(shown, i), indent, mark });
      }
    };
    const top = this.#below(row);
    // The row itself shows its function already.
    const begins = top.length === 1 &&
      this.#all[numberAt(top, 0)]?.symbol === table.symbol(row);
    push(begins ? this.#all[numberAt(top, 0)]?.children ?? [] : top, "");
    for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
      let node = this.#all[next.node] as ChainNode;
      const names = [this.#name(node.symbol, markedText)];
      const { period } = node;
      while (node.children.length === 1 && node.ownSamples === 0) {
        node = this.#all[numberAt(node.children, 0)] as ChainNode;
        names.push(this.#name(node.symbol, markedText));
      }
      const share = `${percentText(table.share(row, period))}%`.padStart(11);
      lines.push(`${share}  ${next.indent}${next.mark}${names.join(" → ")}`);
      const { mark, indent } = next;
      push(node.children, indent + (mark === "├ " ? "│ " : mark === "└ " ? "  " : ""));
    }
    return lines;
  }
}
