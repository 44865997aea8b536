import type { Run } from "../order/run.ts";
import type { OffCpuFields, PerfEvent, SampleFields } from "@perfdata/format/records";
import {
  PERF_SAMPLE_BRANCH_CALL_STACK,
  PERF_SAMPLE_BRANCH_STACK,
  PERF_SAMPLE_REGS_USER,
  PERF_SAMPLE_STACK_USER,
} from "@perfdata/format/constants";

/** Columns of samples to fill, beside thread, process, comm and period. */
export interface ResolveNeeds {
  /** `Run.place`. */
  readonly places: boolean;
  /** `Run.stack`; places as well. */
  readonly stacks: boolean;
  /**
   * Whether callers in stacks are the address of their call instead of the return address: one byte
   * less, for lines and inlined functions. Counts for all consumers of the pass.
   */
  readonly calls: boolean;
  /** `Run.addr`; places as well. */
  readonly addr: boolean;
  /** `Run.branches`; places as well. */
  readonly branches: boolean;
  /** `Run.chains`; places as well. */
  readonly chains: boolean;
  /**
   * Whether `Run.chains` has whole stacks, with `Run.chainWords` and user parts that were recorded
   * elsewhere; implies stacks. Allowed only if no other consumer of the pass needs chains as they
   * were recorded.
   */
  readonly joined: boolean;
  /** `Run.frames`; places as well. */
  readonly frames: boolean;
  /** `Run.map`. */
  readonly maps: boolean;
  /**
   * Whether the consumer reads the place and the stack of sample `i`; all by default. Other samples
   * may have -1. Called after the columns up to `Run.chosen` are filled.
   */
  readonly looksAt?: ((run: Run, i: number) => boolean) | undefined;
}

/** Offsets of fields in an event's samples; -1 for missing fields. */
export interface SampleShape {
  readonly ip: number;
  /** Offset of the address of the accessed data, if needed. */
  readonly addr: number;
  readonly period: number;
  readonly fixedPeriod: number;
  readonly size: number;
  readonly chain: boolean;
  readonly branches: boolean;
  /**
   * Locates the fields of an off-CPU sample. Such samples have an address, period and chain of
   * their own.
   */
  readonly offCpu: OffCpuFields | undefined;
  /** Whether the user part of a stack may be recorded outside of the chain. */
  readonly elsewhere: boolean;
  /**
   * Whether user callers in the chain are addresses in their calls, not return addresses.
   * simpleperf unwinds copies of stacks while recording, and replaces the copy by the chain.
   */
  readonly isUnwound: boolean;
  /** Whether the branch stack is the stack of user calls. */
  readonly calls: boolean;
  /** Whether samples have registers and a copy of the stack, for unwinding. */
  readonly unwind: boolean;
  /** Locates fields without a fixed offset, if needed. */
  readonly fields: SampleFields | undefined;
  /** Whether a sample may have other places than that of its address. */
  readonly several: boolean;
}

/**
 * The shape of an event's samples.
 *
 * @param unwinds Whether copies of stacks are unwound.
 * @param isSimpleperf Whether simpleperf made the recording.
 */
export function sampleShape(
  event: PerfEvent,
  needs: ResolveNeeds,
  unwinds: boolean,
  isSimpleperf: boolean,
): SampleShape {
  const { attr, layout } = event;
  const { sampleType } = layout;
  const whole = needs.stacks || needs.frames;
  const chain = (whole || needs.chains) && event.hasChain;
  const branches = needs.branches && (sampleType & PERF_SAMPLE_BRANCH_STACK) !== 0;
  const copied = PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;
  const unwind = unwinds && whole && (sampleType & copied) === copied;
  const calls = chain && (sampleType & PERF_SAMPLE_BRANCH_STACK) !== 0 &&
    (attr.branch_sample_type & BigInt(PERF_SAMPLE_BRANCH_CALL_STACK)) !== 0n;
  const deferred = attr.flags.defer_callchain || attr.flags.defer_output;
  const addr = needs.addr ? layout.addr : -1;
  const { isOffCpu } = event;
  const fields = chain || branches || unwind || isOffCpu ? event.sampleFields() : undefined;
  return {
    ip: layout.ip,
    addr,
    period: layout.period,
    fixedPeriod: Number(attr.sample_period),
    size: layout.fixedSize,
    chain,
    branches,
    unwind,
    isUnwound: isSimpleperf && (sampleType & copied) === copied,
    calls,
    offCpu: isOffCpu ? fields as OffCpuFields : undefined,
    elsewhere: chain && (calls || deferred),
    fields,
    several: needs.stacks || addr >= 0 || fields !== undefined,
  };
}
