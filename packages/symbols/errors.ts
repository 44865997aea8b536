import { visible } from "@perfdata/format/visible";

/**
 * A symbol source (ELF file, kallsyms, perf map, jitdump …) could not be read.
 *
 * `message` states what was being read, what was found and what was expected; `offset` is the byte
 * offset of the error in the source.
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
 *   assertEquals([error.code, error.offset], ["symbols", 0n]);
 * }
 * ```
 */
export class SymbolsError extends Error {
  /** The name of the class. */
  override name = "SymbolsError";
  /** What is wrong, for programs. */
  readonly code = "symbols" as const;
  /** Byte offset in the source that was being read. */
  readonly offset: bigint;

  /**
   * Makes an error for one place in the source.
   *
   * @param offset byte offset in the source
   * @param message what was read, found and expected, in one line; controls in it become visible
   * @param options the `cause`, where there is one
   */
  constructor(offset: number | bigint, message: string, options?: ErrorOptions) {
    // A name from the file may hold line ends or escape sequences.
    super(visible(message), options);
    // Made of numbers in the file, which may be anything.
    this.offset = BigInt(typeof offset === "bigint" || Number.isInteger(offset) ? offset : -1);
  }
}
