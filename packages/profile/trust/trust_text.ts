/** Formats the trust in the names of a recording as tables and JSON. */
import { alignedRows, visible } from "@perfdata/format/bytes";
import {
  type ObjectTrust,
  type SymbolTrust,
  type TrustCount,
  type UnwoundRow,
  unwoundRows,
  unwoundText,
} from "@perfdata/session";
import type { RecordedAddresses } from "@perfdata/session/code";
import { FETCH, mapsOf, remediesOf, remedyOf } from "./remedies.ts";
import { causesText } from "./trust_lines.ts";

/** Formats a share; `-` if the whole is 0. */
export const shareText = (part: number, whole: number): string =>
  whole === 0 ? "-" : `${(100 * part / whole).toFixed(2)}%`;

/** Formats columns. */
function columns(rows: readonly (readonly string[])[], left: ReadonlySet<number>): string {
  const lines = alignedRows(rows.map((cells) => cells.map(visible)), (column) => left.has(column));
  return lines.map((line) => `${line}\n`).join("");
}

/** Options of {@link trustText}. */
export interface TrustTextOptions {
  /** The command that downloads files by build id. */
  readonly fetch: string;
  /** Whether all periods are of one event. Those of several have no common unit. */
  readonly hasPeriods: boolean;
}

/** Shares of samples, periods and addresses with names, in total and by object; and remedies. */
export function trustText(trust: SymbolTrust, { fetch, hasPeriods }: TrustTextOptions): string {
  const { all } = trust;
  const share = (what: string, counted: TrustCount): string[] => [
    what,
    String(counted.samples),
    shareText(counted.samples, all.samples),
    ...(hasPeriods ? [shareText(counted.period, all.period)] : []),
    String(counted.addresses),
    shareText(counted.addresses, all.addresses),
  ];
  const summary = columns([
    ["", "SAMPLES", "", ...(hasPeriods ? ["PERIOD"] : []), "ADDRESSES", ""],
    share("all", all),
    share("with a function", trust.resolved),
    share("with a source line", trust.lines),
    ...(trust.unverified.addresses > 0 ? [share("not verified", trust.unverified)] : []),
    ...[...trust.unresolved].filter(([, { addresses }]) => addresses > 0).map(([cause, counted]) =>
      share(`without: ${cause}`, counted)
    ),
  ], new Set([0]));
  const objects = columns([
    ["SAMPLES", "RESOLVED", "ADDRESSES", "RESOLVED", "LINES", "OBJECT", "SYMBOLS FROM", "WITHOUT"],
    ...trust.objects.map((object) => [
      String(object.all.samples),
      shareText(object.resolved.samples, object.all.samples),
      String(object.all.addresses),
      shareText(object.resolved.addresses, object.all.addresses),
      shareText(object.lines.addresses, object.all.addresses),
      object.object?.path ?? "-",
      object.origin === undefined
        ? "-"
        : `${object.bundled ? "bundle" : object.origin}${
          object.unverified.addresses > 0 ? " (not verified)" : ""
        }`,
      causesText(object),
    ]),
  ], new Set([5, 6, 7]));
  return `${summary}\n${objects}${remediesText(trust, fetch)}`;
}

/** Limit of the objects whose searched places are listed. `--json` has all. */
const LISTED = 20;

/** Remedies with their objects, and the places that were searched for missing files. */
function remediesText(trust: SymbolTrust, fetch: string): string {
  const share = (samples: number) => shareText(samples, trust.all.samples);
  const lines = remediesOf(trust).flatMap(({ remedy, objects, samples }) => [
    `${share(samples)} of samples: ${remedy === FETCH ? fetch : remedy}`,
    ...objects.slice(0, LISTED).flatMap(({ object, all, resolved, origin, looked }) => {
      if (object === undefined) return [];
      const name = `  ${object.path} (${share(all.samples - resolved.samples)})`;
      if (origin !== undefined) return [`${name}: symbols from ${origin}`];
      if (looked.length === 0) return [name];
      return [`${name}: looked for as`, ...looked.map((path) => `    ${path}`)];
    }),
    ...(objects.length > LISTED
      ? [`  and ${objects.length - LISTED} more objects: --json has all`]
      : []),
  ]);
  return lines.length === 0 ? "" : `\nwhat helps:\n${lines.map((l) => `${visible(l)}\n`).join("")}`;
}

const byCause = (unresolved: ObjectTrust["unresolved"]) =>
  Object.fromEntries([...unresolved].filter(([, { addresses }]) => addresses > 0));

/** Results of unwinding. */
export interface UnwoundStacks {
  /** In total, by process, and by object in which stacks ended too early. */
  readonly rows: readonly UnwoundRow[];
  /** Summary in one line; empty without stack copies. */
  readonly text: string;
  /** Copied bytes of stacks. */
  readonly copied: number;
  /** Needed bytes of the copies. */
  readonly needed: number;
}

/** Results of unwinding a recording's stacks. */
export function unwoundStacks({ engine }: Pick<RecordedAddresses, "engine">): UnwoundStacks {
  const { copied = 0, needed = 0 } = engine?.unwound ?? {};
  return engine === undefined
    ? { rows: [], text: "", copied, needed }
    : { rows: unwoundRows(engine), text: unwoundText(engine, true) ?? "", copied, needed };
}

/** Table of results: in total, by process, and by object in which stacks ended too early. */
export function unwoundTable({ rows, text }: UnwoundStacks): string {
  if (rows.length === 0) return "";
  const titles = [
    "STACKS",
    "COMPLETE",
    "CUT",
    "NO CFI",
    "NO FILE",
    "DAMAGED",
    "127 FRAMES",
    "GUESSED",
  ];
  const table = columns([
    [...titles, "OF"],
    ...rows.map((row) => [
      String(row.stacks),
      ...[row.complete, row.cut, row.noInformation, row.missing, row.damaged, row.limited]
        .map((count) => shareText(count, row.stacks)),
      shareText(row.guessed, row.stacks),
      row.of === "all" ? "all stacks" : row.of === "process" ? `process ${row.name}` : row.name,
    ]),
  ], new Set([8]));
  return `\nstacks: ${text}\n\n${table}`;
}

/** Trust and results of unwinding as a JSON value. */
export function trustJson(
  trust: SymbolTrust,
  stacks: UnwoundStacks,
  hasPeriods: boolean,
): string {
  const maps = mapsOf(trust.objects);
  const json = {
    all: trust.all,
    resolved: trust.resolved,
    lines: trust.lines,
    unverified: trust.unverified,
    newest: trust.newest,
    unresolved: Object.fromEntries(trust.unresolved),
    objects: trust.objects.map((object) => ({
      path: object.object?.path ?? null,
      kind: object.object?.kind ?? null,
      build_id: object.object?.buildId ?? null,
      origin: object.origin ?? null,
      bundled: object.bundled,
      all: object.all,
      resolved: object.resolved,
      lines: object.lines,
      unverified: object.unverified,
      newest: object.newest,
      unresolved: byCause(object.unresolved),
      refused: object.refused.map(({ path, origin, reason, buildId }) => ({
        path,
        origin,
        reason,
        build_id: buildId ?? null,
      })),
      looked: object.looked,
      remedy: remedyOf(object, maps) ?? null,
      faults: object.faultCount,
    })),
    ...(stacks.rows.length === 0 ? {} : {
      stacks: { copied_bytes: stacks.copied, needed_bytes: stacks.needed, rows: stacks.rows },
    }),
  };
  const isShown = (key: string) => hasPeriods || key !== "period";
  return `${JSON.stringify(json, (key, value) => isShown(key) ? value : undefined, 2)}\n`;
}
