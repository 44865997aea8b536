/** Messages of `records --symbols` and `--unwind`; loaded only for these flags. */
import { type Engine, stacksText } from "@perfdata/session";
import type { FilePlaceSymbols } from "@perfdata/session/symbols";
import { complain } from "./cli.ts";

/**
 * Reports addresses without name, and the results of unwinding.
 *
 * @param file The recording.
 * @param unwinds The engine, if stacks were unwound.
 */
export function reportLookUps(
  file: string,
  names: FilePlaceSymbols<Engine> | undefined,
  unwinds: Engine | undefined,
): void {
  const prefix = `records: ${file}`;
  if (names !== undefined) reportNames(prefix, names);
  const stacks = unwinds && stacksText(unwinds);
  if (stacks !== undefined) complain(`${prefix}: ${stacks}`);
}

function reportNames(prefix: string, names: FilePlaceSymbols<Engine>): void {
  const { addresses, unnamed, unverified, newest } = names;
  const count = [...unnamed.values()].reduce((sum, some) => sum + some, 0);
  if (count > 0) {
    const causes = [...unnamed].sort(([, a], [, b]) => b - a).map(([cause, some]) =>
      `${cause} (${some})`
    );
    complain(
      `${prefix}: ${addresses - count} of ${addresses} addresses have a function; without: ` +
        causes.join(", "),
    );
  }
  for (const [path, fault] of names.faults()) {
    if (fault.includes("too large")) complain(`records: ${path}: ${fault}`);
  }
  if (newest > 0) {
    complain(
      `records: ${newest} of ${addresses} addresses have the name of the newest JIT code there; ` +
        `record with perf record -k mono`,
    );
  }
  if (unverified > 0) {
    complain(
      `${prefix}: ${unverified} of ${addresses} addresses have a function of a file that nothing ` +
        `verifies ("verified":false)`,
    );
  }
}
