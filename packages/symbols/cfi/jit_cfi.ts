import type { Address } from "../address.ts";
import type { JitRecord } from "../jitdump.ts";
import { ObjectCfi } from "./object_cfi.ts";
import { NO_FDE, type RowTable } from "./row_table.ts";

/** Code of a JIT compiler with its unwinding tables. */
interface JitTables {
  readonly start: Address;
  readonly end: Address;
  readonly bytes: Uint8Array;
  readonly hdrSize: number;
  /** Where the code was compiled, which its tables are relative to. */
  readonly compiledAt: Address;
  readonly size: number;
  readonly codeIndex: number;
  cfi: ObjectCfi | undefined;
}

/**
 * The call frame information of a jitdump file: what `JIT_CODE_UNWINDING_INFO` says of the code that
 * is loaded next. Of code that used the same memory one after the other, the newest counts.
 *
 * `.eh_frame` is as if it followed the code at the next multiple of 8, as compilers write it for
 * `perf inject --jit` (`jit_write_elf` of tools/perf/util/genelf.c).
 */
export class JitCfi {
  readonly #rows: RowTable;
  readonly #littleEndian: boolean;
  /** Sorted by first address; none overlaps the next. */
  readonly #tables: readonly JitTables[];

  /** Takes the records of a jitdump file. */
  constructor(records: Iterable<JitRecord>, littleEndian: boolean, rows: RowTable) {
    this.#rows = rows;
    this.#littleEndian = littleEndian;
    this.#tables = newest(collect(records));
  }

  /** Pieces of code that have tables. */
  get size(): number {
    return this.#tables.length;
  }

  /** As `ObjectCfi.find`, for an address in the process. */
  find(address: Address): number {
    const tables = this.#at(address);
    return tables === undefined
      ? NO_FDE
      : this.#cfi(tables).find(address - tables.start + tables.compiledAt);
  }

  /** The tables of an address, and the address as they count it. */
  locate(address: Address): { readonly cfi: ObjectCfi; readonly address: Address } | undefined {
    const tables = this.#at(address);
    return tables && {
      cfi: this.#cfi(tables),
      address: address - tables.start + tables.compiledAt,
    };
  }

  #at(address: Address): JitTables | undefined {
    const all = this.#tables;
    let low = 0, high = all.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((all[middle] as JitTables).start <= address) low = middle + 1;
      else high = middle;
    }
    const found = all[low - 1];
    return found !== undefined && address < found.end ? found : undefined;
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
}

/** All code that was loaded, in the order of the file; what has no tables has no bytes. */
function collect(records: Iterable<JitRecord>): JitTables[] {
  const all: JitTables[] = [];
  const byIndex = new Map<number, JitTables>();
  let pending: { bytes: Uint8Array; hdrSize: number } | undefined;
  for (const record of records) {
    let code: JitTables | undefined;
    if (record.id === 4) {
      pending = { bytes: record.unwindingData, hdrSize: record.ehFrameHdrSize };
    } else if (record.id === 0) {
      const { codeAddr: start, codeSize: size, codeIndex } = record;
      const { bytes, hdrSize } = pending ?? { bytes: new Uint8Array(0), hdrSize: 0 };
      const where = { start, end: start + size, compiledAt: start, size };
      code = { ...where, bytes, hdrSize, codeIndex, cfi: undefined };
      pending = undefined;
    } else if (record.id === 1) {
      const moved = byIndex.get(record.codeIndex);
      const { newCodeAddr: start, codeSize: size } = record;
      code = moved && { ...moved, start, end: start + size };
    }
    if (code === undefined) continue;
    byIndex.set(code.codeIndex, code);
    if (code.end > code.start) all.push(code);
  }
  return all;
}

/** Leaves of code that overlaps what came last, and of that what has tables. */
function newest(all: readonly JitTables[]): JitTables[] {
  const order = all.map((_, i) => i).sort((a, b) =>
    (all[a] as JitTables).start - (all[b] as JitTables).start || a - b
  );
  const kept: number[] = [];
  for (const i of order) {
    const code = all[i] as JitTables;
    let top = kept.at(-1);
    while (top !== undefined && (all[top] as JitTables).end > code.start && top < i) {
      kept.pop();
      top = kept.at(-1);
    }
    if (top === undefined || (all[top] as JitTables).end <= code.start) kept.push(i);
  }
  return kept.map((i) => all[i] as JitTables).filter(({ bytes }) => bytes.length > 0);
}
