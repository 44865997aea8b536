/** Too little memory is left to continue: thrown before the runtime would end the process. */
export class OutOfMemory extends Error {
  /** The class, as error messages show it. */
  override readonly name: string = "OutOfMemory";
  /** What is wrong, for programs. */
  readonly code = "out-of-memory" as const;
}

let look: (() => void) | undefined;

/**
 * Sets what looks whether memory is left, for all of this thread.
 *
 * @param looks Throws {@linkcode OutOfMemory} where it is not. Called often: it has to be quick.
 */
export function watchMemory(looks: () => void): void {
  look = looks;
}

/**
 * Looks whether memory is left. What makes tables as large as a recording asks from time to time; reading
 * records, enlarging columns and writing do.
 *
 * @example
 * ```ts
 * import { checkMemory, OutOfMemory, watchMemory } from "@perfdata/format/memory";
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
  look?.();
}
