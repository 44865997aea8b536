import { adviceOf } from "./advice.ts";
import type { EventInfo, RecordingHead, RecordingInfo } from "./info.ts";

/** Width of the first column. */
const NAMES = 10;

/**
 * Formats the summary as lines: machine and command, counts, completeness, and suggested commands.
 *
 * @param info Counts of the recording.
 * @param damage Number of faults found while reading.
 * @param file Name of the recording in the suggestions.
 */
export function infoLines(info: RecordingInfo, damage: number, file: string): string[] {
  const lines = headLines(info);
  lines.push(line("time", timeText(info)));
  for (const event of info.events) lines.push(line("event", eventText(event, info)));
  lines.push(line("samples", samplesText(info)));
  const { guests } = info;
  if (guests.samples > 0) {
    const share = percent(guests.samples, info.samples);
    const of = count(guests.count, "guest", "guests");
    lines.push(
      line(
        "guests",
        `${
          count(guests.samples, "sample", "samples")
        } (${share}) of ${of}; funcs --sort machine tells them apart`,
      ),
    );
  }
  lines.push(line("lost", lostText(info)));
  if (info.samples > 0) lines.push(line("stacks", stacksText(info)));
  if (info.aux !== undefined) {
    lines.push(line("AUX", `${info.aux.type}, ${bytesText(info.aux.bytes)}`));
  }
  if (info.samples > 0) lines.push(line("symbols", symbolsText(info)));
  lines.push(line("damage", damage === 0 ? "none" : `${count(damage, "fault", "faults")}`));
  // The suggestions below cover damage.
  for (const { what, remedy } of adviceOf(info, 0, file)) {
    lines.push(line("better", `${what} ${remedy}`));
  }
  for (const [i, next] of suggestions(info, damage, file).entries()) {
    lines.push(line(i === 0 ? "next" : "", next));
  }
  return lines;
}

/** The first lines, which need only the recording's header. */
export function headLines(info: RecordingHead): string[] {
  const { machine } = info;
  const lines: string[] = [];
  const who = [
    machine["HOSTNAME"],
    machine["OSRELEASE"] && `Linux ${machine["OSRELEASE"]}`,
    machine["ARCH"],
    machine["CPUDESC"],
  ].filter((part) => part);
  lines.push(line("machine", who.join(", ") || "not recorded"));
  if (info.command !== undefined) lines.push(line("command", info.command.map(quoted).join(" ")));
  const version = machine["VERSION"];
  const part = info.partOfDirectory ? " of a directory, without the records beside it" : "";
  const form = `${info.form}${part}, ${info.littleEndian ? "little" : "big"}-endian`;
  const size = info.bytes === undefined ? "" : `${bytesText(info.bytes)}, `;
  lines.push(line("recording", `${size}${form}${version ? `, by perf ${version}` : ""}`));
  return lines;
}

function line(name: string, text: string): string {
  return `${name.padEnd(NAMES)}${text}`;
}

function count(n: number, one: string, many: string): string {
  return `${n} ${n === 1 ? one : many}`;
}

function percent(part: number, all: number): string {
  return `${(all === 0 ? 0 : 100 * part / all).toFixed(1)}%`;
}

function quoted(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}

function bytesText(bytes: number): string {
  const units = ["bytes", "KB", "MB", "GB", "TB"];
  let unit = 0;
  let value = bytes;
  for (; value >= 1000 && unit < units.length - 1; unit++) value /= 1000;
  return `${unit === 0 ? value : value.toPrecision(3)} ${units[unit]}`;
}

function seconds([first, last]: readonly [bigint, bigint]): number {
  return Number(last - first) / 1e9;
}

function samplesText({ samples, processes, threads, cpus }: RecordingInfo): string {
  if (samples === 0) return "none";
  const of = [count(processes, "process", "processes"), count(threads, "thread", "threads")];
  // Samples of a single recorded program have no CPU.
  if (cpus > 0) of.push(count(cpus, "CPU", "CPUs"));
  return `${samples} of ${of.join(", ")}`;
}

