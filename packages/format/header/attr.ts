import {
  bitfield,
  type BitfieldValue,
  type Codec,
  decode,
  enumeration,
  extensible,
  type ExtensibleValue,
  type FixedCodec,
  flags,
  hex,
  i32,
  u16,
  u32,
  u64,
  x64,
} from "../struct/mod.ts";
import { PERF_FORMAT_NAMES, PERF_SAMPLE_BRANCH_NAMES, PERF_SAMPLE_NAMES } from "./perf_event.ts";

/** The flag bits of `perf_event_attr`, lowest first. */
export const ATTR_FLAGS = {
  disabled: 1,
  inherit: 1,
  pinned: 1,
  exclusive: 1,
  exclude_user: 1,
  exclude_kernel: 1,
  exclude_hv: 1,
  exclude_idle: 1,
  mmap: 1,
  comm: 1,
  freq: 1,
  inherit_stat: 1,
  enable_on_exec: 1,
  task: 1,
  watermark: 1,
  precise_ip: 2,
  mmap_data: 1,
  sample_id_all: 1,
  exclude_host: 1,
  exclude_guest: 1,
  exclude_callchain_kernel: 1,
  exclude_callchain_user: 1,
  mmap2: 1,
  comm_exec: 1,
  use_clockid: 1,
  context_switch: 1,
  write_backward: 1,
  namespaces: 1,
  ksymbol: 1,
  bpf_event: 1,
  aux_output: 1,
  cgroup: 1,
  text_poke: 1,
  build_id: 1,
  inherit_thread: 1,
  remove_on_exec: 1,
  sigtrap: 1,
  defer_callchain: 1,
  defer_output: 1,
} as const;

/** The fields of `perf_event_attr`, as of `PERF_ATTR_SIZE_VER9` (144 bytes). */
export const ATTR_FIELDS = {
  type: [
    enumeration(u32, {
      0: "HARDWARE",
      1: "SOFTWARE",
      2: "TRACEPOINT",
      3: "HW_CACHE",
      4: "RAW",
      5: "BREAKPOINT",
    }) as FixedCodec<number>,
    "Type of the PMU. Above 5: the number of a PMU in sysfs.",
  ],
  size: [u32, "Size of the structure in the writer's version."],
  config: [x64, "Event to count; its meaning depends on the PMU."],
  sample_period: [u64, "Events per sample; if `flags.freq` is set, `sample_freq` in Hz."],
  sample_type: [flags(u64, PERF_SAMPLE_NAMES) as FixedCodec<bigint>, "Which fields a sample has."],
  read_format: [flags(u64, PERF_FORMAT_NAMES) as FixedCodec<bigint>, "Which values a READ has."],
  flags: [
    bitfield("perf_event_attr flags", ATTR_FLAGS) as FixedCodec<BitfieldValue<typeof ATTR_FLAGS>>,
    "The flag bits.",
  ],
  wakeup_events: [u32, "Wake-up after this many events, or bytes if `flags.watermark` is set."],
  bp_type: [u32, "Kind of a hardware breakpoint (`HW_BREAKPOINT_*`)."],
  config1: [x64, "More of `config`, or a breakpoint's address."],
  config2: [x64, "More of `config`, or a breakpoint's length."],
  branch_sample_type: [
    flags(u64, PERF_SAMPLE_BRANCH_NAMES) as FixedCodec<bigint>,
    "Which branches to record.",
  ],
  sample_regs_user: [x64, "Mask of the user registers in a sample."],
  sample_stack_user: [u32, "Bytes of user stack to copy into a sample."],
  clockid: [i32, "`clockid_t` of the time stamps if `flags.use_clockid` is set."],
  sample_regs_intr: [x64, "Mask of the interrupt registers in a sample."],
  aux_watermark: [u32, "Bytes of AUX data before a wake-up."],
  sample_max_stack: [u16, "Maximum number of frames in a call chain."],
  __reserved_2: [u16, "Zero."],
  aux_sample_size: [u32, "Bytes of AUX data in a sample."],
  aux_action: [hex(u32) as FixedCodec<number>, "AUX actions: start paused, pause, resume."],
  sig_data: [x64, "Passed to the signal handler if `flags.sigtrap` is set."],
  config3: [x64, "More of `config`."],
  config4: [x64, "More of `config`."],
} as const;

/**
 * A `perf_event_attr`: defines an event and the fields of its samples.
 *
 * Fields beyond a shorter structure's size are zero.
 */
export type PerfEventAttr = ExtensibleValue<typeof ATTR_FIELDS>;

/** Size of the first published `perf_event_attr`. A `size` of 0 means this size. */
export const PERF_ATTR_SIZE_VER0 = 64;

/** Size of `perf_event_attr` with all fields declared here. */
export const PERF_ATTR_SIZE = 144;

/**
 * Returns the period of samples without a period field: the attr's period, or `undefined` if the attr has
 * a frequency. `perf script` prints the same (`evsel__parse_sample` of tools/perf/util/evsel.c).
 */
export function fixedPeriod(attr: PerfEventAttr): bigint | undefined {
  return attr.flags.freq || attr.sample_period === 0n ? undefined : attr.sample_period;
}

/** Creates an attr with all fields zero; a starting point for writers. */
export function emptyAttr(): PerfEventAttr {
  const attr = decode(perfEventAttr(0), new Uint8Array(0)).value;
  return { ...attr, size: PERF_ATTR_SIZE };
}

/**
 * Declares a `perf_event_attr` (`include/uapi/linux/perf_event.h`) of any published or later size.
 *
 * A shorter structure is extended with zeros. The rest of a longer one is kept in `tail`. Encoding restores
 * the original length.
 *
 * @param size Bytes of the attr. By default, its own `size` field decides.
 *
 * @example
 * ```ts
 * import { decode, encode, perfEventAttr } from "@perfdata/format/records";
 * import { assertEquals } from "@std/assert";
 *
 * const bytes = new Uint8Array(64);
 * bytes[4] = 64; // size
 * bytes[40] = 0x01; // disabled
 * const attr = decode(perfEventAttr(), bytes).value;
 * assertEquals(attr.flags.disabled, true);
 * assertEquals(attr.config2, 0n);
 * assertEquals(encode(perfEventAttr(), attr), bytes);
 * ```
 */
export function perfEventAttr(size?: number): Codec<PerfEventAttr> {
  const extent = size ?? { own: "size", zero: PERF_ATTR_SIZE_VER0 };
  return extensible("perf_event_attr", ATTR_FIELDS, extent);
}
