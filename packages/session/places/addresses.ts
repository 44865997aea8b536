import type { PerfDataReader } from "@perfdata/format/records";
import type { SymbolObject } from "@perfdata/symbols/resolver";
import { ADDRESS_USE, type AddressTable, PlaceUses } from "./address_table.ts";
import type { Consumer } from "../engine/engine_consumer.ts";
import type { Engine } from "../engine/engine.ts";
import type { EngineOptions } from "../engine/engine_options.ts";
import { runEngine } from "../reading/run_engine.ts";
import { CHOSEN, type Run } from "../order/run.ts";

/** The addresses that occur in a recording. */
export interface RecordedAddresses {
  /** The objects of the addresses, by index. */
  readonly objects: readonly SymbolObject[];
  /**
   * The addresses. Those of `UNMAPPED` and `KERNEL_HIDDEN` are addresses of the process or the
   * kernel.
   */
  readonly table: AddressTable;
  /** Samples that have an `ip`. */
  readonly samples: number;
  /** The sum of their periods. It is meaningless for several events, whose units differ. */
  readonly period: number;
  /** Number of events with such samples. */
  readonly events: number;
  /** Samples with a damaged call chain or branch stack, which were skipped. */
  readonly damaged: number;
  /** Release of the recorded kernel, if the file has it. */
  readonly release?: string | undefined;
  /** Architecture of the recorded machine, if the file has it. */
  readonly arch?: string | undefined;
  /** The engine that resolved the addresses. */
  readonly engine?: Engine;
}

/**
 * Collects the addresses that occur in a recording: the `ip`s of samples, their call chains and
 * branch stacks. Each is looked up in the mappings at its time. Memory grows with the number of
 * distinct addresses, not with that of samples.
 *
 * @param options `unwind` opens the finder of code for unwinding, and `progress` receives the bytes
 * that were read, as in `runEngine`
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
 * Collects the addresses that occur in a recording: a consumer of the engine. All samples count,
 * independent of filters.
 */
export class AddressConsumer implements Consumer {
  /** Needs stacks and branches. */
  readonly needs = { stacks: true, branches: true };
  readonly #uses = new PlaceUses();
  #engine: Engine | undefined;
  #samples = 0;
  #period = 0;
  readonly #events = new Set<number>();
  #event = -1;

  /** Keeps the engine. */
  start(engine: Engine): void {
    this.#engine = engine;
  }

  /** Collects the places of the group's samples. */
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

  /** Collects the places of stacks, which are complete now. */
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
      // A node without caller and callee comes from a sample without a chain.
      if (isCaller[node] === 1 || (stacks.parent[node] as number) >= 0) {
        uses.use(place, ADDRESS_USE.CALLCHAIN, 0, 0);
      }
      if (isCaller[node] === 1) uses.use(places.before(place), ADDRESS_USE.BEFORE_RETURN, 0, 0);
    }
  }

  /** The collected addresses, after the pass. */
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
