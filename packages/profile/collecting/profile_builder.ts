import type { Profile, ProfileEvent, ProfileObject } from "../columns/profile.ts";
import { FloatColumn, IntColumn } from "../columns/columns.ts";
import { FrameTable } from "../columns/frame_table.ts";
import { NodeTable } from "../columns/node_table.ts";
import { ThreadTable } from "../columns/thread_table.ts";

/** A function at a line, for {@linkcode ProfileBuilder.place}. */
export interface BuilderFrame {
  /** The function; `""` if the code has no name. */
  readonly name: string;
  /** Source file. */
  readonly file?: string | undefined;
  /** Line in the file. */
  readonly line?: number | undefined;
  /** `FUNCTION_KIND` bits; 0 by default. */
  readonly kind?: number | undefined;
}

/** A sample, or several equal ones. */
export interface BuilderSample {
  /** Innermost stack; -1 without a stack. */
  readonly stack: number;
  /** Event. */
  readonly event: number;
  /** Thread. */
  readonly thread: number;
  /** Number of samples; 1 by default. */
  readonly count?: number;
  /** Sum of the periods. */
  readonly period: number;
  /** Time in nanoseconds. Either all samples have one, or no sample. */
  readonly time?: number;
  /** CPU. */
  readonly cpu?: number;
}

/** Metadata of a profile. */
export interface ProfileAbout {
  /** The events. */
  readonly events: readonly ProfileEvent[];
  /** Description of the recording, such as its command or file. */
  readonly title?: string;
  /** Trust in names and stacks. */
  readonly trust?: string;
}

/** Builds a {@linkcode Profile}; equal threads, objects, frames and stacks get equal numbers. */
export class ProfileBuilder {
  readonly #about: ProfileAbout;
  readonly #threads = new ThreadTable();
  readonly #objects: ProfileObject[] = [];
  readonly #objectNumbers = new Map<string, number>();
  readonly #frames = new FrameTable();
  readonly #placeObject = new IntColumn();
  readonly #placeAddress = new FloatColumn();
  readonly #placeStart = new IntColumn();
  readonly #placeFrames = new IntColumn();
  readonly #stacks = new NodeTable();
  readonly #sample = {
    stack: new IntColumn(),
    event: new IntColumn(),
    thread: new IntColumn(),
    count: new FloatColumn(),
    period: new FloatColumn(),
    time: new FloatColumn(),
    cpu: new IntColumn(),
  };
  #timed = false;
  #first = Infinity;
  #last = -Infinity;

  /** Starts an empty profile. */
  constructor(about: ProfileAbout) {
    this.#about = about;
    this.#placeStart.push(0);
  }

  /** Index of a thread. */
  thread(pid: number, tid: number, comm: string): number {
    return this.#threads.add(pid, tid, comm);
  }

  /** Index of an object. */
  object(object: ProfileObject): number {
    const key = JSON.stringify([object.path, object.buildId, object.name]);
    return intern(this.#objectNumbers, key, this.#objects, object);
  }

  /**
   * Adds a place.
   *
   * @param frames innermost first; an empty list means a frame without a name
   */
  place(object: number, address: number, frames: readonly BuilderFrame[]): number {
    const place = this.#placeObject.length;
    this.#placeObject.push(object);
    this.#placeAddress.push(address);
    const shown: readonly BuilderFrame[] = frames.length > 0 ? frames : [{ name: "" }];
    for (const { name, file, line, kind = 0 } of shown) {
      this.#placeFrames.push(this.#frames.frame(object, kind, name, file, line));
    }
    this.#placeStart.push(this.#placeFrames.length);
    return place;
  }

  /**
   * Index of the stack of a place that was called from the stack `parent`, or -1 for an outermost
   * one.
   */
  stack(parent: number, place: number): number {
    return this.#stacks.node(parent, place);
  }

  /** Adds a sample. */
  sample({ stack, event, thread, count = 1, period, time, cpu = -1 }: BuilderSample): void {
    const columns = this.#sample;
    columns.stack.push(stack);
    columns.event.push(event);
    columns.thread.push(thread);
    columns.count.push(count);
    columns.period.push(period);
    if (time === undefined) return;
    this.#timed = true;
    this.#first = Math.min(this.#first, time);
    this.#last = Math.max(this.#last, time);
    columns.time.push(time);
    columns.cpu.push(cpu);
  }

  /** The profile. */
  profile(): Profile {
    const { stack, event, thread, count, period, time, cpu } = this.#sample;
    return {
      title: this.#about.title ?? "",
      trust: this.#about.trust ?? "",
      events: this.#about.events,
      threads: this.#threads,
      objects: this.#objects,
      ...this.#frames.columns(),
      places: {
        object: this.#placeObject.array(),
        address: this.#placeAddress.array(),
        start: this.#placeStart.array(),
        frames: this.#placeFrames.array(),
      },
      stacks: { parent: this.#stacks.parents(), place: this.#stacks.items() },
      samples: {
        length: stack.length,
        stack: stack.array(),
        event: event.array(),
        thread: thread.array(),
        count: count.array(),
        period: period.array(),
        ...(this.#timed ? { time: time.array(), cpu: cpu.array() } : {}),
      },
      ...(this.#timed ? { span: [this.#first, this.#last] as const } : {}),
      epoch: 0n,
      switches: [],
    };
  }
}

function intern<T>(numbers: Map<string, number>, key: string, list: T[], value: T): number {
  let number = numbers.get(key);
  if (number === undefined) numbers.set(key, number = list.push(value) - 1);
  return number;
}
