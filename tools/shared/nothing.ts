/** Reads a recording once more, to say why nothing of it is left. */
import { isRandomAccess } from "@perfdata/format/bytes";
import { openSource } from "@perfdata/format/files";
import { PerfDataReader } from "@perfdata/format/records";
import type { GivenFilters, WhyNothingOptions } from "@perfdata/report/figures";

/** Asks a file once more; `undefined` of a stream. */
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

/** Says in a few words why no sample passes: which filter matches nothing, and what there is. */
export async function whyNothing(
  file: string,
  filters: GivenFilters,
  names: WhyNothingOptions["names"] = {},
): Promise<string> {
  // Imported here, since only a filter that matches nothing needs them.
  const { whyNothing } = await import("@perfdata/report/figures");
  const { levenshteinDistance } = await import("@std/text");
  const near = (wanted: string) => {
    const word = wanted.slice(0, 100).toLowerCase();
    return (name: string) => levenshteinDistance(word, name.slice(0, 100).toLowerCase());
  };
  return await onceMore(file, (reader) => whyNothing(reader, filters, { names, near })) ??
    await whyNothing(undefined, filters, { names, near });
}

/** Why a recording has no samples though nothing was filtered, as the end of a line. */
export async function whyNoSamples(file: string): Promise<string> {
  const { whyNoSamples } = await import("@perfdata/report/figures");
  return await onceMore(file, whyNoSamples) ?? "";
}

/** Why a recording has no accesses to memory, as a line without its name. */
export async function whyNoAccesses(file: string, recordedBy: string): Promise<string> {
  const why = await whyNoSamples(file);
  return `no samples with data sources${
    why.includes("--spe") ? why : `; ${recordedBy} records them`
  }`;
}
