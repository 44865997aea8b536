import { floatAt } from "@perfdata/format/bytes";
import type { ObjectCodeReader, RecordedAddresses } from "@perfdata/session/code";
import type { ObjectSymbols, Resolution, SymbolObject } from "@perfdata/symbols/resolver";
import type { SymbolBundleWriter } from "@perfdata/symbols/dwarf";
import type { SymbolResolver } from "@perfdata/symbols";
import { type Disassembler, MOST_CODE } from "./function_code.ts";

/** Number of source lines kept around that of an instruction. */
const AROUND = 5;

/** Inputs of {@linkcode bundleFunctions}. */
export interface FunctionsToBundle {
  /** Finds symbols. */
  readonly resolver: SymbolResolver;
  /** Reads and records code. */
  readonly code: ObjectCodeReader;
  /** Decodes the instructions of a function. */
  readonly disassembler: Disassembler;
}

/** Result of {@linkcode bundleFunctions}. */
export interface BundledFunctions {
  /** Number of functions with code. */
  readonly functions: number;
  /** Number of functions without code, by reason. */
  readonly missing: ReadonlyMap<string, number>;
  /** Line numbers of these functions and their surroundings, by path of the source file. */
  readonly lines: ReadonlyMap<string, ReadonlySet<number>>;
}

/** A function with sampled addresses. */
interface SampledFunction {
  readonly size: number;
  /** Time of a sample in it, for JIT-compiled code. */
  readonly time: number;
}

/**
 * Reads the code of all functions with sampled addresses, and adds to a bundle the names and lines
 * of their instructions, and the names of the functions that they call.
 */
export async function bundleFunctions(
  { objects, table }: Pick<RecordedAddresses, "objects" | "table">,
  { resolver, code, disassembler }: FunctionsToBundle,
  writer: SymbolBundleWriter,
): Promise<BundledFunctions> {
  const rowsOf = new Map<number, number[]>();
  for (let row = 0; row < table.count; row++) {
    const object = table.object[row] ?? -1;
    if (object < 0 || table.uses[row] === 0) continue;
    const rows = rowsOf.get(object);
    if (rows === undefined) rowsOf.set(object, [row]);
    else rows.push(row);
  }
  let functions = 0;
  const missing = new Map<string, number>();
  const lines = new Map<string, Set<number>>();
  for (const [number, rows] of rowsOf) {
    const object = objects[number] as SymbolObject;
    const symbols = await resolver.open(object);
    try {
      const addresses = Float64Array.from(rows, (row) => floatAt(table.address, row));
      const times = Float64Array.from(rows, (row) => floatAt(table.times, row));
      const adder = new InsnAdder(symbols, addresses, writer, lines);
      for (const [start, found] of await functionsAt(symbols, addresses, times)) {
        const read = found.size > MOST_CODE
          ? { missing: `${found.size} bytes are no function` }
          : code.read(object, start, found.size, found.time);
        if ("missing" in read) {
          const why = `${object.path}: ${read.missing}`;
          missing.set(why, (missing.get(why) ?? 0) + 1);
          continue;
        }
        functions++;
        await adder.add(start, read.bytes, found.time, disassembler);
      }
    } finally {
      symbols.close();
    }
  }
  return { functions, missing, lines };
}

async function functionsAt(
  symbols: ObjectSymbols,
  addresses: Float64Array,
  times: Float64Array,
): Promise<Map<number, SampledFunction>> {
  const found = new Map<number, SampledFunction>();
  for (const [i, { symbol }] of (await symbols.find(addresses, times)).entries()) {
    if (symbol === undefined || symbol.data === true || symbol.end <= symbol.start) continue;
    const size = Math.max(symbol.end - symbol.start, found.get(symbol.start)?.size ?? 0);
    found.set(symbol.start, { size, time: found.get(symbol.start)?.time ?? floatAt(times, i) });
  }
  return found;
}

/** Adds the instructions of one object's functions. */
class InsnAdder {
  readonly #symbols: ObjectSymbols;
  readonly #writer: SymbolBundleWriter;
  readonly #lines: Map<string, Set<number>>;
  /** Addresses already in the bundle: those of samples, with the names at their time. */
  readonly #known: Set<number>;

  constructor(
    symbols: ObjectSymbols,
    known: Float64Array,
    writer: SymbolBundleWriter,
    lines: Map<string, Set<number>>,
  ) {
    this.#symbols = symbols;
    this.#known = new Set(known);
    this.#writer = writer;
    this.#lines = lines;
  }

  async add(
    start: number,
    bytes: Uint8Array,
    time: number,
    disassembler: Disassembler,
  ): Promise<void> {
    const insns = disassembler.insns(bytes, BigInt.asUintN(64, BigInt(start)));
    const own = Float64Array.from(insns, ({ at }) => start + at);
    const called = Float64Array.from(
      new Set(
        insns.flatMap(({ target }) =>
          target === undefined || (target >= 0 && target < bytes.length) ? [] : [start + target]
        ),
      ),
    );
    for (const places of [own, called]) {
      const found = await this.#symbols.find(places, places.map(() => time));
      for (const [i, resolution] of found.entries()) {
        this.#put(floatAt(places, i), resolution);
        if (places === own) this.#note(resolution);
      }
    }
  }

  #put(address: number, resolution: Resolution): void {
    if (resolution.cause !== undefined || !Number.isSafeInteger(address)) return;
    if (this.#known.has(address)) return;
    this.#known.add(address);
    const { object, origin, segments } = this.#symbols;
    const info = { ...object, segments, origin };
    this.#writer.add(info, address, resolution);
  }

  #note({ frames }: Resolution): void {
    for (const { file, line } of frames) {
      if (file === undefined || line <= 0) continue;
      let lines = this.#lines.get(file);
      if (lines === undefined) this.#lines.set(file, lines = new Set());
      if (lines.has(line) && lines.has(line + AROUND) && lines.has(line - AROUND)) continue;
      for (let n = Math.max(1, line - AROUND); n <= line + AROUND; n++) lines.add(n);
    }
  }
}

/**
 * The text of a source file with only some lines. Other lines are empty, so that line numbers stay
 * the same.
 *
 * @example
 * ```ts
 * import { keptLines } from "@perfdata/export/code";
 * import { assertEquals } from "@std/assert";
 *
 * assertEquals(keptLines("a\nb\nc\nd\n", new Set([2, 3, 9])), "\nb\nc\n");
 * ```
 */
export function keptLines(text: string, lines: ReadonlySet<number>): string {
  const kept: string[] = [];
  let last = 0;
  for (const [i, line] of text.split("\n").entries()) {
    kept.push(lines.has(i + 1) ? line : "");
    if (lines.has(i + 1)) last = i + 1;
  }
  return kept.slice(0, last).map((line) => `${line}\n`).join("");
}
