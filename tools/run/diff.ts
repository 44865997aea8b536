/** Runs `diff`. */
import { chooseEvent, type Profile, shortNames } from "@perfdata/profile";
import { type Diff, diff, type DiffChange, type DiffMeasure } from "@perfdata/export/tree";
import {
  aboutAsync,
  complain,
  InputError,
  parseWord,
  readyOutput,
  UsageError,
  writeLine,
  writeOut,
} from "../shared/cli.ts";
import type { FlagsOf } from "../shared/flag_table.ts";
import { chosenEvent, readProfile, writeChunks } from "../shared/open_profile.ts";
import { parseWeight } from "../shared/weight.ts";
import { writeRow } from "../shared/styled.ts";
import { parseCount } from "../shared/record_flags.ts";
import type { FLAGS } from "../diff.ts";

type DiffFlags = FlagsOf<typeof FLAGS>;

export async function run(flags: DiffFlags): Promise<number> {
  const { on, value, operands } = flags;
  readyOutput(value.output, { force: on.force, temp: value.temp });
  const by = parseWord("by", value.by, ["total", "samples", "time", "period"]) ?? "total";
  const limit = parseCount("limit", value.limit) ?? 30;
  const bound = /^(\d+(?:\.\d+)?)%?$/.exec(value["fail-above"] ?? "0");
  if (bound === null) {
    throw new UsageError(`--fail-above is ${value["fail-above"]}, expected a number such as 5%`);
  }
  const sides = sidesOf(operands);
  let isWhole = true;
  let isImported = false;
  const read: Profile[][] = [];
  for (const names of sides) {
    const profiles: Profile[] = [];
    for (const name of names) {
      const found = await aboutAsync(
        name,
        () =>
          readProfile("diff", name, flags, {
            weight: parseWeight(value.weight),
            itrace: value.itrace,
            timed: value.output?.endsWith(".html") === true,
            debugInformation: true,
          }),
      );
      isWhole &&= found.isWhole;
      isImported ||= found.isImported === true;
      profiles.push(found.profile);
    }
    read.push(profiles);
  }
  const [first] = read[0] ?? [];
  if (first === undefined) return 1;
  const chosen = chosenEvent("diff", sides[0]?.[0] ?? "", { profile: first, wanted: value.event });
  const event = chosen.profile.events[chosen.event]?.name ?? "";
  const [before = [], after = []] = isImported
    ? await comparableSides(sides, read, event)
    : read.map((profiles) =>
      profiles.map((profile) => chooseEvent(profile, event)?.profile ?? profile)
    );
  if (by === "time" && read.flat().some(({ span }) => span === undefined || span[0] === span[1])) {
    throw new InputError("--by time: there are recordings without times");
  }
  const found = compare(before, after, {
    event,
    by,
    inline: on.inline,
    children: on.children,
    paths: on.paths,
    same: samePairs(value.same),
  });
  for (const { before, after, by } of found.same) {
    const why = by === "named"
      ? "--same"
      : by === "build id"
      ? "the same build"
      : "the only program";
    complain(`diff: ${before} and ${after} are compared as one: ${why}`);
  }
  if (on.json) writeJson(found, event);
  else {writeTable(found, {
      event,
      by,
      limit,
      all: on.all,
      paths: on.paths,
      isLong: on.children,
      fullNames: on["full-names"],
    });}
  if (value.output !== undefined) await writeFlame(value.output, on.force, before, after, event);
  if (value["fail-above"] !== undefined) {
    const most = Number(bound[1]) / 100;
    const grown = found.rows.filter(({ change, isSignificant }) => isSignificant && change > most);
    for (const { name, change } of grown.slice(0, 5)) {
      complain(`diff: ${name} grew by ${percent(change)} of the base`);
    }
    const all = found.whole?.isSignificant === true && found.change > most;
    if (all) complain(`diff: all together grew by ${percent(found.change)}`);
    if (grown.length > 0 || all) return 1;
  }
  return isWhole ? 0 : 1;
}

/** Makes profiles comparable if some come from other tools. Prints one line for each adjustment. */
async function comparableSides(
  sides: readonly (readonly string[])[],
  read: readonly (readonly Profile[])[],
  event: string,
): Promise<Profile[][]> {
  const { comparable } = await import("@perfdata/profile");
  const { profiles, events, byNameAlone } = comparable(read.flat(), event);
  for (const [i, name] of sides.flat().entries()) {
    const own = events[i];
    if (own !== undefined) complain(`diff: ${name}: ${own} is compared as ${event}`);
  }
  if (byNameAlone) complain("diff: functions are compared by name alone: one side has no objects");
  const count = read[0]?.length ?? 0;
  return [profiles.slice(0, count), profiles.slice(count)];
}

/** Splits operands into the two sides: two files, or the files before and after the word `vs`. */
function sidesOf(operands: readonly string[]): readonly (readonly string[])[] {
  const at = operands.indexOf("vs");
  if (at < 0) {
    if (operands.length === 2) return operands.map((name) => [name]);
    throw new UsageError(`expected two files, or BASE… vs FILE…, not ${operands.length}`);
  }
  const sides = [operands.slice(0, at), operands.slice(at + 1)];
  if (sides.some((side) => side.length === 0)) throw new UsageError("a side of vs has no file");
  return sides;
}

/** Parses `--same`: pairs of objects `OLD=NEW,…`. */
function samePairs(text: string | undefined): Map<string, string> {
  return new Map(
    (text ?? "").split(",").filter((pair) => pair !== "").map((pair) => {
      const at = pair.indexOf("=");
      if (at < 1 || at === pair.length - 1) {
        throw new UsageError(`--same is ${pair}, expected OLD=NEW: names of two objects`);
      }
      return [pair.slice(0, at), pair.slice(at + 1)];
    }),
  );
}

