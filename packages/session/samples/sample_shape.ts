import type { Run } from "../order/run.ts";
import type { OffCpuFields, PerfEvent, SampleFields } from "@perfdata/format/records";
import {
  PERF_SAMPLE_BRANCH_CALL_STACK,
  PERF_SAMPLE_BRANCH_STACK,
  PERF_SAMPLE_REGS_USER,
  PERF_SAMPLE_STACK_USER,
} from "@perfdata/format/constants";

/** The fields of samples to fill in, beside thread, process, comm and period. */
export interface ResolveNeeds {
  /** `Run.place`. */
  readonly places: boolean;
  /** `Run.stack`. */
  readonly stacks: boolean;
  /** Callers in stacks are at their calls. */
  readonly calls: boolean;
  /** `Run.addr`. */
  readonly addr: boolean;
  /** `Run.branches`. */
  readonly branches: boolean;
  /** `Run.chains`. */
  readonly chains: boolean;
  /** `Run.chains` are whole stacks, with `Run.chainWords`. */
  readonly joined: boolean;
  /** `Run.frames`. */
  readonly frames: boolean;
  /** `Run.map`. */
  readonly maps: boolean;
  /** Of which samples places and stacks are looked at; of all if there is none. */
  readonly looksAt?: ((run: Run, i: number) => boolean) | undefined;
}

/** Where an event's samples have what is read of each; -1 for what they do not have. */
export interface SampleShape {
  readonly ip: number;
  /** Of the data that was accessed, if that is needed. */
  readonly addr: number;
  readonly period: number;
  readonly fixedPeriod: number;
  readonly size: number;
  readonly chain: boolean;
  readonly branches: boolean;
  /** Finds the sample that is meant, where that is another: address, period and chain are its own then. */
  readonly offCpu: OffCpuFields | undefined;
  /** Whether the user part of a stack may not be in the chain. */
  readonly elsewhere: boolean;
  /**
   * Whether user callers in the chain are in their calls, and no return addresses: simpleperf unwinds copies of stacks
   * while it records, and leaves the chain in place of the copy.
   */
  readonly isUnwound: boolean;
  /** Whether the branch stack is the stack of user calls. */
  readonly calls: boolean;
  /** Whether there are registers and a copy of the stack, to be unwound. */
  readonly unwind: boolean;
  /** Finds what has no fixed place, where that is needed. */
  readonly fields: SampleFields | undefined;
  /** Whether a sample may have places besides that of its address. */
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
