import type { PerfDataReader } from "@perfdata/format/records";
import type { SymbolObject } from "@perfdata/symbols/resolver";
import { ADDRESS_USE, type AddressTable, PlaceUses } from "./address_table.ts";
import type { Consumer } from "../engine/engine_consumer.ts";
import type { Engine } from "../engine/engine.ts";
import type { EngineOptions } from "../engine/engine_options.ts";
import { runEngine } from "../reading/run_engine.ts";
import { CHOSEN, type Run } from "../order/run.ts";

/** Selects addresses of a recording. */
export interface RecordedAddresses {
  /** The objects that addresses lie in, by number. */
  readonly objects: readonly SymbolObject[];
  /**
   * The addresses. Those of `UNMAPPED` and `KERNEL_HIDDEN` are addresses of the process or the
   * kernel.
   */
  readonly table: AddressTable;
  /** Samples that have an `ip`. */
  readonly samples: number;
  /** The sum of their periods, which means nothing for several events: their units differ. */
  readonly period: number;
  /** Number of the events that these samples are of. */
  readonly events: number;
  /** Samples whose call chain or branch stack is damaged: these were not looked at. */
  readonly damaged: number;
  /** Release of the recorded kernel, if the file has it. */
  readonly release?: string | undefined;
  /** Architecture of the recorded machine, if the file has it. */
  readonly arch?: string | undefined;
  /** What found them. */
  readonly engine?: Engine;
}

/**
 * Finds out which addresses occur in a recording: the `ip`s of samples, their call chains and
 * branch stacks, each looked up in what was mapped at its own time.
 *
 * @param options `unwind` finds the code that copied stacks are unwound with, and `progress` gets bytes
 * that are done, as for `runEngine`
 * Memory grows with the number of distinct addresses, not with that of samples.
 *
 * @throws {PerfDataError} as `PerfDataReader.batches`
 *
 * @example
 * ```ts
 * import { bytesSource, PerfDataReader } from "@perfdata/format";
 * import { recordedAddresses } from "@perfdata/session/code";
 * import { assertEquals } from "@std/assert";
 *
 * const pipe = new Uint8Array(24);
 * pipe.set(new TextEncoder().encode("PERFILE2"));
 * pipe.set([16], 8);
 * pipe.set([68, 0, 0, 0, 0, 0, 8, 0], 16);
 * const { table } = await recordedAddresses(await PerfDataReader.open(bytesSource(pipe)));
 * assertEquals(table.count, 0);
 * ```
 */
export async function recordedAddresses(
  reader: PerfDataReader,
  options: Pick<EngineOptions, "unwind" | "progress"> = {},
): Promise<RecordedAddresses> {
  const addresses = new AddressConsumer();
  await runEngine(reader, [addresses], options);
  return addresses.recorded();
}

/**
 * Notes which addresses occur in a recording: a consumer of the engine. All samples count, whatever
 * filter is set.
 */
export class AddressConsumer implements Consumer {
  /** Stacks and branches. */
  readonly needs = { stacks: true, branches: true };
  readonly #uses = new PlaceUses();
  #engine: Engine | undefined;
  #samples = 0;
  #period = 0;
  readonly #events = new Set<number>();
  #event = -1;

  /** Takes what the pass shares. */
  start(engine: Engine): void {
    this.#engine = engine;
  }

  /** Notes the places of the samples of a run. */
  rows(run: Run): void {
    const { count, chosen, place, period, branchStart } = run;
    for (let i = 0; i < count; i++) {
      if (chosen[i] === CHOSEN.NO || (place[i] as number) < 0) continue;
      this.#samples++;
      this.#period += period[i] as number;
      if (run.event[i] !== this.#event) {
        this.#event = run.event[i] as number;
        this.#events.add(this.#event);
      }
      this.#uses.use(place[i] as number, ADDRESS_USE.IP, 1, period[i] as number);
      for (let k = branchStart[i] as number; k < (branchStart[i + 1] as number); k++) {
        const branch = run.branches[k] as number;
        if (branch >= 0) this.#uses.use(branch, ADDRESS_USE.BRANCH, 0, 0);
      }
    }
  }

  /** Notes those of stacks, which are known now. */
  finish(): void {
    const { places, stacks } = this.#engine as Engine;
    const uses = this.#uses;
    const isCaller = new Uint8Array(stacks.count);
    for (let node = 0; node < stacks.count; node++) {
      const parent = stacks.parent[node] as number;
      if (parent >= 0) isCaller[parent] = 1;
    }
    for (let node = 0; node < stacks.count; node++) {
      const place = stacks.place[node] as number;
      // What has neither was sampled without a chain.
      if (isCaller[node] === 1 || (stacks.parent[node] as number) >= 0) {
        uses.use(place, ADDRESS_USE.CALLCHAIN, 0, 0);
      }
      if (isCaller[node] === 1) uses.use(places.before(place), ADDRESS_USE.BEFORE_RETURN, 0, 0);
    }
  }

  /** What was found, after the run. */
  recorded(): RecordedAddresses {
    const { places, recorded, leftOut } = this.#engine as Engine;
    return {
      objects: places.objects,
      table: this.#uses.table(places),
      samples: this.#samples,
      period: this.#period,
      events: this.#events.size,
      damaged: leftOut,
      release: recorded.release,
      arch: recorded.arch,
      engine: this.#engine as Engine,
    };
  }
}
