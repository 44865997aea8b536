/** Prints what could not be decoded of Intel PT. */
import type { PtLoss } from "@perfdata/pt/decode";
import { UNVERIFIED_MARK } from "@perfdata/profile";
import { complain, type Complaints } from "./cli.ts";

/** The note if the kernel's code comes from its file, not from a memory copy. */
export const KERNEL_FILE_NOTE =
  "code of the kernel is that of its file, before it changed itself: " +
  '"perf record --kcore" copies what ran';

/**
 * Prints what could not be decoded or named.
 *
 * @param complaints Errors in the recording, whose number is printed last.
 * @returns Whether all was decoded.
 */
export function printLoss(
  tool: string,
  name: string,
  loss: PtLoss,
  complaints?: Complaints,
): boolean {
  const { untimed, unnamed, missingCode, kernelFile, undescribed, unsure, undecoded } = loss;
  const about = `${tool}: ${name}`;
  if (untimed !== undefined) complain(`${about}: no times: ${untimed}`);
  if (unnamed !== "") complain(`${about}: places without a function: ${unnamed}`);
  printUnverified(about, loss);
  if (missingCode !== "") {
    complain(`${about}: no code of ${missingCode}`);
    complain(
      `${tool}: where these files are, "perfdata symbols bundle --code" makes one of what ran; ` +
        "--symbols reads it",
    );
  }
  if (kernelFile !== undefined) complain(`${about}: ${KERNEL_FILE_NOTE}`);
  if (undescribed !== undefined) {
    complain(`${about}: who ran when is not known: the format of ${undescribed} is missing`);
  }
  if (unsure !== undefined) complain(`${about}: ${unsure}`);
  if (undecoded !== undefined) complain(`${about}: ${undecoded}`);
  complaints?.finish();
  return undecoded === undefined && (complaints?.count ?? 0) === 0;
}

/** Prints the objects whose names no build id verifies, and their share of all places. */
function printUnverified(about: string, { unverified, places }: PtLoss): void {
  const { objects, places: count } = unverified;
  if (count === 0) return;
  const more = objects.length > 3 ? ` and ${objects.length - 3} more` : "";
  complain(
    `${about}: the functions of ${count} of ${places} places ` +
      `(${(100 * count / places).toFixed(2)}%) are not verified ` +
      `(in tables "${UNVERIFIED_MARK}"): no build id recorded of ` +
      objects.slice(0, 3).join(", ") + more,
  );
}
