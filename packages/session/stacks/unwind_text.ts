import { PERF_SAMPLE_BRANCH_STACK, PERF_SAMPLE_STACK_USER } from "@perfdata/format/constants";
import { WALK_END } from "@perfdata/symbols/resolver";
import type { Engine } from "../engine/engine.ts";
import type { UnwindTally } from "./unwind_counts.ts";

/**
 * A share in percent as text; 100% and 0% are never the result of rounding.
 *
 * @example
 * ```ts
 * import { percent } from "@perfdata/session";
 * import { assertEquals } from "@std/assert";
 *
 * assertEquals([percent(1, 2), percent(1, 1e6)], ["50%", "under 0.01%"]);
 * ```
 */
export function percent(part: number, whole: number): string {
  const share = whole === 0 ? 0 : 100 * part / whole;
  if (part > 0 && share < 0.01) return "under 0.01%";
  if (part < whole && share > 99.99) return "over 99.99%";
  return `${Number(share.toFixed(share >= 10 ? 1 : 2))}%`;
}

/** Reasons why stacks ended before their start, in the order of the output. */
const REASONS: readonly (readonly [end: number, text: (engine: Engine) => string])[] = [
  [WALK_END.STACK, ({ unwound }) => {
    const { copied = 0, needed = 0 } = unwound ?? {};
    return `at the end of the ${copied} bytes that were copied of the stack` +
      (needed > 65528
        ? ` (the deepest has ${needed}; --call-graph dwarf,65528 is the most that can be copied)`
        : ` (--call-graph dwarf,${Math.ceil(needed / 8) * 8} would have copied enough)`);
  }],
  [WALK_END.NO_CFI, () => "in code without call frame information"],
  [WALK_END.NO_OBJECT, () => "in files that are missing or of another build"],
  [WALK_END.NOT_MAPPED, () => "where nothing is mapped"],
  [WALK_END.DAMAGED, () => "by damage"],
  [WALK_END.CYCLE, () => "in circles"],
  [WALK_END.LIMIT, () => "after 127 frames"],
];

/**
 * A line about incompletely unwound stacks; `undefined` if nothing was unwound or nearly all stacks
 * are complete.
 *
 * @param all Whether to return a line even if all stacks are complete.
 *
 * @example
 * ```ts
 * import { Engine, unwoundText } from "@perfdata/session";
 * import { bytesSource, PerfDataReader } from "@perfdata/format";
 * import { assertEquals } from "@std/assert";
 *
 * const pipe = new Uint8Array(16);
 * pipe.set(new TextEncoder().encode("PERFILE2"));
 * pipe.set([16], 8);
 * const engine = new Engine(await PerfDataReader.open(bytesSource(pipe)));
 * assertEquals(unwoundText(engine), undefined);
 * ```
 */
export function unwoundText(engine: Engine, all: boolean = false): string | undefined {
  const { unwound, unjoined, unstitched } = engine;
  if (unstitched) {
    return "--stitch-lbr changes nothing: it needs samples with call stacks in branch records " +
      "(perf record --call-graph lbr), the index of their newest (hw_idx), and the number of a " +
      "processor's branch registers (CPU_PMU_CAPS)";
  }
  if (unjoined > 0) {
    return `${unjoined} samples have no user callers: the records that were to bring them ` +
      `(CALLCHAIN_DEFERRED) are not there`;
  }
  if (unwound === undefined) return undefined;
  const { stacks, guessed } = unwound.all;
  const { otherMachine } = unwound;
  if (stacks === 0) {
    return otherMachine === 0
      ? undefined
      : `no stack was unwound: registers of a machine that is not known`;
  }
  const complete = unwound.all.ends[WALK_END.START] as number;
  if (!all && complete >= 0.99 * stacks && guessed <= 0.01 * stacks && otherMachine === 0) {
    return undefined;
  }
  const parts = [
    `${percent(complete, stacks)} of ${stacks} stacks reach the start of their thread`,
  ];
  const ends = REASONS.filter(([end]) => (unwound.all.ends[end] as number) > 0)
    .map(([end, text]) => ({ count: unwound.all.ends[end] as number, text: text(engine) }))
    .sort((a, b) => b.count - a.count)
    .map(({ count, text }) => `${percent(count, stacks)} end ${text}`);
  parts.push(...ends);
  const worst = worstObject(engine);
  if (worst !== undefined) parts.push(worst);
  if (guessed > 0) {
    parts.push(`${percent(guessed, stacks)} have frames that are guessed from the frame pointer`);
  }
  return parts.join("; ");
}

