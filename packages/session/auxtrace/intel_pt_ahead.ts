import {
  type ByteSource,
  isRandomAccess,
  PerfDataError,
  putBack,
  type RandomAccessSource,
} from "@perfdata/format/bytes";
import {
  HEADER_AUXTRACE,
  PERF_RECORD_FINISHED_ROUND,
  PERF_RECORD_SAMPLE,
  PERF_SAMPLE_AUX,
} from "@perfdata/format/constants";
import { held, PerfDataReader } from "@perfdata/format/records";
import { PERF_AUXTRACE_INTEL_PT } from "@perfdata/user-records";
import { AuxCollector, readAuxTrace } from "./aux_streams.ts";

const QUIET = { diagnostics: () => {} } as const;

/**
 * Whether a recording has Intel PT. Usually its header suffices to tell that it has none.
 *
 * @example
 * ```ts
 * import { fileSource } from "@perfdata/format/files";
 * import { hasIntelPt } from "@perfdata/session/auxtrace";
 * import { assertEquals } from "@std/assert";
 *
 * using source = fileSource("fixtures/synthesized/pt-cpus.perf.data");
 * assertEquals(await hasIntelPt(source), true);
 * ```
 */
export async function hasIntelPt(source: RandomAccessSource): Promise<boolean> {
  const reader = await PerfDataReader.open(source, QUIET);
  // Some writers do not set the feature.
  const mayHave = !reader.isPipe && (reader.features.some(({ id }) => id === HEADER_AUXTRACE) ||
        reader.events.all.some(({ layout }) => (layout.sampleType & PERF_SAMPLE_AUX) !== 0)) ||
    await announcesIntelPt(reader);
  if (!mayHave) return false;
  const { streams, type } = await readAuxTrace(await PerfDataReader.open(source, QUIET), QUIET);
  return streams.length > 0 && type === PERF_AUXTRACE_INTEL_PT;
}

/** Whether the records before the first sample announce Intel PT. */
async function announcesIntelPt(reader: PerfDataReader): Promise<boolean> {
  const collector = new AuxCollector(reader, QUIET);
  for await (const batch of reader.batches()) {
    collector.take(batch);
    if (collector.info !== undefined) return collector.info.type === PERF_AUXTRACE_INTEL_PT;
    for (let i = 0; i < batch.count; i++) {
      const type = batch.type(i);
      if (type === PERF_RECORD_SAMPLE || type === PERF_RECORD_FINISHED_ROUND) return false;
    }
  }
  return false;
}

/** A source after a look at its first records. It still delivers all bytes. */
export interface SeenAhead {
  /** The recording. A stream with Intel PT is held to make it seekable. */
  readonly source: ByteSource;
  /** Whether it has Intel PT. */
  readonly hasIntelPt: boolean;
}

/** Detects Intel PT in a recording. Reads only the first records of a stream. */
export async function intelPtAhead(source: ByteSource): Promise<SeenAhead> {
  if (isRandomAccess(source)) return { source, hasIntelPt: await hasIntelPt(source) };
  const seen: Uint8Array<ArrayBuffer>[] = [];
  const first = {
    read: async (into: Uint8Array) => {
      const n = await source.read(into);
      seen.push(into.slice(0, n));
      return n;
    },
  };
  let announced: boolean;
  try {
    announced = await announcesIntelPt(await PerfDataReader.open(first, QUIET));
  } catch (error) {
    // The reader of the recording reports this error.
    if (!(error instanceof PerfDataError)) throw error;
    announced = false;
  }
  const again = putBack(source, new Uint8Array(await new Blob(seen).arrayBuffer()));
  if (!announced) return { source: again, hasIntelPt: false };
  const whole = await held(again);
  return { source: whole, hasIntelPt: await hasIntelPt(whole) };
}
