import { SymbolsError } from "../errors.ts";

/** An ELF file is malformed, truncated, or of an unsupported kind. */
export class ElfError extends SymbolsError {
  /** The name of the class. */
  override name = "ElfError";
}
