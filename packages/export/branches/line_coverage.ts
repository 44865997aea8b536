import { floatAt, intAt, uintAt } from "@perfdata/format/bytes";
import type { DwarfContext, FrameBatch } from "@perfdata/symbols/dwarf";
import type { ElfFile } from "@perfdata/symbols";
import type { BinaryBranches } from "./branch_profile.ts";
import { CodeSteps } from "./code_steps.ts";
import { straightRanges } from "./sample_profile.ts";

/** Conditional branches of a line, and how often each of both ways was taken. */
export interface BranchCoverage {
  /** Address of the instruction. */
  readonly address: number;
  /** Number of times that it ran. */
  readonly count: number;
  /** Number of times that it jumped. */
  readonly taken: number;
}

/** Coverage of a function. */
export interface FunctionCoverage {
  /** First line with code. */
  line: number;
  /** Number of times that it was entered. */
  count: number;
}

/** Coverage of a source file. */
export interface FileCoverage {
  /** Number of times that each line with code ran. */
  readonly lines: Map<number, number>;
  /** Functions by name. */
  readonly functions: Map<string, FunctionCoverage>;
  /** Conditional branches by line. */
  readonly branches: Map<number, BranchCoverage[]>;
}

/** Coverage of a binary: its source files by path. */
export interface LineCoverage {
  /** The files. */
  readonly files: ReadonlyMap<string, FileCoverage>;
  /** Share of the executed instructions that have a line. */
  readonly withLine: number;
}

/** The debug information that coverage needs. */
export type CoverageDwarf = Pick<
  DwarfContext,
  "codeLines" | "findAll" | "functionName" | "functionRanges"
>;

/**
 * Counts how often lines, functions and conditional branches of a binary ran. Lines of the whole
 * binary are listed, those that did not run with the count 0.
 *
 * The count of a line is that of its most frequent instruction. Where a line was inlined at several
 * places, or into several functions, their counts are added.
 *
 * @param elf The binary, whose code is read.
 * @param dwarf Its debug information.
 */
export function lineCoverage(
  { branches, ranges }: BinaryBranches,
  elf: ElfFile,
  dwarf: CoverageDwarf,
): LineCoverage {
  const steps = new CodeSteps(elf);
  const executed = executions(straightRanges(ranges, steps), steps);
  const taken = new Map<number, number>();
  for (const { from, taken: times } of branches) taken.set(from, (taken.get(from) ?? 0) + times);
  const files = new Map<string, FileCoverage>();
  const ran: { path: string; line: number; address: number; count: number }[] = [];
  const lineAt = new Map<number, { file: FileCoverage; line: number }>();
  const starts: number[] = [];
  let withLine = 0;
  for (const { low, high, line: lines, file: fileOf, files: paths } of dwarf.codeLines()) {
    // Code that the linker dropped is at address 0 or outside of the segments.
    const start = low.find((address) => steps.hasCode(address));
    if (start !== undefined) starts.push(start);
    for (const [row, first] of low.entries()) {
      if (!steps.hasCode(first)) continue;
      const path = paths[fileOf[row] ?? -1] ?? "";
      let file = files.get(path);
      if (file === undefined) {
        files.set(path, file = { lines: new Map(), functions: new Map(), branches: new Map() });
      }
      const line = lines[row] ?? 0;
      lineAt.set(first, { file, line });
      if (!file.lines.has(line)) file.lines.set(line, 0);
      let most = 0;
      let address = first;
      for (let at = first; at < (high[row] ?? 0);) {
        const size = steps.step(at);
        if (size === 0) break;
        const count = executed.get(at) ?? 0;
        if (count > 0) withLine++;
        if (count > most) [most, address] = [count, at];
        if (steps.isConditional) {
          const ofLine = file.branches.get(line);
          const branch = { address: at, count, taken: taken.get(at) ?? 0 };
          if (ofLine === undefined) file.branches.set(line, [branch]);
          else ofLine.push(branch);
        }
        at += size;
      }
      if (most > 0) ran.push({ path, line, address, count: most });
    }
  }
  const frames = dwarf.findAll(Float64Array.from(ran, ({ address }) => address), {
    names: "linkage",
  });
  const functions = dwarf.functionRanges(Float64Array.from(starts));
  const instances = new Map<string, number>();
  for (const [i, { path, line, count }] of ran.entries()) {
    const instance = `${path}:${line} ${callersOf(frames, i)}`;
    const known = instances.get(instance) ?? 0;
    if (count <= known) continue;
    instances.set(instance, count);
    const lines = files.get(path)?.lines;
    lines?.set(line, (lines.get(line) ?? 0) + count - known);
  }
  for (let i = 0; i < functions.low.length; i++) {
    const first = floatAt(functions.low, i);
    const place = lineAt.get(first);
    const name = dwarf.functionName(intAt(functions.function, i));
    const shown = name?.linkageName ?? name?.function;
    if (place === undefined || shown === undefined) continue;
    const count = executed.get(first) ?? 0;
    const known = place.file.functions.get(shown);
    if (known === undefined) place.file.functions.set(shown, { line: place.line, count });
    else {
      // A part that the compiler moved elsewhere runs at most as often as its function.
      known.line = Math.min(known.line, place.line);
      known.count = Math.max(known.count, count);
    }
  }
  return { files, withLine: executed.size === 0 ? 0 : Math.min(1, withLine / executed.size) };
}

