import {
  dumpFile,
  type DumpOptions,
  type DumpStats,
  recordsFile,
  type RecordsOptions,
  type RecordSymbols,
  type WrittenRecords,
} from "@perfdata/dump";
import type { Engine } from "@perfdata/session";
import type { FilePlaceSymbols } from "@perfdata/session/symbols";
import type { SymbolResolver } from "@perfdata/symbols";
import { type TextHost, threadsFor } from "./text_host.ts";

/** Selection and format of {@linkcode Recording.dump}. */
export interface DumpTextOptions
  extends Partial<Omit<DumpOptions, "write" | "progress" | "diagnostics">> {
  /**
   * Path of the file in the text, which other threads open; by default the name of the recording.
   */
  readonly path?: string;
}

/** Selection and format of {@linkcode Recording.writeRecords}. */
export interface RecordTextOptions
  extends Omit<RecordsOptions, "progress" | "diagnostics" | "symbols" | "unwind" | "jit"> {
  /** Path of the file, which other threads open; by default the name of the recording. */
  readonly path?: string;
  /**
   * Names for the addresses in samples: `true` for those of the option `symbols` of `open`. Records
   * are then in order of time.
   */
  readonly symbols?: boolean | RecordSymbols | undefined;
  /** Whether the names have source lines and inlined functions. */
  readonly lines?: boolean;
  /** Whether call chains are unwound from copied stacks. Records are then in order of time. */
  readonly unwind?: boolean;
}

/** Result of {@linkcode Recording.writeRecords}. */
export interface RecordText extends WrittenRecords {
  /** Counts of the addresses that were looked up, for `symbols: true`. */
  readonly names?: FilePlaceSymbols<Engine> | undefined;
}

/** Writes the text of `perf report -D`. */
export async function dumpText(
  host: TextHost,
  { path = host.path, ...options }: DumpTextOptions,
): Promise<DumpStats> {
  const { reader, write, progress } = host;
  return await dumpFile(reader, { ...options, path, write, progress }, threadsFor(host, "dump"));
}

/** Writes records as lines. */
export async function recordText(
  host: TextHost,
  { symbols, lines = false, unwind = false, path = host.path, ...options }: RecordTextOptions,
): Promise<RecordText> {
  const { reader, write, progress, diagnostics } = host;
  let known: Promise<SymbolResolver> | undefined;
  const resolver = ({ recorded }: Engine) =>
    known ??= Promise.resolve(host.symbols({ machine: recorded, lines }));
  const names = symbols === true
    // Loaded on demand: most records have no names.
    ? new (await import("@perfdata/session/symbols")).FilePlaceSymbols<Engine>(resolver)
    : undefined;
  const written = await recordsFile(reader, {
    ...options,
    path,
    write,
    progress,
    diagnostics,
    symbols: typeof symbols === "boolean" ? names : symbols,
    unwind: unwind ? resolver : undefined,
    jit: names && resolver,
  }, threadsFor(host, "records"));
  return { ...written, names };
}
