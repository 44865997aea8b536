/** Too little memory is left to continue. Thrown before the runtime would abort the process. */
export class OutOfMemory extends Error {
  /** The class, as error messages show it. */
  override readonly name: string = "OutOfMemory";
  /** Kind of error, for programs. */
  readonly code = "out-of-memory" as const;
}

let memoryCheck: (() => void) | undefined;

/**
 * Sets the memory check of this thread.
 *
 * @param check Throws {@linkcode OutOfMemory} if memory is low. It is called often, so it has to be fast.
 */
export function watchMemory(check: () => void): void {
  memoryCheck = check;
}

/**
 * Checks the free memory. Code whose tables grow with the recording calls this from time to time: the
 * reader, columns that are enlarged, and writers do.
 *
 * @example
 * ```ts
 * import { checkMemory, OutOfMemory, watchMemory } from "@perfdata/format/bytes";
 * import { assertThrows } from "@std/assert";
 *
 * checkMemory();
 * watchMemory(() => {
 *   throw new OutOfMemory("nothing is left");
 * });
 * assertThrows(checkMemory, OutOfMemory, "nothing is left");
 * watchMemory(() => {});
 * ```
 */
export function checkMemory(): void {
  memoryCheck?.();
}