function executions(
  ranges: ReturnType<typeof straightRanges>,
  steps: CodeSteps,
): Map<number, number> {
  const executed = new Map<number, number>();
  for (const { from, to, count } of ranges) {
    for (let at = from; at <= to;) {
      executed.set(at, (executed.get(at) ?? 0) + count);
      const size = steps.step(at);
      if (size === 0) break;
      at += size;
    }
  }
  return executed;
}

/** The function of an address, and the calls by which it was inlined there. */
function callersOf(frames: FrameBatch, number: number): string {
  const first = uintAt(frames.first, number);
  let text = "";
  for (let i = first; i < first + uintAt(frames.count, number); i++) {
    text += i === first
      ? `${intAt(frames.function, i)}`
      : ` ${intAt(frames.function, i)}:${intAt(frames.line, i)}`;
  }
  return text;
}

/**
 * The lines of a tracefile of lcov (geninfo(1)): `SF`, `FN`, `FNDA`, `BRDA` and `DA`, for genhtml,
 * codecov and editors. The two ways of a conditional branch are 0, jumped, and 1, continued; of one
 * that did not run they are `-`.
 *
 * @example
 * ```ts
 * import { lcov } from "@perfdata/export";
 * import { assertEquals } from "@std/assert";
 *
 * const file = {
 *   lines: new Map([[3, 7], [4, 0]]),
 *   functions: new Map([["main", { line: 3, count: 1 }]]),
 *   branches: new Map([[3, [{ address: 0x1000, count: 7, taken: 7 }]]]),
 * };
 * const [text] = lcov({ files: new Map([["/a.c", file]]), withLine: 1 });
 * assertEquals(new TextDecoder().decode(text).split("\n").slice(0, 5), [
 *   "TN:",
 *   "SF:/a.c",
 *   "FN:3,main",
 *   "FNDA:1,main",
 *   "FNF:1",
 * ]);
 * ```
 */
export function* lcov({ files }: LineCoverage): Generator<Uint8Array<ArrayBuffer>, void, void> {
  const encoder = new TextEncoder();
  const paths = [...files.keys()].sort();
  for (const path of paths) {
    yield encoder.encode(lcovFile(path, files.get(path) as FileCoverage));
  }
}

function lcovFile(path: string, { lines, functions, branches }: FileCoverage): string {
  const text = ["TN:", `SF:${path}`];
  const named = [...functions].sort(([a, { line: x }], [b, { line: y }]) =>
    x - y || (a < b ? -1 : 1)
  );
  for (const [name, { line }] of named) text.push(`FN:${line},${name}`);
  for (const [name, { count }] of named) text.push(`FNDA:${count},${name}`);
  const hit = (counts: Iterable<number>) => [...counts].filter((count) => count > 0).length;
  text.push(`FNF:${named.length}`, `FNH:${hit(named.map(([, { count }]) => count))}`);
  const ways: number[] = [];
  for (const [line, ofLine] of [...branches].sort(([a], [b]) => a - b)) {
    for (const [block, { count, taken }] of ofLine.entries()) {
      const jumped = Math.min(taken, count);
      for (const [way, times] of [jumped, count - jumped].entries()) {
        text.push(`BRDA:${line},${block},${way},${count === 0 ? "-" : times}`);
        ways.push(times);
      }
    }
  }
  text.push(`BRF:${ways.length}`, `BRH:${hit(ways)}`);
  for (const [line, count] of [...lines].sort(([a], [b]) => a - b)) {
    text.push(`DA:${line},${count}`);
  }
  text.push(`LF:${lines.size}`, `LH:${hit(lines.values())}`, "end_of_record");
  return text.join("\n") + "\n";
}
