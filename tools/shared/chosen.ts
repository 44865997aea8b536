/** Selects samples by name and by relative time, in a first pass over the whole recording. */
import { chooseSamples } from "@perfdata/edit/slice";
import { copyRecording, FileOutput } from "@perfdata/edit";
import { isRandomAccess, type RandomAccessSource } from "@perfdata/format/bytes";
import { PERF_RECORD_COMPRESSED, PERF_RECORD_COMPRESSED2 } from "@perfdata/format/constants";
import { openSource } from "@perfdata/format/files";
import { PerfDataReader, tempStore } from "@perfdata/format/records";
import type { SampleFilter } from "@perfdata/session";
import type { RecordedMachine } from "@perfdata/symbols/resolver";
import type { Complaints } from "./cli.ts";
import { nameless } from "./edited_file.ts";
import { type NameFilters, sampleFilter, type SampleFlags } from "./sample_flags.ts";
import { resolverOf, type SymbolFlags } from "./symbol_flags.ts";

/** The passes that filters need before samples are read. */
export interface Looks {
  /** Whether there is a first pass. A stream is then copied to a temporary file. */
  readonly first: boolean;
  /** Whether samples are selected by file offset. Samples in compressed records have none. */
  readonly atPlaces: boolean;
}

/** The passes that the flags need. */
export function looks(
  { value }: SampleFlags & { readonly value: { readonly event?: string | undefined } },
): Looks {
  const isRelative = value.time !== undefined && !value.time.includes(",");
  const atPlaces = [value.comm, value.dso, value.symbol].some((names) => names !== undefined);
  return { first: isRelative || value.event !== undefined || atPlaces, atPlaces };
}

/** A recording, and its temporary file that disposing removes. */
export interface Opened extends Disposable {
  readonly reader: PerfDataReader;
  /** The bytes of the recording, if they are seekable. */
  readonly source: RandomAccessSource | undefined;
}

/**
 * Opens a recording for two passes. Copies it to a temporary file if a first pass is needed but
 * impossible: for a stream, or if samples in compressed records have no file offsets.
 *
 * @param interruptible As for `openSource`: set it if an output has to be removed on a signal.
 */
export async function openTwice(
  name: string,
  look: Looks,
  complaints: Pick<Complaints, "take">,
  interruptible = true,
): Promise<Opened> {
  const source = openSource(name, { interruptible });
  const reader = await PerfDataReader.open(source, { diagnostics: complaints.take });
  const close = () => source.close?.();
  const isStream = !isRandomAccess(source);
  const spools = isStream ? look.first : look.atPlaces && await isCompressed(reader);
  if (!spools) {
    return { reader, source: isStream ? undefined : source, [Symbol.dispose]: close };
  }
  const file = nameless();
  const plain = tempStore(file);
  await copyRecording(reader, new FileOutput(plain), { lostFeature: complaints.take });
  close();
  return {
    reader: await PerfDataReader.open(plain, { diagnostics: complaints.take }),
    source: plain,
    [Symbol.dispose]: () => file.close(),
  };
}

async function isCompressed(reader: PerfDataReader): Promise<boolean> {
  for await (const batch of reader.batches({ inflate: false, quiet: true })) {
    const type = batch.count > 0 ? batch.type(batch.count - 1) : 0;
    if (type === PERF_RECORD_COMPRESSED || type === PERF_RECORD_COMPRESSED2) return true;
  }
  return false;
}

/**
 * The sample filter of the flags: by thread, CPU and time, and by name as a set of file offsets.
 *
 * @param name The recording's path, for its symbols.
 * @param reader A reader of the recording from {@link openTwice}.
 * @param names The filters by name.
 * @param anywhere Whether object and function may match any frame of the stack.
 */
export async function chosenSamples(
  flags: SampleFlags & SymbolFlags,
  name: string,
  reader: PerfDataReader,
  names: NameFilters,
  anywhere = false,
): Promise<SampleFilter> {
  const numbers = await sampleFilter(flags, reader);
  if ((names.comm ?? names.dso ?? names.symbol) === undefined) return numbers;
  const resolver = (machine: RecordedMachine) =>
    resolverOf(flags, name, { machine, parameters: false, debugInformation: false });
  const { records } = await chooseSamples(reader, { ...names, anywhere }, resolver, {
    filter: numbers,
  });
  return { ...numbers, records };
}

/** Opens a recording, and runs the first pass that its filters need. */
export async function openChosen(
  flags: SampleFlags & SymbolFlags,
  name: string,
  names: NameFilters,
  complaints: Complaints,
  interruptible = true,
): Promise<Opened & { readonly filter: SampleFilter }> {
  const opened = await openTwice(name, looks(flags), complaints, interruptible);
  // The second pass reports the same errors.
  complaints.muted = true;
  const filter = await chosenSamples(flags, name, opened.reader, names);
  complaints.muted = false;
  return { ...opened, filter };
}
