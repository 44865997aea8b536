import type { Address } from "../resolver/address.ts";
import { JitSymbols } from "../jit/jit_symbols.ts";
import type { JitRecord } from "../jit/jitdump.ts";
import { ObjectCfi } from "./object_cfi.ts";
import { NO_FDE, type RowTable } from "./row_table.ts";

/** The unwinding tables of a piece of code of a JIT compiler. */
interface JitTables {
  readonly bytes: Uint8Array;
  readonly hdrSize: number;
  /** Where the code was compiled, which its tables are relative to. */
  readonly compiledAt: Address;
  readonly size: number;
  cfi: ObjectCfi | undefined;
}

/**
 * The call frame information of a jitdump file: what `JIT_CODE_UNWINDING_INFO` says of the code that
 * is loaded next. Of code that used the same memory one after the other, what was there at a time.
 *
 * `.eh_frame` is as if it followed the code at the next multiple of 8, as compilers write it for
 * `perf inject --jit` (`jit_write_elf` of tools/perf/util/genelf.c).
 */
export class JitCfi {
  readonly #rows: RowTable;
  readonly #littleEndian: boolean;
  readonly #codes: JitSymbols;
  /** By number of the code in its file. */
  readonly #tables = new Map<bigint, JitTables>();

  /** Takes the records of a jitdump file. */
  constructor(records: Iterable<JitRecord>, littleEndian: boolean, rows: RowTable) {
    this.#rows = rows;
    this.#littleEndian = littleEndian;
    this.#codes = new JitSymbols(this.#collect(records));
  }

  /** Pieces of code that have tables. */
  get size(): number {
    return this.#tables.size;
  }

  /** Whether memory was used again, so that answers depend on the time. */
  get isReused(): boolean {
    return this.#codes.isReused;
  }

  /** As `ObjectCfi.find`, for an address in the process at a time. */
  find(address: Address, time: number = Infinity): number {
    const found = this.locate(address, time);
    return found === undefined ? NO_FDE : found.cfi.find(found.address);
  }

  /** The tables of an address, and the address as they count it. */
  locate(
    address: Address,
    time: number = Infinity,
  ): { readonly cfi: ObjectCfi; readonly address: Address } | undefined {
    // Times of another clock than the recording's may all be later: then the newest counts.
    const code = this.#codes.lookup(address, time) ?? this.#codes.lookup(address);
    const tables = code && this.#tables.get(code.codeIndex);
    return code && tables && {
      cfi: this.#cfi(tables),
      address: address - code.start + code.compiledAt,
    };
  }

  #cfi(tables: JitTables): ObjectCfi {
    if (tables.cfi === undefined) {
      const { bytes, hdrSize, compiledAt, size } = tables;
      const address = compiledAt + Math.ceil(size / 8) * 8;
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
      tables.cfi = ObjectCfi.ofSections(section, hdr, this.#rows);
    }
    return tables.cfi;
  }

  /** Keeps the tables, and hands the records on. */
  *#collect(records: Iterable<JitRecord>): Generator<JitRecord, void, void> {
    let pending: { bytes: Uint8Array; hdrSize: number } | undefined;
    for (const record of records) {
      if (record.id === 4) {
        pending = { bytes: record.unwindingData, hdrSize: record.ehFrameHdrSize };
        continue;
      }
      if (record.id === 0) {
        const { codeAddr: compiledAt, codeSize: size, codeIndex } = record;
        if (pending === undefined) this.#tables.delete(codeIndex);
        else this.#tables.set(codeIndex, { ...pending, compiledAt, size, cfi: undefined });
        pending = undefined;
      }
      // Lines of the source are for names.
      if (record.id !== 2) yield record;
    }
  }
}
