import type { ByteSink, ByteSource, Diagnostics } from "@perfdata/format/bytes";
import { isRandomAccess, memorySink } from "@perfdata/format/bytes";
import { PerfDataReader } from "@perfdata/format/records";
import {
  type AuxStream,
  auxStreamBytes,
  type AuxTrace,
  copyAuxStream,
  copyAuxWhileReading,
  readAuxTrace,
  stitchAuxTrace,
} from "@perfdata/session/auxtrace";

/** AUX data of a CPU or thread, such as Intel PT. */
export interface AuxData {
  /** The CPU; missing if the data is of a thread on all CPUs. */
  readonly cpu?: number;
  /** The thread; missing if the data is of all threads on a CPU. */
  readonly tid?: number;
  /** Size in bytes. */
  readonly size: number;
  /** Reads the bytes. Where buffers overlap, each byte is read once. */
  read(): Promise<Uint8Array>;
}

/** Returns the function that takes the number of copied bytes; `total` is that of all. */
export type AuxProgress = (total: number | undefined) => ((bytes: number) => void) | undefined;

/** Options of {@linkcode Recording.copyAux}. */
export interface AuxCopyOptions {
  /**
   * Returns the sink of a stream, before its first byte; `undefined` to skip the stream. `type` is
   * the kind of the data, such as `PERF_AUXTRACE_INTEL_PT`.
   */
  readonly open: (stream: AuxStream, type: number) => ByteSink | undefined;
  /** Called in advance if the streams are known before their data: not for a pipe. */
  readonly known?: (trace: AuxTrace) => void;
  /**
   * Copies data of a file in place of `open`, such as `copyAuxToFiles` of `@perfdata/perfdata/workers`.
   * Not called for a pipe or data of samples.
   */
  readonly copy?: ((trace: AuxTrace, progress: AuxProgress) => Promise<void>) | undefined;
  /** Whether bytes that buffers have in common are copied with each buffer. */
  readonly raw?: boolean;
}

/** AUX data that was copied. */
export interface CopiedAux {
  /** The streams, with the pieces of their data. */
  readonly trace: AuxTrace;
  /** The reader, with its statistics. */
  readonly reader: PerfDataReader;
}

/** The recording of AUX data. */
export interface AuxHost {
  readonly reader: PerfDataReader;
  readonly source: ByteSource;
  readonly diagnostics: Diagnostics | undefined;
  readonly progress: AuxProgress;
}

/** Copies AUX data, from where it is in a file, or while records are read. */
export async function copyAux(host: AuxHost, options: AuxCopyOptions): Promise<CopiedAux> {
  const { reader, source, diagnostics, progress } = host;
  const { known, copy, open, raw = false } = options;
  if (!isRandomAccess(source)) return await copiedWhileReading(host, reader, options);
  const trace = await readAuxTrace(reader, { diagnostics });
  known?.(trace);
  if (hasSampleData(trace)) {
    // The first pass reported errors.
    const quiet = diagnostics && (() => {});
    const again = await PerfDataReader.open(source, { diagnostics: quiet });
    return await copiedWhileReading({ ...host, diagnostics: quiet }, again, options);
  }
  if (!raw) await stitchAuxTrace(trace, source);
  if (copy !== undefined) {
    await copy(trace, progress);
    return { trace, reader };
  }
  const sinks = trace.streams.map((stream) => ({ stream, sink: open(stream, trace.type) }))
    .filter(({ sink }) => sink !== undefined);
  const add = progress(sinks.reduce((sum, { stream }) => sum + auxStreamBytes(stream), 0));
  for (const { stream, sink } of sinks) {
    if (sink !== undefined) await copyAuxStream(stream, source, sink, add);
  }
  return { trace, reader };
}

/** Whether data is in samples: its positions in streams are known after the last sample. */
function hasSampleData({ streams }: AuxTrace): boolean {
  return streams.some(({ idx }) => idx < 0);
}

async function copiedWhileReading(
  { diagnostics, progress }: AuxHost,
  reader: PerfDataReader,
  { open, raw }: AuxCopyOptions,
): Promise<CopiedAux> {
  const trace = await copyAuxWhileReading(reader, {
    diagnostics,
    open: (stream, { info }) => open(stream, info?.type ?? 0),
    raw,
    progress: progress(reader.fileSize),
  });
  return { trace, reader };
}

/** The streams of a file, which are read on demand. */
export async function auxData(host: AuxHost): Promise<AuxData[]> {
  const { source, diagnostics } = host;
  if (!isRandomAccess(source)) {
    throw new TypeError("AUX data is read where it is: not of a stream; copyAux reads it at once");
  }
  const { trace } = await copyAux(host, { open: () => undefined });
  const isSampled = hasSampleData(trace);
  return trace.streams.map((stream) => ({
    cpu: stream.cpu,
    tid: stream.tid === undefined || stream.tid < 0 ? undefined : stream.tid,
    size: auxStreamBytes(stream),
    read: async () => {
      const sink = memorySink();
      if (!isSampled) await copyAuxStream(stream, source, sink);
      else {
        const quiet = diagnostics && (() => {});
        await copyAuxWhileReading(await PerfDataReader.open(source, { diagnostics: quiet }), {
          diagnostics: quiet,
          open: ({ cpu, tid, idx }) =>
            cpu === stream.cpu && tid === stream.tid && idx === stream.idx ? sink : undefined,
        });
      }
      return sink.bytes();
    },
  }));
}
