import { enlarge } from "@perfdata/format/bytes";
import { JoinedPlaces } from "../places/joined_places.ts";
import type { PlacesPart } from "../places/places.ts";
import type { StacksPart } from "../stacks/stacks.ts";
import type { UnwindPart } from "../stacks/unwind_counts.ts";
import type { Engine } from "../engine/engine.ts";

/** Numbers that the results of one thread have after joining. */
export interface JoinedNumbers {
  /** Index in this thread of each place of the other thread. */
  readonly place: Int32Array;
  /** Index in this thread of each stack of the other thread. */
  readonly stack: Int32Array;
  /** Index in this thread of each object of the other thread. */
  readonly objects: Int32Array;
}

/**
 * A consumer whose work can be shared by several threads. Each thread collects in consumers of its
 * own, one for each stretch of the file. Their parts are joined in the order of the file, so that
 * the result, including all numbers, is that of a single consumer.
 */
export interface Shareable<Part = unknown> {
  /** The collected data, for sending to another thread. */
  part(): Part;
  /**
   * Reuses the memory of the previous stretch's consumer, whose part was sent, so that arrays by
   * place or stack are not allocated for each stretch.
   *
   * @param before A consumer of the same kind.
   */
  reuse?(before: this): void;
  /**
   * Adds the part of another consumer.
   *
   * @param part The part.
   * @param numbers Indices in this thread of the part's places and stacks.
   */
  join(part: Part, numbers: JoinedNumbers): void;
}

/** New results of one thread in a stretch of the file. */
export interface StretchPart {
  /** New places. */
  readonly places: PlacesPart;
  /** New stacks. */
  readonly stacks: StacksPart;
  /** Part of the consumer. */
  readonly collected: unknown;
}

/** Totals of one thread. */
export interface ThreadTotals {
  /** Samples that were skipped: damaged, or of an unknown event. */
  readonly leftOut: number;
  /** Samples whose deferred user callers never came in a later record. */
  readonly unjoined: number;
  /** Counts of unwound stacks. */
  readonly unwound: UnwindPart | undefined;
}

/** Whether a consumer's work can be shared. */
export function isShareable(consumer: object): consumer is Shareable {
  return "part" in consumer && "join" in consumer;
}

/** Adds the places and stacks that another worker found to those of an engine, part of the file by part. */
export class Joiner implements JoinedNumbers {
  stack: Int32Array<ArrayBuffer> = new Int32Array(1 << 10);
  readonly #engine: Engine;
  readonly #consumer: Shareable;
  readonly #places = new JoinedPlaces();

  /** Joins into an engine and its consumer, after all earlier stretches. */
  constructor(engine: Engine, consumer: Shareable) {
    this.#engine = engine;
    this.#consumer = consumer;
  }

  /** Index in this thread of each place of the other thread. */
  get place(): Int32Array {
    return this.#places.place;
  }

  /** Index in this thread of each object of the other thread. */
  get objects(): Int32Array {
    return this.#places.objects;
  }

  /** Joins the next stretch of this thread. */
  join({ places, stacks, collected }: StretchPart): void {
    const { first, parent } = stacks;
    this.#places.join(this.#engine.places, places);
    const nodes = first + parent.length;
    if (nodes > this.stack.length) this.stack = enlarge(this.stack, nodes);
    this.#engine.stacks.join(stacks, this.place, this.stack);
    this.#consumer.join(collected, this);
  }

  /** Adds the thread's totals. */
  finish({ leftOut, unjoined, unwound }: ThreadTotals): void {
    const engine = this.#engine;
    engine.leftOut += leftOut;
    engine.unjoined += unjoined;
    if (unwound !== undefined) engine.unwound?.join(unwound, this.objects);
  }
}
