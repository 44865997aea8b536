import type { Diagnostics, RandomAccessSource } from "@perfdata/format/bytes";
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
import { PtClock } from "../decode/pt_clock.ts";
import { PtCode } from "./pt_code.ts";
import { PtSideband } from "./pt_sideband.ts";

/** Where the code of a trace is found. */
export interface TraceCode {
  /** The files of its objects. */
  readonly files: CodeFiles;
  /** Copies of memory, which come before files. */
  readonly images?: readonly MemoryImage[] | undefined;
  /** Copies of the memory of a guest. */
  readonly guestImages?: readonly MemoryImage[] | undefined;
}

/** Code that is not at hand: addresses have no names then, and no path is followed. */
const NO_CODE: TraceCode = { files: { open: () => ({ missing: "" }), file: () => undefined } };

/** Options of {@linkcode PtTrace.open}. */
export interface OpenPtOptions {
  /** Finds the code of what was mapped; without it there is none. */
  readonly code?: (recorded: RecordedObjects) => Promise<TraceCode> | TraceCode;
  /** Gets damages; without it the first one is thrown. */
  readonly diagnostics?: Diagnostics | undefined;
  /** Receivers of the records that are read beside the trace. */
  readonly consumers?: readonly Consumer[];
  /** Which samples count for them. */
  readonly filter?: (reader: PerfDataReader) => Promise<EngineOptions["filter"]>;
  /** The AUX data, if `readAuxTrace` has found them. */
  readonly aux?: AuxTrace;
}

/**
 * The Intel PT of a recording with all that its decoding takes: AUX data, records, clock and code.
 *
 * @example
 * ```ts
 * import { blobSource } from "@perfdata/format";
 * import { PtTrace } from "@perfdata/pt/code";
 * import { assertEquals } from "@std/assert";
 *
 * // An empty stream of perf record -o -.
 * const file = new Blob(["PERFILE2", Uint8Array.of(16, 0, 0, 0, 0, 0, 0, 0)]);
 * const trace = await PtTrace.open(blobSource(file));
 * assertEquals([trace.bytes, trace.clock.known], [0, false]);
 * ```
 */
export class PtTrace {
  /** The AUX data; what successive snapshots have in common is found. */
  readonly aux: AuxTrace;
  /** The bytes of the recording. */
  readonly source: RandomAccessSource;
  /** Threads, context switches and mappings, from the records. */
  readonly sideband: PtSideband;
  /** How times convert. */
  readonly clock: PtClock;
  /** The pass over the records. */
  readonly engine: Engine;
  /** The code that threads see. */
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
    // What is damaged was reported when the AUX data were looked for.
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

  /** Bytes of the trace, those that pieces have in common not counted. */
  get bytes(): number {
    return this.bytesOf(() => true);
  }

  /** {@linkcode PtTrace.bytes} of some buffers. */
  bytesOf(wants: (stream: AuxStream) => boolean): number {
    return this.aux.streams.filter(wants).reduce((sum, stream) => sum + auxStreamBytes(stream), 0);
  }

  /** The same trace as if its packets had no times. */
  timeless(): PtTrace {
    const { intelPtConfig } = this.aux;
    if (intelPtConfig === undefined) return this;
    return new PtTrace({
      ...this,
      aux: { ...this.aux, intelPtConfig: { ...intelPtConfig, tsc: false } },
    });
  }
}