function timeText({ span, startedAt, timed }: RecordingInfo): string {
  if (span === undefined) return "no record has a time";
  const start = startedAt === undefined
    ? `from ${(Number(span[0]) / 1e9).toFixed(6)} of its clock; the time of day was not recorded`
    : `from ${new Date(Number(startedAt / 1_000_000n)).toISOString()}`;
  const length = seconds(span);
  const text = length < 0.1 ? `${(1e3 * length).toFixed(3)} ms` : `${length.toFixed(3)} s`;
  return `${text}, ${start}${timed ? "" : "; of records that are no samples"}`;
}

function eventText(event: EventInfo, { span }: RecordingInfo): string {
  const wanted = event.frequency === undefined
    ? event.fixedPeriod === 1 ? "each event" : `every ${event.fixedPeriod} events`
    : `${event.frequency} samples/s of each CPU or thread wanted`;
  const rate = span === undefined || seconds(span) === 0
    ? ""
    : `, ${Math.round(event.samples / seconds(span))}/s in all`;
  if (event.samples === 0) return `${event.name || "unnamed"}: no samples`;
  return `${event.name || "unnamed"}: ${count(event.samples, "sample", "samples")}, period ` +
    `${event.period}; ${wanted}${rate}`;
}

function lostText({ lost, samples, throttled, leftOut }: RecordingInfo): string {
  const parts = [lost === 0 ? "nothing" : `${lost} records (${percent(lost, samples + lost)})`];
  if (throttled > 0) parts.push(`throttled ${count(throttled, "time", "times")}`);
  if (leftOut > 0) {
    parts.push(`${count(leftOut, "sample", "samples")} of no known event or damaged`);
  }
  return parts.join("; ");
}

function stacksText({ stacks, samples }: RecordingInfo): string {
  const parts: string[] = [];
  if (stacks.chains > 0) {
    const each = (stacks.entries / stacks.chains).toFixed(1);
    parts.push(`call chains in ${percent(stacks.chains, samples)}, ${each} entries each`);
  }
  if (stacks.copies > 0) {
    parts.push(
      `copies of the user stack in ${percent(stacks.copies, samples)}, up to ` +
        `${stacks.copySize} bytes, to be unwound`,
    );
  }
  if (stacks.branches > 0) parts.push(`branch stacks in ${percent(stacks.branches, samples)}`);
  return parts.join("; ") || "none";
}

function symbolsText({ objects, samples }: RecordingInfo): string {
  const parts = [
    `${count(objects.count, "object", "objects")}, with a build id for ` +
    `${percent(objects.identified, samples)} of samples`,
  ];
  if (objects.unmapped > 0) {
    parts.push(`${percent(objects.unmapped, samples)} where nothing is mapped`);
  }
  return parts.join("; ");
}

/** Suggested commands, best first. */
function suggestions(info: RecordingInfo, damage: number, file: string): string[] {
  // A pipe cannot be read again.
  if (file === "-") return [];
  const name = quoted(file);
  const next: string[] = [];
  if (info.partOfDirectory) {
    const slash = file.lastIndexOf("/");
    next.push(`perfdata info ${quoted(slash < 0 ? "." : file.slice(0, slash) || "/")}`);
  }
  if (damage > 0) next.push(`perfdata repair ${name} -o repaired.data`);
  if (info.aux?.type === PT) next.push(`perfdata pt ${name}`);
  if (info.samples === 0) next.push(`perfdata dump ${name}`);
  else if (info.stacks.chains + info.stacks.copies > 0) {
    next.push(`perfdata funcs --children ${name}`);
  } else next.push(`perfdata funcs ${name}`);
  if (info.samples > 0) next.push(`perfdata symbols trust ${name}`);
  return next;
}

/** Name of Intel PT in `PERF_AUXTRACE_NAMES`. */
const PT = "INTEL_PT";
