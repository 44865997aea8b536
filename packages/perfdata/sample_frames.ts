import { byteAt, floatAt, intAt } from "@perfdata/format/bytes";
import { FUNCTION_KIND, functionName, type Profile } from "@perfdata/profile";

/** A function in a stack. */
export interface Frame {
  /** The function; `[object]` if it has no name, `[unknown]` if the address is not mapped. */
  readonly name: string;
  /** Path or bracketed name of the object; missing if the address is not mapped. */
  readonly object?: string;
  /** Build id of the object in lower-case hex, if it was recorded. */
  readonly buildId?: string;
  /** Address in the numbering of the object's symbol table. */
  readonly address: number;
  /** Source file, if debug information has it. */
  readonly file?: string;
  /** Line in the source file, from 1 on. */
  readonly line?: number;
  /** Whether the function was inlined into the next frame. */
  readonly inlined: boolean;
  /** Whether the function is in the kernel. */
  readonly kernel: boolean;
  /** `false` if the name comes from a file that no build id verifies. */
  readonly verified: boolean;
}

/** Creates each frame of a profile's stacks once. */
export class Frames {
  readonly #profile: Profile;
  readonly #ofPlace: (readonly Frame[])[] = [];

  /** Starts without frames. */
  constructor(profile: Profile) {
    this.#profile = profile;
  }

  /** The frames of a stack, innermost first; empty for -1. */
  stack(number: number): Frame[] {
    const { stacks } = this.#profile;
    const frames: Frame[] = [];
    for (let at = number; at >= 0; at = intAt(stacks.parent, at)) {
      frames.push(...this.#place(intAt(stacks.place, at)));
    }
    return frames;
  }

  #place(place: number): readonly Frame[] {
    return this.#ofPlace[place] ??= this.#made(place);
  }

  #made(place: number): Frame[] {
    const { places, frames, functions, objects, files } = this.#profile;
    const made: Frame[] = [];
    const object = objects[intAt(places.object, place)];
    for (let i = intAt(places.start, place); i < intAt(places.start, place + 1); i++) {
      const frame = intAt(places.frames, i);
      const number = intAt(frames.function, frame);
      const kind = byteAt(functions.kind, number);
      const file = files[intAt(frames.file, frame)];
      const line = intAt(frames.line, frame);
      made.push({
        name: functionName(this.#profile, number),
        ...(object === undefined ? {} : { object: object.path }),
        ...(object?.buildId === undefined ? {} : { buildId: object.buildId }),
        address: floatAt(places.address, place),
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
