/** Reads a recording again to find out why no data is left. */
import { isRandomAccess } from "@perfdata/format/bytes";
import { openSource } from "@perfdata/format/files";
import { PerfDataReader } from "@perfdata/format/records";
import type { GivenFilters, WhyNothingOptions } from "@perfdata/report/figures";
import { choosesSamples, givenFilters, type SampleFlags } from "./sample_flags.ts";

/** Reads a file again; returns `undefined` for streams. */
async function onceMore<T>(
  file: string,
  ask: (reader: PerfDataReader) => Promise<T>,
): Promise<T | undefined> {
  if (file === "-") return undefined;
  const source = openSource(file);
  try {
    if (!isRandomAccess(source)) return undefined;
    return await ask(await PerfDataReader.open(source, { diagnostics: () => {} }));
  } finally {
    source.close?.();
  }
}

/** The reason why no sample passes: the filter that matches nothing, and the values that exist. */
export async function whyNothing(
  file: string,
  filters: GivenFilters,
  names: WhyNothingOptions["names"] = {},
): Promise<string> {
  // Imported here because only filters that match nothing need it.
  const { whyNothing } = await import("@perfdata/report/figures");
  const { levenshteinDistance } = await import("@std/text");
  const near = (wanted: string) => {
    const word = wanted.slice(0, 100).toLowerCase();
    return (name: string) => levenshteinDistance(word, name.slice(0, 100).toLowerCase());
  };
  return await onceMore(file, (reader) => whyNothing(reader, filters, { names, near })) ??
    await whyNothing(undefined, filters, { names, near });
}

/** The reason why an unfiltered recording has no samples, as the end of a line. */
export async function whyNoSamples(file: string): Promise<string> {
  const { whyNoSamples } = await import("@perfdata/report/figures");
  return await onceMore(file, whyNoSamples) ?? "";
}

/** A line without the file name about a recording of which no sample is left, with the reason. */
export async function noSamplesText(
  file: string,
  flags: SampleFlags,
  names: WhyNothingOptions["names"] = {},
): Promise<string> {
  const why = choosesSamples(flags)
    ? `: ${await whyNothing(file, givenFilters(flags), names)}`
    : await whyNoSamples(file);
  return `no samples${why}`;
}

/** The reason why a recording has no memory accesses, as a line without the file name. */
export async function whyNoAccesses(file: string, recordedBy: string): Promise<string> {
  const why = await whyNoSamples(file);
  return `no samples with data sources${
    why.includes("--spe") ? why : `; ${recordedBy} records them`
  }`;
}
