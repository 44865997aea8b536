/** Runs `lock`. */
import { trustLines } from "@perfdata/profile";
import type { RecordedObjects } from "@perfdata/session";
import { PERF_TYPE_TRACEPOINT } from "@perfdata/format/constants";
import { openSource } from "@perfdata/format/files";
import type { PerfDataReader } from "@perfdata/format/records";
import { jsonLine } from "@perfdata/format/bytes";
import { lockCallerLines, LockContention, lockThreadLines } from "@perfdata/report/contention";
import type { SymbolResolver } from "@perfdata/symbols";
import { aboutAsync, complain, complainAll, InputError, oneFile, writeOut } from "../shared/cli.ts";
import type { FlagsOf } from "../shared/flag_table.ts";
import {
  choosesSamples,
  givenFilters,
  nameFilters,
  sampleFilter,
  type SampleFlags,
} from "../shared/sample_flags.ts";
import { resolverOf, symbolOptions } from "../shared/symbol_flags.ts";
import { openRecording } from "../shared/open_recording.ts";
import { whyNothing } from "../shared/nothing.ts";
import { parseCount } from "../shared/record_flags.ts";
import { writeTable } from "../shared/styled.ts";
import type { FLAGS } from "../lock.ts";

type LockFlags = FlagsOf<typeof FLAGS>;

/** The sample filters that `lock` supports: thread, CPU and time. */
function filtersOf(flags: LockFlags): SampleFlags {
  return {
    ...flags,
    value: { ...flags.value, comm: undefined, dso: undefined, symbol: undefined },
  };
}

/** The error for a recording without lock contention events. */
function noEvents(name: string, reader: PerfDataReader, locks: LockContention): InputError {
  const hasTracepoints = reader.events.all.some(({ attr }) => attr.type === PERF_TYPE_TRACEPOINT);
  return new InputError(
    hasTracepoints && !locks.isDescribed
      ? `${name}: the formats of its tracepoints (TRACING_DATA) are missing: none can be read`
      : `${name}: no lock:contention_begin; perf lock record records it`,
  );
}

/** Prints rows as a table, or as JSON with one row a line. */
function printRows(isJson: boolean, rows: readonly object[], table: () => string[]): void {
  if (!isJson) return writeTable(`${table().join("\n")}\n`);
  for (const row of rows) writeOut(`${jsonLine({ ...row })}\n`);
}

/** Prints waits by caller or by call chain. */
async function printCallers(
  flags: LockFlags,
  locks: LockContention,
  resolver: SymbolResolver,
  limit: number,
): Promise<void> {
  const { on } = flags;
  if (on.folded) {
    const { stacks, trust } = await locks.folded(resolver);
    for (const [stack, ns] of stacks.slice(0, limit)) {
      if (ns >= 500) writeOut(`${stack} ${Math.round(ns / 1000)}\n`);
    }
    complainAll("lock", trustLines(trust, { verbose: on.verbose, counted: "frames of stacks" }));
    return;
  }
  const { callers, trust } = await locks.callers(resolver);
  const rows = callers.slice(0, limit);
  printRows(on.json, rows, () => lockCallerLines(rows));
  complainAll("lock", trustLines(trust, { verbose: on.verbose, counted: "callers" }));
}

/** Reports waits that the times do not include. */
function reportMissing(name: string, locks: LockContention): void {
  const { all } = locks;
  const left = all.contended - all.ended;
  if (!locks.hasEnds) complain(`lock: ${name}: no lock:contention_end: how long is not known`);
  else if (left > 0) {
    complain(
      `lock: ${name}: ${left} of ${all.contended} waits had not ended: they are not in the times`,
    );
  }
  if (locks.unbegun > 0) {
    complain(`lock: ${name}: ${locks.unbegun} waits began before the recording, and are left out`);
  }
  if (locks.lostRecords > 0) complain(`lock: ${name}: ${locks.lostRecords} records were lost`);
  if (locks.damaged > 0) {
    complain(`lock: ${name}: ${locks.damaged} samples left out: their data are cut`);
  }
}

export async function run(flags: LockFlags): Promise<number> {
  const { on, value, operands } = flags;
  const limit = parseCount("limit", value.limit) ?? Infinity;
  const chosen = filtersOf(flags);
  const name = oneFile(operands);
  return await aboutAsync(name, async () => {
    const source = openSource(name, { interruptible: true });
    const { recording, complaints, progress } = await openRecording("lock", name, { source });
    const locks = new LockContention();
    const resolverFor = (machine: RecordedObjects) =>
      resolverOf(flags, name, {
        machine,
        parameters: false,
        debugInformation: false,
        ...symbolOptions(flags),
      });
    const { reader, recorded } = await recording.read([locks], {
      filter: await sampleFilter(chosen, recording),
      jit: ({ recorded }) => resolverFor(recorded),
    });
    progress.finish();
    if (!locks.hasEvents) {
      complaints.finish();
      throw noEvents(name, reader, locks);
    }
    if (locks.all.contended === 0) {
      const why = choosesSamples(chosen)
        ? `: ${await whyNothing(name, givenFilters(chosen), nameFilters(chosen))}`
        : "";
      complain(`lock: ${name}: nobody waited for a lock${why}`);
      complaints.finish();
      return complaints.count > 0 || choosesSamples(chosen) ? 1 : 0;
    }
    const resolver = on.threads ? undefined : await resolverFor(recorded);
    if (resolver === undefined) {
      const rows = locks.threads().slice(0, limit);
      printRows(on.json, rows, () => lockThreadLines(rows));
    } else {
      await printCallers(flags, locks, resolver, limit);
      if (!locks.hasStacks) {
        complain(`lock: ${name}: no stacks, so that callers are not known: perf record -g`);
      }
    }
    reportMissing(name, locks);
    complaints.finish();
    return complaints.count > 0 || locks.damaged > 0 ? 1 : 0;
  });
}
