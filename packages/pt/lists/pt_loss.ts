import { missingCode, type PtNames } from "../code/pt_names.ts";
import type { PtTrace } from "../code/pt_trace.ts";
import type { PtCounts } from "../decode/pt_counts.ts";
import { lossText, unsureText } from "./pt_text.ts";

/** The parts of a trace that could not be decoded or named. */
export interface PtLoss {
  /** Reason why there are no times; `undefined` if there are times, or if none were wanted. */
  readonly untimed: string | undefined;
  /** Reasons why places have no function, with the number of places: `file missing (12)`. */
  readonly unnamed: string;
  /** Number of places whose function is not verified, and their objects' paths. */
  readonly unverified: { readonly places: number; readonly objects: readonly string[] };
  /** Number of places that were executed. */
  readonly places: number;
  /** Objects with missing code, with reasons; empty if no code is missing. */
  readonly missingCode: string;
  /** The file that the kernel's code is from, before the kernel changed itself. */
  readonly kernelFile: string | undefined;
  /** The tracepoint of context switches, if its format is missing: threads are then unknown. */
  readonly undescribed: string | undefined;
  /** Description of instructions that may be of another thread. */
  readonly unsure: string | undefined;
  /** Description of AUX data that was not decoded; `undefined` if all was decoded. */
  readonly undecoded: string | undefined;
}

/**
 * The loss of a decoded trace.
 *
 * @param counts Figures of decoding.
 * @param names Names of its places, if they were looked up.
 * @param timeless Whether times are not wanted.
 */
export function ptLoss(
  counts: PtCounts,
  { code, clock, sideband }: Pick<PtTrace, "code" | "clock" | "sideband">,
  names: PtNames | undefined,
  timeless: boolean = false,
): PtLoss {
  const paths = names?.unverified ?? [];
  return {
    untimed: timeless || clock.known ? undefined : clock.why,
    unnamed: names?.causes() ?? "",
    unverified: { places: paths.length, objects: [...new Set(paths)].sort() },
    places: names?.count ?? 0,
    missingCode: missingCode(code),
    kernelFile: code.kernelFile,
    undescribed: sideband.undescribed[0],
    unsure: unsureText(counts),
    undecoded: lossText(counts),
  };
}
