import {
  emptyAttr,
  KERNEL_RECORDS,
  layoutOf,
  perfBranchEntry,
  PerfEvent,
  prefixSize,
  type RecordBatch,
  RecordCodec,
  setRecordSize,
} from "@perfdata/format/records";
import {
  eventName,
  PERF_CONTEXT_KERNEL,
  PERF_CONTEXT_USER,
  PERF_RECORD_AUXTRACE,
  PERF_RECORD_AUXTRACE_INFO,
  PERF_RECORD_FINISHED_ROUND,
  PERF_RECORD_MISC_KERNEL,
  PERF_RECORD_MISC_USER,
  PERF_RECORD_SAMPLE,
  PERF_SAMPLE_ADDR,
  PERF_SAMPLE_BRANCH_STACK,
  PERF_SAMPLE_CALLCHAIN,
  PERF_SAMPLE_CPU,
  PERF_SAMPLE_IDENTIFIER,
  PERF_SAMPLE_IP,
  PERF_SAMPLE_PERIOD,
  PERF_SAMPLE_TID,
  PERF_SAMPLE_TIME,
} from "@perfdata/format/constants";
import { floatAt, intAt, joinBytes, PerfDataError } from "@perfdata/format/bytes";
import {
  BRANCH_WORDS,
  CHAIN_WORDS,
  clockRatios,
  IP_FLAG,
  type ItraceOptions,
  type PtSampleRows,
  SAMPLE,
  SAMPLE_WORD,
  SAMPLE_WORDS,
} from "@perfdata/pt";
import {
  decodePt,
  type DecodePtOptions,
  type PtCounts,
  PtSamples,
  type PtTrace,
  type SamplesOptions,
} from "@perfdata/pt/decode";
import { EVENT_UPDATE, PERF_EVENT_UPDATE__NAME } from "@perfdata/user-records/metadata";
import { DROP, type Edit, KEEP, type Verdict } from "../copy/copy.ts";
import type { RecordingHead } from "../copy/recording_output.ts";

/** Offset from the id of the event to the ids of the events that perf synthesizes. */
const ID_OFFSET = 1_000_000_000n;
/** Bytes of samples that are written at once. */
const BLOCK = 1 << 18;
/** Bytes of the longest record. */
const MOST = 1 << 16;
/** Bytes of a 64-bit value. */
const U64 = 8;

const codec = new RecordCodec([...KERNEL_RECORDS, EVENT_UPDATE]);
const ENTRY = layoutOf(perfBranchEntry);
const ENTRY_SIZE = prefixSize(perfBranchEntry);

/** Context markers by whether they are the kernel's: their lower halves; all bits of the upper ones are set. */
const [USER_MARK, KERNEL_MARK] = [PERF_CONTEXT_USER, PERF_CONTEXT_KERNEL].map((mark) =>
  Number(BigInt.asIntN(32, mark))
) as [number, number];

/** Attr flags that exclude code from tracing, and so from the samples. */
const EXCLUDED = [
  "exclude_user",
  "exclude_kernel",
  "exclude_hv",
  "exclude_host",
  "exclude_guest",
] as const;

/** Events by kind of sample: PERF_COUNT_HW_INSTRUCTIONS, BRANCH_INSTRUCTIONS, CPU_CYCLES. */
const KINDS: readonly { readonly kind: number; readonly config: bigint; readonly name?: string }[] =
  [
    { kind: SAMPLE.BRANCHES, config: 4n },
    { kind: SAMPLE.INSTRUCTIONS, config: 1n },
    { kind: SAMPLE.CYCLES, config: 0n },
    { kind: SAMPLE.TRANSACTIONS, config: 1n, name: "transactions" },
  ];

interface MadeEvent {
  readonly event: PerfEvent;
  readonly id: bigint;
  readonly name: string;
  readonly hasChain: boolean;
  readonly hasBranches: boolean;
  /** A sample in user space and one in the kernel, without values and lists. */
  readonly user: Uint8Array;
  readonly kernel: Uint8Array;
}

/**
 * Makes samples of Intel PT: the recording without the trace, with the events that `--itrace` asks for and their
 * samples as records, as `perf inject --itrace` writes them. They come after all other records, and readers put them in
 * order of time: there are no rounds.
 */
