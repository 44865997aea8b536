import { intAt } from "@perfdata/format/bytes";
import type { Engine, LookUpProgress, SymbolTrust } from "@perfdata/session";
import type { SymbolResolver } from "@perfdata/symbols";
import type { SampleColumns, SampledCode, StackColumns } from "../columns/profile.ts";
import { ThreadTable } from "../columns/thread_table.ts";
import { nameCode, placesUsed } from "../names/code_names.ts";
import { codeColumns, type ProfilePlaces } from "../names/profile_names.ts";
import type { SampleCollector } from "./sample_collector.ts";

/** Samples by context and node: those of a {@linkcode SampleCollector}, or branches of a trace. */
export interface CollectedSamples extends
  Pick<
    SampleCollector,
    "histogram" | "collects" | "kind" | "stacks" | "pairs" | "totals" | "events" | "takeRows"
  >,
  Partial<Pick<SampleCollector, "details" | "cgroups" | "sockets">> {
  /** Names of commands, and ids of unnamed threads. */
  readonly comms: Pick<NonNullable<SampleCollector["comms"]>, "name" | "tid" | "pid"> | undefined;
}

/** Inputs for the names of samples. */
export interface CodeToName {
  /** The places. */
  readonly places: ProfilePlaces;
  /** The stacks, if nodes of the samples are stacks. */
  readonly stacks?: Pick<Engine["stacks"], "count" | "parent" | "place"> | undefined;
  /** Finds symbols. Without it, code has no names. */
  readonly resolver: SymbolResolver | undefined;
  /** Called while names are looked up. */
  readonly progress?: LookUpProgress | undefined;
}

/**
 * The collected samples with their code, and the trust in its names. To be called once after the
 * pass: the samples are moved, not copied.
 *
 * @throws {Error} If it is called again.
 */
export async function sampledCode(
  collected: CollectedSamples,
  { places, stacks: all, resolver, progress }: CodeToName,
): Promise<{ readonly code: SampledCode; readonly trust: SymbolTrust | undefined }> {
  const { events, totals, details, cgroups, sockets } = collected;
  const { threads, threadOf } = threadsOf(collected);
  const samples = samplesOf(collected, threadOf, 0n);
  const stacks = all === undefined || !collected.stacks
    ? stacksOfPlaces(places.count)
    : stackColumns(all);
  const found = resolver &&
    await nameCode(places, placesUsed(stacks, samples), resolver, progress);
  return {
    code: {
      ...codeColumns(places, found?.names),
      ...{ events, threads, stacks, samples, totals, details, cgroups, sockets },
      show: resolver?.show,
    },
    trust: found?.trust,
  };
}

/** The stacks without the unused ends of their columns. */
export function stackColumns(
  { count, parent, place }: Pick<Engine["stacks"], "count" | "parent" | "place">,
): StackColumns {
  return { parent: parent.subarray(0, count), place: place.subarray(0, count) };
}

/** A stack without callers for each place. */
function stacksOfPlaces(count: number): StackColumns {
  const place = new Int32Array(count);
  for (let i = 0; i < count; i++) place[i] = i;
  return { parent: new Int32Array(count).fill(-1), place };
}

/** The threads in order of appearance, and the index of the thread by context. */
export function threadsOf(
  collected: CollectedSamples,
): { readonly threads: ThreadTable; readonly threadOf: Int32Array } {
  const { histogram, comms } = collected;
  const [byPid, byTid] = [collected.collects("pid"), collected.collects("tid")];
  const threads = new ThreadTable();
  const threadOf = new Int32Array(histogram.contextCount);
  for (let context = 0; context < threadOf.length; context++) {
    const comm = histogram.comm(context);
    const name = comms?.name(comm);
    // A thread without a name is identified by its tid.
    const [pid = -1, tid = -1] = name === undefined ? [comms?.pid(comm), comms?.tid(comm)] : [];
    threadOf[context] = threads.add(
      byPid ? histogram.pid(context) : pid,
      byTid ? histogram.tid(context) : tid,
      name,
    );
  }
  return { threads, threadOf };
}

/** The samples; if times are counted, their details are the states of threads. */
export function samplesOf(
  collected: CollectedSamples,
  threadOf: Int32Array,
  epoch: bigint,
): SampleColumns {
  const { histogram, pairs, kind } = collected;
  const { context, node, ...rows } = collected.takeRows(epoch);
  const { length } = context;
  const event = new Int32Array(length);
  const hasDetail = collected.details !== undefined ||
    collected.collects(kind === "branches" ? "branch" : "state");
  const detail = hasDetail ? new Int32Array(length) : undefined;
  const cpu = rows.cpu ?? (collected.collects("cpu") ? new Int32Array(length) : undefined);
  for (let row = 0; row < length; row++) {
    const of = intAt(context, row);
    if (detail !== undefined) detail[row] = histogram.detail(of);
    if (cpu !== undefined && rows.cpu === undefined) cpu[row] = histogram.cpu(of);
    event[row] = histogram.event(of);
    context[row] = intAt(threadOf, of);
  }
  const samples = { length, ...rows, stack: node, event, thread: context, cpu, detail };
  if (pairs === undefined) return samples;
  const [parents, items] = [pairs.parents(), pairs.items()];
  const first = node.map((pair) => intAt(parents, pair));
  const stack = node.map((pair) => intAt(items, pair));
  return { ...samples, stack, ...(kind === "branches" ? { from: first } : { data: first }) };
}
