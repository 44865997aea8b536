import { EM } from "../elf/elf_constants.ts";
import type { SymbolTable } from "../table/symbol_table.ts";
import type { Address } from "../resolver/address.ts";
import { ObjectCfi } from "./object_cfi.ts";
import { NO_FDE, type RowTable } from "./row_table.ts";

/** Address of the trampoline in its tables. Not 0, which means a discarded function. */
const BASE = 0x10000;
/** Prefix of a trampoline's name in a perf map. */
const NAME = "py::";

/** `.eh_frame` instructions: `first` for the first instruction, `then` for the changes after it. */
interface Trampoline {
  readonly codeAlign: number;
  readonly returnRegister: number;
  readonly first: readonly number[];
  readonly then: readonly number[];
}

// Data alignment is -8. Bytes: 0x0c def_cfa, 0x0e def_cfa_offset, 0x40 + n advance_loc, 0x80 + n
// offset, 0xc0 + n restore.
/**
 * The trampoline that CPython copies for each function, by machine. It calls the evaluation loop,
 * so each Python function has a frame at its own address (Python/asm_trampoline.S, Python 3.12 and
 * 3.13).
 */
const TRAMPOLINES: ReadonlyMap<number, Trampoline> = new Map([
  // sub $8, %rsp; call *%rcx; add $8, %rsp; ret
  [EM.X86_64, {
    codeAlign: 1,
    returnRegister: 16,
    first: [0x0c, 7, 8, 0x80 + 16, 1],
    then: [0x40 + 4, 0x0e, 16, 0x40 + 6, 0x0e, 8],
  }],
  // stp x29, x30, [sp, #-16]!; mov x29, sp; blr x3; ldp x29, x30, [sp], #16; ret
  [EM.AARCH64, {
    codeAlign: 4,
    returnRegister: 30,
    first: [0x0c, 31, 0],
    then: [0x41, 0x0e, 16, 0x80 + 29, 2, 0x80 + 30, 1, 0x43, 0x0e, 0, 0xc0 + 29, 0xc0 + 30],
  }],
]);

/**
 * Call frame information for the trampolines of `python -X perf`. A perf map has only names and
 * addresses, but all trampolines consist of the same instructions.
 */
export class PythonTrampolines {
  readonly #map: SymbolTable;
  readonly #cfi: ObjectCfi;

  private constructor(map: SymbolTable, cfi: ObjectCfi) {
    this.#map = map;
    this.#cfi = cfi;
  }

  /**
   * Opens the trampolines in a perf map; `undefined` if the map has none, or the machine is not
   * supported.
   *
   * @param rows table that gets the rows
   */
  static open(map: SymbolTable, rows: RowTable): PythonTrampolines | undefined {
    const { machine } = rows.machine;
    const trampoline = TRAMPOLINES.get(machine);
    if (trampoline === undefined) return undefined;
    for (let i = 0; i < map.size; i++) {
      if (!map.name(i).startsWith(NAME)) continue;
      const section = {
        name: ".eh_frame",
        bytes: ehFrame(trampoline),
        address: 0,
        littleEndian: true,
      } as const;
      return new PythonTrampolines(map, ObjectCfi.ofSections(section, undefined, rows));
    }
    return undefined;
  }

  /** The tables of the trampoline at an address, and the address relative to them. */
  locate(address: Address): { readonly cfi: ObjectCfi; readonly address: Address } | undefined {
    const symbol = this.#map.lookup(address);
    if (symbol < 0 || !this.#map.name(symbol).startsWith(NAME)) return undefined;
    return { cfi: this.#cfi, address: BASE + address - this.#map.start(symbol) };
  }

  /** As `ObjectCfi.find`, for an address in the process. */
  find(address: Address): number {
    const found = this.locate(address);
    return found === undefined ? NO_FDE : found.cfi.find(found.address);
  }
}

/** A section of one CIE and one FDE, for code at `BASE`. */
function ehFrame({ codeAlign, returnRegister, first, then }: Trampoline): Uint8Array {
  const cie = entry([0, 0, 0, 0, 1, 0, codeAlign, 0x78, returnRegister, ...first]);
  const back = new Uint8Array(Uint32Array.of(cie.length + 4).buffer);
  const range = [0, 0, BASE >> 16, 0, 0, 0, 0, 0, 32, 0, 0, 0, 0, 0, 0, 0];
  return Uint8Array.from([...cie, ...entry([...back, ...range, ...then])]);
}

/** An entry with its length, padded with DW_CFA_nop. */
function entry(body: readonly number[]): number[] {
  const length = Math.ceil(body.length / 8) * 8 + 4;
  const padding = new Array<number>(length - body.length).fill(0);
  return [length, 0, 0, 0, ...body, ...padding];
}
