import { cfiMachine } from "../cfi/cfi_machine.ts";
import { ObjectCfi } from "../cfi/object_cfi.ts";
import { RowTable } from "../cfi/row_table.ts";
import type { DwarfContext } from "../dwarf/dwarf_context.ts";
import type { VariableFinder } from "../dwarf/data/variables.ts";
import type { ElfFile } from "../elf/elf_file.ts";

/** Variables and types of an object, from debug information. */
export class ObjectData {
  /** Look-up by virtual address. */
  readonly finder: VariableFinder;
  /** Converts an object's address to a virtual address. */
  readonly toFile: (address: number) => number | undefined;
  readonly #runtime: ElfFile;
  readonly #debug: ElfFile;
  #cfi: ObjectCfi | undefined;
  #noCfi = false;

  /**
   * Creates the look-up.
   *
   * @param runtime The mapped file.
   * @param debug The file with the debug information.
   */
  constructor(
    dwarf: DwarfContext,
    toFile: (address: number) => number | undefined,
    runtime: ElfFile,
    debug: ElfFile,
  ) {
    this.finder = dwarf.data;
    this.toFile = toFile;
    this.#runtime = runtime;
    this.#debug = debug;
  }

  /** Register and offset of the canonical frame address at a virtual address. */
  frameAddress(
    address: number,
  ): { readonly register: number; readonly offset: number } | undefined {
    if (this.#cfi === undefined && !this.#noCfi) {
      const machine = cfiMachine(this.#runtime.machine);
      this.#noCfi = machine === undefined;
      if (machine !== undefined) {
        const files = { runtime: this.#runtime, debug: this.#debug };
        this.#cfi = ObjectCfi.open(files, new RowTable(machine));
      }
    }
    const rules = this.#cfi?.rules(address);
    return rules === undefined || rules.cfaRegister < 0
      ? undefined
      : { register: rules.cfaRegister, offset: rules.cfaOffset };
  }
}
