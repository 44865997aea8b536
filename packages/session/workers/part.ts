import { enlarge } from "@perfdata/format/bytes";
import type { PlacesPart } from "../places/places.ts";
import type { StacksPart } from "../stacks/stacks.ts";
import type { UnwindPart } from "../stacks/unwind_counts.ts";
import type { Engine } from "../engine/engine.ts";

/** Numbers that the results of one thread have after joining. */
export interface JoinedNumbers {
  /** By place of the thread. */
  readonly place: Int32Array;
  /** By stack of the thread. */
  readonly stack: Int32Array;
  /** By object of the thread. */
  readonly objects: Int32Array;
}

/**
 * A consumer whose work can be shared by several threads. Each collects in consumers of its own, one for each
 * stretch of the file, whose parts are joined in the order of the file: the result is then the same, numbers
 * included, as if one consumer had taken all of it.
 */
export interface Shareable<Part = unknown> {
  /** What it collected: what can be sent to another thread. */
  part(): Part;
  /**
   * Takes over memory of the consumer of the stretch before, whose part was handed on: what grows with the
   * numbers of places and stacks is not made for each stretch.
   *
   * @param before One of the same kind.
   */
  reuse?(before: this): void;
  /**
   * Joins what another one collected.
   *
   * @param part What that was.
   * @param numbers Numbers of the places and stacks that it names.
   */
  join(part: Part, numbers: JoinedNumbers): void;
}

/** New results of one thread in a stretch of the file. */
export interface StretchPart {
  /** Places that are new. */
  readonly places: PlacesPart;
  /** Stacks that are new. */
  readonly stacks: StacksPart;
  /** What a consumer collected. */
  readonly collected: unknown;
}

/** Totals of one thread. */
export interface ThreadTotals {
  /** Samples of no known event, or damaged. */
  readonly leftOut: number;
  /** Samples whose user callers were to come in a later record, which is not there. */
  readonly unjoined: number;
  /** How unwinding went. */
  readonly unwound: UnwindPart | undefined;
}

/** Whether a consumer's work can be shared. */
export function isShareable(consumer: object): consumer is Shareable {
  return "part" in consumer && "join" in consumer;
}

/** Joins what another thread finds, a stretch after the other, into an engine. */
export class Joiner implements JoinedNumbers {
  place: Int32Array<ArrayBuffer> = new Int32Array(1 << 10);
  stack: Int32Array<ArrayBuffer> = new Int32Array(1 << 10);
  /** By object of the thread: its number here, or -1. */
  objects: Int32Array<ArrayBuffer> = new Int32Array(64).fill(-1);
  readonly #engine: Engine;
  readonly #consumer: Shareable;
  #places = 0;

  /** Joins into an engine and its consumer, which have what stands before in the file. */
  constructor(engine: Engine, consumer: Shareable) {
    this.#engine = engine;
    this.#consumer = consumer;
  }

  /** Joins the next stretch of this thread. */
  join({ places, stacks, collected }: StretchPart): void {
    const { first, parent } = stacks;
    const object = places.firstObject + places.objects.length;
    if (object > this.objects.length) {
      const known = this.objects.length;
      this.objects = enlarge(this.objects, object).fill(-1, known);
    }
    const place = this.#places;
    this.#places += places.object.length;
    const nodes = first + parent.length;
    if (this.#places > this.place.length) this.place = enlarge(this.place, this.#places);
    if (nodes > this.stack.length) this.stack = enlarge(this.stack, nodes);
    this.#engine.places.join(places, place, this.place, this.objects);
    this.#engine.stacks.join(stacks, this.place, this.stack);
    this.#consumer.join(collected, this);
  }

  /** Adds what the thread counted. */
  finish({ leftOut, unjoined, unwound }: ThreadTotals): void {
    const engine = this.#engine;
    engine.leftOut += leftOut;
    engine.unjoined += unjoined;
    if (unwound !== undefined) engine.unwound?.join(unwound, this.objects);
  }
}
