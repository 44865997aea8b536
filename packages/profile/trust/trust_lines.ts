/** Formats the trust in names as lines for messages. */
import { UNVERIFIED_MARK } from "../columns/profile.ts";
import type { SymbolTrust } from "@perfdata/session";
import { CONTESTED_MAP } from "@perfdata/symbols/resolver";
import { remedyText } from "./remedies.ts";

/** Refused files with the reason, and errors in used files, each once. */
export function refusedLines({ objects }: SymbolTrust): string[] {
  const lines: string[] = [];
  for (const { refused, faults, faultCount, object } of objects) {
    for (const { path, reason, buildId } of refused) {
      const has = buildId === undefined
        ? ""
        : ` (it is ${buildId}, recorded was ${object?.buildId ?? "none"})`;
      lines.push(`${path}: not used: ${reason}${has}`);
    }
    lines.push(...faults.map((fault) => `${object?.path}: ${fault}`));
    if (faultCount > faults.length) {
      lines.push(`${object?.path}: and ${faultCount - faults.length} more of this kind`);
    }
  }
  return [...new Set(lines)];
}

/** Reasons for addresses without a function, most frequent first: `file missing (12), JIT (3)`. */
export function causesText({ unresolved }: Pick<SymbolTrust, "unresolved">): string {
  return [...unresolved].filter(([, { addresses }]) => addresses > 0)
    .sort(([, a], [, b]) => b.addresses - a.addresses)
    .map(([cause, { addresses }]) => `${cause} (${addresses})`).join(", ");
}

/** Options of {@link trustLines}. */
export interface TrustLinesOptions {
  /** Whether to list objects with their counts of functions, and refused files. */
  readonly verbose: boolean;
  /** Unit of the shares; default samples. */
  readonly counted?: string | undefined;
}

/**
 * Lines about addresses without a function, preceded by misleading files and unverified names.
 * Empty if no names were looked up.
 */
export function trustLines(
  trust: SymbolTrust | undefined,
  options: TrustLinesOptions,
): string[] {
  if (trust === undefined) return [];
  const { verbose, counted = "samples" } = options;
  const { all, resolved } = trust;
  const lines = [
    ...(verbose ? verboseLines(trust, counted) : misleadingLines(trust, counted)),
    ...unverifiedLines(trust, counted),
  ];
  if (resolved.addresses < all.addresses) {
    lines.push(
      `${resolved.addresses} of ${all.addresses} addresses (${
        share(resolved.samples, trust)
      } of ${counted}) have ` +
        `a function; without: ${causesText(trust)}${remedyText(trust)}` +
        `${verbose ? "" : "; --verbose says more"}`,
    );
  }
  return lines;
}

function verboseLines(trust: SymbolTrust, counted: string): string[] {
  const objects = trust.objects.filter(({ all, resolved }) => resolved.addresses < all.addresses);
  return [
    ...refusedLines(trust),
    ...objects.map(({ object, all, resolved, ...counts }) =>
      `${object?.path ?? "no object"}: ${resolved.addresses} of ${all.addresses} ` +
      `addresses have a function; without: ${causesText(counts)}`
    ),
    ...newestLines(trust, counted),
  ];
}

/**
 * Misleading files: too large ones, whose names and lines are incomplete, perf maps that name an
 * address several times, and jitdump files with another clock.
 */
export function misleadingLines(trust: SymbolTrust, counted = "samples"): string[] {
  const misleading = trust.objects.flatMap(({ object, faults }) =>
    ["too large", CONTESTED_MAP].flatMap((part) => {
      const fault = faults.find((message) => message.includes(part));
      return fault === undefined ? [] : [`${object?.path}: ${fault}`];
    })
  );
  return [...newestLines(trust, counted), ...misleading];
}

/** Share of the samples with the name of the newest JIT-compiled code at their address. */
function newestLines(trust: SymbolTrust, counted: string): string[] {
  const { newest } = trust;
  return newest.addresses === 0 ? [] : [
    `${
      share(newest.samples, trust)
    } of ${counted} have the name of the newest JIT code at a reused address; ` +
    "record with perf record -k mono",
  ];
}

/** Objects with unverified names, which tables mark, and the share of their samples. */
export function unverifiedLines(trust: SymbolTrust, counted = "samples"): string[] {
  const { unverified, objects } = trust;
  if (unverified.addresses === 0) return [];
  const names = objects.filter((object) => object.unverified.addresses > 0)
    .map(({ object }) => object?.path ?? "?");
  const more = names.length > 3 ? ` and ${names.length - 3} more` : "";
  return [
    `the functions of ${unverified.addresses} addresses (${
      share(unverified.samples, trust)
    } of ${counted}) are ` +
    `not verified (in tables "${UNVERIFIED_MARK}"): no build id recorded of ${
      names.slice(0, 3).join(", ")
    }${more}`,
  ];
}

const share = (samples: number, { all }: SymbolTrust): string =>
  `${(100 * samples / all.samples).toFixed(2)}%`;
