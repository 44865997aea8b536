/** Runs in which worker threads take part even in a small recording. */
import { assert } from "@std/assert";
import {
  type CollectOptions,
  profileColumns,
  type ProfileOptions,
  recordedProfile,
  SampleCollector,
} from "@perfdata/profile";
import { PerfDataReader } from "@perfdata/format/records";
import { openSource } from "@perfdata/format/files";
import { functionTable, type SortKey } from "@perfdata/report";
import { collectWorkers, infoCollectWorkers, infoWorkers } from "@perfdata/perfdata/workers";
import { infoCounter, type RecordingInfo, recordingInfo } from "@perfdata/report/figures";
import {
  runEngine,
  SharedConsumers,
  type ThreadMessage,
  type Workers,
  type WorkerThread,
} from "@perfdata/session";
import { openResolver } from "@perfdata/symbols/files";

/** Symbols of another kernel than the running one. */
export const kallsyms: string = new URL("../../fixtures/kernel/kallsyms", import.meta.url).pathname;

/**
 * A recording and worker threads, for which the first thread waits: otherwise a small file would be
 * finished before they start. Counts the stretches that they read.
 */
export class Shared {
  /** Number of stretches that other threads read, in all tests. */
  static stretches = 0;
  /** The option `workers` of the engine. */
  readonly workers: Workers | undefined;
  readonly #path: string;
  #gate: PromiseWithResolvers<void> | undefined;

  /** Worker threads for a recording. */
  constructor(path: string, workers: Workers) {
    this.#path = path;
    this.workers = workers.jobs === 1 ? undefined : {
      ...workers,
      // With two threads all nodes are kept, otherwise few: stacks then begin again after nearly
      // each stretch.
      ...(workers.jobs === 2 ? {} : { keptNodes: 100 }),
      start: () => this.#start(workers.start()),
    };
  }

  #start(worker: WorkerThread): WorkerThread {
    const open = (): void => this.#gate?.resolve();
    return {
      // The first thread waits for a worker only after it gave it work.
      postMessage: (message, options) => {
        this.#gate ??= Promise.withResolvers();
        worker.postMessage(message, options);
      },
      set onmessage(take: WorkerThread["onmessage"]) {
        worker.onmessage = (event: ThreadMessage<{ readonly kind: string }>) => {
          if (event.data.kind === "found") Shared.stretches++;
          take?.(event as never);
          open();
        };
      },
      set onerror(take: WorkerThread["onerror"]) {
        worker.onerror = take;
      },
      terminate: () => worker.terminate(),
    };
  }

  /** Opens the recording for the first thread. */
  open(): Promise<PerfDataReader> {
    const source = openSource(this.#path);
    if (!("readAt" in source)) throw new TypeError(`${this.#path}: no file`);
    return PerfDataReader.open({
      ...source,
      readAt: async (into, position) => {
        await this.#gate?.promise;
        return await source.readAt(into, position);
      },
    }, { diagnostics: () => {} });
  }
}

/** Asserts that other threads took part in at least one run of each file. */
export function assertShared(): void {
  console.log(`${Shared.stretches} stretches by other threads`);
  assert(Shared.stretches >= 3);
}

/** The totals and the rows of functions, counted by several threads in blocks of a given size. */
export async function rows(
  path: string,
  counts: CollectOptions,
  jobs: number,
  blockBytes: number,
  sort: readonly SortKey[] = ["comm", "dso", "sym", "tid"],
): Promise<string[]> {
  const symbols = { parameters: false, kallsyms };
  const shared = new Shared(path, await collectWorkers(path, jobs, { collect: counts, symbols }));
  const reader = await shared.open();
  const consumer = new SampleCollector(counts);
  const engine = await runEngine(reader, [consumer], {
    diagnostics: () => {},
    blockBytes,
    unwind: ({ recorded }) => openResolver({ ...symbols, machine: recorded }),
    workers: shared.workers,
  });
  const resolver = openResolver({ ...symbols, machine: engine.recorded });
  const table = await functionTable(consumer, resolver, { sort });
  return [
    JSON.stringify([consumer.totals, consumer.leftOut, engine.leftOut, engine.unjoined]),
    JSON.stringify(engine.unwound?.all ?? null),
    ...Array.from(table.rows, (row) => JSON.stringify(table.row(row))),
  ];
}

/** All contents of a profile, as text. */
export async function profile(
  path: string,
  how: ProfileOptions,
  jobs: number,
  blockBytes: number,
): Promise<string> {
  const symbols = { parameters: false, kallsyms };
  const collect = profileColumns(how);
  const shared = new Shared(path, await collectWorkers(path, jobs, { collect, symbols }));
  const reader = await shared.open();
  const consumer = new SampleCollector(collect);
  const engine = await runEngine(reader, [consumer], {
    diagnostics: () => {},
    blockBytes,
    unwind: ({ recorded }) => openResolver({ ...symbols, machine: recorded }),
    workers: shared.workers,
  });
  const resolver = openResolver({ ...symbols, machine: engine.recorded });
  const { profile } = await recordedProfile(consumer, { resolver, title: "" });
  return JSON.stringify(
    profile,
    (_, value) =>
      ArrayBuffer.isView(value)
        ? [...value as Int32Array]
        : typeof value === "bigint"
        ? `${value}n`
        : value,
  );
}

/** The summary of a recording, counted beside a profile, as text. */
export async function infoBeside(
  path: string,
  jobs: number,
  blockBytes: number,
): Promise<string> {
  const about = {
    collect: profileColumns({ timed: true }),
    symbols: { parameters: false, kallsyms },
  };
  const shared = new Shared(path, await infoCollectWorkers(path, jobs, about));
  const reader = await shared.open();
  const counter = infoCounter(reader);
  const collector = new SampleCollector(about.collect);
  const engine = await runEngine(reader, [new SharedConsumers([collector, counter.counts])], {
    diagnostics: () => {},
    blockBytes,
    unwind: ({ recorded }) => openResolver({ ...about.symbols, machine: recorded }),
    workers: shared.workers,
  });
  return jsonOf(await counter.info(engine));
}

/** The summary of a recording, as text. */
export async function info(path: string, jobs: number, blockBytes: number): Promise<string> {
  const shared = new Shared(path, await infoWorkers(path, jobs));
  const found = await recordingInfo(await shared.open(), { blockBytes, workers: shared.workers });
  return jsonOf(found);
}

function jsonOf(found: RecordingInfo): string {
  return JSON.stringify(found, (_, value) => typeof value === "bigint" ? `${value}` : value);
}
