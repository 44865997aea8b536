import type { PerfDataReader } from "@perfdata/format/records";
import type { CpuPmuCaps, GroupDescs, PmuCaps } from "@perfdata/format/features";
import {
  HEADER_CPU_PMU_CAPS,
  HEADER_GROUP_DESC,
  HEADER_PMU_CAPS,
  PERF_SAMPLE_BRANCH_COUNTERS,
} from "@perfdata/format/constants";
import { recordedFeatures } from "@perfdata/session";

/** Letters of the alphabet: perf names counted events with them. */
const LETTERS = 26;

/** Layout of the branch counters. */
export interface BranchCounters {
  /** Bits per counter. */
  readonly width: number;
  /** Short names of the counted events in each event's group, the lowest bits first. */
  readonly names: readonly (readonly string[])[];
  /** Short name of each counted event. */
  readonly own: readonly (string | undefined)[];
}

/** Reads the layout of a recording's branch counters; `undefined` if it has none. */
export async function branchCounters(reader: PerfDataReader): Promise<BranchCounters | undefined> {
  const events = reader.events.all;
  const counted = events.map(({ attr }) =>
    (attr.branch_sample_type & BigInt(PERF_SAMPLE_BRANCH_COUNTERS)) !== 0n
  );
  if (!counted.includes(true)) return undefined;
  const found = await recordedFeatures(
    reader,
    new Set([HEADER_CPU_PMU_CAPS, HEADER_PMU_CAPS, HEADER_GROUP_DESC]),
  );
  const own = found.get(HEADER_CPU_PMU_CAPS) as CpuPmuCaps | undefined;
  const [other] = (found.get(HEADER_PMU_CAPS) as PmuCaps | undefined)?.pmus ?? [];
  const caps = own?.caps ?? other?.caps ?? [];
  const width = Number(caps.find(({ name }) => name === "branch_counter_width")?.value ?? 0);
  const leaders = events.map((_, number) => number);
  const groups = (found.get(HEADER_GROUP_DESC) as GroupDescs | undefined)?.groups ?? [];
  for (const { leader_idx: leader, nr_members: members } of groups) {
    leaders.fill(leader, leader, leader + members);
  }
  let next = 0;
  const names = counted.map((isCounted) => isCounted ? shortName(next++) : "");
  return {
    own: names.map((name) => name === "" ? undefined : name),
    width: width > 0 && width <= 32 ? width : 0,
    names: events.map((_, number) =>
      names.filter((_, other) => counted[other] && leaders[other] === leaders[number])
    ),
  };
}

/** `A` to `Z`, then `A0` to `Z0`, and so on. */
function shortName(number: number): string {
  const letter = String.fromCharCode(0x41 + number % LETTERS);
  const round = Math.floor(number / LETTERS);
  return round === 0 ? letter : `${letter}${round - 1}`;
}

/** The legend that perf writes before each sample: events with their short names. */
export function countersLegend({ own }: BranchCounters, eventNames: readonly string[]): string {
  const list = own.flatMap((name, event) =>
    name === undefined ? [] : [`# ${eventNames[event] ?? "[unknown]"} = ${name}\n`]
  );
  return "# Branch counter abbr list:\n" + list.join("") +
    "# '-' No event occurs\n" +
    "# '+' Event occurrences may be lost due to branch counter saturated\n";
}

/** The counters of a branch in perf's format: each event's name as often as it occurred. */
export function countersText(
  { width, names }: BranchCounters,
  event: number,
  counters: bigint,
): string {
  let text = "br_cntr: ";
  const mask = (1n << BigInt(width)) - 1n;
  for (const [i, name] of (names[event] ?? []).entries()) {
    text += name.repeat(Number(counters >> BigInt(i * width) & mask));
  }
  return `${text}\t`;
}
