import { intAt } from "@perfdata/format/bytes";
import {
  type CollectedSamples,
  NodeTable,
  type ProfileEvent,
  type ProfileTotal,
  type SampleKeys,
  type TakenRows,
} from "@perfdata/profile";
import type { PtThreads } from "@perfdata/pt/decode";
import { IP_FLAG, type PtSampleRows, SAMPLE, SAMPLE_WORD, SAMPLE_WORDS } from "@perfdata/pt";
import { BRANCH, SampleHistogram } from "@perfdata/session";

/**
 * Counts the branches of an Intel PT trace like those of branch stacks: each taken branch is a
 * sample with period 1 of event 0.
 */
export class TraceBranchSamples implements CollectedSamples {
  /** Branches by context and pair. */
  readonly histogram: SampleHistogram = new SampleHistogram();
  /** Total of all branches. */
  readonly totals: ProfileTotal[] = [{ samples: 0, period: 0 }];
  /** The only event. */
  readonly events: readonly ProfileEvent[] = [{ name: "branches", unit: "count" }];
  /** Nodes are pairs of places. */
  readonly stacks: boolean = false;
  /** Kind of rows. */
  readonly kind: "branches" = "branches";
  /** Branches by source and target place. */
  readonly pairs: NodeTable = new NodeTable();
  /** Names of commands. */
  readonly comms: NonNullable<CollectedSamples["comms"]>;
  readonly #keys: SampleKeys;

  /** Creates empty counts. */
  constructor(names: PtThreads["names"], keys: SampleKeys = {}) {
    this.#keys = keys;
    // Even numbers are names, odd ones unnamed threads.
    this.comms = {
      name: (comm) => (comm & 1) === 0 ? names.text(comm >> 1) : undefined,
      tid: (comm) => comm >> 1,
      pid: () => -1,
    };
  }

  /** Whether a context column is collected. */
  collects(column: Parameters<CollectedSamples["collects"]>[0]): boolean {
    if (column === "branch") return (this.#keys.branch ?? 0) !== 0;
    if (column === "comm") return true;
    return (column === "pid" || column === "tid" || column === "cpu") &&
      this.#keys[column] === true;
  }

  /** The counted branches. */
  takeRows(): TakenRows {
    return this.histogram.columns();
  }

  /** Counts samples that are branches. */
  take({ words, count }: PtSampleRows): void {
    const [total] = this.totals as [ProfileTotal];
    const { pid, tid, cpu, branch: mask = 0 } = this.#keys;
    for (let at = 0; at < count * SAMPLE_WORDS; at += SAMPLE_WORDS) {
      if (words[at + SAMPLE_WORD.KIND] !== SAMPLE.BRANCHES) continue;
      total.samples++;
      total.period++;
      const comm = intAt(words, at + SAMPLE_WORD.COMM);
      const thread = intAt(words, at + SAMPLE_WORD.TID);
      const flags = intAt(words, at + SAMPLE_WORD.FLAGS);
      const context = this.histogram.context(
        0,
        comm >= 0 ? 2 * comm : 2 * thread + 1,
        pid ? intAt(words, at + SAMPLE_WORD.PID) : 0,
        tid ? thread : 0,
        cpu ? intAt(words, at + SAMPLE_WORD.CPU) : 0,
        ((flags & IP_FLAG.IN_TX) === 0 ? 0 : BRANCH.IN_TX & mask) |
          ((flags & IP_FLAG.TX_ABORT) === 0 ? 0 : BRANCH.ABORT & mask),
      );
      const from = intAt(words, at + SAMPLE_WORD.FROM);
      const to = intAt(words, at + SAMPLE_WORD.TO);
      this.histogram.addLater(context, this.pairs.node(from, to), 1);
    }
    this.histogram.settle();
  }
}
