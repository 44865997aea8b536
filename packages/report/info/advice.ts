import type { RecordingInfo } from "./info.ts";

/** A possible improvement. */
export interface Advice {
  /** The problem. */
  readonly what: string;
  /** The remedy: a command, or flags of `perf record`. */
  readonly remedy: string;
}

function share(part: number, all: number): string {
  return `${(all === 0 ? 0 : 100 * part / all).toFixed(1)}%`;
}

/**
 * Suggests improvements of a recording.
 *
 * @param info Counts of the recording.
 * @param damage Number of faults found while reading.
 * @param file Name of the recording in the remedies.
 *
 * @example
 * ```ts
 * import { bytesSource, PerfDataReader } from "@perfdata/format";
 * import { adviceOf, recordingInfo } from "@perfdata/report/figures";
 * import { assertEquals } from "@std/assert";
 *
 * const file = bytesSource(await Deno.readFile("fixtures/recorded/two-events.perf.data"));
 * const info = await recordingInfo(await PerfDataReader.open(file));
 * const [first] = adviceOf(info, 0, "perf.data");
 * assertEquals(first?.what, "No call chains were recorded: functions have no callers.");
 * ```
 */
export function adviceOf(info: RecordingInfo, damage: number, file: string): Advice[] {
  const { samples, stacks, objects, lost, throttled } = info;
  const advice: Advice[] = [];
  if (damage > 0) {
    advice.push({
      what: `The recording is damaged: ${damage} ${damage === 1 ? "fault" : "faults"}. ` +
        "What can be read is shown.",
      remedy: `perfdata repair ${file} -o repaired.data`,
    });
  }
  for (const what of info.impossible) {
    advice.push({
      what: `${what}.`,
      remedy: `compare numbers of samples, or leave out what is wrong: perfdata slice ${file}`,
    });
  }
  if (lost > 0) {
    advice.push({
      what: `${lost} records (${share(lost, samples + lost)}) were lost, since nobody read the ` +
        "buffers in time.",
      remedy: "perf record -m 16M, or fewer samples: -F 499",
    });
  }
  if (samples > 0 && stacks.chains + stacks.copies === 0) {
    advice.push({
      what: "No call chains were recorded: functions have no callers.",
      remedy: "perf record -g, or --call-graph dwarf for code without frame pointers",
    });
  }
  if (samples > 0 && objects.unidentified / samples > 0.01) {
    advice.push({
      what:
        `${share(objects.unidentified, samples)} of samples are in objects without a build id: ` +
        "whether files of this machine are those that ran is not known.",
      remedy: "perf record --buildid-all, or --buildid-mmap",
    });
  }
  if (throttled > 0) {
    advice.push({
      what: `The kernel paused events ${throttled} times, since they interrupted too often.`,
      remedy: "perf record -F 499",
    });
  }
  if (samples > 0 && !info.timed) {
    advice.push({
      what: "Samples have no times: there is no timeline.",
      remedy: "perf record -T",
    });
  }
  return advice;
}

/**
 * Advice from a profile's line of trust.
 *
 * @param trust The line, `Profile.trust`.
 */
export function adviceOfTrust(trust: string): Advice[] {
  const advice: Advice[] = [];
  const lost = /(?<![\d.])([\d.]+%) have callers where nothing was mapped/.exec(trust);
  if (lost !== null) {
    advice.push({
      what: `${lost[1]} of samples have callers where nothing was mapped: the code has no frame ` +
        "pointers.",
      remedy: "perf record --call-graph dwarf, or compile with -fno-omit-frame-pointer",
    });
  }
  const missing = /file missing ([\d.]+%)/.exec(trust);
  if (missing !== null) {
    advice.push({
      what: `${missing[1]} of samples have no name, since their files are not here.`,
      remedy: "on the machine that recorded: perfdata symbols bundle -o symbols.bundle; " +
        "then --symbols symbols.bundle",
    });
  }
  return advice;
}
