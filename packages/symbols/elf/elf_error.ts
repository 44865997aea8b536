import { SymbolsError } from "../errors.ts";

/** An ELF file is malformed, cut short, or of a kind that is not supported. */
export class ElfError extends SymbolsError {
  /** The name of the class. */
  override name = "ElfError";
}
