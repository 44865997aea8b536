import { cfiMachine } from "../cfi/cfi_machine.ts";
import { ObjectCfi } from "../cfi/object_cfi.ts";
import { RowTable } from "../cfi/row_table.ts";
import type { DwarfContext } from "../dwarf/dwarf_context.ts";
import type { VariableFinder } from "../dwarf/data/variables.ts";
import type { ElfFile } from "../elf/elf_file.ts";

/** Variables of an object and their types, from debug information. */
export class ObjectData {
  /** Variables and types, by addresses of the file. */
  readonly finder: VariableFinder;
  /** From an address as the object's kind counts to that of the file. */
  readonly toFile: (address: number) => number | undefined;
  readonly #runtime: ElfFile;
  readonly #debug: ElfFile;
  #cfi: ObjectCfi | undefined;
  #noCfi = false;

  /**
   * The data of a file.
   *
   * @param runtime The file that was mapped.
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

  /** From which register the canonical frame address is counted at an address of the file. */
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
