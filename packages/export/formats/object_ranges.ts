import { floatAt, intAt } from "@perfdata/format/bytes";
import type { Profile } from "@perfdata/profile";

/** Address ranges of the objects in a profile, by index of the object. */
export interface ObjectRanges {
  /** The first address; 0 for an object without addresses. */
  readonly start: Float64Array;
  /** The address after the last one; 0 for an object without addresses. */
  readonly limit: Float64Array;
  /** Whether code of the object has a source file. */
  readonly hasFiles: Uint8Array;
}

/** Computes the address range of each object. Negative addresses, as in the kernel, count as 0. */
export function objectRanges({ objects, places, frames, files }: Profile): ObjectRanges {
  const limit = new Float64Array(objects.length);
  const start = new Float64Array(objects.length).fill(Infinity);
  const hasFiles = new Uint8Array(objects.length);
  for (let place = 0; place < places.object.length; place++) {
    const object = intAt(places.object, place);
    if (object < 0) continue;
    const address = Math.max(0, floatAt(places.address, place));
    if (address >= floatAt(limit, object)) limit[object] = address + 1;
    if (address < floatAt(start, object)) start[object] = address;
    // A place that is in no stack, such as the target of a branch, was not looked up and has no
    // frames.
    const first = intAt(places.start, place);
    if (first === intAt(places.start, place + 1)) continue;
    const file = intAt(frames.file, intAt(places.frames, first));
    if (files[file] !== undefined) hasFiles[object] = 1;
  }
  for (let object = 0; object < objects.length; object++) {
    start[object] = Math.min(floatAt(start, object), floatAt(limit, object));
  }
  return { start, limit, hasFiles };
}

/** A source file of each function: that of its first frame with a file; -1 without one. */
export function functionFiles({ functions, frames }: Profile): Int32Array {
  const found = new Int32Array(functions.name.length).fill(-1);
  for (let frame = 0; frame < frames.function.length; frame++) {
    const number = intAt(frames.function, frame);
    const file = intAt(frames.file, frame);
    if (found[number] === -1 && file >= 0) found[number] = file;
  }
  return found;
}