function compare(...args: Parameters<typeof diff>): Diff {
  try {
    return diff(...args);
  } catch (error) {
    if (error instanceof RangeError) throw new InputError(error.message, { cause: error });
    throw error;
  }
}

function writeJson(found: Diff, event: string): void {
  const { rows, before, after, change, whole, isRepeated } = found;
  const head = { event, before, after, change, repeated: isRepeated };
  const { isSignificant: significant, ...tested } = whole ?? { isSignificant: undefined };
  writeOut(JSON.stringify({ ...head, ...tested, significant }) + "\n");
  for (const { isSignificant, ...row } of rows) {
    writeOut(JSON.stringify({ event, ...row, significant: isSignificant }) + "\n");
  }
}

interface TableOptions {
  readonly event: string;
  readonly by: DiffMeasure;
  readonly limit: number;
  readonly all: boolean;
  readonly paths: boolean;
  readonly isLong: boolean;
  /** Whether names are printed in full on a terminal. */
  readonly fullNames: boolean;
}

function interval([low, high]: DiffChange["interval"]): string {
  return `${percent(low)}…${percent(high)}`;
}

function percent(share: number): string {
  return `${share < 0 ? "-" : "+"}${(Math.abs(share) * 100).toFixed(2)}%`;
}

function writeTable(found: Diff, { event, by, limit, all, paths, fullNames }: TableOptions): void {
  const { before, after, rows, isRepeated } = found;
  const isRate = by === "time" || by === "period";
  const rate = (value: number) => isRate ? value.toPrecision(4) : `${(value * 100).toFixed(2)}%`;
  const total = found.whole === undefined
    ? ""
    : `, ${rate(before.value)} → ${rate(after.value)} a ` +
      `${by === "time" ? "second" : "recording"} ` +
      `(${percent(found.change)}, 95%: ${interval(found.whole.interval)})`;
  writeLine(`${event}: ${before.samples} → ${after.samples} samples${total}`);
  const shown = rows.filter((row) => all || row.isSignificant);
  const lines = [[
    "BEFORE",
    "AFTER",
    "CHANGE",
    "95% INTERVAL",
    "CHANCE",
    "OBJECT",
  ]];
  for (const row of shown.slice(0, limit)) {
    lines.push([
      rate(row.before.value),
      rate(row.after.value),
      percent(row.change),
      interval(row.interval),
      chanceText(row),
      row.object,
    ]);
  }
  const widths = (lines[0] ?? []).map((_, column) =>
    Math.max(...lines.map((line) => line[column]?.length ?? 0))
  );
  const notes = shown.map(({ note }) => note === "" ? "" : `  (${note})`);
  const whole = shown.map((row) => paths ? (row.path ?? []).join(";") : row.name);
  const room = nameRoom(widths.reduce((sum, width) => sum + width + 2, 0)) -
    Math.max(0, ...notes.map(({ length }) => length));
  const names = fullNames || room < LEAST_NAME ? whole : shortNames(whole, room);
  for (const [i, line] of lines.entries()) {
    const what = i === 0 ? paths ? "PATH" : "FUNCTION" : `${names[i - 1]}${notes[i - 1]}`;
    const cells = line.map((cell, column) =>
      column === line.length - 1
        ? cell.padEnd(widths[column] ?? 0)
        : cell.padStart(widths[column] ?? 0)
    );
    writeRow(`${cells.join("  ")}  ${what}`);
  }
  const significant = rows.filter(({ isSignificant }) => isSignificant).length;
  const [strongest] = rows;
  if (shown.length === 0 && strongest !== undefined) {
    writeLine(
      `the largest difference: ${strongest.name} of ${strongest.object}, ` +
        `${percent(strongest.change)} (95%: ${interval(strongest.interval)})`,
    );
  }
  if (shown.length > limit) writeLine(`and ${shown.length - limit} more: --limit`);
  writeLine(
    `${significant} of ${rows.length} ${paths ? "paths" : "functions"} changed by more than chance`,
  );
  if (!isRepeated) {
    writeLine(
      "one recording a side shows large changes only; several show more: diff OLD… vs NEW… --by period",
    );
  }
}

/** The least width of names in characters. If the terminal is narrower, lines wrap instead. */
const LEAST_NAME = 16;

/** Terminal columns left for names; `Infinity` if standard output is not a terminal. */
function nameRoom(before: number): number {
  return Deno.stdout.isTerminal() ? Deno.consoleSize().columns - before : Infinity;
}

function chanceText({ chance, isSignificant }: DiffChange): string {
  return (chance < 0.0001 ? "<0.0001" : chance.toFixed(4)) + (isSignificant ? " *" : "  ");
}

async function writeFlame(
  output: string,
  force: boolean,
  before: readonly Profile[],
  after: readonly Profile[],
  event: string,
): Promise<void> {
  const { flameData, flamePage, flameSvg } = await import("@perfdata/export/tree");
  const data = flameData([...before, ...after], { base: before.length });
  const number = data.events.findIndex(({ name }) => name === event);
  const text = output.endsWith(".svg")
    ? flameSvg(data, { selection: { event: number } })
    : await flamePage(data, (await import("@perfdata/page")).VIEW_PARTS);
  const bytes = await writeChunks(output, force, [new TextEncoder().encode(text)]);
  if (output !== "-") complain(`diff: ${output}: ${bytes} bytes`);
}
