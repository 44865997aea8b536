import { visible } from "@perfdata/format/bytes";

/**
 * A symbol source (ELF file, kallsyms, perf map, jitdump …) could not be read.
 *
 * `message` says what was read, what was found and what was expected; `offset` is the byte offset
 * in the source.
 *
 * @example
 * ```ts
 * import { bytesSource, SymbolsError } from "@perfdata/symbols/resolver";
 * import { ElfFile } from "@perfdata/symbols";
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
  /** Kind of the error, for programs. */
  readonly code = "symbols" as const;
  /** Byte offset in the source. */
  readonly offset: bigint;

  /**
   * Creates an error at a position in the source.
   *
   * @param offset byte offset in the source
   * @param message one line: what was read, found and expected; control characters are made visible
   * @param options the `cause`
   */
  constructor(offset: number | bigint, message: string, options?: ErrorOptions) {
    // Names from the file may contain newlines or escape sequences.
    super(visible(message), options);
    // Offsets computed from damaged numbers may be invalid.
    this.offset = BigInt(typeof offset === "bigint" || Number.isInteger(offset) ? offset : -1);
  }
}
