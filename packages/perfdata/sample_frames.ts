import { FUNCTION_KIND, functionName, type Profile } from "@perfdata/profile/profile";

/** A function in a stack. */
export interface Frame {
  /** The function; `[object]` for code that nothing names, `[unknown]` where nothing was mapped. */
  readonly name: string;
  /** Path or bracketed name of the object; missing where nothing was mapped. */
  readonly object?: string;
  /** Build id of the object in lower-case hex, where it was recorded. */
  readonly buildId?: string;
  /** Address as the object's symbol table counts it. */
  readonly address: number;
  /** Source file, where debug information has it. */
  readonly file?: string;
  /** Line in it, from 1 on. */
  readonly line?: number;
  /** Whether the function was inlined into the next frame. */
  readonly inlined: boolean;
  /** Whether it runs in the kernel. */
  readonly kernel: boolean;
  /** `false` if a file gave the name that no build id verifies. */
  readonly verified: boolean;
}

/** The frames of the stacks of a profile, each made once. */
export class Frames {
  readonly #profile: Profile;
  readonly #ofPlace: (readonly Frame[])[] = [];

  /** Makes none yet. */
  constructor(profile: Profile) {
    this.#profile = profile;
  }

  /** The frames of a stack, innermost first; none for -1. */
  stack(number: number): Frame[] {
    const { stacks } = this.#profile;
    const frames: Frame[] = [];
    for (let at = number; at >= 0; at = stacks.parent[at] as number) {
      frames.push(...this.#place(stacks.place[at] as number));
    }
    return frames;
  }

  #place(place: number): readonly Frame[] {
    return this.#ofPlace[place] ??= this.#made(place);
  }

  #made(place: number): Frame[] {
    const { places, frames, functions, objects, files } = this.#profile;
    const made: Frame[] = [];
    const object = objects[places.object[place] as number];
    for (let i = places.start[place] as number; i < (places.start[place + 1] as number); i++) {
      const frame = places.frames[i] as number;
      const number = frames.function[frame] as number;
      const kind = functions.kind[number] as number;
      const file = files[frames.file[frame] as number];
      const line = frames.line[frame] as number;
      made.push({
        name: functionName(this.#profile, number),
        ...(object === undefined ? {} : { object: object.path }),
        ...(object?.buildId === undefined ? {} : { buildId: object.buildId }),
        address: places.address[place] as number,
        ...(file === undefined ? {} : { file }),
        ...(line === 0 ? {} : { line }),
        inlined: (kind & FUNCTION_KIND.INLINED) !== 0,
        kernel: (kind & FUNCTION_KIND.LEVEL) === FUNCTION_KIND.KERNEL,
        verified: (kind & FUNCTION_KIND.UNVERIFIED) === 0,
      });
    }
    return made;
  }
}
