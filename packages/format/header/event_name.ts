import type { PerfEventAttr } from "./attr.ts";

const HARDWARE = [
  "cycles",
  "instructions",
  "cache-references",
  "cache-misses",
  "branches",
  "branch-misses",
  "bus-cycles",
  "stalled-cycles-frontend",
  "stalled-cycles-backend",
  "ref-cycles",
];
const SOFTWARE = [
  "cpu-clock",
  "task-clock",
  "page-faults",
  "context-switches",
  "cpu-migrations",
  "minor-faults",
  "major-faults",
  "alignment-faults",
  "emulation-faults",
  "dummy",
];
const CACHES = ["L1-dcache", "L1-icache", "LLC", "dTLB", "iTLB", "branch", "node"];
const CACHE_OPS = [["load", "loads"], ["store", "stores"], ["prefetch", "prefetches"]];
/** Operations of each cache: load, store, prefetch. */
const CACHE_HAS = [0b111, 0b101, 0b111, 0b111, 0b001, 0b001, 0b111];

/**
 * Returns perf's name for an event without a name in the file, derived from the attr: `cycles:u`.
 *
 * @example
 * ```ts
 * import { emptyAttr, eventName } from "@perfdata/format";
 * import { assertEquals } from "@std/assert";
 *
 * const attr = emptyAttr();
 * attr.flags.exclude_kernel = true;
 * attr.flags.exclude_hv = true;
 * assertEquals(eventName(attr), "cycles:u");
 * ```
 */
export function eventName(attr: PerfEventAttr): string {
  const config = attr.config;
  switch (attr.type) {
    case 0: {
      const name = HARDWARE[Number(config & 0xffff_ffffn)] ?? "unknown-hardware";
      // On hybrid machines, the high half is the PMU type of the core.
      return (config >> 32n ? `cpu/${name}/` : name) + modifiers(attr);
    }
    case 1:
      return (SOFTWARE[Number(config)] ?? "unknown-software") + modifiers(attr);
    case 2:
      return "unknown tracepoint";
    case 3:
      return cacheName(Number(config & 0xff_ffffn)) + modifiers(attr);
    case 4:
      return `raw 0x${config.toString(16)}${modifiers(attr)}`;
    case 5:
      return `mem:0x${attr.config1?.toString(16) ?? 0}:${access(attr.bp_type)}${modifiers(attr)}`;
    default:
      return `unknown attr type: ${attr.type | 0}`;
  }
}

function access(type: number): string {
  return `${type & 1 ? "r" : ""}${type & 2 ? "w" : ""}${type & 4 ? "x" : ""}`;
}

function cacheName(config: number): string {
  const cache = CACHES[config & 255];
  if (cache === undefined) return "unknown-ext-hardware-cache-type";
  const op = CACHE_OPS[config >> 8 & 255];
  if (op === undefined) return "unknown-ext-hardware-cache-op";
  const result = config >> 16;
  if (result > 1) return "unknown-ext-hardware-cache-result";
  if (!((CACHE_HAS[config & 255] as number) >> (config >> 8 & 255) & 1)) return "invalid-cache";
  return result === 1 ? `${cache}-${op[0]}-misses` : `${cache}-${op[1]}`;
}

/** Returns the modifiers after the colon: CPU modes and precision. */
function modifiers({ flags }: PerfEventAttr): string {
  let text = "";
  let guestByDefault = false;
  if (flags.exclude_kernel || flags.exclude_user || flags.exclude_hv) {
    if (!flags.exclude_kernel) text += "k";
    if (!flags.exclude_user) text += "u";
    if (!flags.exclude_hv) text += "h";
    guestByDefault = true;
  }
  if (flags.precise_ip) {
    text += "ppp".slice(0, flags.precise_ip);
    guestByDefault = true;
  }
  if (flags.exclude_host || Boolean(flags.exclude_guest) === guestByDefault) {
    if (!flags.exclude_host) text += "H";
    if (!flags.exclude_guest) text += "G";
  }
  return text === "" ? "" : `:${text}`;
}
