import {
  ATTR_FLAGS,
  type EventDescs,
  PERF_FORMAT_NAMES,
  PERF_SAMPLE_BRANCH_NAMES,
  PERF_SAMPLE_NAMES,
  type PerfEventAttr,
} from "@perfdata/format";

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
const CACHE_OPS = ["load", "store", "prefetch"];
/** What is counted without a result: all accesses. */
const CACHE_ACCESSES = ["loads", "stores", "prefetches"];
/** Operations that a cache has: bit 0 loads, 1 stores, 2 prefetches. */
const CACHE_HAS = [7, 5, 7, 7, 1, 1, 7];

function cacheName(config: number): string {
  const [cache, op, result] = [config & 0xff, (config >> 8) & 0xff, (config >> 16) & 0xff];
  const name = CACHES[cache];
  if (name === undefined) return "unknown-ext-hardware-cache-type";
  if (op >= CACHE_OPS.length) return "unknown-ext-hardware-cache-op";
  if (result > 1) return "unknown-ext-hardware-cache-result";
  if ((((CACHE_HAS[cache] as number) >> op) & 1) === 0) return "invalid-cache";
  return result === 1 ? `${name}-${CACHE_OPS[op]}-misses` : `${name}-${CACHE_ACCESSES[op]}`;
}

/** The letters behind a colon that say when an event counts, as `-e` takes them. */
function modifiers(attr: PerfEventAttr): string {
  const { flags } = attr;
  let text = "";
  let chosen = false;
  if (flags.exclude_kernel || flags.exclude_user || flags.exclude_hv) {
    if (!flags.exclude_kernel) text += "k";
    if (!flags.exclude_user) text += "u";
    if (!flags.exclude_hv) text += "h";
    chosen = true;
  }
  if (flags.precise_ip > 0) {
    text += "p".repeat(flags.precise_ip);
    chosen = true;
  }
  if (flags.exclude_host || flags.exclude_guest === chosen) {
    if (!flags.exclude_host) text += "H";
    if (!flags.exclude_guest) text += "G";
  }
  return text === "" ? "" : `:${text}`;
}

/**
 * The name of an event that the file gives no name: what perf calls it by its type and `config`.
 *
 * @param attr The event's attr.
 *
 * @example
 * ```ts
 * import { defaultEventName } from "@perfdata/dump";
 * import { emptyAttr } from "@perfdata/format";
 * import { assertEquals } from "@std/assert";
 *
 * assertEquals(defaultEventName({ ...emptyAttr(), type: 1, config: 1n }), "task-clock:HG");
 * ```
 */
export function defaultEventName(attr: PerfEventAttr): string {
  const config = Number(attr.config & 0xffff_ffffn);
  switch (attr.type) {
    case 0:
      return (HARDWARE[config] ?? "unknown-hardware") + modifiers(attr);
    case 1:
      return (SOFTWARE[config] ?? "unknown-software") + modifiers(attr);
    case 2:
      return "unknown tracepoint";
    case 3:
      return cacheName(config) + modifiers(attr);
    case 4:
      return `raw 0x${attr.config.toString(16)}${modifiers(attr)}`;
    case 5: {
      const access = (attr.bp_type & 1 ? "r" : "") + (attr.bp_type & 2 ? "w" : "") +
        (attr.bp_type & 4 ? "x" : "");
      return `mem:0x${attr.config1.toString(16)}:${access}${modifiers(attr)}`;
    }
    default:
      return `unknown attr type: ${attr.type}`;
  }
}

/** The order in which perf lists the bits; it leaves out TRANSACTION. */
const SAMPLE_TYPE_ORDER = [
  "IP TID TIME ADDR READ CALLCHAIN ID CPU PERIOD STREAM_ID RAW BRANCH_STACK REGS_USER STACK_USER",
  "IDENTIFIER REGS_INTR DATA_SRC WEIGHT PHYS_ADDR AUX CGROUP DATA_PAGE_SIZE CODE_PAGE_SIZE",
  "WEIGHT_STRUCT",
].join(" ").split(" ");

function bitNames(
  value: bigint,
  names: Readonly<Record<number, string>>,
  order: readonly string[] = Object.values(names),
): string {
  const masks = new Map(Object.entries(names).map(([mask, name]) => [name, BigInt(mask)]));
  return order.filter((name) => value & (masks.get(name) ?? 0n)).join("|");
}

/** What an `# event` line says of an attr: all that is not zero, each after a comma. */
function attrText(attr: PerfEventAttr): string {
  let text = "";
  const add = (name: string, value: string | number | bigint) => {
    if (value !== 0 && value !== 0n) text += `, ${name} = ${value}`;
  };
  const hex = (name: string, value: bigint) => add(name, value && `0x${value.toString(16)}`);
  add("type", attr.type);
  add("size", attr.size);
  hex("config", attr.config);
  add("{ sample_period, sample_freq }", attr.sample_period);
  if (attr.sample_type !== 0n) {
    add("sample_type", bitNames(attr.sample_type, PERF_SAMPLE_NAMES, SAMPLE_TYPE_ORDER));
  }
  if (attr.read_format !== 0n) add("read_format", bitNames(attr.read_format, PERF_FORMAT_NAMES));
  for (const name of Object.keys(ATTR_FLAGS) as (keyof typeof ATTR_FLAGS)[]) {
    add(name, Number(attr.flags[name]));
  }
  add("{ wakeup_events, wakeup_watermark }", attr.wakeup_events);
  add("bp_type", attr.bp_type);
  hex("{ bp_addr, config1 }", attr.config1);
  hex("{ bp_len, config2 }", attr.config2);
  if (attr.branch_sample_type !== 0n) {
    add("branch_sample_type", bitNames(attr.branch_sample_type, PERF_SAMPLE_BRANCH_NAMES));
  }
  hex("sample_regs_user", attr.sample_regs_user);
  add("sample_stack_user", attr.sample_stack_user);
  add("clockid", attr.clockid);
  hex("sample_regs_intr", attr.sample_regs_intr);
  add("aux_watermark", attr.aux_watermark);
  add("sample_max_stack", attr.sample_max_stack);
  add("aux_sample_size", attr.aux_sample_size);
  add("sig_data", attr.sig_data);
  hex("aux_action", BigInt(attr.aux_action));
  hex("config3", attr.config3);
  hex("config4", attr.config4);
  return text;
}

/** The `# event` lines of EVENT_DESC. */
export function eventDescLines(desc: EventDescs): string[] {
  const lines: string[] = [];
  for (const { attr, name, ids } of desc.events) {
    if (attr.size === 0) break;
    const idText = ids.length > 0 ? `, id = { ${ids.join(", ")} }` : "";
    lines.push(`# event : name = ${name}, ${idText}${attrText(attr)}`);
  }
  return lines;
}
