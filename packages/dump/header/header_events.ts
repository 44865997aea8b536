import { ATTR_FLAGS, type PerfEventAttr } from "@perfdata/format/records";
import type { EventDescs } from "@perfdata/format/features";
import {
  PERF_FORMAT_NAMES,
  PERF_SAMPLE_BRANCH_NAMES,
  PERF_SAMPLE_NAMES,
} from "@perfdata/format/constants";

/** The bits in perf's order, which lacks TRANSACTION. */
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

/** The attr's part of an `# event` line: all nonzero fields, each after a comma. */
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
