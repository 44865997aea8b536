import { visible } from "@perfdata/format/visible";

/**
 * A symbol source (ELF file, kallsyms, perf map, jitdump …) could not be read.
 *
 * `message` states what was being read, what was found and what was expected; `offset` is the byte
 * offset in that source where it went wrong.
 *
 * @example
 * ```ts
 * import { bytesSource, ElfFile, SymbolsError } from "@perfdata/symbols";
 * import { assert, assertEquals } from "@std/assert";
 *
 * try {
 *   ElfFile.open(bytesSource(new Uint8Array(64)));
 * } catch (error) {
 *   assert(error instanceof SymbolsError);
 *   assertEquals(error.offset, 0);
 * }
 * ```
 */
export class SymbolsError extends Error {
  /** The name of the class. */
  override name = "SymbolsError";
  /** Byte offset in the source that was being read. */
  readonly offset: number;

  /**
   * Makes an error for one place in the source.
   *
   * @param offset byte offset in the source
   * @param message what was read, found and expected, in one line; controls in it become visible
   * @param options the `cause`, where there is one
   */
  constructor(offset: number, message: string, options?: ErrorOptions) {
    // A name from the file may hold line ends or escape sequences.
    super(visible(message), options);
    this.offset = offset;
  }
}
