import type { Address } from "./address.ts";
import { PF, PT } from "../elf/elf_constants.ts";
import type { ElfFile } from "../elf/elf_file.ts";
import { findElfSymbol } from "../elf/raw_symbols.ts";

/** A loaded part of an ELF file, from its `PT_LOAD` program header. */
export interface LoadSegment {
  /** Byte offset in the file. */
  readonly offset: number;
  /** Bytes in the file. */
  readonly size: number;
  /** The address of its first byte, as symbols count. */
  readonly address: Address;
}

/** Linkers align segments to pages of this size at least; mappings begin and end with pages. */
const PAGE = 4096;

/**
 * Converts offsets in an ELF file to the addresses that its symbols and debug information use, by its
 * program headers:
 *
 *     address in the process ──(start, pgoff)──▶ offset in the file ──(p_offset, p_vaddr)──▶ address
 *
 * The two differ by one number for the whole file with older linkers; with lld and mold, and with
 * `-z separate-code`, each segment has another.
 *
 * @example
 * ```ts
 * import { ElfFile } from "@perfdata/symbols";
 * import { FileAddresses } from "@perfdata/symbols/address-map";
 * import { openBinaryFile } from "@perfdata/symbols/binary-file";
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
  /** Of each PT_LOAD segment, the executable ones first: offset, end, vaddr. */
  readonly #segments: Float64Array;

  /** Takes the program headers of a file. */
  constructor(elf: Pick<ElfFile, "segments">) {
    const loads = elf.segments.filter((s) => s.type === PT.LOAD && s.filesz > 0);
    const executable = loads.filter((s) => (s.flags & PF.X) !== 0);
    const others = loads.filter((s) => (s.flags & PF.X) === 0);
    const ordered = [...executable, ...others];
    this.#segments = Float64Array.from(
      ordered.flatMap((s) => [s.offset, s.offset + s.filesz, s.vaddr]),
    );
  }

  /** The parts of the file that are loaded, the executable ones first. */
  get segments(): LoadSegment[] {
    const found: LoadSegment[] = [];
    for (let i = 0; i < this.#segments.length; i += 3) {
      const [offset = 0, end = 0, address = 0] = this.#segments.subarray(i, i + 3);
      found.push({ offset, size: end - offset, address });
    }
    return found;
  }

  /**
   * The address in the file of an offset in it.
   *
   * @returns `undefined` if no segment is loaded from there
   */
  fromOffset(offset: number): Address | undefined {
    const segments = this.#segments;
    for (let i = 0; i < segments.length; i += 3) {
      const start = segments[i] ?? 0;
      if (offset >= start && offset < (segments[i + 1] ?? 0)) {
        return offset - start + (segments[i + 2] ?? 0);
      }
    }
    // A mapping also holds what shares the first and the last page with the segment.
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

/** A kernel symbol whose address at run time is known. */
export interface KernelReference {
  /** `_text` or `_stext`. */
  readonly name: string;
  /** Its address in the running kernel. */
  readonly address: Address;
}

/**
 * The reference symbol in the mmap record of the kernel: the record's name is
 * `[kernel.kallsyms]_text`, its `pgoff` the address of `_text`
 * (`perf_event__synthesize_kernel_mmap` of tools/perf/util/synthetic-events.c).
 *
 * @param filename name in the record
 * @param pgoff `pgoff` in the record
 * @returns `undefined` if the name is not of that form
 *
 * @example
 * ```ts
 * import { addressFromBigInt } from "@perfdata/symbols/address";
 * import { kernelReference } from "@perfdata/symbols/address-map";
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
 * By how much a running kernel was moved (KASLR) against its `vmlinux`: an address in the kernel
 * minus this is one in the file.
 *
 * @returns `undefined` if the file has no symbol of that name
 * @throws {ElfError} if its symbol table is malformed
 */
export function kernelRelocation(vmlinux: ElfFile, reference: KernelReference): number | undefined {
  const linked = findElfSymbol(vmlinux, reference.name);
  return linked === undefined ? undefined : reference.address - linked;
}
