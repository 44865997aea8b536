import { type Diagnostics, PerfDataError, type RandomAccessSource } from "@perfdata/format/bytes";
import { PerfDataReader } from "@perfdata/format/records";
import {
  type AuxStream,
  auxStreamBytes,
  type AuxTrace,
  readAuxTrace,
  stitchAuxTrace,
} from "@perfdata/session/auxtrace";
import {
  type Consumer,
  type Engine,
  type EngineOptions,
  type RecordedObjects,
  runEngine,
} from "@perfdata/session";
import type { CodeFiles, MemoryImage } from "@perfdata/session/code";
import { PERF_AUXTRACE_INTEL_PT } from "@perfdata/user-records";
import { PtClock } from "../decode/pt_clock.ts";
import { PtCode } from "./pt_code.ts";
import { PtSideband } from "./pt_sideband.ts";

/** Sources of a trace's code. */
export interface TraceCode {
  /** The files of its objects. */
  readonly files: CodeFiles;
  /** Copies of memory, which have priority over files. */
  readonly images?: readonly MemoryImage[] | undefined;
  /** Copies of the memory of a guest. */
  readonly guestImages?: readonly MemoryImage[] | undefined;
}

/** Without code, addresses have no names, and no path is decoded. */
const NO_CODE: TraceCode = { files: { open: () => ({ missing: "" }), file: () => undefined } };

/** Options of {@linkcode PtTrace.open}. */
export interface OpenPtOptions {
  /** Opens the sources of the mapped code. Without it, all code is missing. */
  readonly code?: (recorded: RecordedObjects) => Promise<TraceCode> | TraceCode;
  /** Receives errors. Without it, the first one is thrown. */
  readonly diagnostics?: Diagnostics | undefined;
  /** Receivers of the records outside of the trace. */
  readonly consumers?: readonly Consumer[];
  /** Returns the filter of samples for these consumers. */
  readonly filter?: (reader: PerfDataReader) => Promise<EngineOptions["filter"]>;
  /** The AUX data, if `readAuxTrace` was called before. */
  readonly aux?: AuxTrace;
}

/**
 * The Intel PT of a recording, with the inputs for decoding it: AUX data, records, clock and code.
 *
 * @example
 * ```ts
 * import { blobSource } from "@perfdata/format";
 * import { PtTrace } from "@perfdata/pt/decode";
 * import { assertEquals } from "@std/assert";
 *
 * // An empty stream of perf record -o -.
 * const file = new Blob(["PERFILE2", Uint8Array.of(16, 0, 0, 0, 0, 0, 0, 0)]);
 * const trace = await PtTrace.open(blobSource(file));
 * assertEquals([trace.bytes, trace.clock.known], [0, false]);
 * ```
 */
export class PtTrace {
  /** The AUX data, with the overlaps of snapshots. */
  readonly aux: AuxTrace;
  /** The bytes of the recording. */
  readonly source: RandomAccessSource;
  /** Threads, context switches and mappings, from the records. */
  readonly sideband: PtSideband;
  /** Conversion of times. */
  readonly clock: PtClock;
  /** The pass over the records. */
  readonly engine: Engine;
  /** The code of threads. */
  readonly code: PtCode;

  private constructor(
    { aux, source, sideband, engine, code }: Pick<
      PtTrace,
      "aux" | "source" | "sideband" | "engine" | "code"
    >,
  ) {
    this.aux = aux;
    this.source = source;
    this.sideband = sideband;
    this.engine = engine;
    this.code = code;
    this.clock = new PtClock(aux);
  }

  /** Opens a recording and reads all of its records, but not the trace. */
  static async open(
    source: RandomAccessSource,
    { code, diagnostics, consumers = [], filter, aux: found }: OpenPtOptions = {},
  ): Promise<PtTrace> {
    const how = diagnostics === undefined ? {} : { diagnostics };
    const aux = found ?? await readAuxTrace(await PerfDataReader.open(source, how), how);
    await stitchAuxTrace(aux, source);
    // The search for AUX data has already reported damage.
    const quiet = diagnostics === undefined ? {} : { diagnostics: () => {} };
    const reader = await PerfDataReader.open(source, quiet);
    const sideband = new PtSideband(aux);
    const engine = await runEngine(reader, [sideband, ...consumers], {
      ...quiet,
      filter: await filter?.(reader),
    });
    const { files, images, guestImages } = await code?.(engine.recorded) ?? NO_CODE;
    return new PtTrace({
      aux,
      source,
      sideband,
      engine,
      code: new PtCode(sideband, files, images, guestImages),
    });
  }

  /** Bytes of the trace, without the overlaps of pieces. */
  get bytes(): number {
    return this.bytesOf(() => true);
  }

  /** {@linkcode PtTrace.bytes} of some buffers. */
  bytesOf(wants: (stream: AuxStream) => boolean): number {
    return this.aux.streams.filter(wants).reduce((sum, stream) => sum + auxStreamBytes(stream), 0);
  }

  /** The same trace without the times of packets. */
  timeless(): PtTrace {
    const { intelPtConfig } = this.aux;
    if (intelPtConfig === undefined) return this;
    return new PtTrace({
      ...this,
      aux: { ...this.aux, intelPtConfig: { ...intelPtConfig, tsc: false } },
    });
  }
}

/**
 * {@linkcode PtTrace.open} for a recording that has to have Intel PT.
 *
 * @param reader A reader of the source, which has read its header.
 * @throws {PerfDataError} If there is no AUX data (`no-aux-data`) or no Intel PT (`not-intel-pt`).
 */
export async function openIntelPt(
  reader: PerfDataReader,
  source: RandomAccessSource,
  options: OpenPtOptions = {},
): Promise<PtTrace> {
  const { diagnostics } = options;
  const aux = await readAuxTrace(reader, diagnostics === undefined ? {} : { diagnostics });
  if (aux.streams.length === 0) throw new PerfDataError("no AUX data", { code: "no-aux-data" });
  if (aux.type !== PERF_AUXTRACE_INTEL_PT) {
    throw new PerfDataError(`AUX data is ${aux.typeName}, not Intel PT`, { code: "not-intel-pt" });
  }
  return await PtTrace.open(source, { ...options, aux });
}
