import type { Address } from "./address.ts";
import { PF, PT } from "../elf/elf_constants.ts";
import type { ElfFile } from "../elf/elf_file.ts";
import { findElfSymbol } from "../elf/raw_symbols.ts";

/** A loaded part of an ELF file (a `PT_LOAD` program header). */
export interface LoadSegment {
  /** Byte offset in the file. */
  readonly offset: number;
  /** Size in the file in bytes. */
  readonly size: number;
  /** Virtual address of the first byte. */
  readonly address: Address;
}

/** Smallest page size to which linkers align segments. Mappings begin and end at pages. */
const PAGE = 4096;

/**
 * Converts offsets in an ELF file to virtual addresses, which symbols and debug information use, by
 * the program headers:
 *
 *     address in the process ──(start, pgoff)──▶ offset in the file ──(p_offset, p_vaddr)──▶ address
 *
 * With older linkers, offset and address differ by one constant for the whole file. With lld, mold
 * and `-z separate-code`, each segment has its own constant.
 *
 * @example
 * ```ts
 * import { ElfFile } from "@perfdata/symbols";
 * import { FileAddresses } from "@perfdata/symbols/resolver";
 * import { openBinaryFile } from "@perfdata/symbols/files";
 * import { assertEquals } from "@std/assert";
 *
 * using source = openBinaryFile(Deno.execPath());
 * const elf = ElfFile.open(source);
 * const addresses = new FileAddresses(elf);
 * const text = elf.section(".text");
 * assertEquals(addresses.fromOffset(text?.offset ?? 0), text?.addr);
 * ```
 */
export class FileAddresses {
  /** Offset, end and vaddr of each PT_LOAD segment, executable ones first. */
  readonly #segments: Float64Array;

  /** Reads the program headers of a file. */
  constructor(elf: Pick<ElfFile, "segments">) {
    const loads = elf.segments.filter((s) => s.type === PT.LOAD && s.filesz > 0);
    const executable = loads.filter((s) => (s.flags & PF.X) !== 0);
    const others = loads.filter((s) => (s.flags & PF.X) === 0);
    const ordered = [...executable, ...others];
    this.#segments = Float64Array.from(
      ordered.flatMap((s) => [s.offset, s.offset + s.filesz, s.vaddr]),
    );
  }

  /** The loaded parts of the file, executable ones first. */
  get segments(): LoadSegment[] {
    const found: LoadSegment[] = [];
    for (let i = 0; i < this.#segments.length; i += 3) {
      const [offset = 0, end = 0, address = 0] = this.#segments.subarray(i, i + 3);
      found.push({ offset, size: end - offset, address });
    }
    return found;
  }

  /**
   * The virtual address of a file offset.
   *
   * @returns `undefined` if the offset is not loaded
   */
  fromOffset(offset: number): Address | undefined {
    const segments = this.#segments;
    for (let i = 0; i < segments.length; i += 3) {
      const start = segments[i] ?? 0;
      if (offset >= start && offset < (segments[i + 1] ?? 0)) {
        return offset - start + (segments[i + 2] ?? 0);
      }
    }
    // A mapping also contains the rest of the segment's first and last page.
    for (let i = 0; i < segments.length; i += 3) {
      const start = segments[i] ?? 0;
      const end = Math.ceil((segments[i + 1] ?? 0) / PAGE) * PAGE;
      if (offset >= start - (start % PAGE) && offset < end) {
        return offset - start + (segments[i + 2] ?? 0);
      }
    }
    return undefined;
  }
}

/** A kernel symbol with a known run-time address. */
export interface KernelReference {
  /** `_text` or `_stext`. */
  readonly name: string;
  /** Address in the running kernel. */
  readonly address: Address;
}

/**
 * The reference symbol in the kernel's mmap record: the record's name is `[kernel.kallsyms]_text`,
 * and its `pgoff` is the address of `_text` (`perf_event__synthesize_kernel_mmap` of
 * tools/perf/util/synthetic-events.c).
 *
 * @param filename name in the record
 * @param pgoff `pgoff` in the record
 * @returns `undefined` if the name does not have that form
 *
 * @example
 * ```ts
 * import { addressFromBigInt, kernelReference } from "@perfdata/symbols/resolver";
 * import { assertEquals } from "@std/assert";
 *
 * const pgoff = addressFromBigInt(0xffffffff9a000000n);
 * assertEquals(kernelReference("[kernel.kallsyms]_text", pgoff)?.name, "_text");
 * ```
 */
export function kernelReference(filename: string, pgoff: Address): KernelReference | undefined {
  const name = /^\[(?:guest\.)?kernel\.kallsyms(?:\.\d+)?\](\w+)$/.exec(filename)?.[1];
  return name === undefined ? undefined : { name, address: pgoff };
}

/**
 * The distance by which KASLR moved a running kernel from the addresses of its `vmlinux`. A
 * run-time address minus this distance is an address in the file.
 *
 * @returns `undefined` if the file does not have the reference symbol
 * @throws {ElfError} if the symbol table is malformed
 */
export function kernelRelocation(vmlinux: ElfFile, reference: KernelReference): number | undefined {
  const linked = findElfSymbol(vmlinux, reference.name);
  return linked === undefined ? undefined : reference.address - linked;
}
