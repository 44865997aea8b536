/** Runs `slice`. */
import {
  type AuxPlan,
  chooseSamples,
  hasAuxtrace,
  isCompressed,
  type NotCut,
  plainCopy,
  planAuxCut,
  Slice,
  type SliceFilter,
} from "@perfdata/edit/slice";
import { copyRecording } from "@perfdata/edit";
import { isRandomAccess, type RandomAccessSource } from "@perfdata/format/bytes";
import { openSource, tempFile } from "@perfdata/format/files";
import { mayHaveOffCpuSamples, PerfDataReader, PerfDataWriter } from "@perfdata/format/records";
import { PERF_SAMPLE_READ } from "@perfdata/format/constants";
import { runEngine, splitEvents } from "@perfdata/session";
import {
  aboutAsync,
  complain,
  Complaints,
  InputError,
  oneFile,
  Progress,
  UsageError,
} from "../shared/cli.ts";
import { share, summary, writeRecording } from "../shared/edited_file.ts";
import type { FlagsOf } from "../shared/flag_table.ts";
import {
  givenFilters,
  type NameFilters,
  nameFilters,
  parseNames,
  sampleFilter,
} from "../shared/sample_flags.ts";
import { symbolsOf } from "../shared/symbol_flags.ts";
import { whyNothing } from "../shared/nothing.ts";
import type { FLAGS } from "../slice.ts";

type SliceFlags = FlagsOf<typeof FLAGS>;

export async function run(flags: SliceFlags): Promise<number> {
  const { value, operands } = flags;
  const name = oneFile(operands);
  const every = value["sample-every"];
  if (every !== undefined && !/^[1-9]\d*$/.test(every)) {
    throw new UsageError(`--sample-every is ${every}, expected a number from 1 on`);
  }
  return await aboutAsync(name, async () => {
    const complaints = new Complaints(`slice: ${name}`);
    const names = nameFilters(flags);
    using opened = await openTwice(name, flags, complaints);
    const { reader } = opened;
    // The first pass is silent: the copy reports the same errors.
    complaints.muted = true;
    const filter: SliceFilter = {
      ...await chosenSamples(flags, name, reader, names),
      events: value.event === undefined ? undefined : await chosenEvents(value.event, name, reader),
      sampleEvery: every === undefined ? undefined : Number(every),
    };
    const isWhole = Object.values(filter).every((wanted) => wanted === undefined);
    const cut = await auxPlan(opened, filter);
    // The off-CPU event changes the meaning of samples and is known by its name. A pipe has names
    // only after its attrs.
    const mayDiffer = reader.isPipe ||
      reader.events.all.some(({ attr }) => mayHaveOffCpuSamples(attr));
    if ((filter.pids ?? filter.tids) !== undefined && mayDiffer) await eventNames(reader);
    complaints.muted = false;
    const edit = new Slice(reader, {
      ...filter,
      aux: cut === undefined || "reason" in cut ? undefined : cut,
    });
    await writeRecording("slice", flags, async ({ output, sink, isPipe, path }) => {
      const progress = new Progress("slice", reader.fileSize);
      const { source } = opened;
      const isOne = source !== undefined && reader.seams === undefined;
      if (isWhole && source !== undefined) {
        // Read all batches to report damage in compressed records: the copy keeps them compressed.
        for await (const _ of reader.batches());
        complaints.muted = true;
      }
      if (isWhole && isOne && reader.isPipe === isPipe) {
        await PerfDataWriter.copy(sink, reader, progress.add);
        return progress.finish();
      }
      const copied = await copyRecording(reader, output, {
        edit,
        keepCompressed: isWhole,
        progress: progress.add,
      });
      progress.finish();
      summary("slice", copied, path);
    });
    complaints.finish();
    const { samples, kept } = edit.stats;
    reportAux(name, cut, edit.stats.wholeAux);
    const hasRead = reader.events.all.some(({ layout }) => layout.sampleType & PERF_SAMPLE_READ);
    if (hasRead && kept < samples) {
      complain(
        `slice: ${name}: READ values count from the sample before, which the slice may not have`,
      );
    }
    if (kept === 0 && samples > 0) {
      const why = await whyNothing(name, givenFilters(flags), names);
      complain(`slice: ${name}: ${share(kept, samples, "samples")} pass all conditions: ${why}`);
      return 1;
    }
    return complaints.count > 0 ? 1 : 0;
  });
}

