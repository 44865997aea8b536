/** Writes the calls of Intel PT as slices of time, for `export chrome` and `export perfetto`. */
import type { CallWriter } from "@perfdata/export";
import { ChromeCalls, PerfettoCalls } from "@perfdata/export/traces";
import { complain, InputError } from "./cli.ts";
import { titleOf } from "./open_recording.ts";
import { openTrace } from "./command_trace.ts";
import { parseJobs } from "./record_flags.ts";
import type { SampleFlags } from "./sample_flags.ts";
import type { SymbolFlags } from "./symbol_flags.ts";
import { printLoss } from "./trace_loss.ts";
import type { Flags } from "./flag_table.ts";

/** Formats that show each call as a slice. */
export type CallFormat = "chrome" | "perfetto";

/**
 * Writes calls while they are decoded.
 *
 * @returns Whether all was decoded.
 * @throws {InputError} If there are no calls with times.
 */
export async function writeCallSlices(
  tool: string,
  name: string,
  flags: SampleFlags & SymbolFlags & Flags<never, "jobs">,
  format: CallFormat,
  out: (bytes: Uint8Array) => void,
): Promise<boolean> {
  const jobs = parseJobs(flags.value.jobs);
  const { trace, filter, complaints, progress } = await openTrace(tool, name, flags, { jobs });
  const { sideband: { threads }, clock } = trace.trace;
  const opened: CallWriter[] = [];
  const loss = await trace.calls((names) => {
    const writer = format === "chrome"
      ? new ChromeCalls(names, threads, { title: titleOf(name) })
      : new PerfettoCalls(names, threads);
    opened.push(writer);
    return (events) => writer.rows(events, out);
  }, { filter });
  progress.finish();
  for (const writer of opened) {
    if (writer.calls === 0) {
      throw new InputError(
        `${name}: ${writer.untimed > 0 ? `no times: ${clock.why}` : "no calls"}`,
      );
    }
    writer.finish(out);
    if (writer.headless > 0) {
      complain(
        `${tool}: ${name}: ${writer.headless} calls began before the part that is written, and are not in it`,
      );
    }
  }
  return printLoss(tool, name, loss, complaints);
}
