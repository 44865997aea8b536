import type { Address } from "../resolver/address.ts";
import type { JitCode, JitSymbols, JitUnwinding } from "../jit/jit_symbols.ts";
import { ObjectCfi } from "./object_cfi.ts";
import { NO_FDE, type RowTable } from "./row_table.ts";

/**
 * Call frame information of a jitdump file: each `JIT_CODE_UNWINDING_INFO` record describes the
 * code that is loaded next.
 *
 * Its `.eh_frame` counts addresses as if it began at the multiple of 8 after the code. Compilers
 * write it like this for `perf inject --jit` (`jit_write_elf` of tools/perf/util/genelf.c).
 */
export class JitCfi {
  readonly #rows: RowTable;
  readonly #littleEndian: boolean;
  readonly #codes: JitSymbols;
  readonly #tables = new Map<JitUnwinding, ObjectCfi>();

  /** Creates the look-ups for the code of a jitdump file. */
  constructor(codes: JitSymbols, littleEndian: boolean, rows: RowTable) {
    this.#rows = rows;
    this.#littleEndian = littleEndian;
    this.#codes = codes;
  }

  /** Number of functions with tables. */
  get size(): number {
    return this.#codes.codes.filter(({ unwinding }) => unwinding !== undefined).length;
  }

  /**
   * As `ObjectCfi.find`, for an address in the process.
   *
   * @param version Ordinal of the code at this address, see `JitSymbols.version`; the newest by
   * default
   */
  find(address: Address, version?: number): number {
    const found = this.locate(address, version);
    return found === undefined ? NO_FDE : found.cfi.find(found.address);
  }

  /** The tables of the function at an address, and the address relative to them. */
  locate(
    address: Address,
    version?: number,
  ): { readonly cfi: ObjectCfi; readonly address: Address } | undefined {
    const code = this.#codes.ofVersion(address, version);
    if (code?.unwinding === undefined) return undefined;
    return {
      cfi: this.#cfi(code, code.unwinding),
      address: address - code.start + code.compiledAt,
    };
  }

  #cfi({ compiledAt }: JitCode, unwinding: JitUnwinding): ObjectCfi {
    let cfi = this.#tables.get(unwinding);
    if (cfi === undefined) {
      const { bytes, hdrSize, codeSize } = unwinding;
      const address = compiledAt + Math.ceil(codeSize / 8) * 8;
      const ends = Math.max(0, bytes.length - hdrSize);
      const section = {
        name: ".eh_frame",
        bytes: bytes.subarray(0, ends),
        address,
        littleEndian: this.#littleEndian,
      } as const;
      const hdr = hdrSize === 0
        ? undefined
        : { bytes: bytes.subarray(ends), address: address + ends };
      this.#tables.set(unwinding, cfi = ObjectCfi.ofSections(section, hdr, this.#rows));
    }
    return cfi;
  }
}