/** A recording, and its temporary file that disposing removes. */
interface Opened extends Disposable {
  readonly reader: PerfDataReader;
  /** The bytes of the recording, if they are seekable. */
  readonly source: RandomAccessSource | undefined;
}

/**
 * Opens a recording. Copies it to a temporary file if a first pass is needed but impossible: for a
 * stream, or if samples in compressed records have no file offsets.
 */
async function openTwice(
  name: string,
  { value: { comm, dso, symbol, event, time } }: SliceFlags,
  complaints: Complaints,
): Promise<Opened> {
  const how = { diagnostics: complaints.take };
  const source = openSource(name, { interruptible: true });
  const reader = await PerfDataReader.open(source, how);
  const isStream = !isRandomAccess(source);
  const isNamed = (comm ?? dso ?? symbol) !== undefined;
  const isRelative = time !== undefined && !time.includes(",");
  const isCopied = isStream
    ? isNamed || isRelative || event !== undefined
    : isNamed && await isCompressed(reader);
  if (!isCopied) {
    return {
      reader,
      source: isStream ? undefined : source,
      [Symbol.dispose]: () => source.close?.(),
    };
  }
  const file = tempFile();
  const plain = await plainCopy(reader, file, complaints.take);
  source.close?.();
  return {
    reader: await PerfDataReader.open(plain, how),
    source: plain,
    [Symbol.dispose]: () => file.close(),
  };
}

/** The filter by thread, CPU and time, and by name as a set of file offsets. */
async function chosenSamples(
  flags: SliceFlags,
  name: string,
  reader: PerfDataReader,
  names: NameFilters,
): Promise<SliceFilter> {
  const filter = await sampleFilter(flags, reader);
  if ((names.comm ?? names.dso ?? names.symbol) === undefined) return filter;
  const symbols = symbolsOf(flags, name);
  const { records } = await chooseSamples(
    reader,
    { ...names, anywhere: flags.on["in-stack"] },
    (machine) => symbols({ machine, lines: false }),
    { filter },
  );
  return { ...filter, records };
}

/** Reports how much AUX data is kept, or why all of it is. */
function reportAux(name: string, cut: AuxPlan | NotCut | undefined, wholeAux: number): void {
  if (cut !== undefined && !("reason" in cut)) {
    complain(`slice: ${name}: ${share(cut.kept, cut.bytes, "bytes of AUX data")} stay`);
    if (cut.untimed > 0) {
      complain(`slice: ${name}: no packet of ${cut.untimed} buffers has a time: they stay whole`);
    }
  } else if (wholeAux > 0) {
    const why = cut?.reason ?? "AUX data of a stream is not cut in time; write it to a file first";
    complain(`slice: ${name}: ${why} (${wholeAux} pieces)`);
  }
}

/** The cut of AUX data, if there is a time filter and the recording can be read twice. */
async function auxPlan(
  { reader, source }: Opened,
  { time }: SliceFilter,
): Promise<AuxPlan | NotCut | undefined> {
  if (time === undefined || source === undefined || !await hasAuxtrace(reader)) return undefined;
  return await planAuxCut(reader, source, time);
}

/**
 * The numbers of the events with these names.
 *
 * @throws {InputError} If the recording has no event of a name.
 */
async function chosenEvents(
  text: string,
  name: string,
  reader: PerfDataReader,
): Promise<ReadonlySet<number>> {
  const known = await eventNames(reader);
  const numbers = splitEvents(text).flatMap((part) => {
    const test = parseNames("event", part);
    const found = known.flatMap((other, number) => test(other) ? [number] : []);
    if (found.length > 0) return found;
    const there = new Set(known);
    throw new InputError(
      `${name}: no event ${part}; there ${there.size > 1 ? "are" : "is"} ${[...there].join(", ")}`,
    );
  });
  return new Set(numbers);
}

/** Reads the names of all events. Any record may change them, so it reads to the end. */
async function eventNames(reader: PerfDataReader): Promise<readonly string[]> {
  const nothing = { needs: { machine: false, order: "file" as const }, rows: () => {} };
  return (await runEngine(reader, [nothing])).eventNames;
}