export class PtSampleRecords implements Edit {
  /** Samples that were written. */
  samples = 0;
  /** Figures of decoding, after the last sample. */
  counts: PtCounts | undefined;
  readonly #trace: PtTrace;
  readonly #itrace: ItraceOptions;
  readonly #filter: SamplesOptions["filter"];
  readonly #decoding: DecodePtOptions;
  readonly #littleEndian: boolean;
  readonly #made: (MadeEvent | undefined)[] = [];
  readonly #out = new Uint8Array(BLOCK);
  readonly #view = new DataView(this.#out.buffer);
  #end = 0;

  /**
   * Makes nothing yet.
   *
   * @param filter Selects the samples that are made.
   * @throws {PerfDataError} If samples of several events could not be distinguished.
   */
  constructor(
    trace: PtTrace,
    itrace: ItraceOptions,
    { filter, ...decoding }: DecodePtOptions & { readonly filter?: SamplesOptions["filter"] } = {},
  ) {
    const { reader } = trace.engine;
    this.#trace = trace;
    this.#filter = filter;
    this.#decoding = decoding;
    this.#littleEndian = reader.littleEndian;
    this.#itrace = {
      ...itrace,
      ...{ ptwrites: false, power: false, interrupts: false, pebs: false, errors: false },
      ...{ addedChain: undefined, addedBranches: undefined },
    };
    const { all } = reader.events;
    if (all.some(({ attr }) => (attr.sample_type & BigInt(PERF_SAMPLE_IDENTIFIER)) === 0n)) {
      throw new PerfDataError(
        "samples of another event cannot be added: those of the recording have no identifier",
      );
    }
    const wanted: Readonly<Record<number, boolean>> = {
      [SAMPLE.BRANCHES]: itrace.branches,
      [SAMPLE.INSTRUCTIONS]: itrace.instructions !== undefined,
      [SAMPLE.CYCLES]: itrace.cycles !== undefined,
      [SAMPLE.TRANSACTIONS]: itrace.transactions,
    };
    const of = all.find(({ attr }) => BigInt(attr.type) === trace.aux.intelPt?.pmu_type) ?? all[0];
    let id = (of?.ids[0] ?? 0n) + ID_OFFSET;
    for (const { kind, config, name } of KINDS) {
      if (wanted[kind] !== true) continue;
      this.#made[kind] = this.#event(of, kind, config, id++, name);
    }
  }

  /** The names of the events whose samples are made. */
  get names(): string[] {
    return this.#made.flatMap((made) => made?.name ?? []);
  }

  /** Adds the events. */
  head(head: RecordingHead): RecordingHead {
    const made = this.#made.flatMap((event) => event ?? []);
    return {
      ...head,
      events: [...head.events, ...made.map(({ event: { attr }, id }) => ({ attr, ids: [id] }))],
    };
  }

  /** Names them. */
  before(): Uint8Array {
    const records = this.#made.flatMap((made) => {
      if (made === undefined) return [];
      const body = { type: BigInt(PERF_EVENT_UPDATE__NAME), id: made.id, name: made.name };
      const record = { type: 78, name: "EVENT_UPDATE", misc: 0, body } as const;
      return codec.encode(record, { littleEndian: this.#littleEndian }).slice();
    });
    return joinBytes(records);
  }

  /** Drops the trace and its description, and FINISHED_ROUND records: the samples come later. */
  record(batch: RecordBatch, i: number): Verdict {
    const type = batch.type(i);
    return type === PERF_RECORD_AUXTRACE_INFO || type === PERF_RECORD_AUXTRACE ||
        type === PERF_RECORD_FINISHED_ROUND
      ? DROP
      : KEEP;
  }

  /** Decodes the trace, and writes the samples. */
  async after(write: (records: Uint8Array) => Promise<void>): Promise<void> {
    const { aux } = this.#trace;
    const { maxNonTurboRatio = 0 } = clockRatios(aux);
    const idle = async () => {
      await this.#take(samples.rows, write);
      samples.clear();
    };
    const samples: PtSamples = new PtSamples(this.#trace, {
      itrace: this.#itrace,
      maxNonTurboRatio,
      merge: false,
      hasKernel: this.#made.some((made) => made?.event.attr.flags.exclude_kernel === false),
      snapshots: aux.mayOverlap,
      filter: this.#filter,
      idle,
    });
    this.counts = await decodePt(this.#trace, samples, {
      ...this.#decoding,
      quick: this.#itrace.quick ?? 0,
    });
    samples.finish();
    await idle();
    if (this.#end > 0) await write(this.#out.subarray(0, this.#end));
    this.#end = 0;
  }

  #event(
    of: PerfEvent | undefined,
    kind: number,
    config: bigint,
    id: bigint,
    name: string | undefined,
  ): MadeEvent {
    const { aux, clock } = this.#trace;
    const { instructions, cycles, callChain, branchStack } = this.#itrace;
    const isBranches = kind === SAMPLE.BRANCHES;
    const hasChain = !isBranches && callChain !== undefined;
    const hasBranches = branchStack !== undefined;
    const hasCpu = aux.streams.some(({ cpu }) => cpu !== undefined);
    const sampled = kind === SAMPLE.CYCLES
      ? cycles
      : kind === SAMPLE.INSTRUCTIONS
      ? instructions
      : undefined;
    const { flags, size } = of?.attr ?? emptyAttr();
    const attr = {
      ...emptyAttr(),
      size,
      config,
      sample_period: BigInt(Math.round(sampled?.period ?? 1)),
      sample_type: BigInt(
        PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_PERIOD |
          (clock.known ? PERF_SAMPLE_TIME : 0) | (hasCpu ? PERF_SAMPLE_CPU : 0) |
          (isBranches ? PERF_SAMPLE_ADDR : 0) | (hasChain ? PERF_SAMPLE_CALLCHAIN : 0) |
          (hasBranches ? PERF_SAMPLE_BRANCH_STACK : 0),
      ),
    };
    attr.flags = { ...attr.flags, sample_id_all: flags.sample_id_all };
    for (const which of EXCLUDED) {
      attr.flags[which] = flags[which];
    }
    const event = new PerfEvent(attr, [id], () => "x86_64");
    const sample = (misc: number): Uint8Array => {
      const body = {
        ...{ identifier: id, ip: 0n, pid: 0, tid: 0, time: 0n, addr: 0n, cpu: 0, res: 0 },
        ...{ period: 0n, callchain: [], branch_stack: { entries: [] } },
      };
      const record = { type: PERF_RECORD_SAMPLE, name: "SAMPLE", misc, body } as const;
      return codec.encode(record, { littleEndian: this.#littleEndian, event }).slice();
    };
    return {
      ...{ event, id, name: name ?? eventName(attr), hasChain, hasBranches },
      user: sample(PERF_RECORD_MISC_USER),
      kernel: sample(PERF_RECORD_MISC_KERNEL),
    };
  }

  async #take(rows: PtSampleRows, write: (records: Uint8Array) => Promise<void>): Promise<void> {
    const { words, count } = rows;
    for (let row = 0; row < count; row++) {
      const made = this.#made[intAt(words, row * SAMPLE_WORDS + SAMPLE_WORD.KIND)];
      if (made === undefined) continue;
      if (this.#end + MOST > BLOCK) {
        await write(this.#out.subarray(0, this.#end));
        this.#end = 0;
      }
      this.#put(made, rows, row);
      this.samples++;
    }
  }

  #put(made: MadeEvent, { words, time, value, lists }: PtSampleRows, row: number): void {
    const le = this.#littleEndian;
    const view = this.#view;
    const start = this.#end;
    const at = row * SAMPLE_WORDS;
    const { layout } = made.event;
    const [hi, lo] = [
      intAt(words, at + SAMPLE_WORD.FROM_HI),
      intAt(words, at + SAMPLE_WORD.FROM_LO),
    ];
    const template = hi < 0 ? made.kernel : made.user;
    this.#out.set(template, start);
    this.#u64(start + layout.ip, hi, lo);
    view.setInt32(start + layout.pid, intAt(words, at + SAMPLE_WORD.PID), le);
    view.setInt32(start + layout.tid, intAt(words, at + SAMPLE_WORD.TID), le);
    const ns = floatAt(time, row);
    if (layout.time >= 0 && ns >= 0) {
      const { origin } = this.#trace.clock;
      this.#u64(start + layout.time, origin.highOf(ns), origin.lowOf(ns));
    }
    if (layout.addr >= 0) {
      this.#u64(
        start + layout.addr,
        intAt(words, at + SAMPLE_WORD.TO_HI),
        intAt(words, at + SAMPLE_WORD.TO_LO),
      );
    }
    if (layout.cpu >= 0) {
      view.setInt32(start + layout.cpu, intAt(words, at + SAMPLE_WORD.CPU), le);
    }
    const period = floatAt(value, row);
    this.#u64(start + layout.period, Math.floor(period / 2 ** 32), period | 0);
    // After the fixed fields, the counts of both lists, which are 0 in the template.
    this.#end = start + layout.fixedSize;
    const list = intAt(words, at + SAMPLE_WORD.LISTS);
    if (made.hasChain) this.#chain(lists, list, hi, lo);
    if (made.hasBranches) {
      if (layout.addr >= 0) this.#branch(words, at);
      else this.#branches(lists, list);
    }
    setRecordSize(view, start, this.#end - start, le);
  }

  /** The call chain: its own address, then its callers, with a marker where the mode changes. */
  #chain(lists: Int32Array, list: number, hi: number, lo: number): void {
    const counted = this.#end;
    this.#end += U64;
    this.#mark(hi);
    this.#add(hi, lo);
    let isKernel = hi < 0;
    const callers = list < 0 ? 0 : intAt(lists, list);
    for (let n = 0, at = list + 1; n < callers; n++, at += CHAIN_WORDS) {
      const top = intAt(lists, at);
      if (top < 0 !== isKernel) {
        this.#mark(top);
        isKernel = top < 0;
      }
      this.#add(top, intAt(lists, at + 1));
    }
    this.#u64(counted, 0, (this.#end - counted) / U64 - 1);
  }

  #mark(hi: number): void {
    this.#add(-1, hi < 0 ? KERNEL_MARK : USER_MARK);
  }

  #branch(words: Int32Array, at: number): void {
    this.#add(0, 1);
    this.#entry(
      words,
      at + SAMPLE_WORD.FROM_HI,
      at + SAMPLE_WORD.TO_HI,
      intAt(words, at + SAMPLE_WORD.FLAGS),
    );
  }

  #branches(lists: Int32Array, list: number): void {
    const from = list < 0 ? -1 : list + 1 + CHAIN_WORDS * (intAt(lists, list));
    const count = from < 0 ? 0 : intAt(lists, from);
    this.#add(0, count);
    for (let n = 0, at = from + 1; n < count; n++, at += BRANCH_WORDS) {
      this.#entry(lists, at, at + 3, intAt(lists, at + 6));
    }
  }

  /** An entry of a branch stack, from two addresses of which the upper half comes first. */
  #entry(words: Int32Array, from: number, to: number, flags: number): void {
    const start = this.#end;
    this.#u64(start + ENTRY.from, intAt(words, from), intAt(words, from + 1));
    this.#u64(start + ENTRY.to, intAt(words, to), intAt(words, to + 1));
    // Bit fields in the order of `perf_branch_entry`: mispred, predicted, in_tx, abort.
    const isInside = (flags & IP_FLAG.IN_TX) !== 0;
    const isAbort = (flags & IP_FLAG.TX_ABORT) !== 0;
    if (this.#littleEndian) {
      this.#u64(start + ENTRY.flags, 0, (isInside ? 4 : 0) | (isAbort ? 8 : 0));
    } else this.#u64(start + ENTRY.flags, (isInside ? 1 << 29 : 0) | (isAbort ? 1 << 28 : 0), 0);
    this.#end = start + ENTRY_SIZE;
  }

  #add(hi: number, lo: number): void {
    this.#u64(this.#end, hi, lo);
    this.#end += U64;
  }

  #u64(at: number, hi: number, lo: number): void {
    const le = this.#littleEndian;
    this.#view.setInt32(le ? at : at + 4, lo, le);
    this.#view.setInt32(le ? at + 4 : at, hi, le);
  }
}
