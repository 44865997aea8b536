/** `records --symbols` and `--unwind`; loaded only for these flags. */
import { type Engine, noStacksText, unwoundText } from "@perfdata/session";
import { FilePlaceSymbols } from "@perfdata/session/symbols";
import type { SymbolResolver } from "@perfdata/symbols";
import { complain } from "./cli.ts";
import { SYMBOL_FLAGS } from "./flag_sets.ts";
import type { FlagsOf } from "./flag_table.ts";
import { resolverOf } from "./symbol_flags.ts";

type RecordFlags = FlagsOf<typeof SYMBOL_FLAGS & Record<"--inline" | "--srcline", string>>;

/** Looks up names and code on this machine, or in a bundle if one is named. */
export class RecordLookUps {
  readonly #flags: RecordFlags;
  readonly #file: string;
  #resolver: Promise<SymbolResolver> | undefined;
  readonly names: FilePlaceSymbols<Engine>;

  /**
   * @param flags Flags that locate symbols.
   * @param file The recording.
   */
  constructor(flags: RecordFlags, file: string) {
    this.#flags = flags;
    this.#file = file;
    this.names = new FilePlaceSymbols(this.resolverFor);
  }

  /** Opens the resolver for `runEngine`. */
  readonly resolverFor = ({ recorded }: Engine): Promise<SymbolResolver> => {
    const flags = this.#flags;
    return this.#resolver ??= resolverOf(
      flags,
      this.#file,
      {
        machine: recorded,
        parameters: false,
        debugInformation: flags.on.inline || flags.on.srcline,
      },
    );
  };

  /** Reports addresses without name, and the results of unwinding. */
  report(engine: Engine, unwinds: boolean): void {
    const { addresses, unnamed, unverified, newest } = this.names;
    const count = [...unnamed.values()].reduce((sum, some) => sum + some, 0);
    const prefix = `records: ${this.#file}`;
    if (count > 0) {
      const causes = [...unnamed].sort(([, a], [, b]) => b - a).map(([cause, some]) =>
        `${cause} (${some})`
      );
      complain(
        `${prefix}: ${addresses - count} of ${addresses} addresses have a function; without: ` +
          causes.join(", "),
      );
    }
    for (const [path, fault] of this.names.faults()) {
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
    if (!unwinds) return;
    const stacks = unwoundText(engine) ?? noStacksText(engine);
    if (stacks !== undefined) complain(`${prefix}: ${stacks}`);
  }
}