/** The object, without unwinding information or missing, in which most stacks end. */
function worstObject({ unwound, places }: Engine): string | undefined {
  let name = "", most = 0;
  for (const [object, { ends }] of unwound?.objects ?? []) {
    const count = (ends[WALK_END.NO_CFI] as number) + (ends[WALK_END.NO_OBJECT] as number);
    if (count <= most || object < 0) continue;
    most = count;
    name = places.objects[object]?.path ?? "";
  }
  return most === 0 ? undefined : `most of these in ${name}`;
}

/** One row of {@linkcode unwoundRows}. */
export interface UnwoundRow {
  /** `all`, `process` or `object`. */
  readonly of: "all" | "process" | "object";
  /** Process id, or path of the object in which the stacks ended; empty for all. */
  readonly name: string;
  /** Stacks that were unwound. */
  readonly stacks: number;
  /** Stacks that reached the start of their thread. */
  readonly complete: number;
  /** Stacks that ended at the end of the copy. */
  readonly cut: number;
  /** Stacks that ended in code without call frame information. */
  readonly noInformation: number;
  /** Stacks that ended in an object whose file is missing or of another build. */
  readonly missing: number;
  /** Stacks that ended at unmapped addresses, in loops, or in damaged information. */
  readonly damaged: number;
  /** Stacks with the maximum number of frames. */
  readonly limited: number;
  /** Stacks with frames that were guessed from the frame pointer. */
  readonly guessed: number;
}

function row(
  of: UnwoundRow["of"],
  name: string,
  { stacks, ends, guessed }: UnwindTally,
): UnwoundRow {
  const at = (...wanted: number[]) => wanted.reduce((sum, end) => sum + (ends[end] as number), 0);
  return {
    of,
    name,
    stacks,
    complete: at(WALK_END.START),
    cut: at(WALK_END.STACK),
    noInformation: at(WALK_END.NO_CFI),
    missing: at(WALK_END.NO_OBJECT),
    damaged: at(WALK_END.NOT_MAPPED, WALK_END.CYCLE, WALK_END.DAMAGED),
    limited: at(WALK_END.LIMIT),
    guessed,
  };
}

/**
 * Counts of unwound stacks: in total, by process, and by the object in which stacks ended before
 * their start; most stacks first. Empty if nothing was unwound.
 */
export function unwoundRows({ unwound, places }: Engine): UnwoundRow[] {
  if (unwound === undefined || unwound.all.stacks === 0) return [];
  const sorted = (rows: UnwoundRow[]) =>
    rows.sort((a, b) => b.stacks - a.stacks || (a.name < b.name ? -1 : 1));
  return [
    row("all", "", unwound.all),
    ...sorted([...unwound.processes].map(([pid, tally]) => row("process", String(pid), tally))),
    ...sorted(
      [...unwound.objects].map(([object, tally]) =>
        row("object", places.objects[object]?.path ?? "[unknown]", tally)
      ),
    ),
  ];
}

/**
 * A line about stacks that are incomplete, or that were not recorded, with the command to record
 * them.
 *
 * @param engine The engine after reading the recording.
 * @param all Also if nearly all copied stacks are complete.
 */
export function stacksText(engine: Engine, all: boolean = false): string | undefined {
  return unwoundText(engine, all) ?? noStacksText(engine);
}

/**
 * A line about requested stacks that were not recorded; `undefined` if any event has stacks.
 */
function noStacksText({ reader }: Engine): string | undefined {
  const some = PERF_SAMPLE_BRANCH_STACK | PERF_SAMPLE_STACK_USER;
  const recorded = reader.events.all.some(({ layout, hasChain }) =>
    hasChain || (layout.sampleType & some) !== 0
  );
  return recorded
    ? undefined
    : "no stacks were recorded; perf record -g, or --call-graph dwarf where programs have no frame pointers";
}
