/**
 * perf.data files in a few lines: {@linkcode open} one and query it. Works the same in Deno, Node, Bun
 * and browsers.
 *
 * @example
 * ```ts
 * import { open } from "@perfdata/perfdata";
 * import { assertEquals } from "@std/assert";
 *
 * const recording = await open("fixtures/recorded/callchain.perf.data", { symbols: "none" });
 * const { samples, events } = await recording.info();
 * assertEquals([samples > 0, events.length], [true, 1]);
 * recording.close();
 * ```
 *
 * @module
 */
export * from "./open.ts";
export type * from "./profile_question.ts";
export type { ReadyKind, TableFiles } from "./ready_profile.ts";
export * from "./recording.ts";
export type { ExecutedInsns } from "./trace/executed_insns.ts";
export type { OpenedTrace, RecordingTrace, TraceHost } from "./trace/recording_trace.ts";
export type * from "./trace/trace_question.ts";
export type { TablesOptions, WrittenTables } from "./tables_of_recording.ts";
export type { Frame } from "./sample_frames.ts";
export type { AuxCopyOptions, AuxData, AuxProgress, CopiedAux } from "./auxtrace/aux_data.ts";
export type { DumpTextOptions, RecordText, RecordTextOptions } from "./text/record_text.ts";
export type { SampleTextOptions } from "./text/script_of_recording.ts";
export type { SharedText, ShareText, TextKind } from "./text/text_host.ts";
export type { ExportFormat } from "@perfdata/export/tree";
export { type ErrorPlace, PerfDataError, type PerfDataErrorCode } from "@perfdata/format/bytes";
