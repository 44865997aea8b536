/** Runs `slice`. */
import {
  type AuxPlan,
  hasAuxtrace,
  type NotCut,
  planAuxCut,
  Slice,
  type SliceFilter,
} from "@perfdata/edit/slice";
import { copyRecording } from "@perfdata/edit";
import {
  mayHaveOffCpuSamples,
  type PerfDataReader,
  PerfDataWriter,
} from "@perfdata/format/records";
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
import { givenFilters, nameFilters, parseNames } from "../shared/sample_flags.ts";
import { chosenSamples, looks, type Opened, openTwice } from "../shared/chosen.ts";
import { whyNothing } from "../shared/nothing.ts";
import type { FLAGS } from "../slice.ts";

type SliceFlags = FlagsOf<typeof FLAGS>;

export async function run(flags: SliceFlags): Promise<number> {
  const { on, value, operands } = flags;
  const name = oneFile(operands);
  const every = value["sample-every"];
  if (every !== undefined && !/^[1-9]\d*$/.test(every)) {
    throw new UsageError(`--sample-every is ${every}, expected a number from 1 on`);
  }
  return await aboutAsync(name, async () => {
    const complaints = new Complaints(`slice: ${name}`);
    using opened = await openTwice(name, looks(flags), complaints);
    const { reader } = opened;
    const names = nameFilters(flags);
    // The first pass is silent: the copy reports the same errors.
    complaints.muted = true;
    const filter: SliceFilter = {
      ...await chosenSamples(flags, name, reader, names, on["in-stack"]),
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
