import { intAt } from "@perfdata/format/bytes";
import { type PtSampleRows, SAMPLE, SAMPLE_WORD, SAMPLE_WORDS } from "@perfdata/pt";
import type { BranchCounts } from "./branch_counts.ts";

/** State of a buffer: the last branch, with its thread. */
interface Last {
  branch: number;
  tid: number;
  /** Whether core clocks are known up to the last branch. */
  isClocked: boolean;
}

/**
 * Counts the branches of an Intel PT trace: each taken branch, and the code between two of them,
 * with core clocks if both have a CYC packet.
 */
export class TraceBranches {
  readonly #counts: BranchCounts;
  /** By CPU, or by thread if buffers belong to threads. */
  readonly #last = new Map<number, Last>();

  /** Adds to these counts. Their places are those of the trace's code. */
  constructor(counts: BranchCounts) {
    this.#counts = counts;
  }

  /** Counts branches and errors in their order. */
  take({ words, count }: PtSampleRows): void {
    for (let at = 0; at < count * SAMPLE_WORDS; at += SAMPLE_WORDS) {
      const tid = intAt(words, at + SAMPLE_WORD.TID);
      const cpu = intAt(words, at + SAMPLE_WORD.CPU);
      const last = this.#lastOf(cpu < 0 ? -2 - tid : cpu);
      // After an error or a switch of threads, the previous branch is unknown.
      const branch = last.tid === tid ? last.branch : -1;
      // The cycles count since the last branch with cycles.
      const cycles = last.isClocked ? words[at + SAMPLE_WORD.IPC_CYCLES] ?? 0 : 0;
      last.tid = tid;
      last.branch = -1;
      last.isClocked = words[at + SAMPLE_WORD.IPC_CYCLES] !== 0;
      if (words[at + SAMPLE_WORD.KIND] !== SAMPLE.BRANCHES) continue;
      const from = intAt(words, at + SAMPLE_WORD.FROM);
      const to = intAt(words, at + SAMPLE_WORD.TO);
      if (from >= 0 && branch >= 0) this.#counts.ranUntil(branch, from, cycles);
      if (from < 0 && to < 0) continue;
      const taken = this.#counts.branch(from, to, false);
      if (to >= 0) last.branch = taken;
    }
  }

  #lastOf(buffer: number): Last {
    let last = this.#last.get(buffer);
    if (last === undefined) {
      this.#last.set(buffer, last = { branch: -1, tid: -1, isClocked: false });
    }
    return last;
  }
}
