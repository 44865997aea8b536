import { PERF_SAMPLE_BRANCH_STACK } from "@perfdata/format/perf-event";
import { BRANCH_ENTRY, SampleFields } from "@perfdata/format/sample-layout";
import { FloatColumn } from "@perfdata/profile/columns";
import { NodeTable } from "@perfdata/profile/node-table";
import type { Consumer, Engine, Needs } from "@perfdata/session/engine";
import { CHOSEN, type RecordBytes, type Run } from "@perfdata/session/run";

/**
 * Counts the branches of branch stacks (LBR and the like), and what ran between two of them: a consumer
 * of the engine, whose memory grows with the code that ran and not with the samples.
 *
 * @example
 * ```ts
 * import { BranchCounts } from "@perfdata/export/branches";
 * import { bytesSource, PerfDataReader } from "@perfdata/format";
 * import { runEngine } from "@perfdata/session/engine";
 * import { assertEquals } from "@std/assert";
 *
 * const pipe = new Uint8Array(16);
 * pipe.set(new TextEncoder().encode("PERFILE2"));
 * pipe.set([16], 8);
 * const counts = new BranchCounts();
 * await runEngine(await PerfDataReader.open(bytesSource(pipe)), [counts]);
 * assertEquals([counts.samples, counts.branches.length], [0, 0]);
 * ```
 */
export class BranchCounts implements Consumer {
  /** What it wants of the engine. */
  readonly needs: Needs = { order: "any", places: true, branches: true };
  /** Samples with branches. */
  samples: number = 0;
  /** Branches by the places that they lead from (`parents()`) and to (`items()`); -1 for address 0. */
  readonly branches: NodeTable = new NodeTable();
  /** How often each was taken. */
  readonly taken: FloatColumn = new FloatColumn();
  /** How often each was mispredicted. */
  readonly mispredicted: FloatColumn = new FloatColumn();
  /**
   * What ran without a branch that was taken: from where a branch (`parents()`, a node of `branches`)
   * led to up to a place (`items()`), the start of the next one.
   */
  readonly traces: NodeTable = new NodeTable();
  /** How often each ran. */
  readonly ran: FloatColumn = new FloatColumn();
  /** By event: where the fields of its samples are; `undefined` where it has no branches. */
  readonly #fields: (SampleFields | undefined)[] = [];
  #engine: Engine | undefined;

  /** Takes the engine. */
  start(engine: Engine): void {
    this.#engine = engine;
  }

  /** Counts the branches of a run. */
  rows(run: Run): void {
    const { count, chosen, event, blocks, block, start, end, branchStart, branches } = run;
    for (let i = 0; i < count; i++) {
      if (chosen[i] !== CHOSEN.YES) continue;
      const first = branchStart[i] as number;
      const entries = (branchStart[i + 1] as number) - first >> 1;
      if (entries === 0) continue;
      const fields = this.#fieldsOf(event[i] as number);
      const { view } = blocks[block[i] as number] as RecordBytes;
      const littleEndian = this.#engine?.reader.littleEndian ?? true;
      const known = fields?.locate(view, start[i] as number, end[i] as number, littleEndian);
      if (fields === undefined || known === false) continue;
      this.samples++;
      // mispred is the first bit: the lowest of a little-endian word, the highest of another.
      const flagsAt = fields.branchStack + BRANCH_ENTRY.flags;
      const mask = littleEndian ? 1 : 0x80;
      let next = -1;
      for (let k = 0; k < entries; k++) {
        const from = branches[first + 2 * k] as number;
        const branch = this.branches.node(from, branches[first + 2 * k + 1] as number);
        if (branch === this.taken.length) {
          this.taken.push(0);
          this.mispredicted.push(0);
        }
        this.taken.add(branch, 1);
        if ((view.getUint8(flagsAt + BRANCH_ENTRY.size * k) & mask) !== 0) {
          this.mispredicted.add(branch, 1);
        }
        if (next >= 0) {
          const trace = this.traces.node(branch, next);
          if (trace === this.ran.length) this.ran.push(0);
          this.ran.add(trace, 1);
        }
        next = from;
      }
    }
  }

  #fieldsOf(number: number): SampleFields | undefined {
    if (number < this.#fields.length) return this.#fields[number];
    const events = this.#engine?.reader.events.all ?? [];
    for (let i = this.#fields.length; i < events.length; i++) {
      const event = events[i];
      const has = event !== undefined &&
        (event.layout.sampleType & PERF_SAMPLE_BRANCH_STACK) !== 0;
      this.#fields.push(has ? new SampleFields(event.attr) : undefined);
    }
    return this.#fields[number];
  }
}
